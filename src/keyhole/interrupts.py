"""Delay of Ctrl-C while something runs that must not stop half-way, such as an import."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Let a Ctrl-C within the block take effect at its end.

    An import that is interrupted leaves some modules behind, and others not: a large package may
    then be broken until the process ends. Only the main thread is ever interrupted; in others this
    does nothing.

    Examples
    --------
    >>> with delayed_interrupts():
    ...     import json
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    handler = signal.getsignal(signal.SIGINT)
    try:
        if handler is None:  # it was not set from Python, and could not be set again
            raise ValueError
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread of the main interpreter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)
