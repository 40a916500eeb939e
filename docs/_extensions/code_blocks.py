"""Sphinx extension for blocks of code and for what programs print.

An example for doctest ends in an empty line, which is not shown. Printed sentences get the class
``wrapped``, for which a style sheet breaks long lines; lines of a printed table stay whole.
"""

import re
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx

_PRINTED: Final = "sphx-glr-script-out"  # class of Sphinx-Gallery
_GAP: Final = re.compile(r"\S {2,}\S")  # between two columns of a line
_ROWS: Final = 2  # lines with gaps, from which they are a table


def prepare_blocks(app: Sphinx, doctree: nodes.document) -> None:
    """Remove empty lines at the ends of blocks, and mark those that may be wrapped."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if block.rawsource == text:  # else it has links or other markup inside
            block.rawsource = text.rstrip("\n")
            block.children = []
            block += nodes.Text(block.rawsource)
        if _is_printed(block) and not is_table(text):
            block["classes"].append("wrapped")


def _is_printed(block: nodes.literal_block) -> bool:
    return _PRINTED in block["classes"] or block.get("language") == "text"


def is_table(text: str) -> bool:
    """Return whether the lines of a text have columns."""
    return sum(bool(_GAP.search(line)) for line in text.splitlines()) >= _ROWS


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("doctree-read", prepare_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
