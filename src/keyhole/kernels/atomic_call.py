"""Calls of interpreted functions that other threads, forks and Ctrl-C see as one step."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from keyhole.kernels.compiler_lock import call_lock


class AtomicCall:
    """A function of Python that is run to its end, or not at all if something comes in between.

    So is a compiled function that keeps Python's lock. A fork waits for the end of a call, up to
    the limit of `keyhole.kernels.compiler_lock`; a child of a fork that waited in vain has half of
    one.

    Parameters
    ----------
    owner : str
        Whose it is, for messages.
    run : callable
        The function; it changes nothing but its arguments.
    """

    def __init__(self, owner: str, run: Callable[..., Any]) -> None:
        self._owner, self._run = owner, run
        self._process = 0  # which one is in the midst of a call

    def __call__(self, *args: Any) -> Any:
        """Call the function.

        An error of a kernel leaves what was written before it, as in compiled code, and for a
        debugger to see. Ctrl-C, and who leaves a debugger, take back what was written.

        Raises
        ------
        RuntimeError
            If another thread was in the midst of a call when this process was forked.
        """
        with call_lock():  # no thread has it during a fork
            if self._process not in (0, os.getpid()):
                raise RuntimeError(
                    f"another thread was in the midst of a call of {self._owner} when this process "
                    f"was forked: make it anew"
                )
            before = [(value, value.copy()) for value in args if isinstance(value, np.ndarray)]
            self._process = os.getpid()
            try:
                return self._run(*args)
            except BaseException as error:
                if not isinstance(error, Exception) or _is_quit(error):
                    for value, copy in before:
                        value[...] = copy
                raise
            finally:
                self._process = 0


def _is_quit(error: Exception) -> bool:
    """Return whether an error is how Python's debugger is left: no error of a kernel."""
    debugger = sys.modules.get("bdb")  # which nobody else needs to import
    return debugger is not None and isinstance(error, debugger.BdbQuit)
