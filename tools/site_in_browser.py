"""Checks of a built site in a browser: search, folds, long names, and what axe-core says."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from tools import names_in_browser, search_in_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EXAMINED: Final = (
    "index.html", "which_setting.html", "threshold.html", "_tutorials/1_*.html",
    "_gallery/stochastic/index.html", "_gallery/stochastic/regret_by_round.html",
    "reference/confidence_sequences.html", "papers.html", "search.html?q=timeout", "search.html?q=",
)  # fmt: skip
VIEWS: Final = (("light", 390), ("dark", 1300))
"""Colour schemes with widths in pixels: each of either once."""
OTHER_VIEWS: Final = (("light", 1300), ("dark", 390))
"""Those of the first page besides, for what all pages have around their text."""
CLAIMS: Final = "details.claims"
SERIOUS: Final = ("serious", "critical")


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *details: Any) -> None:
        """Keep requests out of the output."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file, unless the browser has gone to another page."""
        try:
            super().copyfile(source, outputfile)
        except ConnectionError:
            self.close_connection = True


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine, and give the address."""
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def find_faults(browser: "Browser", folder: Path) -> Iterator[str]:
    """Yield a line for each fault of the search, of the claims, of names, and of pages."""
    with serve(folder) as address:
        yield from search_in_browser.find_faults(browser, address)
        yield from find_closed_claims(browser, address)
        yield from names_in_browser.find_faults(browser, address, folder)
        for pattern in EXAMINED:
            views = (*VIEWS, *OTHER_VIEWS) if pattern == EXAMINED[0] else VIEWS
            yield from find_page_faults(browser, address, find_page(folder, pattern), views)


def find_closed_claims(browser: "Browser", address: str) -> Iterator[str]:
    """Yield a line for each way to the claims of an entry that leaves them folded."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{address}papers.html", wait_until="load")
        entry = page.eval_on_selector_all(CLAIMS, "folds => folds.at(-1).id")
        if page.query_selector(f"{CLAIMS}[open]"):
            yield "papers.html: claims are open at first"
        page.goto(f"{address}papers.html#{entry}", wait_until="load")
        if not page.query_selector(f"#{entry}[open]"):
            yield f"papers.html: a link to {entry} leaves its claims folded"
        page.reload(wait_until="load")
        page.get_by_role("button", name="Open all claims").click()
        if page.query_selector(f"{CLAIMS}:not([open])"):
            yield "papers.html: the button leaves claims folded"


def find_page(folder: Path, pattern: str) -> str:
    """Return the first page with a name like the pattern, with the pattern's query."""
    name, question, query = pattern.partition("?")
    found = sorted(path.relative_to(folder).as_posix() for path in folder.glob(name))
    if not found:
        raise FileNotFoundError(f"there is no page like {name} in {folder}")
    return found[0] + question + query


def find_page_faults(
    browser: "Browser", address: str, name: str, views: Iterable[tuple[str, int]] = VIEWS
) -> Iterator[str]:
    """Yield a line for each serious violation of axe-core, and for each request to a network."""
    for scheme, width in views:
        with browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        ) as context:
            page = context.new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(address + name, wait_until="networkidle")
            where = f"{name}, {scheme}, {width} pixels"
            for url in asked:
                if not url.startswith((address, "data:", "blob:")):
                    yield f"{where}: fetches {url} from a network"
            for violation in find_violations(page):
                yield f"{where}: {violation}"


def find_violations(page: "Page") -> list[str]:
    """Return the serious violations that axe-core finds, as one line for each rule."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}; {len(one['nodes'])} times, "
        f"first {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in SERIOUS
    ]
