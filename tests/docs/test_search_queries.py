"""The queries that `make docs` tries name pages that there are."""

from pathlib import Path

import pytest

from tools.search_in_browser import load_queries

DOCS = Path(__file__).parents[2] / "docs"
QUERIES = load_queries()["pages"]


def test_the_words_of_the_trade_are_tried():
    assert len(QUERIES) >= 40


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_pages_that_there_are(query):
    assert QUERIES[query]
    for page in QUERIES[query]:
        source = page.removeprefix("_") + (".py" if page.startswith("_") else ".md")
        assert (DOCS / source).is_file(), page


@pytest.mark.parametrize("table", ["names", "corrected", "kept", "most_words", "no_results"])
def test_each_table_has_queries(table):
    found = load_queries()[table]
    assert found.get("queries", found)
