"""Checks of the search of a built site in a browser: what it finds, and what it says."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUERIES: Final = Path(__file__).with_name("search_queries.toml")
FIRST: Final = 3  # results among which a page must be
# JavaScript that searches on a search page, without loading it anew, which takes longer.
_SEARCH: Final = """query => {
  document.getElementById("search-results").replaceChildren();
  Search.performSearch(query);
}"""
# JavaScript that says whether all results, or the last words, are there.
_SHOWN: Final = "() => typeof Search !== 'undefined' && Search.status && Search.status.innerText"
# JavaScript that leaves out the summaries below results, for which their pages are fetched.
_NO_SUMMARIES: Final = "window.fetch = () => new Promise(() => {})"


def load_queries() -> dict[str, Any]:
    """Return what people search for, by what is expected of the search: tables of the file."""
    return tomllib.loads(QUERIES.read_text())


def find_faults(browser: "Browser", address: str) -> Iterator[str]:
    """Yield a line for each query whose results are not as expected."""
    queries = load_queries()
    with browser.new_context() as context:
        page = context.new_page()
        page.add_init_script(_NO_SUMMARIES)
        yield from find_missed_queries(page, address, queries["pages"])
        yield from find_displaced_names(page, address, queries["names"])
        yield from find_wrong_corrections(page, address, queries["corrected"])
        yield from find_needless_corrections(page, address, queries["kept"]["queries"])
        yield from find_missing_notices(page, address, queries["most_words"]["queries"])
        yield from find_missing_help(page, address, queries["no_results"]["queries"])


def find_missed_queries(page: "Page", address: str, queries: dict[str, list[str]]) -> Iterator[str]:
    """Yield a line for each query that has none of its pages among the first results."""
    for query, wanted in queries.items():
        found = search(page, address, query)
        if not set(found) & set(wanted):
            yield f"the search for {query!r} finds {found}, and none of {wanted}"


def find_displaced_names(page: "Page", address: str, names: dict[str, str]) -> Iterator[str]:
    """Yield a line for each name of an object that is not the first result of its search."""
    for name, wanted in names.items():
        search(page, address, name)
        titles = page.eval_on_selector_all(
            "ul.search > li > a", "links => links.map(link => link.textContent)"
        )
        if titles[:1] != [wanted]:
            yield f"the search for {name!r} finds {titles[:FIRST]}, and not first {wanted!r}"


def find_wrong_corrections(page: "Page", address: str, queries: dict[str, str]) -> Iterator[str]:
    """Yield a line for each misspelt query that is not replaced by the words that were meant."""
    for query, wanted in queries.items():
        found = search(page, address, query)
        shown = page.query_selector(".search-correction")
        said = shown.inner_text() if shown else ""
        if not found or not said.endswith(f" Showing results for \u201c{wanted}\u201d."):
            yield f"the search for {query!r} finds {found}, and says {said!r}, not {wanted!r}"


def find_needless_corrections(page: "Page", address: str, queries: list[str]) -> Iterator[str]:
    """Yield a line for each query of which a word is replaced, and should not be."""
    for query in queries:
        search(page, address, query)
        if shown := page.query_selector(".search-correction"):
            yield f"the search for {query!r} says {shown.inner_text()!r}"


def find_missing_notices(page: "Page", address: str, queries: list[str]) -> Iterator[str]:
    """Yield a line for each query whose results lack the notice that they have most words only."""
    for query in queries:
        found = search(page, address, query)
        if not found or page.query_selector(".search-notice") is None:
            yield f"the search for {query!r} finds {found}, and does not say that words are missing"


def find_missing_help(page: "Page", address: str, queries: list[str]) -> Iterator[str]:
    """Yield a line for each query without results that leads to no other pages."""
    for query in queries:
        found = search(page, address, query)
        if found:
            yield f"the search for {query!r} finds {found}, and should find nothing"
        elif not page.query_selector_all(".search-help a"):
            yield f"the search for {query!r} finds nothing, and leads to no other pages"


def search(page: "Page", address: str, query: str) -> list[str]:
    """Return the pages of the first results of a query, as the site shows them."""
    if page.url.startswith(f"{address}search.html?q="):
        page.evaluate(_SEARCH, query)
    else:
        page.goto(f"{address}search.html?q={quote(query, safe='')}", wait_until="domcontentloaded")
    page.wait_for_function(_SHOWN)
    links = page.eval_on_selector_all("ul.search > li > a", "links => links.map(link => link.href)")
    return [urlsplit(link).path.lstrip("/").removesuffix(".html") for link in links[:FIRST]]
