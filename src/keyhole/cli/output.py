"""Output of commands (text, wrapped on a terminal, or a line of JSON), and their exit codes."""

import errno
import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import typer

from keyhole.files import explain_os_error
from keyhole.status_output import print_status
from keyhole.validation import escape_controls

# Exit codes: see the docstring of `keyhole.cli.error_handling`.
CLAIM_FAILED: Final = 1  # a claim of a paper does not hold
DAMAGED: Final = 1  # a study is damaged
BAD_INPUT: Final = 2
TRY_LATER: Final = 3
DONE: Final = 4  # a study is done, and has no further decision
INTERRUPTED: Final = 130

_MAX_LINE_WIDTH: Final = 100
_STYLES: Final = re.compile(r"(\x1b\[[\d;]*m)")  # escape sequences of a terminal, such as for bold


class EscapedStream:
    """A stream that escapes control and invisible characters, which could hide or reorder text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; line ends, tabs and styles are not escaped."""
        pieces = _STYLES.split(text)  # text and styles in turn
        pieces[::2] = [escape_controls(piece, "\n\r\t") for piece in pieces[::2]]
        self._stream.write("".join(pieces))
        return len(text)

    def __getattr__(self, name: str) -> object:
        """Return any other attribute of the stream."""
        return getattr(self._stream, name)


def one_line_text(text: str) -> str:
    """Return a text on one line, with control characters escaped."""
    return escape_controls(" ".join(text.split()))


def error_text(error: Exception) -> str:
    """Return the message of an error; for an OSError, its files and reason without its number."""
    if isinstance(error, OSError) and error.strerror and str(error).startswith("["):
        files = [str(file) for file in (error.filename, error.filename2) if file is not None]
        # If an error about a lack of space names no file, standard output could not be written.
        is_output = not files and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return ": ".join([*files, *["standard output"] * is_output, explain_os_error(error)])
    return str(error)


def try_to_write(write: Callable[..., Path | None], *arguments: Any, **options: Any) -> Path | None:
    """Write a report by `write`, and return its path; after an OSError, warn and return None."""
    try:
        return write(*arguments, **options)
    except OSError as error:
        print_status(f"keyhole: warning: no report was written: {one_line_text(error_text(error))}")
        return None


def print_heading(text: str, indent: int = 0) -> None:
    """Print a heading; bold on a terminal."""
    typer.echo(f"{' ' * indent}{typer.style(text, bold=True)}")


def print_paragraph(text: str, indent: int) -> None:
    """Print a paragraph with an indent; lines after the first are indented by two more."""
    pad = " " * indent
    if sys.stdout is not None and sys.stdout.isatty():  # a closed standard output is None
        width = min(shutil.get_terminal_size().columns, _MAX_LINE_WIDTH)
        text = textwrap.fill(
            text, width, initial_indent=pad, subsequent_indent=f"{pad}  ", break_long_words=False
        )
    else:
        # In a pipe or a file, a paragraph stays on one line, where `grep` finds it.
        text = pad + text
    typer.echo(text)


def exit_code_of(error: Exception) -> int:
    """Return the exit code of an error, by its attributes `done` and `later` if it has them."""
    if getattr(error, "done", False):
        return DONE
    return TRY_LATER if getattr(error, "later", False) else BAD_INPUT


def print_result(content: object, *lines: object, as_json: bool) -> None:
    """Print the result of a command as JSON, or as lines of text."""
    if as_json:
        print_json(content)
        return
    for line in lines:
        typer.echo(line)


def check_one_format(*, as_json: bool, as_latex: bool) -> None:
    """Refuse two formats of output at once."""
    if as_json and as_latex:
        raise ValueError("--latex must be left out with --json")


def print_json(content: object) -> None:
    """Print data as one line of JSON, in which numbers that are not finite are null."""
    typer.echo(json.dumps(_json_value(content)))


def _json_value(content: object) -> object:
    """Return data with paths as texts, and null for infinities and NaN."""
    match content:
        case Mapping():
            return {str(name): _json_value(value) for name, value in content.items()}
        case list() | tuple():
            return [_json_value(value) for value in content]
        case Path():
            return str(content)
        case float() if not math.isfinite(content):
            return None
    return content
