"""The service as an ASGI application: it checks requests, runs their routes and answers."""

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.metadata import version
from secrets import token_hex
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from keyhole.serve.api_keys import NOBODY, ApiKey, KeyCache
from keyhole.serve.metrics import Metrics
from keyhole.serve.open_studies import OpenStudies, OpenStudy
from keyhole.serve.openapi import make_openapi
from keyhole.serve.problems import (
    RETRY_SECONDS,
    LargeBodyError,
    SlowBodyError,
    UnknownRouteError,
    WrongMethodError,
    make_document,
)
from keyhole.serve.routes import ROUTES, Arguments, Route
from keyhole.serve.settings import VARIABLE, Settings
from keyhole.serve.web_pages import COOKIE, check_origin, make_problem_page
from keyhole.study import UnknownStudyError

_LOG: Final = logging.getLogger("keyhole.serve")
_REQUEST_ID: Final = re.compile(r"[\w.:/+=-]{1,100}", re.ASCII)
# As ASGI has them: to add them so takes a tenth of the time of `Response.headers`.
_SECURITY_HEADERS: Final = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
_HEADERS_BY_STATUS: Final = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    413: {"Connection": "close"},
    503: {"Retry-After": str(RETRY_SECONDS)},
}


class Service:
    """What a process of the service keeps: its open studies, keys and metrics."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.keys = KeyCache(settings)
        self.studies = OpenStudies(settings)
        self.metrics = Metrics()
        self.openapi = make_openapi(version("keyhole"))

    @asynccontextmanager
    async def run(self, _app: Starlette) -> AsyncIterator[None]:
        """Close all studies when the process ends, after its last answer."""
        yield
        await self.studies.close()


class _Endpoint:
    """A route as an ASGI application."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service = service
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        answer = _Answer(self._service, self._route.name, request)
        try:
            response = await self._respond(request, answer)
        except Exception as error:
            response = answer.refuse(error, is_page=self._route.is_page)
        answer.finish(response)
        await response(scope, receive, send)

    async def _respond(self, request: Request, answer: "_Answer") -> Response:
        """Return the answer to a request that is as it should be."""
        route = self._route
        service = self._service
        api_key = NOBODY
        if route.right is not None:
            api_key = await service.keys.find(_key_headers(request, route))
            answer.who = api_key.who
            _check_right(api_key, route, request.path_params)
        body: object = None
        if route.request is not None:
            content = await _read_body(request, service.settings)
            if route.is_page:
                check_origin(request.headers)
                body = dict(parse_qsl(content.decode(), keep_blank_values=True))
            else:
                body = msgspec.json.decode(content or b"{}", type=route.request)
        query: object = None
        if route.query is not None:
            query = msgspec.convert(dict(request.query_params), route.query, strict=False)
        study_entry: AbstractAsyncContextManager[OpenStudy | None] = nullcontext()
        if route.needs_study_open:
            study_entry = service.studies.use(request.path_params["study"])
        async with study_entry as entry:
            idempotency_key = request.headers.get("idempotency-key")
            # Behind a proxy that does TLS, only the browser knows that it asks by HTTPS.
            is_secure = request.headers.get("origin", "").startswith("https:")
            path = request.path_params
            arguments = Arguments(
                service, api_key, path, body, query, idempotency_key, entry, is_secure
            )
            return _make_response(route, await route.handler(arguments))


class _Answer:
    """What headers and logs say of a request."""

    def __init__(self, service: Service, route_name: str, request: Request) -> None:
        self._service = service
        self._route_name = route_name
        self._path = request.scope["path"]
        self._started_at = time.perf_counter()
        request_id = request.headers.get("x-request-id", "")
        self._id = request_id if _REQUEST_ID.fullmatch(request_id) else token_hex(16)
        self.who = ""

    def refuse(self, error: Exception, *, is_page: bool = False) -> Response:
        """Return the answer to a request that failed."""
        document = make_document(error, self._id)
        if document.status >= 500:
            _LOG.error(document.title, exc_info=error, extra={"fields": {"id": self._id}})
        if is_page:
            return make_problem_page(document)
        content = msgspec.json.encode(document)
        headers = _HEADERS_BY_STATUS.get(document.status)
        return Response(content, document.status, headers, "application/problem+json")

    def finish(self, response: Response) -> None:
        """Add the headers that all answers have; log and count the answer."""
        # As bytes: Starlette's mapping takes a tenth of the time of a request.
        own_names = dict(response.raw_headers)
        headers = [header for header in _SECURITY_HEADERS if header[0] not in own_names]
        response.raw_headers += [*headers, (b"x-request-id", self._id.encode())]
        seconds = time.perf_counter() - self._started_at
        self._service.metrics.observe(self._route_name, response.status_code, seconds)
        fields = {
            "id": self._id,
            "who": self.who,
            "route": self._route_name,
            "path": self._path,
            "status": response.status_code,
            "seconds": round(seconds, 6),
        }
        _LOG.info("answer", extra={"fields": fields})


def _key_headers(request: Request, route: Route) -> Mapping[str, str]:
    """Return the headers that say who asks; of a page the key may be a cookie."""
    key = request.cookies.get(COOKIE)
    if not route.is_page or key is None:
        return request.headers
    return {"authorization": f"Bearer {key}"} | dict(request.headers)


def _check_right(api_key: ApiKey, route: Route, path: dict[str, str]) -> None:
    """Refuse what a key may not do; studies that it does not see are unknown to it."""
    if route.is_about_study and not api_key.sees(path["study"]):
        raise UnknownStudyError
    assert route.right is not None
    api_key.check_right(route.right)


async def _read_body(request: Request, settings: Settings) -> bytes:
    """Return the body; refuse one that is too long or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > settings.max_body:
                    raise LargeBodyError(f"it may have {settings.max_body:,} bytes")
    except TimeoutError:
        raise SlowBodyError(f"it may take {settings.body_seconds:g} seconds") from None
    return bytes(body)


def _make_response(route: Route, result: object) -> Response:
    """Return the answer with what a route returned."""
    if isinstance(result, Response):
        return result
    if result is None:
        return Response(status_code=route.status)
    content = msgspec.json.encode(result, enc_hook=_plain_value)
    return Response(content, route.status, media_type=route.media_type)


def _plain_value(value: Any) -> object:
    """Return a number of NumPy as one of Python, and a mapping as a dict."""
    return value.item() if hasattr(value, "item") else dict(value)


def make_app(settings: Settings | None = None) -> Starlette:
    """Return the application.

    Parameters
    ----------
    settings : Settings, optional
        By default those that `keyhole serve` hands to its processes.

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
    if settings is None:
        settings = msgspec.json.decode(os.environ[VARIABLE], type=Settings)
    service = Service(settings)

    async def refuse(request: Request, error: Exception) -> Response:
        # Starlette's own errors: no such path, and no such method.
        answer = _Answer(service, "", request)
        is_unknown = isinstance(error, HTTPException) and error.status_code == 404
        wrong = UnknownRouteError if is_unknown else WrongMethodError
        response = answer.refuse(wrong("see /v1/openapi.json"))
        answer.finish(response)
        return response

    routes = [StarletteRoute(r.path, _Endpoint(service, r), methods=[r.method]) for r in ROUTES]
    return Starlette(
        routes=routes, exception_handlers={HTTPException: refuse}, lifespan=service.run
    )
