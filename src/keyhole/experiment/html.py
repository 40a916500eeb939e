"""The pieces of a page: headings that its contents list, tables, figures."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from keyhole.experiment.plots import picture

STYLE: Final = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
_HEADING: Final = re.compile(r"<h([23])>(.*?)</h\1>")
_FEWEST_LISTED: Final = 3  # headings; fewer need no contents
_SPACE: Final = "\N{NO-BREAK SPACE}"


def heading(level: int, text: str) -> str:
    """Return a heading; those of levels 2 and 3 are numbered and listed by `page`."""
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def unbroken(text: str) -> str:
    """Return a text in which no line is broken at a space: a number and its interval, say."""
    return text.replace(" ", _SPACE)


def together(text: str) -> str:
    """Return a text in which no number is parted from its interval."""
    return text.replace(" ± ", unbroken(" ± ")).replace(" [", unbroken(" ["))


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table whose first column names the rows; all cells are escaped."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def inline(figure: Figure, description: str) -> str:
    """Return a figure as inline SVG."""
    svg = picture(figure, "svg").decode()
    svg = svg[svg.index("<svg") :]
    return f'<figure role="img" aria-label="{escape(description)}">{svg}</figure>'


def page(title: str, body: str, *, summary: str = "") -> str:
    """Return a whole page: title, summary, contents, body.

    Parameters
    ----------
    title : str
        The title.
    body : str
        HTML; its headings of levels 2 and 3 get anchors.
    summary : str, default ""
        HTML of what a reader should see first.

    Returns
    -------
    str
        HTML.
    """
    found = list(_HEADING.finditer(body))
    numbers = iter(range(1, len(found) + 1))
    body = _HEADING.sub(
        lambda m: f'<h{m[1]} id="s{next(numbers)}">{m[2]}</h{m[1]}>',
        body,
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{summary}{_contents(found)}{body}</main></body>"
        "</html>\n"
    )


def _contents(found: Sequence[re.Match[str]]) -> str:
    """Return the list of the headings, those of level 3 under theirs of level 2."""
    if len(found) < _FEWEST_LISTED:
        return ""
    items, depth = "", 2
    for number, match in enumerate(found, 1):
        level = int(match[1])
        if level > depth:
            items = items.removesuffix("</li>") + "<ul>"
        elif level < depth:
            items += "</ul></li>"
        items += f'<li><a href="#s{number}">{match[2]}</a></li>'
        depth = level
    items += "</ul></li>" * (depth - 2)
    listed = f"<details open><summary>Contents</summary><ul>{items}</ul></details>"
    return f'<nav aria-label="Contents">{listed}</nav>'
