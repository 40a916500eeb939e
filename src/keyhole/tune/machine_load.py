"""CPU cores of this machine: cores that runs may use, and their load by other processes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_STAT: Final = Path("/proc/stat")
_TOPOLOGY: Final = Path("/sys/devices/system/cpu")
# Without idle and iowait, and without the guests' time, which user and nice contain already.
_BUSY_COLUMNS: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal


def available_cores() -> list[int]:
    """Return the logical cores that this process may use; none if the system does not say.

    The first hardware thread of each physical core comes before second threads.
    """
    if not hasattr(os, "sched_getaffinity"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    threads_seen: dict[str, int] = {}
    ranks = {}
    for core in cores:
        ranks[core] = threads_seen.get(siblings := _read_sibling_cores(core), 0)
        threads_seen[siblings] = ranks[core] + 1
    return sorted(cores, key=lambda core: (ranks[core], core))


def count_physical_cores(cores: Sequence[int]) -> int:
    """Return the number of physical cores to which these logical cores belong."""
    return len({_read_sibling_cores(core) for core in cores})


def _read_sibling_cores(core: int) -> str:
    """Return the logical cores of the same physical core as this one, as the kernel lists them."""
    try:
        return (_TOPOLOGY / f"cpu{core}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(core)


def assign_cores(workers: int, count: int) -> list[tuple[int, ...] | None]:
    """Return for each worker `count` cores, or None if the system does not name cores.

    Workers share cores only if there are too few.
    """
    cores = available_cores()
    if not cores:
        return [None] * workers
    return [
        # If a run needs more cores than there are, it gets each of them, once.
        tuple(dict.fromkeys(cores[(worker * count + k) % len(cores)] for k in range(count)))
        for worker in range(workers)
    ]


def busy_core_seconds(cores: Sequence[int] | None) -> float | None:
    """Return for how many seconds these cores have worked since boot; None if unknown."""
    if not cores:
        return None
    try:
        lines = _STAT.read_text().splitlines()
        ticks_per_second = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
    labels = {f"cpu{core}" for core in cores}
    rows = [line.split() for line in lines if line.split(" ", 1)[0] in labels]
    # The file that a container shows may lack cores that the process may use.
    if len(rows) < len(labels):
        return None
    return sum(int(row[1:][k]) for row in rows for k in _BUSY_COLUMNS) / ticks_per_second


class LoadMonitor:
    """Measures the load of other processes on the cores of a run."""

    def __init__(self, cores: Sequence[int] | None) -> None:
        self._cores = cores
        self._before = busy_core_seconds(cores)

    def other_cpu_seconds(self, cpu_seconds: float) -> float:
        """Return the CPU seconds of other processes on the cores since the run began.

        The run itself used `cpu_seconds`. The result is 0 if the system does not show the load.
        """
        busy_seconds = busy_core_seconds(self._cores)
        if busy_seconds is None or self._before is None:
            return 0.0
        # The system counts in ticks of a hundredth of a second, so the difference may fall below 0.
        return max(0.0, busy_seconds - self._before - cpu_seconds)
