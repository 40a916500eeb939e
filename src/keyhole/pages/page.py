"""Self-contained HTML pages: the answer and a figure first, details folded below; and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from keyhole.files import write_atomically
from keyhole.validation import escape_controls

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    On a page, readers can sort it by a column and copy it if their browser runs scripts.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    template: ClassVar[str] = "pages/templates/table.html.j2"

    def html(self) -> str:
        """Return the HTML of the table."""
        return render_template(self.template, block=self)


# Texts that stay on one line: an interval with its number or logarithm, such as 2 [1, 3], 2 ± 1 or
# ln 2 [0, 4]; a p-value; a round, such as T = 100; a logarithm; 95 %.
_UNBROKEN: Final = re.compile(
    r"(?:\bln )?[-\d.,e+]+ (?:\[[^\]]*\]|± \S+)|\b[pT] [=<] \S+|\bln \S+|95 %"
)


def keep_intervals_together(text: str) -> str:
    r"""Return a text with no-break spaces between numbers and their intervals.

    Examples
    --------
    >>> keep_intervals_together("a minus b: 1.0 [0.5, 1.5], p = 0.01").split(" ")
    ['a', 'minus', 'b:', '1.0\xa0[0.5,\xa01.5],', 'p\xa0=\xa00.01']
    """
    return _UNBROKEN.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


def _escape_control_characters(value: Any) -> Any:
    """Return HTML as it is, and any other value as a text whose control characters are escaped."""
    return value if hasattr(value, "__html__") else escape_controls(str(value), "\n\t")


def render_template(template: str, **values: Any) -> str:
    """Return the text of a template, which is given by its path in the package."""
    return _template_environment().get_template(template).render(values)


@cache
def _template_environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only reports need it

    # With StrictUndefined a misspelt name in a template is an error, not an empty text.
    environment = Environment(
        loader=PackageLoader("keyhole", ""), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_escape_control_characters,
    )  # fmt: skip
    environment.filters["together"] = keep_intervals_together
    return environment


class PageBlock(Protocol):
    """A piece of a page, such as a table or a chart; its template receives it as `block`."""

    @property
    def template(self) -> str:
        """The path of the template in the package."""


@dataclass(frozen=True)
class Answer:
    """The answer to a page's question: a line, with a `note` in smaller type below the line.

    The line begins with `mark`, a word or two in the colour of `status`.
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
        blocks = self.text.replace("\r\n", "\n").split("\n\n")
        return [block.strip() for block in blocks if block.strip()]


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it, which are folded at first unless `is_open` is set.

    Sections within a section are not folded. `note` stands beside the heading.
    """

    id: str  # links to the section end with it
    title: str
    blocks: Sequence[PageBlock] = ()
    sections: Sequence[Section] = ()
    note: str = ""
    is_open: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a page, in the order in which a reader sees it.

    The first screen has the title, the `answer`, and two columns: the `figures` on the left, and
    the blocks `beside` them on the right. On a phone the columns stand below each other.
    """

    title: str
    answer: Sequence[PageBlock]
    figures: Sequence[PageBlock] = ()
    beside: Sequence[PageBlock] = ()
    sections: Sequence[Section] = ()


def page_html(page: Page) -> str:
    """Return a page as HTML."""
    return render_template("pages/templates/page.html.j2", page=page)


def write_page(path: Path, page: Page) -> Path:
    """Write a page to a file; return the file."""
    write_atomically(path, page_html(page).encode())
    return path
