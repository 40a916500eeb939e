"""The processes below this one, as /proc tells of them."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICKS: Final = os.sysconf("SC_CLK_TCK")
_ENDED: Final = (b"Z", b"X")
_MOST: Final = 4096  # processes that are looked at: a bomb keeps nobody from ending it
_PATIENCE: Final = 1.0  # seconds for children to go by themselves that may not be signalled
_PAUSE: Final = 0.01  # seconds between two looks at them
_LISTED: Final = os.path.exists("/proc/thread-self/children")


@dataclass(frozen=True)
class Process:
    """A process as it was when it was looked at; CPU time in seconds, memory in bytes."""

    pid: int
    parent: int
    alive: bool
    began: int
    cpu: float
    cpu_of_children: float  # of those that have ended, and have been waited for
    resident: int


def descendants() -> list[Process]:
    """Return all processes below this one, the ended ones that nobody has waited for included.

    Empty where there is no /proc.
    """
    # Numbers are those of the /proc that there is: where a new PID namespace may not mount its own,
    # they are those of the namespace around it.
    try:
        todo = _children(os.readlink("/proc/self"))
    except OSError:
        return []
    found = []
    for pid in todo:  # the list grows while it is gone through
        process = _looked_at(pid)
        if process is not None:
            found.append(process)
        if len(found) == _MOST:
            break
        todo.extend(_children(pid))
    return found


def _looked_at(pid: str) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:  # it has gone meanwhile
        return None
    return Process(
        pid=int(pid),
        parent=int(words[1]),
        alive=words[0] not in _ENDED,
        began=int(words[19]),
        cpu=(int(words[11]) + int(words[12])) / TICKS,
        cpu_of_children=(int(words[13]) + int(words[14])) / TICKS,
        resident=int(words[21]) * PAGE,
    )


def _children(pid: str) -> list[str]:
    """Return the children of a process: of each of its threads."""
    found: list[str] = []
    with suppress(OSError):  # it may go meanwhile
        if not _LISTED:
            return _looked_for(int(pid))
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += file.read().split()
    return found


def _looked_for(parent: int) -> list[str]:
    """Return children without the help of a list: every process is asked for its parent."""
    processes = (_looked_at(name) for name in os.listdir("/proc") if name.isdigit())
    return [str(one.pid) for one in processes if one is not None and one.parent == parent]


def proportional_set_size(process: Process) -> int:
    """Return the memory of a process, its part of what it shares; bytes."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # gone, or of another user
        pass
    return process.resident


def end_children() -> bool:
    """End all below, where orphans come to this process: returns when there is no child left.

    Only children are signalled, with their process groups, whose numbers cannot be given to others
    as long as nobody has waited for the child; what is below them comes here when they have gone.
    False if all that are left have become another user, and may not be signalled.
    """
    own, end = os.getpgid(0), time.monotonic() + _PATIENCE
    while True:
        reached = refused = False
        for pid in map(int, _children(str(os.getpid()))):
            with suppress(ProcessLookupError, PermissionError):
                group = os.getpgid(pid)
                if group != own:
                    os.killpg(group, signal.SIGKILL)
            with suppress(ProcessLookupError):
                try:
                    os.kill(pid, signal.SIGKILL)
                    reached = True
                except PermissionError:
                    refused = True
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        if reached:
            end = time.monotonic() + _PATIENCE
        elif refused:  # (else there is no pause: a bomb makes none)
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
