"""Sphinx extension that lets entries of the index lead to the heading that they stand below.

An ``index`` directive leaves an empty target where it stands. Below a heading, a hit of the search
would hide the heading above the edge of the window, and have no text to show. Its entries lead to
the section instead.
"""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class LeadToHeadings(SphinxTransform):
    """Replace the target of each ``index`` directive below a heading by the section."""

    default_priority = 840  # before the domains of Sphinx read the entries, at 850

    def apply(self, **options: Any) -> None:
        """Change the entries, and remove the targets that nothing leads to any more."""
        for section in list(self.document.findall(nodes.section)):
            for index, target in _directives_below_heading(section):
                index["entries"] = [
                    (kind, text, section["ids"][0], *others)
                    for kind, text, _, *others in index["entries"]
                ]
                section.remove(target)


def _directives_below_heading(section: nodes.section) -> list[tuple[nodes.Element, nodes.Element]]:
    """Return the pairs of nodes that ``index`` directives have left directly below a heading."""
    found = []
    below = section.children[1:]
    for index, target in zip(below[::2], below[1::2], strict=False):
        if not (isinstance(index, addnodes.index) and isinstance(target, nodes.target)):
            break
        found.append((index, target))
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform."""
    app.add_transform(LeadToHeadings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
