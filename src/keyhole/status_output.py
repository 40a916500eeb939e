"""Output to standard error whose failure ends nothing: progress, and prints of users' files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO, cast


def print_status(line: str) -> None:
    """Print a line to standard error, unless it is closed, full, or a pipe without a reader.

    A run of hours must not end because nobody reads how far it is.
    """
    if sys.stderr is not None:  # `print` would take None for standard output
        with suppress(OSError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201


class _StatusStream:
    """Standard error as the target of prints that must fail as little as `print_status`."""

    def write(self, text: str) -> int:
        """Write a text, unless nobody can read it."""
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of standard error."""
        return getattr(sys.stderr, name)


@contextmanager
def redirect_prints() -> Iterator[None]:
    """Send what is printed to standard error: standard output is for the results of a command.

    A context for the import of users' files. Only Python's prints are sent there, not what other
    programs write.
    """
    with redirect_stdout(cast(TextIO, _StatusStream())):
        yield
