"""Hints and solutions of exercises are folded, and can be found and opened without a mouse."""

import re

import pytest
from docutils.core import publish_doctree, publish_from_doctree

from tests.docs.loaded_extension import load_extension

PAGE = """
1. How many?
============

A question.

Hint
----

Count them.

Solution
--------

Seven.

.. container:: sphx-glr-footer

   The script
"""


@pytest.fixture(scope="module")
def extension():
    return load_extension("folded_sections")


def page(extension, docname):
    settings = {"doctitle_xform": False}
    doctree = publish_doctree(PAGE, settings_overrides=settings)
    extension.fold_sections(None, doctree, docname)
    return publish_from_doctree(doctree, writer="html5").decode()


def test_hint_and_solution_are_below_their_headings_and_folded(extension):
    html = page(extension, "_exercises/how_many")
    folded = re.findall(
        r"<h\d>(Hint|Solution)</h\d>\s*"
        r'<details class="folded"><summary>([^<]+)</summary>\s*<p>([^<]+)</p>\s*</details>',
        html,
    )
    assert folded == [
        ("Hint", "Show the hint", "Count them."),
        ("Solution", "Show the solution", "Seven."),
    ]
    assert "<details open" not in html


def test_links_to_script_and_notebook_are_not_folded(extension):
    html = page(extension, "_exercises/how_many")
    assert html.rindex("</details>") < html.index("The script")


def test_other_pages_are_left_as_they_are(extension):
    assert "<details" not in page(extension, "_tutorials/how_many")
