"""Output of lines about progress to standard error, whose failure ends nothing."""

import sys
from contextlib import suppress


def print_status(line: str) -> None:
    """Print a line to standard error, unless it is closed, full, or a pipe without a reader.

    A run of hours must not end because nobody reads how far it is.
    """
    if sys.stderr is not None:  # `print` would take None for standard output
        with suppress(OSError):
            print(line, file=sys.stderr, flush=True)  # noqa: T201
