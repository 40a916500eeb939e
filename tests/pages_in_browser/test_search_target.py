"""A result of the search leads to the paragraph with the most words of the query."""

from pathlib import Path

import pytest

# A browser takes 5 CPU seconds for them, and only the documentation's own pages depend on them.
SCRIPT = Path(__file__).parents[2] / "docs" / "_static" / "search_target.js"
GAP = '<div style="height: 3000px"></div>'
PAGE = f"""<!doctype html><html lang="en"><title>Guide</title><article>
<section id="guide"><h1>Guide of studies</h1><p>How a study begins.</p>{GAP}
<section id="timeouts"><h2>Timeouts</h2><p>A study waits.</p>
<p id="all">It expires late.</p></section>
{GAP}<details class="folded"><p>The secret answer.</p></details>
<details class="claims folded"><p id="claim">A claim holds.</p></details>{GAP}
<section id="table"><h2>Table</h2>
<table><tr id="row"><td><p>cost</p></td><td>limit</td></tr></table>
</section></section></article><script src="{SCRIPT.as_uri()}" defer></script>"""


@pytest.fixture
def follow(open_page, tmp_path):
    """Return a function that opens the page from the search for some words."""
    path = tmp_path / "guide.html"
    path.write_text(PAGE)
    page = open_page(path)

    def follow_result(words, anchor=""):
        page.goto("about:blank")
        page.goto(f"{path.as_uri()}?highlight={words.replace(' ', '%20')}{anchor}")
        # Timers of a page end in order: that of the script is over then.
        page.evaluate("() => new Promise((end) => setTimeout(end, 150))")
        found = page.query_selector(".found")
        return page, found and found.get_attribute("id")

    return follow_result


@pytest.mark.parametrize(
    ("words", "wanted", "section"),
    [
        ("timeout expir", "all", "#timeouts"),  # a word is in the heading
        ("limit cost", "row", "#table"),
        ("claim", "claim", ""),
    ],
)
def test_the_paragraph_with_most_words_is_on_the_screen(follow, words, wanted, section):
    page, found = follow(words)
    assert found == wanted
    top, height = page.evaluate(
        "[document.querySelector('.found').getBoundingClientRect().top, innerHeight]"
    )
    assert 0 < top < height
    assert page.evaluate("location.hash") == section


@pytest.mark.parametrize(
    ("words", "anchor"),
    [
        ("studi guid", ""),  # the title has them, one with a y
        ("secret", ""),  # in a solution that is folded
        ("nothing", ""),
        ("limit", "#timeouts"),  # the result has a place of its own
    ],
)
def test_the_page_stays_where_there_is_no_better_place(follow, words, anchor):
    page, found = follow(words, anchor)
    assert found is None
    assert anchor or page.evaluate("scrollY") == 0
