"""Contexts that delay a Ctrl-C, or that replace errors but let a Ctrl-C through."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay a Ctrl-C within the block until the block ends.

    An interrupted import leaves some modules of a package loaded and others not, and the package
    may then be broken until the process ends. Python interrupts only the main thread, so in other
    threads this does nothing.

    Examples
    --------
    >>> with delay_interrupts():
    ...     import json
    """
    signals: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # If the handler was not set from Python, it is None here and could not be restored.
    is_delayed = handler is not None and _set_handler(lambda number, _: signals.append(number))
    try:
        yield
    finally:
        if is_delayed:
            # The former handler is restored first, since it must take the signal raised below.
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
def replace_user_errors(replace: Callable[[BaseException], BaseException]) -> Iterator[None]:
    """Replace errors and exits that users' code raises within the block, but not a Ctrl-C.

    `replace` returns the error to raise in place of its argument, or the argument itself.

    Examples
    --------
    >>> with replace_user_errors(lambda error: ValueError(f"it ended with {error!r}")):
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

    # A Ctrl-C raises an error only in the main thread, and only if its handler was set from Python.
    # Any other KeyboardInterrupt was raised by the users' code, and is replaced.
    is_noted = callable(handler) and _set_handler(note_signal)
    try:
        yield
    except BaseException as error:
        replacement = replace(error)
        if replacement is error or (signals and isinstance(error, KeyboardInterrupt)):
            raise
        raise replacement from error
    finally:
        # A handler that the users' code has set stays.
        if is_noted and signal.getsignal(signal.SIGINT) is note_signal:
            signal.signal(signal.SIGINT, handler)
