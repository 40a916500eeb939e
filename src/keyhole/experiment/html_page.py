"""A self-contained HTML page: sections with texts, figures and tables, each with its template."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

from matplotlib.figure import Figure

from keyhole.experiment.plots import write_figure
from keyhole.files import write_atomically
from keyhole.results.html import render

_PAGE: Final = "experiment/templates/page.html.j2"
_METADATA: Final = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


class PageBlock(Protocol):
    """A piece of a section; its template receives it as `block`."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by empty lines, with a `note` in smaller type below them."""

    text: str
    note: str = ""
    template: ClassVar[str] = "experiment/templates/text.html.j2"

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs."""
        parts = self.text.replace("\r\n", "\n").split("\n\n")
        return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Picture:
    """A figure on the page, which is also written to files beside the page."""

    svg: str
    alt: str
    caption: str
    files: Sequence[str]
    template: ClassVar[str] = "experiment/templates/figure.html.j2"

    @classmethod
    def of(
        cls, figure: Figure, path: Path, *, title: str, caption: str, alt: str = ""
    ) -> "Picture":
        """Write a figure to files whose names begin with `path`; return it for the page."""
        files = write_figure(figure, path, title=title, caption=caption)
        # The first kind is SVG: the page holds its text, and the other files lie beside the page.
        svg = files[0].read_text(encoding="utf-8")
        return cls(_inline(svg, path.name), alt or title, caption, [file.name for file in files])


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it; `note` stands beside the heading in the contents."""

    id: str  # the fragment of a link
    title: str
    blocks: Sequence[PageBlock] = ()
    sections: "Sequence[Section]" = ()
    note: str = ""


def write_page(
    path: Path, title: str, opening: Sequence[PageBlock], sections: Sequence[Section]
) -> Path:
    """Write a self-contained page: title, opening, contents, sections."""
    page = render(_PAGE, title=title, opening=opening, sections=sections)
    write_atomically(path, page.encode())
    return path


def _inline(svg: str, name: str) -> str:
    """Return an SVG that can be inlined beside others: in the page's colours, with unique ids."""
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
