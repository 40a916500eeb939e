import asyncio

import httpx
import pytest

from keyhole.serve import Settings, make_app
from keyhole.stochastic import UCB1
from keyhole.study import Study
from tests.study.conftest import _database, address, database, server  # noqa: F401


class Client:
    """A service in this process, and a client of it."""

    def __init__(self, storage, *, key=None, host="localhost", **settings):
        self._runner = asyncio.Runner()
        app = make_app(Settings(storage=str(storage), **settings))
        self._lifespan = app.lifespan_context(app)
        self._runner.run(self._lifespan.__aenter__())
        transport = httpx.ASGITransport(app)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.AsyncClient(
            transport=transport, base_url=f"http://{host}", headers=headers
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._runner.run(self.http.aclose())
        self._runner.run(self._lifespan.__aexit__(None, None, None))
        self._runner.close()

    def run(self, awaitable):
        """Return the result of an awaitable."""
        return self._runner.run(awaitable)

    def request(self, method, path, **options):
        """Return the answer to a request."""
        return self.run(self.http.request(method, path, **options))

    def check(self, status, method, path, **options):
        """Return the content of an answer, which must have a status."""
        answer = self.request(method, path, **options)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture
def storage(tmp_path):
    """Return a database with a study."""
    path = tmp_path / "shop.db"
    Study.create(path, "buttons", UCB1(), ["red", "blue"]).close()
    return path


@pytest.fixture
def client(storage):
    """Return a client of a service without keys."""
    with Client(storage) as client:
        yield client
