"""The one lock of the compiler: who compiles, loads, or imports Numba holds it.

A fork waits for it. A child inherits every lock that another thread holds at that moment, LLVM's
own and those of modules that are being imported, and nobody ever lets go of these; so what takes
them is done under this lock, which no thread holds during a fork.
"""

import os
import threading
from contextlib import AbstractContextManager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Final

from keyhole.interrupts import delayed_interrupts

_FORK_SECONDS: Final = 30.0

_lock: Final = threading.RLock()


def compiler_lock() -> AbstractContextManager[bool]:
    """Return what keeps other threads from compiling, and forks from happening meanwhile.

    It is the lock itself: `with` runs no Python for it, which Ctrl-C might interrupt.
    """
    return _lock


def import_numba() -> ModuleType:
    """Return Numba. A Ctrl-C waits until its import is whole: half of it could not be mended."""
    with compiler_lock(), delayed_interrupts():
        return import_module("numba")


def _make_anew() -> None:
    """In a child, make the lock anew: a thread that held it is not here."""
    _lock._at_fork_reinit()  # type: ignore[attr-defined]


# These run no Python either: Ctrl-C in one of them, or while the system forks, would leave the lock
# held for ever. If another thread compiles for longer than a fork waits, there is nothing to
# release, and Python says so on standard error; it does no harm.
_acquire_for_fork: Final = partial(_lock.acquire, timeout=_FORK_SECONDS)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_acquire_for_fork, after_in_parent=_lock.release, after_in_child=_make_anew
    )
