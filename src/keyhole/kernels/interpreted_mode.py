"""Interpreted mode: a context in which Python itself runs what is else compiled (kernels)."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_VARIABLE: Final = "KEYHOLE_INTERPRET"
_interpreted: ContextVar[bool | None] = ContextVar("interpreted", default=None)


@contextmanager
def interpreted(wanted: bool = True) -> Iterator[None]:
    """Run kernels in Python, for everything made inside: learners, simulations, opened studies.

    The results are the same, to the bit; breakpoints, ``print`` and coverage work inside kernels,
    and every index is checked. It takes some 100 times as long as compiled code, and nothing is
    compiled. Whatever is made inside stays interpreted for as long as it lives. The environment
    variable ``KEYHOLE_INTERPRET=1`` does the same for a whole process, and for those that it
    starts.

    Parameters
    ----------
    wanted : bool, default True
        If False, kernels are compiled, whatever holds outside.

    Examples
    --------
    >>> import keyhole
    >>> from keyhole.thresholding import LSA
    >>> with keyhole.interpreted():
    ...     learner = LSA().learner(arms=3, threshold=0.5)
    >>> learner.ask()
    0
    """
    token = _interpreted.set(wanted)
    try:
        yield
    finally:
        _interpreted.reset(token)


def is_interpretation_requested() -> bool | None:
    """Return whether kernels are to be interpreted here; None if nothing says so.

    Raises
    ------
    ValueError
        If the environment variable ``KEYHOLE_INTERPRET`` is neither 0 nor 1.
    """
    if (chosen := _interpreted.get()) is not None:
        return chosen
    given = os.environ.get(_VARIABLE) or None
    if given not in (None, "0", "1"):
        raise ValueError(f"{_VARIABLE} must be 0 or 1, got {given!r}")
    return None if given is None else given == "1"


def is_interpreted() -> bool:
    """Return whether kernels are to be interpreted here.

    Raises
    ------
    ValueError
        As `is_interpretation_requested`.

    Examples
    --------
    >>> with interpreted():
    ...     is_interpreted()
    True
    """
    return is_interpretation_requested() is True


def interpret(owner: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the interpreted version of a function; `owner` is for messages.

    Raises
    ------
    TypeError
        If something that it uses cannot be interpreted; the text names it.
    """
    from keyhole.kernels.interpreter.interpreted_function import (
        InterpretedFunction,  # not needed to compile
    )

    return InterpretedFunction(owner, function)
