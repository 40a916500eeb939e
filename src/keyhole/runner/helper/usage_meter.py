"""Usage meter: samples the processes of a run, and keeps their CPU time and largest memory."""

import math
import os
import resource
import time
from typing import Final

from . import process_tree
from .cgroup_accounting import ControlGroup
from .linux_syscalls import LINUX

_UNIT: Final = 1024 if LINUX else 1  # of ru_maxrss
_MIN_INTERVAL: Final = 0.003  # seconds from the start to the first sample, and between any two
_MAX_INTERVAL: Final = 0.25  # seconds between two samples
_GROWTH: Final = 1.5  # factor from one interval to the next
_MAX_SHARE: Final = 0.05  # of the time may be spent on samples
_NEWS_FACTOR: Final = 1.05  # times the resident memory seen before: then it is measured exactly
_MAX_FILL_RATE: Final = 4e9  # bytes a second: about two processors at their fastest


class UsageMeter:
    """CPU time (seconds) and peak memory (bytes) of all processes below this one, with limits."""

    def __init__(self, cpu: float | None, memory: int | None, group: ControlGroup | None) -> None:
        self._cpu_limit = math.inf if cpu is None else cpu
        self._memory_limit = math.inf if memory is None else memory
        self.cpu = 0.0
        self.memory = 0
        self._group = group
        self._cpu_by_process: dict[tuple[int, int], float] = {}
        self._resident = 0
        self._interval = _MIN_INTERVAL
        self.next_sample = time.monotonic() + _MIN_INTERVAL
        if group is not None:
            group.start()

    def is_over_limit(self) -> bool:
        """Return whether the CPU or memory limit is exceeded."""
        return self.cpu > self._cpu_limit or self.memory > self._memory_limit

    def lift_cpu_limit(self) -> None:
        """Watch the memory limit alone from now on."""
        self._cpu_limit = math.inf

    def sample(self) -> None:
        """Measure all processes below this one, and set the time of the next sample."""
        began = time.monotonic()
        processes = process_tree.descendants()
        self._update_cpu(processes)
        self._update_memory([process for process in processes if process.alive])
        now = time.monotonic()
        self._interval = min(self._interval * _GROWTH, _MAX_INTERVAL)
        # The nearer a limit, the sooner: all processors may count towards it until then.
        cpu_left = (self._cpu_limit - self.cpu) / (os.cpu_count() or 1)
        memory_left = (self._memory_limit - self.memory) / _MAX_FILL_RATE
        wait = max(min(self._interval, cpu_left, memory_left), _MIN_INTERVAL)
        self.next_sample = now + max(wait, (now - began) / _MAX_SHARE)

    def _update_cpu(self, processes: list[process_tree.Process]) -> None:
        for one in processes:
            self._cpu_by_process[one.pid, one.began] = one.cpu
        # Both sums are lower bounds, so that the larger counts. The first lacks processes that
        # lived between two samples. The second lacks processes that were never reaped: the kernel
        # adds the usage of a child to its parent only when the parent waits for it.
        living = sum(one.cpu + one.reaped_cpu for one in processes)
        self._raise_cpu_to(sum(self._cpu_by_process.values()), living + reaped_cpu_seconds())

    def _update_memory(self, processes: list[process_tree.Process]) -> None:
        total = sum(process.resident for process in processes)
        if len(processes) > 1 and total > self.memory:
            # Resident sizes count shared pages in each process. The exact proportional size takes
            # the kernel a walk through all page tables, so that it is read for news only.
            if total <= self._resident * _NEWS_FACTOR:
                return
            self._resident = total
            total = sum(map(process_tree.proportional_set_size, processes))
        self.memory = max(self.memory, total)

    def finish(self) -> None:
        """Add the usage of reaped children: the total, once no process is left."""
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.memory = max(self.memory, largest * _UNIT)
        self._raise_cpu_to(reaped_cpu_seconds())

    def _raise_cpu_to(self, *sums: float) -> None:
        if self._group is not None:
            sums = (*sums, self._group.cpu())
        self.cpu = max(self.cpu, *sums)


def reaped_cpu_seconds() -> float:
    """Return CPU seconds of all reaped children and their reaped descendants."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
