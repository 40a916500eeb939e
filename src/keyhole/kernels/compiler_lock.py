"""The two locks that forks wait for: of the compiler, and of interpreted calls.

A child inherits every lock that another thread holds just then, LLVM's own and those of modules
that are being imported, and nobody ever lets go of these. So whoever compiles, loads, or imports
Numba does it under the lock of the compiler. A call of an interpreted learner has a lock of its
own: it need not wait while another thread compiles, which takes seconds.
"""

import os
import threading
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final, cast

from keyhole.interrupts import delayed_interrupts

_FORK_SECONDS: Final = 30.0

_compiling: Final = threading.RLock()
_calling: Final = threading.RLock()


def compiler_lock() -> AbstractContextManager[bool]:
    """Return what keeps other threads from compiling, and forks from happening meanwhile.

    It is the lock itself: `with` runs no Python for it, which Ctrl-C might interrupt.
    """
    return _compiling


def call_lock() -> AbstractContextManager[bool]:
    """Return what keeps other interpreted calls, and forks, from happening during one."""
    return _calling


def import_numba() -> ModuleType:
    """Return Numba. A Ctrl-C waits until its import is whole: half of it could not be mended."""
    with compiler_lock(), delayed_interrupts():
        return import_module("numba")


def _reset_locks() -> None:
    """In a child, make the locks anew: another thread that held one is not here.

    What the forking thread itself holds, beside what the fork does, it goes on to release.
    """
    for lock in cast(tuple[Any, ...], (_compiling, _calling)):
        depth = lock._release_save()[0] - 1 if lock._is_owned() else 0
        lock._at_fork_reinit()
        for _ in range(depth):
            lock.acquire()


# These run no Python either: Ctrl-C in one of them, or while the system forks, would leave a lock
# held for ever. If another thread holds one for longer than a fork waits, there is nothing to
# release, and Python says so on standard error; it does no harm.
_wait_for_compiler: Final = partial(_compiling.acquire, timeout=_FORK_SECONDS)
_wait_for_call: Final = partial(_calling.acquire, timeout=_FORK_SECONDS)

if hasattr(os, "register_at_fork"):
    # Before a fork, what is registered last comes first; so does the lock of calls, within which
    # that of the compiler may be taken.
    os.register_at_fork(before=_wait_for_compiler, after_in_parent=_compiling.release)
    os.register_at_fork(before=_wait_for_call, after_in_parent=_calling.release)
    os.register_at_fork(after_in_child=_reset_locks)
