"""Output to standard error that never fails: progress, and prints of users' files."""

import sys
from contextlib import AbstractContextManager, redirect_stdout, suppress
from typing import Any, TextIO, cast


def print_status(line: str) -> None:
    """Print a line to standard error, unless it is closed, full, or a pipe without a reader.

    A run of hours must not end because nobody reads its progress.
    """
    if sys.stderr is not None:  # `print` would take None for standard output
        with suppress(OSError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201


class _StatusStream:
    """A stream for prints that writes to standard error, and never fails."""

    def write(self, text: str) -> int:
        """Write a text, unless nobody can read it."""
        with suppress(OSError, AttributeError):  # a closed standard error is None
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        with suppress(OSError, AttributeError):  # a closed standard error is None
            sys.stderr.flush()

    def close(self) -> None:
        """Do nothing: code that closes standard output does not mean this stream."""

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of standard error."""
        return getattr(sys.stderr, name)


def redirect_prints() -> AbstractContextManager[object]:
    """Return a context in which `print` writes to standard error.

    Users' files are imported in this context, since standard output is for a command's results.
    """
    return redirect_stdout(cast(TextIO, _StatusStream()))
