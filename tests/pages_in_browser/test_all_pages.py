"""What holds for a page of every kind, in a real browser."""

from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tests.pages_in_browser.example_pages import OPEN, each_kind, each_width, measure

pytestmark = pytest.mark.interpreted

BYTES = 500_000


@each_width
@each_kind
def test_nothing_is_cut_off_or_wider_than_the_screen(kind, width, pages, open_page):
    page = open_page(pages[kind], width=width)
    for action in (None, OPEN):
        if action:
            page.evaluate(action)
        measured = measure(page)
        assert measured["overflow"] <= 0, measured["wider"]
        assert measured["cut"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@each_width
@each_kind
def test_axe_finds_nothing(kind, width, scheme, pages, open_page):
    page = open_page(pages[kind], width=width, color_scheme=scheme)
    page.evaluate(OPEN)
    assert violations(page) == []


def violations(page):
    """Return what axe-core finds, as one line for each rule."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}; {len(one['nodes'])} times, "
        f"first {one['nodes'][0]['html'][:200]}: {one['nodes'][0]['failureSummary']}"
        for one in found
    ]


@each_kind
def test_a_page_is_one_small_file_without_faults(kind, pages, open_page):
    path = pages[kind]
    assert path.stat().st_size <= BYTES
    page = open_page(path)
    page.evaluate(OPEN)
    page.wait_for_load_state("networkidle")
    assert page.faults == []
    asked = {Path(unquote(urlparse(url).path)) for url in page.requests if url[:5] != "data:"}
    if kind == "index":  # its small pictures are files of the entries
        asked = {one for one in asked if not one.is_relative_to(path.parent / "entries")}
    assert asked == {path}


@each_kind
def test_a_link_to_a_folded_part_opens_it(kind, pages, open_page):
    path = pages[kind]
    ids = open_page(path).evaluate("[...document.querySelectorAll('.section h2')].map(h => h.id)")
    assert ids
    page = open_page(path, fragment=f"#{ids[-1]}")
    assert page.locator(f"details:has(> summary [id='{ids[-1]}'])").get_attribute("open") == ""
