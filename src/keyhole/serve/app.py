"""The service as an ASGI application, with its settings and its metrics."""

import asyncio
import logging
import os
import random
import re
import time
from collections.abc import Awaitable, Callable
from functools import cache, partial
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import Response
from starlette.routing import Router, compile_path
from starlette.types import Message, Receive, Scope, Send

from keyhole.serve import error_responses, web_pages
from keyhole.serve.api_keys import KeyCache
from keyhole.serve.open_studies import OpenStudies
from keyhole.serve.openapi import make_openapi
from keyhole.serve.routes import ROUTES, Request, Route
from keyhole.study import StoreError, UnknownStudyError

SETTINGS_VARIABLE: Final = "KEYHOLE_SERVE"
"""The environment variable that passes the settings to the processes of a service."""
_LOG: Final = logging.getLogger("keyhole.serve")
_REQUEST_ID: Final = re.compile(r"[\w.:/+=-]{1,100}", re.ASCII)
# A body that is too long is read up to this multiple of the largest allowed length.
_MAX_READ_FACTOR: Final = 64
# The upper bounds of the histogram's buckets, in seconds.
_BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_SECURITY_HEADERS: Final = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_HEADERS_BY_STATUS: Final = {
    401: {"WWW-Authenticate": "Bearer"},
    413: {"Connection": "close"},
    503: {"Retry-After": "1"},  # in seconds
}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a service, which are the same in all of its processes.

    Attributes
    ----------
    storage : str
        The database: a file, or ``postgresql://...``.
    needs_key : bool
        Whether requests need a key even while the database has none.
    policies : list of str
        Policies of the operator's own that studies may use, as ``FILE.py:CLASS``.
    max_open : int
        How many studies are open at once, in each process.
    max_body : int
        The largest length of a request's body, in bytes.
    """

    storage: str
    needs_key: bool = False
    policies: list[str] = []
    max_open: int = 100
    max_body: int = 1 << 20


class Metrics(CollectorRegistry):
    """The metrics of a process: of the requests that it answers, and of its open studies."""

    def __init__(self, studies: OpenStudies) -> None:
        super().__init__()
        self.asks = Counter("keyhole_asks", "Decisions, also repeated ones", registry=self)
        self.tells = Counter("keyhole_tells", "Feedback, also told again", registry=self)
        answers = Counter("keyhole_requests", "Answers", ["route", "status"], registry=self)
        seconds = Histogram(
            "keyhole_request_seconds", "Time to answer", ["route"], registry=self, buckets=_BOUNDS
        )
        # Cached, since finding a metric by its labels takes longer than counting.
        self.answers = cache(answers.labels)
        self.seconds = cache(seconds.labels)
        open_studies = Gauge("keyhole_open_studies", "Studies open now", registry=self)
        open_studies.set_function(lambda: len(studies.in_memory))
        pending = Gauge("keyhole_pending_decisions", "Pending in open studies", registry=self)
        pending.set_function(lambda: _sum_over_studies(studies, "pending_count"))
        expired = Gauge("keyhole_expired_decisions", "Expired in open studies", registry=self)
        expired.set_function(lambda: _sum_over_studies(studies, "expired_count"))


def _sum_over_studies(studies: OpenStudies, count_name: str) -> int:
    """Return the sum of a count over the open studies.

    Studies that were closed, deleted or replaced meanwhile are left out.
    """
    total = 0
    for study in studies.in_memory:
        try:
            total += getattr(study, count_name)
        except RuntimeError as error:
            if isinstance(error, StoreError) and error.later:  # the call may succeed later
                raise
    return total


class Service(Router):
    """A process of the service, with its open studies, keys and metrics.

    Starlette's router only starts and ends the service. Its routes and middleware are not used:
    they would take a sixth of the time of a request.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.keys = KeyCache(settings.storage, needs_key=settings.needs_key)
        self.studies = OpenStudies(settings.storage, settings.policies, settings.max_open)
        super().__init__(lifespan=lambda _app: self.studies)
        self.metrics = Metrics(self.studies)
        self.openapi = make_openapi(version("keyhole"))
        self._unlogged_answers: list[dict[str, object]] = []
        # Paths are matched before they are decoded, since a study's name may have an encoded slash.
        self._route_tables: dict[re.Pattern[str], dict[str, Route]] = {}
        for route in (*ROUTES, *web_pages.PAGE_ROUTES):
            pattern = compile_path(route.path)[0]
            self._route_tables.setdefault(pattern, {})[route.method] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as an ASGI application."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        started_at = time.perf_counter()
        headers = {
            name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
        }
        request_id = headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = f"{random.getrandbits(128):032x}"  # not secret
        request = Request(self, headers)
        try:
            response = await self._respond(request, scope, receive)
        except Exception as error:
            response = _make_error_response(error, request, request_id)
        # As bytes, since Starlette's mapping of headers takes a tenth of the time of a request.
        own_names = {name for name, _ in response.raw_headers}
        response.raw_headers += [item for item in _SECURITY_HEADERS if item[0] not in own_names]
        response.raw_headers.append((b"x-request-id", request_id.encode()))
        route_name = request.route.handler.__name__ if request.route else ""
        seconds = time.perf_counter() - started_at
        self.metrics.answers(route_name, response.status_code).inc()
        self.metrics.seconds(route_name).observe(seconds)
        if not self._unlogged_answers:
            asyncio.get_running_loop().call_soon(self._log_answers)
        self._unlogged_answers.append(
            {
                "id": request_id,
                "who": request.key.who,
                "route": route_name,
                "path": scope["path"],
                "status": response.status_code,
                "seconds": round(seconds, 6),
            }
        )
        await response(scope, receive, send)

    def _log_answers(self) -> None:
        """Log the answers of a turn of the event loop as one record.

        A record for each answer took a fifth of the time of a request.
        """
        answers = self._unlogged_answers
        self._unlogged_answers = []
        _LOG.info("answer", extra={"entries": answers})

    async def _respond(self, request: Request, scope: Scope, receive: Receive) -> Response:
        """Return the answer to a request; raise the error of a request that is refused or fails."""
        route = request.route = self._find_route(scope, request)
        headers = request.headers
        if route.required_right is not None:
            cookies = cookie_parser(headers.get("cookie", "")) if route.is_page else {}
            if key := cookies.get(web_pages.COOKIE):
                headers.setdefault("authorization", f"Bearer {key}")
            request.key = await self.keys.find(headers)
            if route.is_about_study and not request.key.can_see(request.path["study"]):
                raise UnknownStudyError  # as if there were no study of this name
            request.key.check_right(route.required_right)
        if route.body_type is not None:
            content = await _read_body(receive, self.settings.max_body)
            if route.is_page:
                web_pages.check_origin(headers)
                request.body = dict(parse_qsl(content.decode(), keep_blank_values=True))
            else:
                request.body = msgspec.json.decode(content or b"{}", type=route.body_type)
        if route.query_type is not None:
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
            request.query = msgspec.convert(query, route.query_type, strict=False)
        handle: Callable[..., Awaitable[object]] = partial(route.handler, request)
        # A study is not opened to delete it, since a damaged study may fail to open.
        if route.is_about_study and route.method != "DELETE":
            result = await self.studies.use(request.path["study"], handle)
        else:
            result = await handle()
        return _make_response(route, result)

    def _find_route(self, scope: Scope, request: Request) -> Route:
        """Return the route of a request, and set `request.path`."""
        raw_path = scope["raw_path"].decode("latin-1")
        for pattern, route_by_method in self._route_tables.items():
            if match := pattern.fullmatch(raw_path):
                request.path = {name: unquote(text) for name, text in match.groupdict().items()}
                method = scope["method"].replace("HEAD", "GET")
                if method not in route_by_method:
                    raise error_responses.WrongMethodError(", ".join(route_by_method))
                return route_by_method[method]
        raise error_responses.UnknownRouteError("see /v1/openapi.json")


def _make_error_response(error: Exception, request: Request, request_id: str) -> Response:
    """Return the answer to a request that was refused or failed; log what is not its own fault."""
    document = error_responses.make_document(error, request_id)
    if document.status >= 500:
        _LOG.error(document.title, exc_info=error, extra={"entries": [{"id": request_id}]})
    if request.route and request.route.is_page:
        return web_pages.make_problem_page(document)
    content = msgspec.json.encode(document)
    # The detail of a 405 is the list of methods that the path has.
    headers = (_HEADERS_BY_STATUS | {405: {"Allow": document.detail}}).get(document.status)
    return Response(content, document.status, headers, "application/problem+json")


async def _read_body(receive: Receive, max_size: int) -> bytearray:
    """Return the body of a request; refuse a body that is too long."""
    body = bytearray()
    size = 0
    message: Message = {"more_body": True}
    # A body that is too long is read on, but not kept: most clients send the whole body before they
    # read the answer.
    while message.get("more_body") and size <= _MAX_READ_FACTOR * max_size:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= max_size:
            body += chunk
    if size > max_size:
        raise error_responses.LargeBodyError(f"it must have at most {max_size:,} bytes")
    return body


def _make_response(route: Route, result: object) -> Response:
    """Return the answer with the result of a handler."""
    if isinstance(result, Response):
        return result
    if result is None:
        return Response(status_code=route.status)
    content = msgspec.json.encode(result, enc_hook=_plain_value)
    return Response(content, route.status, media_type=route.media_type)


def _plain_value(value: Any) -> object:
    """Return a number of NumPy as a Python number, and a mapping as a dict."""
    return value.item() if hasattr(value, "item") else dict(value)


def make_app(settings: Settings | None = None) -> Service:
    """Return the application.

    Parameters
    ----------
    settings : Settings, optional
        The settings; by default those in the environment variable `KEYHOLE_SERVE`.

    Examples
    --------
    >>> import asyncio
    >>> import tempfile
    >>> import httpx
    >>> from keyhole.serve import Settings, make_app
    >>> from keyhole.stochastic import UCB1
    >>> from keyhole.study import Study
    >>> async def ask(storage):
    ...     transport = httpx.ASGITransport(make_app(Settings(storage=storage)))
    ...     async with httpx.AsyncClient(transport=transport) as client:
    ...         answer = await client.post("http://localhost/v1/studies/buttons/decisions")
    ...     return answer.json()["arm"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = f"{folder}/shop.db"
    ...     Study.create(storage, "buttons", UCB1(), ["red", "blue"]).close()
    ...     asyncio.run(ask(storage))
    'red'
    """
    return Service(settings or msgspec.json.decode(os.environ[SETTINGS_VARIABLE], type=Settings))
