"""HTML without scripts that notebooks show below a cell; and tables as text."""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from keyhole.extras import has_extra
from keyhole.pages.page import Table
from keyhole.validation import escape_controls, escape_html

if TYPE_CHECKING:
    from keyhole.pages.line_chart import LineChart


def notebook_html(tables: Sequence[Table], picture: str = "", line: str = "") -> str:
    """Return the HTML of a line of text, a picture (see `chart_html`) and tables, in this order."""
    text = f"<p>{escape_html(line)}</p>" if line else ""
    return "\n".join(filter(None, [text, picture, *(table.html() for table in tables)]))


def chart_html(chart: "LineChart") -> str:
    """Return the HTML of a chart as an image that needs no file; "" without Matplotlib."""
    if not has_extra("plots"):
        return ""
    from keyhole.pages.figure_files import figure_bytes
    from keyhole.pages.matplotlib_chart import chart_figure

    return image_html(figure_bytes(chart_figure(chart), "svg"), chart.alt)


def image_html(svg: bytes, alt: str) -> str:
    """Return the HTML of an SVG as an image that needs no file."""
    # The SVG is not an element of the page: its ids would be ambiguous beside the ids of other
    # figures, and its styles would reach other parts of the page.
    data = base64.b64encode(svg).decode()
    style = "max-width: 100%; background: white"
    return f'<img alt="{escape_html(alt)}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of text, with columns of equal width.

    Examples
    --------
    >>> print(text_table(["arm", "told"], [["cat", "10"], ["a dog", "3"]]))
    arm    told
    cat    10
    a dog  3
    """
    lines = [list(map(escape_controls, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in lines
    )
