"""Sphinx extension that folds the hint and the solution of an exercise.

A folded section keeps its heading, so that it stays in the list of contents, and in the headings
that a screen reader lists. What is below the heading goes into HTML's own element for that,
``<details>``: it needs no script, opens by keyboard, and a screen reader says whether it is open.
"""

from docutils import nodes
from sphinx.application import Sphinx

BUTTONS = {"Hint": "Show the hint", "Solution": "Show the solution"}
_FOOTER = "sphx-glr-footer"  # the links to script and notebook, which are below the last section


def fold_sections(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fold what is below the headings in `BUTTONS`, on the pages of exercises."""
    if docname.startswith("_exercises/"):
        for section in list(doctree.findall(nodes.section)):
            heading = section.children[0].astext()
            if heading in BUTTONS:
                _fold(section, BUTTONS[heading])


def _fold(section: nodes.section, button: str) -> None:
    heading, *below = section.children
    content = [node for node in below if not _is_footer(node)]
    footer = [node for node in below if _is_footer(node)]
    opening = f'<details class="folded"><summary>{button}</summary>'
    section.children = [heading]
    section += nodes.raw("", opening, format="html")
    section += content
    section += nodes.raw("", "</details>", format="html")
    section += footer


def _is_footer(node: nodes.Node) -> bool:
    return any(_FOOTER in element["classes"] for element in node.findall(nodes.Element))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("doctree-resolved", fold_sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
