"""The checks of the search of the built documentation see, in a browser, what a reader sees."""

import pytest

from tools import search_in_browser, site_in_browser

SEARCH = """<!doctype html><html lang="en"><title>Search</title><div id="search-results"></div>
<script>
const pages = {"a/b test": ["one", "two#part", "three", "four"], "some words": ["one"]};
const more = {
  "some words": '<p class="search-notice">Some words are missing.</p>',
  "help": '<ul class="search-help"><a href="a">a</a></ul>',
};
const Search = {
  performSearch(query) {
    const found = (pages[query] || [])
      .map(page => page.replace(/#|$/, ".html$&"))
      .map(link => `<li><a href="${link}">${link}</a></li>`);
    document.getElementById("search-results").innerHTML =
      `<ul class="search">${found.join("")}</ul>${more[query] || ""}`;
    Search.status = document.createElement("p");
    Search.status.innerText = "finished";
  },
};
Search.performSearch(new URLSearchParams(location.search).get("q"));
</script>"""


@pytest.fixture
def address(tmp_path):
    """Return the address of a site with a search."""
    (tmp_path / "search.html").write_text(SEARCH)
    with site_in_browser.serve(tmp_path) as address:
        yield address


@pytest.fixture
def page(browser):
    """Return an empty page of the browser."""
    with browser.new_context() as context:
        yield context.new_page()


def test_a_query_needs_one_of_its_pages_among_the_first_results(page, address):
    for query, wanted, found in [
        ("a/b test", "two", None),
        ("a/b test", "four", ["one", "two", "three"]),
        ("nothing", "one", []),
    ]:
        missed = list(search_in_browser.find_missed_queries(page, address, {query: [wanted]}))
        expected = [f"the search for {query!r} finds {found}, and none of ['{wanted}']"]
        assert missed == ([] if found is None else expected)


def test_a_name_must_be_the_first_result(page, address):
    names = {"a/b test": "one.html", "some words": "two.html", "nothing": "one.html"}
    assert list(search_in_browser.find_displaced_names(page, address, names)) == [
        "the search for 'some words' finds ['one.html'], and not first 'two.html'",
        "the search for 'nothing' finds [], and not first 'one.html'",
    ]


def test_pages_with_most_words_need_a_notice(page, address):
    queries = ["some words", "a/b test", "nothing"]
    assert list(search_in_browser.find_missing_notices(page, address, queries)) == [
        "the search for 'a/b test' finds ['one', 'two', 'three'], and does not say that words are "
        "missing",
        "the search for 'nothing' finds [], and does not say that words are missing",
    ]


def test_a_query_without_results_must_lead_to_other_pages(page, address):
    queries = ["help", "some words", "nothing"]
    assert list(search_in_browser.find_missing_help(page, address, queries)) == [
        "the search for 'some words' finds ['one'], and should find nothing",
        "the search for 'nothing' finds nothing, and leads to no other pages",
    ]
