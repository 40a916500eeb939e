"""Output to standard error whose failure ends nothing: progress, and prints of users' files."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, Final, TextIO, cast

_STDOUT: Final = 1
_STDERR: Final = 2


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
        with suppress(OSError, AttributeError):  # None if it is closed
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        with suppress(OSError, AttributeError):  # None if it is closed
            sys.stderr.flush()

    def close(self) -> None:
        """Do nothing: who closes standard output means another stream."""

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of standard error."""
        return getattr(sys.stderr, name)


@contextmanager
def redirect_prints() -> Iterator[None]:
    """Send what is printed to standard error: standard output is for the results of a command.

    A context for the import of users' files. It redirects Python's prints, and the file descriptor
    of standard output, to which other programs write, unless `sys.stdout` is something else, as in
    a notebook or under pytest.
    """
    with _redirect_descriptor(sys.stdout), redirect_stdout(cast(TextIO, _StatusStream())):
        yield


@contextmanager
def _redirect_descriptor(stdout: TextIO | None) -> Iterator[None]:
    """Let the descriptor of standard output be that of standard error, if the stream uses it."""
    if stdout is None or not _is_at(_STDOUT, stdout):
        yield
        return
    # Where standard error is closed, its descriptor may be that of any other file.
    is_open = sys.stderr is not None and _is_at(_STDERR, sys.stderr)
    target = os.dup(_STDERR) if is_open else os.open(os.devnull, os.O_WRONLY)
    saved = os.dup(_STDOUT)
    _flush(stdout)  # what was printed before
    os.dup2(target, _STDOUT)
    os.close(target)
    try:
        yield
    finally:
        _flush(stdout)
        os.dup2(saved, _STDOUT)
        os.close(saved)


def _is_at(descriptor: int, stream: TextIO) -> bool:
    try:
        return stream.fileno() == descriptor
    except (OSError, ValueError):  # it has none, or is closed
        return False


def _flush(stream: TextIO) -> None:
    with suppress(OSError):
        stream.flush()
