"""Calls of interpreted functions that are atomic to other threads, forks and Ctrl-C.

A function that is interrupted half-way would leave a policy's memory half-updated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from keyhole.kernels.compiler_fork_locks import call_lock


class AtomicCall:
    """An interpreted function whose calls are atomic: completed, or rolled back by an interrupt.

    A compiled function that holds the GIL is so by itself. A fork waits for the end of a call, up
    to the limit of `keyhole.kernels.compiler_fork_locks`; after that, the child refuses to call it.

    Parameters
    ----------
    owner : str
        The name of its policy, or of its policy and environment, for messages.
    run : callable
        The function; it changes nothing but its arguments.
    """

    def __init__(self, owner: str, run: Callable[..., Any]) -> None:
        self._owner, self._run = owner, run
        self._process = 0  # the process that is in a call; 0 for none

    def __call__(self, *args: Any) -> Any:
        """Call the function.

        After an error in a kernel, the arguments keep what was written before it, as in compiled
        code, and for a debugger to inspect. Ctrl-C, and leaving a debugger, restore the arguments.

        Raises
        ------
        RuntimeError
            If another thread was in a call when this process was forked.
        """
        with call_lock():
            # The fork did not wait for a call in another thread: here, it will never be finished.
            if self._process not in (0, os.getpid()):
                raise RuntimeError(
                    f"another thread was in the midst of a call of {self._owner} when this process "
                    f"was forked: make it anew"
                )
            # The rollback: arrays are the only arguments that a kernel changes, and small.
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
    """Return whether an error means that Python's debugger was left."""
    debugger = sys.modules.get("bdb")  # not imported: without a debugger it is not needed
    return debugger is not None and isinstance(error, debugger.BdbQuit)
