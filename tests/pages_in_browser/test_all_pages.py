"""What holds for a page of every kind, in a real browser."""

from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from tests.pages_in_browser.example_pages import (
    OPEN,
    PHONE,
    WIDE,
    each_kind,
    each_width,
    measure,
)

PIXELS_TO_PICTURE = {WIDE: 500, PHONE: 700}
WORDS = 120
WORDS_OF_INDEX = 3000
BYTES = 500_000


@each_width
@each_kind
def test_the_first_screen_has_a_picture_and_few_words(kind, width, pages, open_page):
    measured = measure(open_page(pages[kind], width=width))
    assert measured["firstPicture"], "there is no picture"
    assert measured["firstPicture"]["top"] <= PIXELS_TO_PICTURE[width], measured["firstPicture"]
    words = measured["words"]
    # The index of three entries is so short that what follows its bars is on the first screen too.
    assert kind == "index" or len(words) <= WORDS, f"{len(words)} words: {' '.join(words)}"


def test_the_index_has_few_words_since_claims_are_on_pages_of_their_own(pages, open_page):
    assert measure(open_page(pages["index"]))["allWords"] <= WORDS_OF_INDEX


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


@pytest.mark.parametrize(
    # Either scheme and either width: no rule is about both.
    ("scheme", "width"),
    [("light", PHONE), ("dark", WIDE)],
)
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


@each_kind
def test_without_a_script_the_answer_and_the_picture_are_there(kind, pages, open_page):
    page = open_page(pages[kind], java_script_enabled=False)
    assert page.locator(".answer").first.is_visible()
    picture = measure(page)["firstPicture"]
    assert picture, "there is no picture"
    assert picture["top"] <= PIXELS_TO_PICTURE[WIDE], picture
    page.locator("summary >> visible=true").first.click()
    assert page.locator("details[open]").count() >= 1


@each_kind
def test_print_has_the_answer_the_picture_and_folded_parts(kind, pages, open_page):
    page = open_page(pages[kind], java_script_enabled=False)
    page.emulate_media(media="print")
    assert page.locator(".answer").first.is_visible()
    assert page.locator("figure").first.is_visible()
    for section in page.locator("details.section").all():
        heading = section.locator("h2").inner_text()
        shown = section.evaluate(
            "part => [...part.children].slice(1).some(one => one.getClientRects().length)"
        )
        assert shown, f"{heading!r} is not printed"
