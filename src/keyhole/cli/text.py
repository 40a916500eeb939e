"""How text is laid out: wrapped for a reader, one line a thing for a program."""

import shutil
import sys
import textwrap
from typing import Final

import typer

_MOST_COLUMNS: Final = 100


def one_line_text(text: str) -> str:
    """Return a text on one line; what a terminal would obey is written out."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """Return a text in which what a terminal would obey is written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def heading(text: str, indent: int = 0) -> None:
    """Print a heading; bold on a terminal."""
    typer.echo(f"{' ' * indent}{typer.style(text, bold=True)}")


def paragraph(text: str, indent: int) -> None:
    """Print a paragraph, each line indented by some columns, all but the first by two more."""
    pad = " " * indent
    if sys.stdout.isatty():
        width = min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
        text = textwrap.fill(
            text, width, initial_indent=pad, subsequent_indent=f"{pad}  ", break_long_words=False
        )
        typer.echo(text)
    else:
        typer.echo(pad + text)
