"""Ctrl-C: code that delays it, and code that replaces errors but lets Ctrl-C through."""

import signal
from collections.abc import Callable, Iterator
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
    signals: list[int] = []

    def note_signal(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    handler = signal.getsignal(signal.SIGINT)
    # A handler that was not set from Python is None, and could not be restored.
    is_delayed = handler is not None and _set_handler(note_signal)
    try:
        yield
    finally:
        if is_delayed:
            # The former handler is set first, since the signal that is raised below is for it.
            signal.signal(signal.SIGINT, handler)
        if signals:
            signal.raise_signal(signal.SIGINT)


def _set_handler(handler: Callable[[int, FrameType | None], None]) -> bool:
    """Set the handler of Ctrl-C; return False outside the main thread of the main interpreter."""
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:
        return False
    return True


@contextmanager
def replaced_errors(replace: Callable[[BaseException], BaseException]) -> Iterator[None]:
    """Replace errors that users' code raises within the block, exits included, but not a Ctrl-C.

    `replace` returns the error to raise in place of its argument, or the argument itself.

    Examples
    --------
    >>> with replaced_errors(lambda error: ValueError(f"it ended with {error!r}")):
    ...     raise SystemExit(1)
    Traceback (most recent call last):
    ValueError: it ended with SystemExit(1)
    """
    signals: list[int] = []
    handler = signal.getsignal(signal.SIGINT)

    def note_signal(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        if callable(handler):
            handler(number, frame)

    # A Ctrl-C raises an error in the main thread alone, and only if its handler was set from
    # Python. Any other KeyboardInterrupt was raised by the code itself, and is replaced.
    is_noted = callable(handler) and _set_handler(note_signal)
    try:
        yield
    except BaseException as error:
        replacement = replace(error)
        if replacement is error or (signals and isinstance(error, KeyboardInterrupt)):
            raise
        raise replacement from error
    finally:
        # The code may have set a handler of its own, which stays.
        if is_noted and signal.getsignal(signal.SIGINT) is note_signal:
            signal.signal(signal.SIGINT, handler)
