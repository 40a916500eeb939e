"""Pages for a browser: the list of studies, and a study."""

import asyncio
import base64
import re
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from keyhole.pages.page import Answer, Page, PageBlock, Text, page_html
from keyhole.serve.problems import ProblemDocument
from keyhole.study import list_studies

if TYPE_CHECKING:
    from keyhole.serve.routes import Request

_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_ASK_FOR_KEY: Final = 'Basic realm="Keyhole: the key is the password"'


@dataclass(frozen=True)
class Navigation:
    """Block with a link to the list of studies, and the script that keeps a page up to date.

    Attributes
    ----------
    seq : int
        The number of the last event that the page shows; -1 for a page without the script.
    """

    seq: int
    template: ClassVar[str] = "serve/templates/navigation.html.j2"


@dataclass(frozen=True)
class StudyList:
    """Block with the names of studies, each with the address of its page."""

    rows: tuple[tuple[str, str], ...]
    template: ClassVar[str] = "serve/templates/studies.html.j2"


def _make_response(page: Page, status: int = 200) -> Response:
    """Return the answer with a page; browsers run the scripts of Keyhole alone."""
    policy = (
        f"default-src 'none'; script-src {_script_hashes()}; style-src 'unsafe-inline'; "
        "img-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(page_html(page), status, {"Content-Security-Policy": policy})


@cache
def _script_hashes() -> str:
    """Return the hashes of the scripts of all pages, from a page without texts of users."""
    html = page_html(Page(title="Keyhole", answer=[Navigation(0)]))
    digests = [sha256(script.encode()).digest() for script in _SCRIPT.findall(html)]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def make_problem_page(document: ProblemDocument) -> Response:
    """Return the page of a problem; if a key is needed, it makes the browser ask for one."""
    blocks: list[PageBlock] = [Answer(document.title), Text(document.detail), Navigation(-1)]
    response = _make_response(Page(title="Keyhole", answer=blocks), document.status)
    if document.status == 401:
        response.headers["WWW-Authenticate"] = _ASK_FOR_KEY
    return response


async def visible_names(request: "Request") -> list[str]:
    """Return the names of the studies that the key sees, oldest first."""
    names = await asyncio.to_thread(list_studies, request.service.settings.storage)
    return [name for name in names if request.key.sees(name)]


async def list_page(request: "Request") -> Response:
    """Show the studies that the key sees."""
    names = await visible_names(request)
    rows = tuple((name, f"/studies/{quote(name, safe='')}") for name in names)
    return _make_response(Page(title="Studies", answer=[StudyList(rows)]))


async def study_page(request: "Request") -> Response:
    """Show a study; send no content if the browser has its page up to date."""
    page, seq = await asyncio.to_thread(request.entry.read_page, request.study.study)
    if request.query.seq == seq:
        return Response(status_code=204)
    return _make_response(replace(page, answer=[Navigation(seq), *page.answer]))
