"""The one lock of the compiler: who compiles, loads, or imports Numba holds it.

A fork waits for it. A child inherits every lock that another thread holds at that moment, LLVM's
own and those of modules that are being imported, and nobody ever lets go of these; so what takes
them is done under this lock, which no thread holds during a fork.
"""

import os
import threading
from contextlib import AbstractContextManager
from importlib import import_module
from types import ModuleType
from typing import Final

from keyhole.interrupts import delayed_interrupts

_FORK_SECONDS: Final = 30.0

_lock = threading.RLock()
_held_for_fork: list[bool] = []


def compiler_lock() -> AbstractContextManager[bool]:
    """Return what keeps other threads from compiling, and forks from happening meanwhile.

    It is the lock itself: `with` runs no Python for it, which Ctrl-C might interrupt.
    """
    return _lock


def import_numba() -> ModuleType:
    """Return Numba. A Ctrl-C waits until its import is whole: half of it could not be mended."""
    with compiler_lock(), delayed_interrupts():
        return import_module("numba")


def _before_fork() -> None:
    """Wait for a thread that compiles or loads: LLVM's own lock would stay locked in the child."""
    _held_for_fork.append(_lock.acquire(timeout=_FORK_SECONDS))


def _after_fork_in_parent() -> None:
    if _held_for_fork and _held_for_fork.pop():
        _lock.release()


def _after_fork_in_child() -> None:
    """Make the lock anew: a thread that held it is not here."""
    global _lock
    _lock = threading.RLock()
    _held_for_fork.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
