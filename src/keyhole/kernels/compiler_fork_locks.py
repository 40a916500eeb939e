"""Two locks, for compilation and for interpreted calls; a fork of the process waits for both.

A forked child inherits every lock that another thread holds at that moment, also locks of LLVM and
of imports. No thread of the child will ever release them. So code is compiled and loaded, and Numba
imported, only under the compiler's lock. Calls of interpreted learners have a lock of their own, so
that they need not wait while another thread compiles, which takes seconds.
"""

import os
import threading
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final, cast

from keyhole.interrupts import delay_interrupts

_FORK_SECONDS: Final = 30.0  # the longest wait of a fork for each lock

_compiling: Final = threading.RLock()
_calling: Final = threading.RLock()


def compiler_lock() -> AbstractContextManager[bool]:
    """Return the lock that excludes other compiling threads, and forks.

    The lock itself is returned, since `with` then runs no Python code that Ctrl-C might interrupt.
    """
    return _compiling


def interpreted_call_lock() -> AbstractContextManager[bool]:
    """Return the lock that excludes other interpreted calls, and forks."""
    return _calling


def import_numba() -> ModuleType:
    """Import and return Numba; Ctrl-C is delayed, since a partial import cannot be repaired."""
    with compiler_lock(), delay_interrupts():
        return import_module("numba")


def _reset_locks() -> None:
    """Reinitialise the locks in a forked child, where other threads that held them do not exist.

    If the forking thread held a lock before the fork, it holds the lock in the child, too, and as
    many times. The acquisition by the hook before the fork is not counted.
    """
    for lock in cast(tuple[Any, ...], (_compiling, _calling)):
        depth = 0
        if lock._is_owned():
            depth = lock._release_save()[0] - 1
        lock._at_fork_reinit()
        for _ in range(depth):
            lock.acquire()


# These are partial objects of C methods, which run no Python code: if Ctrl-C interrupted a Python
# function here, a lock would stay held for ever. If another thread holds a lock for longer than a
# fork waits, the release after the fork fails. Python prints that error, which is harmless, to
# standard error.
_wait_for_compiler: Final = partial(_compiling.acquire, timeout=_FORK_SECONDS)
_wait_for_call: Final = partial(_calling.acquire, timeout=_FORK_SECONDS)

if hasattr(os, "register_at_fork"):
    # Hooks before a fork run in the reverse order of their registration. So a fork takes the lock
    # of calls before the compiler's, as a call does: one order everywhere excludes a deadlock.
    os.register_at_fork(before=_wait_for_compiler, after_in_parent=_compiling.release)
    os.register_at_fork(before=_wait_for_call, after_in_parent=_calling.release)
    os.register_at_fork(after_in_child=_reset_locks)
