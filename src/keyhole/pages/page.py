"""A self-contained HTML page: the answer and a picture first, details folded below."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

from keyhole.files import write_atomically
from keyhole.pages.templating import render

_PAGE: Final = "pages/templates/page.html.j2"


class PageBlock(Protocol):
    """A piece of a page; its template receives it as `block`."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Answer:
    """The answer to the question of a page in one line, with a `note` in smaller type below it.

    `mark` is a word or two that the line begins with, in the colour of `status`.
    """

    text: str
    note: str = ""
    mark: str = ""
    status: str = ""  # "holds", "undecided" or "does not hold"; empty for no colour
    template: ClassVar[str] = "pages/templates/answer.html.j2"


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by empty lines, with a `note` in smaller type below them."""

    text: str
    note: str = ""
    template: ClassVar[str] = "pages/templates/text.html.j2"

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs."""
        parts = self.text.replace("\r\n", "\n").split("\n\n")
        return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it, which are folded until the reader opens them.

    Sections within a section are not folded. `note` stands beside the heading.
    """

    id: str  # the fragment of a link
    title: str
    blocks: Sequence[PageBlock] = ()
    sections: "Sequence[Section]" = ()
    note: str = ""
    is_open: bool = False  # at first


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page, in the order in which a reader sees it.

    The first screen has the title, the `answer`, and two columns, which stand below each other on
    a phone: the `figures` on the left, and the blocks `beside` them on the right.
    """

    title: str
    answer: Sequence[PageBlock]
    figures: Sequence[PageBlock] = ()
    beside: Sequence[PageBlock] = ()
    sections: Sequence[Section] = ()


def write_page(path: Path, page: Page) -> Path:
    """Write a page to a file; return the file."""
    write_atomically(path, render(_PAGE, page=page).encode())
    return path
