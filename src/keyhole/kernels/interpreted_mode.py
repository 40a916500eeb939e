"""Interpreted mode: a context in which Python runs kernels, which are otherwise compiled.

A learner's calls of interpreted functions are atomic to other threads, forks and Ctrl-C
(`AtomicCall`). An interrupted call would leave the memory of the policy half-updated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import numpy as np

from keyhole.kernels.compiler_fork_locks import interpreted_call_lock

T = TypeVar("T")
Kernel = Callable[..., Any]
"""A function of numbers and arrays that is compiled, or interpreted."""

_ENVIRONMENT_VARIABLE: Final = "KEYHOLE_INTERPRET"
_interpreted: ContextVar[bool | None] = ContextVar("interpreted", default=None)


@contextmanager
def set_in_context(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def interpreted(wanted: bool = True) -> AbstractContextManager[None]:
    """Run kernels in Python, for everything made inside: learners, simulations, opened studies.

    The results are the same, to the bit; breakpoints, ``print`` and coverage work inside kernels,
    and every index is checked. Kernels take some 100 times as long as compiled ones, and nothing is
    compiled. Whatever is made inside stays interpreted for as long as it lives. The environment
    variable ``KEYHOLE_INTERPRET=1`` does the same for a whole process, and for the processes that
    it starts.

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
    return set_in_context(_interpreted, wanted)


def find_interpretation_request(argument: bool | None = None) -> bool | None:
    """Return whether kernels are requested to be interpreted here; None without a request.

    `argument` decides if it is given, else the context, else the environment variable.

    Raises
    ------
    ValueError
        If the environment variable ``KEYHOLE_INTERPRET`` is neither 0 nor 1.
    """
    for is_requested in (argument, _interpreted.get()):
        if is_requested is not None:
            return is_requested
    setting = os.environ.get(_ENVIRONMENT_VARIABLE)
    if not setting:
        return None
    if setting not in ("0", "1"):
        raise ValueError(f"{_ENVIRONMENT_VARIABLE} must be 0 or 1, got {setting!r}")
    return setting == "1"


def is_interpreted() -> bool:
    """Return whether kernels are to be interpreted here; False if that is not specified.

    Raises
    ------
    ValueError
        If ``KEYHOLE_INTERPRET`` is neither 0 nor 1.

    Examples
    --------
    >>> with interpreted():
    ...     is_interpreted()
    True
    """
    return find_interpretation_request() is True


def interpret(owner: str, function: Kernel) -> Kernel:
    """Return the interpreted version of a function; `owner` is for messages.

    Raises
    ------
    TypeError
        If something that the function uses cannot be interpreted; the text names it.
    """
    # Imported late, since compiling does not need it.
    from keyhole.kernels.interpreter.kernel_copies import InterpretedFunction

    return InterpretedFunction(owner, function)


class AtomicCall:
    """An interpreted function whose calls are atomic: an interrupted call is rolled back.

    A compiled function that holds the GIL is atomic by itself. A fork waits for the end of a call,
    up to the limit of `keyhole.kernels.compiler_fork_locks`. If the call takes longer, the child
    refuses to call the function.

    Parameters
    ----------
    owner : str
        The name of the policy, or of the policy and the environment, for messages.
    run : callable
        The function; it changes nothing but its arguments.
    """

    def __init__(self, owner: str, run: Kernel) -> None:
        self._owner = owner
        self._run = run
        self._calling_process = 0  # the process that is in a call; 0 for none

    def __call__(self, *args: object) -> object:
        """Call the function.

        After an error in a kernel, the arguments keep what was written before the error, as in
        compiled code, for a debugger to inspect. Ctrl-C, and leaving a debugger, restore them.

        Raises
        ------
        RuntimeError
            If another thread was in a call when this process was forked.
        """
        with interpreted_call_lock():
            # If the fork did not wait for the end of a call in another thread, that call never ends
            # in this process.
            if self._calling_process not in (0, os.getpid()):
                raise RuntimeError(
                    f"another thread was in the midst of a call of {self._owner} when this process "
                    f"was forked: make a new learner"
                )
            # Copies for the rollback. Arrays are the only arguments that a kernel changes, and they
            # are small.
            copies = [(value, value.copy()) for value in args if isinstance(value, np.ndarray)]
            self._calling_process = os.getpid()
            try:
                return self._run(*args)
            except BaseException as error:
                if not isinstance(error, Exception) or _is_debugger_quit(error):
                    for value, copy in copies:
                        value[...] = copy
                raise
            finally:
                self._calling_process = 0


def _is_debugger_quit(error: Exception) -> bool:
    """Return whether an error means that Python's debugger was left."""
    debugger = sys.modules.get("bdb")  # if it is not loaded, there was no debugger
    return debugger is not None and isinstance(error, debugger.BdbQuit)
