"""Delay of Ctrl-C during code that must not be interrupted, such as an import."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delayed_interrupts() -> Iterator[None]:
    """Delay a Ctrl-C within the block until its end.

    An interrupted import leaves some modules of a package loaded and others not, which may break it
    until the process ends. Python interrupts the main thread only; in other threads this does
    nothing.

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
        if handler is None:  # it was not set from Python, so it could not be restored
            raise ValueError
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread of the main interpreter
        yield
        return
    try:
        yield
    finally:
        # First the former handler: the signal that is raised below is for it.
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)
