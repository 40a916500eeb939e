"""Layout of output: wrapped on a terminal, one line per item in a pipe."""

import shutil
import sys
import textwrap
from typing import Final

import typer

from keyhole.validate import escape_controls

_MOST_COLUMNS: Final = 100


def one_line_text(text: str) -> str:
    """Return a text on one line, with control characters escaped."""
    return escape_controls(" ".join(text.split()))


def print_heading(text: str, indent: int = 0) -> None:
    """Print a heading; bold on a terminal."""
    typer.echo(f"{' ' * indent}{typer.style(text, bold=True)}")


def print_paragraph(text: str, indent: int) -> None:
    """Print a paragraph with an indent; lines after the first are indented by two more."""
    pad = " " * indent
    if sys.stdout is not None and sys.stdout.isatty():  # None if it is closed
        width = min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
        text = textwrap.fill(
            text, width, initial_indent=pad, subsequent_indent=f"{pad}  ", break_long_words=False
        )
        typer.echo(text)
    else:
        # Where a program reads, a sentence stays in one line, in which `grep` finds it.
        typer.echo(pad + text)
