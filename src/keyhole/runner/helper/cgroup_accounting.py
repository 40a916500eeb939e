"""Exact CPU time of runs, from a control group (cgroup v2) that holds them and their helper.

The helper joins one group, which all runs inherit, since the kernel takes 2 to 14 ms to move a run
into a group of its own (docs/decisions/013). The CPU time of the helper itself is subtracted.
"""

import os
import resource
from contextlib import suppress
from typing import Final

_NAME_PREFIX: Final = "keyhole-runner-"


class ControlGroup:
    """A cgroup v2 that this process joins; raises an OSError where it cannot be created."""

    def __init__(self) -> None:
        self._parent = find_own_cgroup()
        self._path = f"{self._parent}/{_NAME_PREFIX}{os.getpid()}"
        self._remove_stale_groups()
        os.mkdir(self._path)
        try:
            _write_text(f"{self._path}/cgroup.procs", "0")
            self._cpu_stat = os.open(f"{self._path}/cpu.stat", os.O_RDONLY)
            self.read_cpu()  # raises an OSError if the kernel does not count
        except OSError:
            self.leave()
            raise

    def read_cpu(self) -> float:
        """Return the CPU seconds that the group has ever used, without this process's seconds."""
        columns = os.pread(self._cpu_stat, 4096, 0).split()
        if columns[:1] != [b"usage_usec"]:
            raise OSError(0, "cpu.stat has no usage_usec")
        # Runs follow one another, and the helper sleeps during a run. So in an init, the group's
        # time rises by the time of the run and by the init's own, which is subtracted.
        own_usage = resource.getrusage(resource.RUSAGE_SELF)
        return int(columns[1]) / 1e6 - own_usage.ru_utime - own_usage.ru_stime

    def leave(self) -> None:
        """Move this process back to the parent group, and remove this group."""
        with suppress(OSError):
            _write_text(f"{self._parent}/cgroup.procs", "0")
            os.rmdir(self._path)

    def _remove_stale_groups(self) -> None:
        """Remove the groups of killed helpers, except those that still have processes."""
        for name in os.listdir(self._parent):
            pid = name.removeprefix(_NAME_PREFIX)
            # An earlier process may have had the PID of this one.
            is_stale = pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}")
            if name.startswith(_NAME_PREFIX) and is_stale:
                with suppress(OSError):
                    os.rmdir(f"{self._parent}/{name}")


def find_own_cgroup() -> str:
    """Return the folder of the control group that this process is in."""
    with open("/proc/self/cgroup") as file:
        paths = [line[3:].rstrip("\n") for line in file if line.startswith("0::")]
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file if " - cgroup2 " in line]
    if not paths or not mounts:
        raise OSError(0, "cgroup v2 is not mounted")
    root, mount_point = mounts[0][3:5]
    # In a container only a subtree may be mounted: the path then begins at the root of the subtree.
    if root != "/" and paths[0].startswith(root):
        paths[0] = paths[0][len(root) :]
    return f"{mount_point}{paths[0]}".rstrip("/")


def _write_text(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
