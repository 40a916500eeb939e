"""Sphinx extension that says where long names may be broken on a phone.

Browsers break a name that is wider than its column at any letter. An element ``<wbr>`` allows a
break after an underscore, a dot or a slash, and before a capital letter inside a name. The index of
the search does not have it, and copied names are whole.
"""

import re
from typing import Any, Final

from sphinx.application import Sphinx

_LONG: Final = 12  # letters; shorter names fit into every column
_MARKUP: Final = re.compile(r"(<(pre|script|style|svg|math)\b.*?</\2>|<[^>]*>)", re.DOTALL)
_LONG_WORD: Final = re.compile(rf"\S{{{_LONG},}}")
_BREAK: Final = re.compile(
    r"(?<=\w[_/=(])(?=[\w&])|(?<=[\w)][.,])(?=[A-Za-z_])|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)
# In a signature the name has an element of its own, and so have the parentheses.
_PARTS_OF_SIGNATURE: Final = re.compile(
    r'(?<=\.</span></span>)(?=<span class="sig-name)|(?<=<span class="sig-paren">\(</span>)'
)


def add_breaks(html: str) -> str:
    """Return HTML in which long names, except in blocks of code, may be broken between words."""
    parts = _MARKUP.split(html)
    texts, markup = parts[::3], parts[1::3]  # the third is the name of an element
    texts = [_LONG_WORD.sub(_break_word, text) for text in texts]
    joined = "".join(text + mark for text, mark in zip(texts, [*markup, ""], strict=True))
    return _PARTS_OF_SIGNATURE.sub("<wbr>", joined)


def _break_word(found: re.Match[str]) -> str:
    return _BREAK.sub("<wbr>", found[0])


def _break_names(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Break the names of a page, of its contents, of the navigation, and of the pages beside it."""
    for part in ("body", "toc", "furo_navigation_tree"):
        if part in context:
            context[part] = add_breaks(context[part])
    for beside in ("prev", "next"):
        if context.get(beside):
            context[beside] = context[beside] | {"title": add_breaks(context[beside]["title"])}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("html-page-context", _break_names, priority=950)  # after the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
