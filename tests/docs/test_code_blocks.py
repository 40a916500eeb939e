"""Blocks of code end with their last line, and printed sentences are wrapped."""

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from tests.docs.loaded_extension import load_extension

SENTENCES = "35 pictures show the bird\n7 of 108 differ from the majority of all answers"
TABLE = "        mean  median\nUCB1     112     111\nKL-UCB    39      37"


@pytest.fixture(scope="module")
def extension():
    return load_extension("code_blocks")


def prepare(extension, text, **attributes):
    """Return a block with this text after the extension has seen it."""
    doctree = publish_doctree("")
    block = nodes.literal_block(text, text, **attributes)
    doctree += block
    extension.prepare_blocks(None, doctree)
    return block


def test_empty_lines_at_the_end_are_removed(extension):
    block = prepare(extension, ">>> 1 + 1\n2\n\n", language="python")
    assert block.astext() == block.rawsource == ">>> 1 + 1\n2"
    assert block["classes"] == []


def test_a_block_with_markup_is_left_as_it_is(extension):
    block = nodes.literal_block("*a*\n\n", "", nodes.emphasis("", "a\n\n"))
    doctree = publish_doctree("")
    doctree += block
    extension.prepare_blocks(None, doctree)
    assert isinstance(block.children[0], nodes.emphasis)


@pytest.mark.parametrize("printed", [{"classes": ["sphx-glr-script-out"]}, {"language": "text"}])
def test_printed_sentences_are_wrapped_and_tables_are_not(extension, printed):
    assert "wrapped" in prepare(extension, SENTENCES, **printed)["classes"]
    assert "wrapped" not in prepare(extension, TABLE, **printed)["classes"]
