"""Termination of all processes of a session (POSIX), whatever their process groups."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final

_PROC: Final = Path("/proc")
_AT_MOST: Final = 10.0  # seconds: a process in an uninterruptible sleep may take longer to end
_EVERY: Final = 0.05


def kill_session(leader: int) -> None:
    """Kill all processes of a session but this one, and then the process group of its leader.

    A signal to the group alone misses Ray's workers, which have groups of their own and end only
    when they notice by themselves that their head is gone. Where the system has no ``/proc``, only
    the group is killed.
    """
    end = monotonic() + _AT_MOST
    while (found := list(_other_processes(leader))) and monotonic() < end:
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        sleep(_EVERY)  # a process may have started another one meanwhile
    with suppress(OSError):
        os.killpg(leader, signal.SIGKILL)


def _other_processes(leader: int) -> Iterator[int]:
    """Yield the other processes of a session that have not ended."""
    for path in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):
            # The name of the program, in brackets, may hold spaces and brackets itself.
            state, _, _, session = (path / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state not in "ZX" and int(path.name) != os.getpid():
                yield int(path.name)
