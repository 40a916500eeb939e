"""A control group for what a runner runs, where one may be made: its CPU time is exact.

Helper and inits are in it, so that what they start is so from the start: to move a process into a
group takes the kernel up to ten milliseconds. What they use themselves is taken off.
"""

import os
import resource
from contextlib import suppress
from typing import Final

_NAME: Final = "keyhole-runner-"


class Group:
    """A group of cgroup v2, with this process in it; OSError where that is refused."""

    def __init__(self) -> None:
        self._above = _own()
        self._path = f"{self._above}/{_NAME}{os.getpid()}"
        self._sweep()
        os.mkdir(self._path)
        try:
            _write(f"{self._path}/cgroup.procs", "0")
            self._told = os.open(f"{self._path}/cpu.stat", os.O_RDONLY)
            self.used()
        except OSError:
            self.leave()
            raise

    def start(self) -> None:
        """Count from now on, in this process."""
        self._at_start = self.used()

    def cpu(self) -> float:
        """Return seconds of CPU time that all others in the group have used since the start."""
        return self.used() - self._at_start

    def used(self) -> float:
        """Return seconds of CPU time that all others in the group have ever used."""
        words = os.pread(self._told, 4096, 0).split()
        if words[:1] != [b"usage_usec"]:
            raise OSError(0, "cpu.stat tells no CPU time")
        mine = resource.getrusage(resource.RUSAGE_SELF)
        return int(words[1]) / 1e6 - mine.ru_utime - mine.ru_stime

    def leave(self) -> None:
        """Go back to the group above, and remove this one."""
        with suppress(OSError):
            _write(f"{self._above}/cgroup.procs", "0")
            os.rmdir(self._path)

    def _sweep(self) -> None:
        """Remove what helpers have left that were killed; groups with processes in them stay."""
        for name in os.listdir(self._above):
            helper = name.removeprefix(_NAME)
            if helper == name:
                continue
            if helper == str(os.getpid()) or not os.path.exists(f"/proc/{helper}"):
                with suppress(OSError):
                    os.rmdir(f"{self._above}/{name}")


def _own() -> str:
    """Return the folder of the group that this process is in."""
    with open("/proc/self/cgroup") as file:
        paths = [line[3:].rstrip("\n") for line in file if line.startswith("0::")]
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file if " - cgroup2 " in line]
    if not paths or not mounts:
        raise OSError(0, "there is no cgroup v2")
    root, place = mounts[0][3:5]
    if root != "/" and paths[0].startswith(root):
        paths[0] = paths[0][len(root) :]
    return f"{place}{paths[0]}".rstrip("/")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
