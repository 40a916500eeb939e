"""Processes below this one, read from /proc: list them, measure them, and kill them."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_ENDED_STATES: Final = (b"Z", b"X")
_MAX_PROCESSES: Final = 4096  # processes that are read: a fork bomb must not delay its own end
_WAIT_SECONDS: Final = 1.0  # seconds to wait for children that this process cannot signal
_PAUSE_SECONDS: Final = 0.01  # seconds between two checks of such children
_HAS_CHILDREN_FILES: Final = os.path.exists("/proc/thread-self/children")
_proc = "/proc"


@dataclass(frozen=True)
class Process:
    """The state of a process when it was read; CPU time in seconds, memory in bytes."""

    pid: int
    parent: int
    alive: bool
    start_ticks: int  # since the boot: tells apart processes that have had the same PID
    cpu: float
    reaped_cpu: float  # of children that have ended and have been reaped
    resident: int


def enter_proc() -> None:
    """Make /proc the working folder of this process, which can then read it after an unmount.

    A run as root may unmount the /proc of its namespace. An outer /proc may appear in its place,
    where the same PIDs are other processes.
    """
    global _proc
    with suppress(OSError):  # no /proc, as on macOS
        os.chdir(_proc)
        _proc = "."


def list_descendants() -> list[Process]:
    """Return all processes below this one, zombies included; none where there is no /proc."""
    # /proc/self and not os.getpid(): a PID namespace that is not allowed to mount its own /proc
    # sees the outer one, with other PIDs.
    try:
        pids = _list_children(os.readlink(f"{_proc}/self"))
    except OSError:
        return []
    processes = []
    for pid in pids:  # breadth first: the list grows during the iteration
        process = _read_process(pid)
        if process is not None:
            processes.append(process)
        if len(processes) == _MAX_PROCESSES:
            break
        pids.extend(_list_children(pid))
    return processes


def _read_process(pid: str) -> Process | None:
    try:
        with open(f"{_proc}/{pid}/stat", "rb") as file:
            # The name of the program, in parentheses, may itself have spaces and parentheses.
            columns = file.read().rpartition(b")")[2].split()
    except OSError:  # the process has ended meanwhile
        return None
    return Process(
        pid=int(pid),
        parent=int(columns[1]),
        alive=columns[0] not in _ENDED_STATES,
        start_ticks=int(columns[19]),
        cpu=(int(columns[11]) + int(columns[12])) / TICKS_PER_SECOND,
        reaped_cpu=(int(columns[13]) + int(columns[14])) / TICKS_PER_SECOND,
        resident=int(columns[21]) * PAGE_BYTES,
    )


def _list_children(pid: str) -> list[str]:
    """Return the PIDs of a process's children, which the kernel lists for each of its threads."""
    children: list[str] = []
    with suppress(OSError):  # the process may end meanwhile
        if not _HAS_CHILDREN_FILES:
            return _scan_children(int(pid))
        for thread in os.listdir(f"{_proc}/{pid}/task"):
            with open(f"{_proc}/{pid}/task/{thread}/children") as file:
                children += file.read().split()
    return children


def _scan_children(parent: int) -> list[str]:
    """Return the PIDs of a process's children; read the parent of every process."""
    processes = (_read_process(name) for name in os.listdir(_proc) if name.isdigit())
    return [str(process.pid) for process in filter(None, processes) if process.parent == parent]


def read_proportional_size(process: Process) -> int:
    """Return the proportional set size of a process: its memory, with its share of shared pages."""
    # An error means that the process has ended, or is of another user.
    with suppress(OSError), open(f"{_proc}/{process.pid}/smaps_rollup", "rb") as file:
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return process.resident


def kill_descendants() -> bool:
    """Kill all processes below this one, a subreaper; return False if some are left.

    This process is not allowed to signal those that are left: they belong to another user, since
    they run a setuid program, say.
    """
    # Only children and their process groups are signalled: the PID of a child is not reused before
    # this process reaps the child, so that no other process is hit. Grandchildren become children
    # when their parent dies. A walk through all descendants, as in psutil, misses chains of
    # short-lived processes (docs/decisions/013).
    own_group = os.getpgid(0)
    end = time.monotonic() + _WAIT_SECONDS
    while True:
        has_signalled = is_refused = False
        for pid in map(int, _list_children(str(os.getpid()))):
            with suppress(ProcessLookupError, PermissionError):
                group = os.getpgid(pid)
                if group != own_group:
                    os.killpg(group, signal.SIGKILL)
            # The child itself is killed, too: it may be in this process's group, or may have just
            # left its group.
            with suppress(ProcessLookupError):
                try:
                    os.kill(pid, signal.SIGKILL)
                    has_signalled = True
                except PermissionError:
                    is_refused = True
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        if has_signalled:
            end = time.monotonic() + _WAIT_SECONDS
        elif is_refused:  # after a signal there is no pause: a fork bomb would use it
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE_SECONDS)
