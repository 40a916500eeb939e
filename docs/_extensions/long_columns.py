"""Sphinx extension that marks the columns of tables with long texts.

On a phone a browser makes all columns of a wide table as narrow as their longest words. With the
class of these cells a style sheet can keep sentences at a width at which they are read. First
columns, which stay in view on a phone, have a class of their own, from fewer letters on.
"""

from collections.abc import Sequence
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx

_LONG: Final = 50  # letters of a cell, from which its column is one of long texts
_LONG_FIRST: Final = 20  # the same for the first column


def mark_long_columns(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give the cells of columns with long texts the class ``long-text`` or ``long-first``."""
    for group in doctree.findall(nodes.tgroup):
        rows = [list(row.findall(nodes.entry)) for row in group.findall(nodes.row)]
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 2:  # two columns are wide anyway
            first, *others = zip(*rows, strict=True)
            _mark(first, "long-first", _LONG_FIRST)
            for column in others:
                _mark(column, "long-text", _LONG)


def _mark(column: Sequence[nodes.Element], name: str, least: int) -> None:
    if max(len(cell.astext()) for cell in column) >= least:
        for cell in column:
            cell["classes"].append(name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("doctree-resolved", mark_long_columns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
