"""The columns of tables with sentences are marked, so that they stay wide on a phone."""

import re

import pytest
from docutils.core import publish_doctree, publish_from_doctree

from tests.docs.loaded_extension import load_extension

SENTENCE = "Pull the arm with the largest upper bound of its mean."


@pytest.fixture(scope="module")
def extension():
    return load_extension("long_columns")


def marked(extension, *rows, name="long-text"):
    text = "\n".join([".. list-table::", "   :header-rows: 1", ""]) + "\n"
    for row in rows:
        text += "".join(f"   {'* -' if i == 0 else '  -'} {cell}\n" for i, cell in enumerate(row))
    doctree = publish_doctree(text)
    extension.mark_long_columns(None, doctree, "page")
    html = publish_from_doctree(doctree, writer="html5").decode()
    return re.findall(rf'<t[dh] class="[^"]*{name}[^"]*"><p>([^<]+)</p>', html)


def test_a_column_with_a_sentence_is_marked_from_its_heading(extension):
    rows = (("policy", "rule", "after"), ("UCB1", SENTENCE, "Auer"), ("MOSS", "Short.", "Audibert"))
    assert marked(extension, *rows) == ["rule", SENTENCE, "Short."]


def test_short_columns_and_tables_of_two_columns_are_not_marked(extension):
    assert marked(extension, ("policy", "rule", "after"), ("UCB1", "Short.", "Auer")) == []
    assert marked(extension, ("policy", "rule"), ("UCB1", SENTENCE)) == []


def test_a_first_column_is_marked_from_fewer_letters_on(extension):
    rows = ("situation", "policy", "after"), ("Only sums of rewards arrive", "UCB1", "Auer")
    assert marked(extension, *rows, name="long-first") == [rows[0][0], rows[1][0]]
    assert marked(extension, *rows) == []
