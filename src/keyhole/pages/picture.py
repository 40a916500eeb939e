"""A figure of Matplotlib on a page, and its files beside the page."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from keyhole.pages.figure_files import FIGURE_KINDS

_METADATA: Final = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """A figure on the page, whose files lie beside the page."""

    svg: str
    alt: str
    caption: str
    files: Sequence[str]
    template: ClassVar[str] = "pages/templates/picture.html.j2"

    @classmethod
    def read(cls, path: Path, *, caption: str, alt: str) -> "Picture":
        """Return a figure from its files, whose names begin with `path`."""
        files = [path.with_name(f"{path.name}.{kind}") for kind in FIGURE_KINDS]
        # The first kind is SVG: the page holds its text, and the other files lie beside the page.
        svg = files[0].read_text(encoding="utf-8")
        return cls(_inline(svg, path.name), alt, caption, [file.name for file in files])


def _inline(svg: str, name: str) -> str:
    """Return an SVG that can be inlined beside others: in the page's colours, with unique ids."""
    # Without the XML declaration, which may not stand within HTML; the files have the metadata.
    svg = _METADATA.sub("", svg[svg.index("<svg") :])
    # Matplotlib gives the same ids to parts of every figure; on one page, references would be
    # ambiguous.
    key = re.sub(r"[^\w-]", "_", name)
    for old, new in {
        "#000000": "currentColor",
        "fill: #ffffff": "fill: none",
        ' id="': f' id="{key}.',
        'href="#': f'href="#{key}.',
        "url(#": f"url(#{key}.",
    }.items():
        svg = svg.replace(old, new)
    return svg
