"""The search page finds more than Sphinx's own search: Sphinx's script with a small index."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = (DOCS / "search_scorer.js", DOCS / "_static" / "search_page.js")
TITLES = ["Timeouts", "Studies", "Reference of keyhole", "Plots", "Many plots", "Delays"]
INDEX = {
    "docnames": ["timeouts", "studies", "reference", "plots", "many", "delays"],
    "filenames": [f"{number}.md" for number in range(6)],
    "titles": TITLES,
    "alltitles": {title: [[number, None]] for number, title in enumerate(TITLES)},
    "indexentries": {
        "when to stop": [[1, "index-0", True]],
        "peeks": [[5, "index-1", True]],
        "conversions": [[1, "index-2", True]],
        "timeouts": [[0, "index-3", True]],
    },
    "objects": {
        "keyhole": [
            [2, 0, 1, "", "simulate"],
            [2, 1, 1, "", "Problem"],
            [2, 2, 1, "", "curves.plot"],
            [2, 3, 0, "", "delays"],
            [2, 1, 1, "", "HazardUCB"],
        ],
        "keyhole.delayed": [[2, 1, 1, "", "Problem"]],
    },
    "objnames": {
        "0": ["py", "function", "Python function"],
        "1": ["py", "class", "Python class"],
        "2": ["py", "method", "Python method"],
        "3": ["py", "module", "Python module"],
    },
    "terms": {
        "stop": [0, 1], "run": [0, 1, 3], "hang": [0], "simulate": [0, 1, 3],
        "budget": [1, 3, 4], "label": [1, 3, 4, 5], "plot": [3, 4], "zebra": [5],
        "convert": [0, 3],
    },
    "titleterms": {"timeout": [0], "studi": [1], "refer": [2], "plot": [3, 4], "delay": [5]},
}  # fmt: skip
PAGE = """<!doctype html><html lang="en" data-content_root="./"><title>Search</title>
<main role="main"><h1>Search</h1><div id="search-results"></div></main><script>
const SPHINX_HIGHLIGHT_ENABLED = false, stopwords = new Set(["how", "do", "i", "a", "that", "to"]);
const _ = text => text, DOCUMENTATION_OPTIONS = {LINK_SUFFIX: ".html"};
const Documentation = {gettext: _, ngettext: (one, many, n) => n === 1 ? one : many};
class Stemmer { stemWord(word) { return word.replace(/(ion)?s$/, ""); } }
const _ready = start => addEventListener("DOMContentLoaded", start);
</script><script src="searchtools.js"></script><script>Search.setIndex(INDEX)</script>
<script src="search_scorer.js"></script>
<script src="search_page.js" defer></script>"""


@pytest.fixture
def find(open_page, tmp_path):
    """Return a function that searches for a query, and gives the texts of parts of the page.

    These are by default the links, their notice, and the links that help.
    """
    sphinx = pytest.importorskip("sphinx")
    tools = Path(sphinx.__file__).parent / "themes" / "basic" / "static" / "searchtools.js"
    for script in (tools, *SCRIPTS):
        (tmp_path / script.name).write_text(script.read_text())
    path = tmp_path / "search.html"
    path.write_text(PAGE.replace("INDEX", json.dumps(INDEX)))
    page = open_page(path)

    def find_one(query, *selectors):
        page.goto(f"{path.as_uri()}?q={quote(query)}")
        page.wait_for_function("!Search.title || Search.status.innerText")
        assert page.faults == []
        return [
            page.eval_on_selector_all(selector, "all => all.map(one => one.textContent)")
            for selector in selectors or ("ul.search a", ".search-notice", ".search-help a")
        ]

    find_one.page = page
    return find_one


def test_a_question_finds_the_page_with_its_words(find):
    found, notice, _ = find("how do I stop a run that hangs?")
    assert found[0] == "Timeouts"
    assert notice == [
        "Few pages have all of these words. Also listed are pages with several of them:"
    ]


def test_words_of_a_question_alone_are_searched_for(find):
    assert find("please")[0] == []


def test_an_entry_of_the_index_is_found_as_it_is_typed(find):
    assert find("when to stop")[0][0] == "Studies"


def test_a_word_of_an_entry_of_the_index_counts_as_one_of_its_page(find):
    assert find("peek zebra")[:2] == [["Delays"], []]
    assert find("peek unknown")[0] == ["Delays"]


def test_pages_with_all_words_are_listed_alone_where_there_are_some(find):
    assert find("label budget")[:2] == [["Many plots", "Plots", "Studies"], []]


def test_a_page_with_several_hits_is_listed_once(find):
    assert find("timeouts")[0] == ["Timeouts"]


def test_words_in_two_parts_are_found_as_one(find):
    expected = find("timeouts")
    for query in ("time-outs", "Time Outs"):
        assert find(query) == expected, query


def test_a_misspelt_ending_is_corrected_though_the_stem_is_known(find):
    found, correction = find("convertions", "ul.search a", ".search-correction")
    assert found == ["Studies"]
    assert correction == [
        "Perhaps \u201cconvertions\u201d is misspelt. Showing results for \u201cconversions\u201d."
    ]
    assert find("converts", ".search-correction") == [[]]


def test_a_corrected_name_is_shown_as_it_is_written(find):
    found, correction = find("hazrducb", "ul.search a", ".search-correction")
    assert found == ["keyhole.HazardUCB"]
    assert correction == [
        "No page has \u201chazrducb\u201d. Showing results for \u201cHazardUCB\u201d."
    ]


def test_words_that_are_not_searched_for_are_not_said_to_be_on_no_page(find):
    said = {
        query: find(query, ".search-summary")[0] for query in ("how to", "please 42", "xyzzy 42")
    }
    not_searched = ["Words as common as these, and numbers, are not searched for."]
    assert said == {
        "how to": not_searched,
        "please 42": not_searched,
        "xyzzy 42": ["No page has any of these words."],
    }


def test_without_a_page_with_all_words_those_with_most_are_listed(find):
    found, notice, _ = find("label budget zebra")
    assert set(found) == {"Studies", "Plots", "Many plots", "Delays"}
    assert found[0] == "Delays"  # zebra is rare
    assert notice == ["No page has all of these words. These pages have several of them:"]


def test_quotes_are_ignored(find):
    expected = find("label budget")
    for query in ('"label budget"', "\u201clabel\u201d \u00abbudget\u00bb"):
        assert find(query) == expected, query


def test_what_is_called_like_the_query_is_first_unless_it_is_a_method(find):
    for query, first in {
        "simulate()": ["keyhole.simulate"],
        "Problem": ["keyhole.Problem", "keyhole.delayed.Problem"],
        "problem": ["keyhole.Problem"],
        "curves.plot": ["keyhole.curves.plot"],
        "keyhole.delays": ["keyhole.delays"],
        "plot": ["Plots"],
    }.items():
        assert find(query)[0][: len(first)] == first, query


def test_a_query_without_results_leads_to_other_pages(find):
    for query in ("xyzzy", "how do I", '""'):
        found, notice, links = find(query)
        assert found == [], query
        assert notice == ["Try other words, or one of these pages:"], query
        assert links == ["Which setting is mine?", "How to", "Glossary"], query


def test_an_empty_query_leads_to_other_pages(find):
    found, notice, links = find("")
    assert found == []
    assert notice[0].startswith("Type words, a question or a name into the field for the search")
    assert len(links) == 3


def test_links_carry_the_stems_so_that_pages_can_show_the_words(find):
    find("runs that hang")
    links = find.page.eval_on_selector_all("ul.search a", "all => all.map(one => one.href)")
    assert links[0].endswith("/timeouts.html?highlight=run%20hang")
