"""Pages for a browser: the list of studies, a study, and forms that change it."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.responses import HTMLResponse, RedirectResponse, Response

from keyhole.pages.page import Answer, Page, PageBlock, Section, Text, page_html
from keyhole.serve.bodies import JsonObject, PageQuery
from keyhole.serve.open_studies import OpenStudy
from keyhole.serve.problem_documents import MissingRightError, ProblemDocument
from keyhole.serve.routes import Request, Route, create_study, list_names

COOKIE: Final = "keyhole_key"
"""The name of the cookie with the key of a browser."""
_SCRIPT_ELEMENT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """Block of a page that a template of the service renders.

    Attributes
    ----------
    name : str
        The name of the template.
    value : object
        The value that the template shows, described at its top; None if the template shows none.
    """

    name: str
    value: object = None

    @property
    def template(self) -> str:
        """The path of the template."""
        return f"serve/templates/{self.name}.html.j2"


def check_origin(headers: Mapping[str, str]) -> None:
    """Refuse a form that comes from a page of another site."""
    origin = headers.get("origin")
    if origin is None or urlsplit(origin).netloc != headers.get("host"):
        raise MissingRightError("a form must be sent from a page of this service")


def _make_response(page: Page, status: int = 200) -> Response:
    """Return the answer with a page, on which browsers run no scripts but Keyhole's."""
    policy = (
        f"default-src 'none'; script-src {_script_hashes()}; style-src 'unsafe-inline'; "
        "img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    # With "no-referrer", as on other answers, browsers leave out the origin of a form, which
    # `check_origin` needs.
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"}
    return HTMLResponse(page_html(page), status, headers)


@cache
def _script_hashes() -> str:
    """Return the hashes of the scripts of all pages, by which browsers know these scripts."""
    # A page without texts of users has no scripts of theirs.
    html = page_html(Page(title="Keyhole", answer=[Block("navigation", 0)]))
    digests = [sha256(script.encode()).digest() for script in _SCRIPT_ELEMENT.findall(html)]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def make_problem_page(document: ProblemDocument) -> Response:
    """Return the page of a problem, with the form to log in if a key is needed."""
    blocks: list[PageBlock] = [Answer(document.title)]
    if document.status == 401:
        blocks.append(Block("log_in"))
    else:
        blocks += [Text(document.detail), Block("navigation")]
    return _make_response(Page(title="Keyhole", answer=blocks), document.status)


def _page_path(name: str) -> str:
    """Return the path of the page of a study."""
    return f"/studies/{quote(name, safe='')}"


async def list_page(request: Request) -> Response:
    """Show the studies that the API key may see."""
    rows = [(name, _page_path(name)) for name in (await list_names(request))["studies"]]
    blocks: list[PageBlock] = [Block("studies", rows)]
    if f"{COOKIE}=" in request.headers.get("cookie", ""):
        blocks.append(Block("log_out"))
    sections = []
    if request.key.has_right("admin"):
        sections.append(Section("create", "Create a study", [Block("create_study")]))
    return _make_response(Page(title="Studies", answer=blocks, sections=sections))


async def study_page(request: Request, study: OpenStudy) -> Response:
    """Show a study; answer 204 if the browser already shows its last event."""
    # Browsers ask every few seconds, and mostly there are no new events.
    seq = await study.event_count
    if request.query.seq == seq:
        return Response(status_code=204)
    page = await study.make_page()
    sections = list(page.sections)
    if request.key.has_right("admin"):
        forms = Block("change_arms", _page_path(request.path["study"]))
        sections.append(Section("arms", "Add or retire arms", [forms]))
    blocks = [Block("navigation", seq), *page.answer]
    return _make_response(replace(page, answer=blocks, sections=sections))


async def log_in(request: Request) -> Response:
    """Put a key into a cookie of the browser, which sends it to this service only."""
    key = request.body.get("key", "").strip()
    await request.service.keys.find({"authorization": f"Bearer {key}"})
    response = RedirectResponse("/", 303)
    # Behind a proxy that ends TLS, only the browser's origin shows that it uses HTTPS.
    is_secure = request.headers.get("origin", "").startswith("https:")
    response.set_cookie(COOKIE, key, httponly=True, samesite="strict", secure=is_secure)
    return response


async def log_out(_request: Request) -> Response:
    """Delete the cookie with the key."""
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE)
    return response


async def create_by_form(request: Request) -> Response:
    """Create a study that a form describes."""
    fields = request.body
    table: JsonObject = {name: fields.get(name, "") for name in ("name", "setting", "policy")}
    table["arms"] = _split_lines(fields.get("arms", ""))
    table["facts"] = dict(map(_parse_fact, _split_lines(fields.get("facts", ""))))
    if timeout := fields.get("timeout", "").strip():
        table["timeout"] = timeout
    request.body = table
    await create_study(request)
    return RedirectResponse(_page_path(table["name"]), 303)


async def add_arms_by_form(request: Request, study: OpenStudy) -> Response:
    """Add the arms of a form."""
    await study.add_arms(_split_lines(request.body.get("arms", "")))
    return RedirectResponse(_page_path(request.path["study"]), 303)


async def retire_by_form(request: Request, study: OpenStudy) -> Response:
    """Retire the arm of a form."""
    await study.retire(request.body.get("arm", "").strip())
    return RedirectResponse(_page_path(request.path["study"]), 303)


def _split_lines(text: str) -> list[str]:
    """Return the lines of a field that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _parse_fact(line: str) -> tuple[str, object]:
    """Return name and value of a line ``name=value``; a value that is not JSON is text."""
    name, _, text = line.partition("=")
    try:
        return name.strip(), json.loads(text)
    except (ValueError, RecursionError):
        return name.strip(), text.strip()


# A route whose handler reads a form, and sends the browser to a page.
_make_form_route: Final = partial(Route, "POST", body_type=JsonObject, is_page=True)
_PAGE: Final = "/studies/{study}"
PAGE_ROUTES: Final = (
    Route("GET", "/", "read", list_page, is_page=True),
    Route("GET", _PAGE, "read", study_page, query_type=PageQuery, is_page=True),
    _make_form_route("/login", None, log_in),
    _make_form_route("/logout", None, log_out),
    _make_form_route("/studies", "admin", create_by_form),
    _make_form_route(f"{_PAGE}/arms", "admin", add_arms_by_form),
    _make_form_route(f"{_PAGE}/retire", "admin", retire_by_form),
)
