"""Linux system calls that the standard library lacks: clone with namespaces, mount, and prctl."""

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
_PRIVATE_MOUNT: Final = 0x4000 | 0x40000  # see mount(2): MS_PRIVATE | MS_REC
_PLAIN_MOUNT: Final = 0x2 | 0x4 | 0x8  # MS_NOSUID | MS_NODEV | MS_NOEXEC
# The number of the system call clone, by machine.
_CLONE_NUMBERS: Final = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}

_libc: Final = ctypes.CDLL(None, use_errno=True)
# PyDLL keeps the GIL during the call. With CDLL the child would return from clone without the GIL,
# and wait for it for ever: the thread that took the GIL meanwhile does not exist in the child.
_libc_with_gil: Final = ctypes.PyDLL(None, use_errno=True)
_libc_with_gil.syscall.restype = ctypes.c_long


def clone(flags: int) -> int:
    """Fork into new namespaces; return the PID of the child, and 0 in the child."""
    # The system call and not libc's clone(), which needs a stack and a C function for the child.
    machine = os.uname().machine
    number = _CLONE_NUMBERS.get(machine)
    if number is None:
        raise OSError(
            0, f"namespaces on {machine} are not supported: its clone number is not known"
        )
    arguments = map(ctypes.c_long, (number, flags | signal.SIGCHLD, 0, 0, 0, 0))
    return _check_result("clone", _libc_with_gil.syscall(*arguments))


def set_subreaper() -> None:
    """Make this process the new parent of orphans below it (a child subreaper)."""
    _check_result("prctl", _libc.prctl(_SUBREAPER, 1, 0, 0, 0))


def set_parent_death_signal() -> None:
    """Have this process killed when its parent ends."""
    _check_result("prctl", _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))


def set_dumpable(dumpable: bool) -> None:
    """Set whether processes of this user may trace this one, as root always may; only on Linux.

    A fork inherits the setting; exec sets it to True.
    """
    if LINUX:
        _check_result("prctl", _libc.prctl(_DUMPABLE, int(dumpable), 0, 0, 0))


def make_mounts_private() -> None:
    """Keep later mounts invisible outside this mount namespace."""
    _check_result("mount", _libc.mount(b"none", b"/", None, _PRIVATE_MOUNT, None))


def mount_proc() -> bool:
    """Mount the /proc of this PID namespace; return whether that was allowed."""
    return bool(_libc.mount(b"proc", b"/proc", b"proc", _PLAIN_MOUNT, None) == 0)


def _check_result(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result
