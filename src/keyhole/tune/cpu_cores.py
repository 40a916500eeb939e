"""CPU cores: which are free, their assignment to workers, and the load of others on them.

They matter where commands are compared by seconds: two runs on one core slow each other down.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_STAT: Final = Path("/proc/stat")
_TOPOLOGY: Final = Path("/sys/devices/system/cpu")
# Without idle and iowait, and without the guests' time, which user and nice contain already.
_BUSY_COLUMNS: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal


def available_cores() -> list[int]:
    """Return the logical cores that this process may use; none where the system does not say.

    The first hardware thread of each physical core comes before second threads.
    """
    if not hasattr(os, "sched_getaffinity"):
        return []
    found, threads_seen = sorted(os.sched_getaffinity(0)), dict[str, int]()
    ranks = {}
    for core in found:
        ranks[core] = threads_seen.get(siblings := _read_siblings(core), 0)
        threads_seen[siblings] = ranks[core] + 1
    return sorted(found, key=lambda core: (ranks[core], core))


def physical_cores(cores: Sequence[int]) -> int:
    """Return the number of physical cores of these logical cores."""
    return len({_read_siblings(core) for core in cores})


def _read_siblings(core: int) -> str:
    """Return the hardware threads of the same physical core, as the kernel lists them."""
    try:
        return (_TOPOLOGY / f"cpu{core}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(core)


def assign_cores(workers: int, each: int) -> list[tuple[int, ...] | None]:
    """Return the cores of each worker; they are shared only if there are too few."""
    found = available_cores()
    if not found:
        return [None] * workers
    return [
        # Without repetition: if a run wants more cores than there are, it gets each of them once.
        tuple(dict.fromkeys(found[(worker * each + k) % len(found)] for k in range(each)))
        for worker in range(workers)
    ]


def core_load(cores: Sequence[int] | None) -> float | None:
    """Return the busy seconds of these cores since the machine was booted, of all processes."""
    if not cores:
        return None
    try:
        lines = _STAT.read_text().splitlines()
        ticks = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
    wanted = {f"cpu{core}" for core in cores}
    rows = [line.split() for line in lines if line.split(" ", 1)[0] in wanted]
    # A container may show a file of its own, which lacks cores that the process may use.
    if len(rows) < len(wanted):
        return None
    return sum(int(row[1:][k]) for row in rows for k in _BUSY_COLUMNS) / ticks


class LoadMonitor:
    """Measures the load of other processes on the cores of a run."""

    def __init__(self, cores: Sequence[int] | None) -> None:
        self._cores, self._before = cores, core_load(cores)

    def other_load(self, own: float) -> float:
        """Return the CPU seconds of other processes, given `own` CPU seconds of the run."""
        now = core_load(self._cores)
        if now is None or self._before is None:
            return 0.0
        # The system counts in ticks of a hundredth of a second, so the difference may fall below 0.
        return max(0.0, now - self._before - own)
