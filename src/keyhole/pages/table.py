"""A table of texts, on a page or in a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from keyhole.pages.templating import render


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows.

    On a page, a script sorts it by a column and copies it; it is complete without the script.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    template: ClassVar[str] = "pages/templates/table.html.j2"

    def html(self) -> str:
        """Return the HTML of the table."""
        return render(self.template, block=self)
