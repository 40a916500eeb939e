import time

import pytest

from keyhole.serve.api_keys import add_key, read_keys, revoke_key
from keyhole.serve.routes import ROUTES
from keyhole.serve.web_pages import PAGE_ROUTES
from keyhole.stochastic import UCB1
from keyhole.study import Study
from tests.serve.conftest import Client

RANKS = {None: 0, "read": 1, "decide": 2, "admin": 3}
TABLE = {"setting": "stochastic", "arms": ["a", "b"], "policy": "UCB1"}


def make_client(storage, right=None, studies="*", **options):
    key = add_key(storage, "ann", right, studies)[0] if right else None
    return Client(storage, key=key, needs_key=True, **options)


def status_of(client, route, study):
    path = route.path.format(study=study, id="01M8K1NFF5YQE8K8EK1E8ENAGP")
    body = {"name": study} if route.path == "/v1/studies" else {}
    if route.is_page and route.method == "POST":
        return client.post(path, data={"arm": "x"}, headers={"Origin": "http://localhost"})
    return client.request(route.method, path, json=body if route.method == "POST" else None)


@pytest.mark.parametrize("right", RANKS)
def test_every_right_on_every_route(storage, right):
    with make_client(storage, right) as client:
        for route in (*ROUTES, *PAGE_ROUTES):
            if route.path == "/login":  # which is how a browser gets a key
                continue
            status = status_of(client, route, "none-such").status_code
            if route.required_right is not None and right is None:
                assert status == 401, route
            elif RANKS[right] < RANKS[route.required_right]:
                assert status == 403, route
            else:
                assert status not in (401, 403), route


@pytest.mark.parametrize("right", ["read", "decide", "admin"])
def test_a_study_that_a_key_does_not_see_is_as_one_that_is_not_there(storage, right):
    with make_client(storage, right, "shop-*") as client:
        for route in (*ROUTES, *PAGE_ROUTES):
            if "{study}" in route.path:
                answers = [status_of(client, route, study) for study in ("buttons", "none-such")]
                texts = [
                    answer.text.replace(answer.headers["X-Request-Id"], "") for answer in answers
                ]
                assert texts[0] == texts[1]
                assert answers[0].status_code == 404
        assert client.check(200, "GET", "/v1/studies") == {"studies": []}
        client.check(403, "GET", "/metrics")


def test_a_key_creates_no_study_that_it_would_not_see(storage):
    with make_client(storage, "admin", "shop-*") as client:
        texts = set()
        for name in ("buttons", "nothing"):
            problem = client.check(403, "POST", "/v1/studies", json=TABLE | {"name": name})
            texts.add(problem["detail"])
        assert len(texts) == 1
        client.check(201, "POST", "/v1/studies", json=TABLE | {"name": "shop-1"})
        assert client.check(200, "GET", "/v1/studies") == {"studies": ["shop-1"]}


def test_a_name_that_is_nearly_right_is_not_helped(storage):
    with make_client(storage, "admin", "b*") as client:
        Study.create(storage, "others", UCB1(), ["a"]).close()
        assert "button" not in client.get("/v1/studies/buttens").text.replace("buttens", "")
        assert "buttons" not in client.get("/v1/studies/buttens").text


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer kh_guess", "Basic YTpi", "bearer \u00e4", "kh_x"]
)
def test_what_is_no_key_is_none(storage, header):
    with make_client(storage) as client:
        answer = client.get("/v1/studies", headers={"Authorization": header.encode("latin-1")})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_the_database_has_no_key_that_could_be_used(storage):
    key, _ = add_key(storage, "ann", "decide")
    written = b"".join(path.read_bytes() for path in storage.parent.iterdir())
    assert key.encode() not in written
    assert key.removeprefix("kh_").encode() not in written


def wait_for_status(client, status):
    """Wait until the list of studies is answered so: keys are read once a second."""
    until = time.monotonic() + 60
    while client.get("/v1/studies").status_code != status:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_revoked_key_is_refused_and_a_new_one_seen_without_a_restart(storage):
    key, api_key = add_key(storage, "ann", "read")
    with Client(storage, key=key) as client:
        client.check(200, "GET", "/v1/studies")
        revoke_key(storage, api_key.id)
        wait_for_status(client, 401)
        # The last key is revoked, and this is no service without keys.
        client.http.headers.pop("Authorization")
        client.check(401, "GET", "/v1/studies")
        client.http.headers["Authorization"] = f"Bearer {add_key(storage, 'bob', 'read')[0]}"
        wait_for_status(client, 200)


def test_a_key_ends(storage):
    with Client(storage, key=add_key(storage, "ann", "read", lifetime=1e-3)[0]) as client:
        wait_for_status(client, 401)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Host": "evil.example:8000"},
        {"Host": "["},
    ],
)
def test_without_keys_a_page_of_another_site_is_not_answered(client, headers):
    client.check(401, "GET", "/v1/studies", headers=headers)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8000", "[::1]:8000", "[::1]"])
def test_without_keys_this_machine_is_answered(storage, host):
    with Client(storage, host=host) as client:
        client.check(200, "GET", "/v1/studies")
        client.check(200, "GET", "/v1/studies", headers={"Origin": f"http://{host}"})


def test_keys_are_kept_in_a_file_and_on_a_server(address):
    Study.create(address, "s", UCB1(), ["a"]).close()
    _, api_key = add_key(address, "ann", "admin", "s*", "2h")
    assert read_keys(address) == {api_key.digest: api_key}
    revoke_key(address, api_key.id)
    (revoked,) = read_keys(address).values()
    assert revoked.until < time.time() < api_key.until


def test_the_log_says_who_asked_and_never_the_key(storage, caplog):
    key, _ = add_key(storage, "ann", "read")
    with caplog.at_level("INFO"), Client(storage, key=key) as client:
        client.check(200, "GET", "/v1/studies", headers={"X-Request-Id": "page-7"})
    (record,) = [record for record in caplog.records if record.name == "keyhole.serve"]
    (answer,) = record.entries
    assert (answer["who"], answer["id"]) == ("ann", "page-7")
    assert key not in str(record.__dict__)
