"""What the processes of a run use, looked up while it runs and added up at its end."""

import math
import os
import resource
import time
from typing import Final

from . import process_tree
from .cgroup import Group
from .linux_syscalls import LINUX

_UNIT: Final = 1024 if LINUX else 1  # of ru_maxrss
_FIRST: Final = 0.003  # seconds from the start to the first look
_LONGEST: Final = 0.25  # seconds between two looks
_GROWTH: Final = 1.5  # of the time between two looks
_SHARE: Final = 0.05  # of the time may be spent looking
_NEWS: Final = 1.05  # so many times the memory seen before is worth an exact look
_FILLED: Final = 4e9  # bytes a second: two processors or so at their fastest


class Meter:
    """CPU time (seconds) and memory (peak, bytes) of all below this process, and their limits."""

    def __init__(self, cpu: float | None, memory: int | None, group: Group | None) -> None:
        self._cpu_limit = math.inf if cpu is None else cpu
        self._memory_limit = math.inf if memory is None else memory
        self.cpu = 0.0
        self.memory = 0
        self._group = group
        self._own: dict[tuple[int, int], float] = {}
        self._resident = 0
        self._step = _FIRST
        self.next = time.monotonic() + _FIRST
        if group is not None:
            group.start()

    def too_much(self) -> bool:
        """Return whether more was used than is allowed."""
        return self.cpu > self._cpu_limit or self.memory > self._memory_limit

    def look(self) -> None:
        """Look at all processes below, and say when to look again."""
        began = time.monotonic()
        processes = process_tree.descendants()
        self._cpu_of(processes)
        self._memory_of([process for process in processes if process.alive])
        now = time.monotonic()
        self._step = min(self._step * _GROWTH, _LONGEST)
        # The nearer a limit, the sooner: neither is passed by far before it is seen.
        cpu_left = (self._cpu_limit - self.cpu) / (os.cpu_count() or 1)
        memory_left = (self._memory_limit - self.memory) / _FILLED
        wait = max(min(self._step, cpu_left, memory_left), _FIRST)
        self.next = now + max(wait, (now - began) / _SHARE)

    def _cpu_of(self, processes: list[process_tree.Process]) -> None:
        for one in processes:
            self._own[one.pid, one.began] = one.cpu
        # Twice added up, as either may miss something: a process whose parent waits for nobody
        # hands its time on to no one, and one that lives from look to look is not seen.
        living = sum(one.cpu + one.cpu_of_children for one in processes)
        self._at_least(sum(self._own.values()), living + waited_for())

    def _memory_of(self, processes: list[process_tree.Process]) -> None:
        total = sum(process.resident for process in processes)
        if len(processes) > 1 and total > self.memory:
            if total <= self._resident * _NEWS:
                return
            self._resident = total
            total = sum(map(process_tree.proportional_set_size, processes))
        self.memory = max(self.memory, total)

    def finish(self) -> None:
        """Count what has been waited for, which is all when no process is left."""
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.memory = max(self.memory, largest * _UNIT)
        self._at_least(waited_for())

    def _at_least(self, *sums: float) -> None:
        if self._group is not None:
            sums = (*sums, self._group.cpu())
        self.cpu = max(self.cpu, *sums)


def waited_for() -> float:
    """Return seconds of CPU time of the children that have been waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
