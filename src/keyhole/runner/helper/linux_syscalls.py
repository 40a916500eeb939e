"""What the standard library lacks of Linux: namespaces, mounts, and what a process is told."""

import ctypes
import os
import signal
import sys
from typing import Final

LINUX: Final = sys.platform == "linux"
NEW_MOUNTS: Final = 0x00020000  # see clone(2)
NEW_USERS: Final = 0x10000000
NEW_PIDS: Final = 0x20000000
_DEATH_SIGNAL: Final = 1  # see prctl(2)
_DUMPABLE: Final = 4
_SUBREAPER: Final = 36
_PRIVATE: Final = 0x4000 | 0x40000  # see mount(2): this and all below it
_PLAIN: Final = 0x2 | 0x4 | 0x8  # no setuid programs, devices or programs at all
_CLONE: Final = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}  # its number

_libc: Final = ctypes.CDLL(None, use_errno=True)
# A child must not find that the interpreter's lock has been let go of by a thread it does not have.
_locked: Final = ctypes.PyDLL(None, use_errno=True)
_locked.syscall.restype = ctypes.c_long


def clone(flags: int) -> int:
    """Fork into new namespaces; return the child's number, and 0 in the child."""
    number = _CLONE.get(os.uname().machine)
    if number is None:
        raise OSError(0, f"namespaces on {os.uname().machine} are not known")
    pid: int = _locked.syscall(*map(ctypes.c_long, (number, flags | signal.SIGCHLD, 0, 0, 0, 0)))
    return _checked("clone", pid)


def set_subreaper() -> None:
    """Be given the processes below this one whose parents end."""
    _checked("prctl", _libc.prctl(_SUBREAPER, 1, 0, 0, 0))


def set_parent_death_signal() -> None:
    """Be killed when the parent ends."""
    _checked("prctl", _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))


def set_dumpable(yes: bool) -> None:
    """Let processes of the same user read and trace this one, or root alone (elsewhere: nothing).

    A new program is open again; a fork is as its parent.
    """
    if LINUX:
        _checked("prctl", _libc.prctl(_DUMPABLE, int(yes), 0, 0, 0))


def make_mounts_private() -> None:
    """Let nobody outside see what is mounted from now on."""
    _checked("mount", _libc.mount(b"none", b"/", None, _PRIVATE, None))


def mount_proc() -> bool:
    """Mount the /proc of this namespace; return whether that is allowed."""
    return bool(_libc.mount(b"proc", b"/proc", b"proc", _PLAIN, None) == 0)


def _checked(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
