"""Cores for runs of their own, and who else works on them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_STAT: Final = Path("/proc/stat")
_TOPOLOGY: Final = Path("/sys/devices/system/cpu")
_BUSY: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal


def available_cores() -> list[int]:
    """Return the cores that this process may use; none where nobody says.

    Of those that are one core with several threads, the first threads come first.
    """
    if not hasattr(os, "sched_getaffinity"):
        return []
    found, places = sorted(os.sched_getaffinity(0)), dict[str, int]()
    ranks = {}
    for core in found:
        ranks[core] = places.get(siblings := _siblings(core), 0)
        places[siblings] = ranks[core] + 1
    return sorted(found, key=lambda core: (ranks[core], core))


def physical_cores(cores: Sequence[int]) -> int:
    """Return how many cores these are, if those that share one by threads count as one."""
    return len({_siblings(core) for core in cores})


def _siblings(core: int) -> str:
    """Return which logical cores are threads of the same one; itself where nobody says."""
    try:
        return (_TOPOLOGY / f"cpu{core}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(core)


def assign_cores(workers: int, each: int) -> list[tuple[int, ...] | None]:
    """Return the cores of each worker: their own, as long as there are enough."""
    found = available_cores()
    if not found:
        return [None] * workers
    return [
        tuple(dict.fromkeys(found[(worker * each + k) % len(found)] for k in range(each)))
        for worker in range(workers)
    ]


def core_load(cores: Sequence[int] | None) -> float | None:
    """Return for how many seconds these cores have worked since the machine began, for anybody."""
    if not cores:
        return None
    try:
        lines = _STAT.read_text().splitlines()
        ticks = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
    wanted = {f"cpu{core}" for core in cores}
    rows = [line.split() for line in lines if line.split(" ", 1)[0] in wanted]
    if len(rows) < len(wanted):
        return None
    return sum(int(row[1:][k]) for row in rows for k in _BUSY) / ticks


class LoadMonitor:
    """What cores do for others while a run is on."""

    def __init__(self, cores: Sequence[int] | None) -> None:
        self._cores, self._before = cores, core_load(cores)

    def other_load(self, own: float) -> float:
        """Return for how many seconds they worked for others than the run, which used `own`."""
        now = core_load(self._cores)
        if now is None or self._before is None:
            return 0.0
        return max(0.0, now - self._before - own)
