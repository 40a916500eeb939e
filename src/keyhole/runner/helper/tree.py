"""The processes below this one, as /proc tells of them."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICKS: Final = os.sysconf("SC_CLK_TCK")
_ENDED: Final = ("Z", "X")


@dataclass(frozen=True)
class Process:
    """A process as it was when it was looked at; CPU time in seconds, memory in bytes."""

    pid: int
    parent: int
    alive: bool
    began: str
    cpu: float
    cpu_of_children: float  # of those that have ended, and have been waited for
    resident: int


def below() -> list[Process]:
    """Return all processes below this one, the ended ones that nobody has waited for included.

    Empty where there is no /proc.
    """
    children: dict[int, list[Process]] = {}
    for process in _all():
        children.setdefault(process.parent, []).append(process)
    # A PID namespace that may not mount a /proc of its own sees the numbers of the one around it.
    found = children.get(int(os.readlink("/proc/self")), []) if children else []
    for one in found:  # the list grows while it is gone through
        found.extend(children.get(one.pid, []))
    return found


def _all() -> Iterator[Process]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].decode().split()
        except OSError:  # it has gone meanwhile
            continue
        yield Process(
            pid=int(name),
            parent=int(words[1]),
            alive=words[0] not in _ENDED,
            began=words[19],
            cpu=(int(words[11]) + int(words[12])) / TICKS,
            cpu_of_children=(int(words[13]) + int(words[14])) / TICKS,
            resident=int(words[21]) * PAGE,
        )


def proportional(process: Process) -> int:
    """Return the memory of a process, its part of what it shares; bytes."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # gone, or of another user
        pass
    return process.resident


def end_children() -> None:
    """End all below, where orphans come to this process: returns when there is no child left.

    Only children are signalled, with their process groups, whose numbers cannot be given to others
    as long as nobody has waited for the child; what is below them comes here when they have gone.
    """
    own = os.getpgid(0)
    while True:
        for pid in _children():
            with suppress(ProcessLookupError, PermissionError):
                group = os.getpgid(pid)
                if group != own:
                    os.killpg(group, signal.SIGKILL)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _children() -> list[int]:
    """Return the children of this process, which has one thread, as fast as can be."""
    try:
        with open("/proc/thread-self/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without this file
        me = os.getpid()
        return [process.pid for process in _all() if process.parent == me]
