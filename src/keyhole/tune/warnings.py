"""Warnings of a tune (no run succeeds, other processes at work), and the CPU cores of its runs."""

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from keyhole.text_formatting import count_text
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import EXPIRED, TrialRecord

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
    cores = sorted(os.sched_getaffinity(0))
    threads_seen: dict[str, int] = {}
    ranks = {}
    for core in cores:
        ranks[core] = threads_seen.get(siblings := _read_siblings(core), 0)
        threads_seen[siblings] = ranks[core] + 1
    return sorted(cores, key=lambda core: (ranks[core], core))


def count_physical_cores(cores: Sequence[int]) -> int:
    """Return the number of physical cores of these logical cores."""
    return len({_read_siblings(core) for core in cores})


def _read_siblings(core: int) -> str:
    """Return the hardware threads of the same physical core, as the kernel lists them."""
    try:
        return (_TOPOLOGY / f"cpu{core}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(core)


def assign_cores(workers: int, count: int) -> list[tuple[int, ...] | None]:
    """Return `count` cores for each worker; they are shared only if there are too few."""
    cores = available_cores()
    if not cores:
        return [None] * workers
    return [
        # If a run needs more cores than there are, it gets each of them, once.
        tuple(dict.fromkeys(cores[(worker * count + k) % len(cores)] for k in range(count)))
        for worker in range(workers)
    ]


def busy_core_seconds(cores: Sequence[int] | None) -> float | None:
    """Return the busy seconds of these cores since the machine was booted, of all processes."""
    if not cores:
        return None
    try:
        lines = _STAT.read_text().splitlines()
        ticks = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None
    labels = {f"cpu{core}" for core in cores}
    rows = [line.split() for line in lines if line.split(" ", 1)[0] in labels]
    # The file that a container shows may lack cores that the process may use.
    if len(rows) < len(labels):
        return None
    return sum(int(row[1:][k]) for row in rows for k in _BUSY_COLUMNS) / ticks


class LoadMonitor:
    """Measures the load of other processes on the cores of a run."""

    def __init__(self, cores: Sequence[int] | None) -> None:
        self._cores = cores
        self._before = busy_core_seconds(cores)

    def other_load(self, cpu_seconds: float) -> float:
        """Return the CPU seconds of other processes, given the CPU seconds of the run."""
        busy_seconds = busy_core_seconds(self._cores)
        if busy_seconds is None or self._before is None:
            return 0.0
        # The system counts in ticks of a hundredth of a second, so the difference may fall below 0.
        return max(0.0, busy_seconds - self._before - cpu_seconds)


_MIN_RUNS: Final = 10  # with the same problem, before it is reported
_MAX_FAILED_RUNS: Final = 100  # after which no further arm is waited for
_MIN_CONFIGURATIONS: Final = 20  # of a space that all have failed
_MOST_CHARACTERS: Final = 200  # of an output that a warning quotes
_MIN_SECONDS: Final = 5.0  # of runs, before a warning of other load
_MAX_SHARE: Final = 0.1  # of other load, without a warning


class AllFailedError(RuntimeError):
    """Every run has failed: there is nothing to learn."""


class OtherLoad:
    """Load of other processes on the cores of runs, summed over runs.

    Parameters
    ----------
    spec : Spec
        The spec of the tune.
    runs : iterable of TrialRecord
        Runs to begin with.
    """

    def __init__(self, spec: Spec, runs: Iterable[TrialRecord] = ()) -> None:
        self._spec = spec
        self._seconds = self._others = 0.0
        for run in runs:
            self.add(run)

    def add(self, run: TrialRecord) -> None:
        """Take a run into account."""
        self._seconds += run.seconds * self._spec.cores
        self._others += run.others

    @property
    def share(self) -> float:
        """Share of the time of the runs in which their cores worked for other processes."""
        return min(1.0, self._others / (self._seconds or float("inf")))

    @property
    def warning(self) -> str:
        """The warning that the machine was busy, which made the seconds too long; "" if not."""
        # Other load changes CPU time little.
        is_measured = self._spec.clock != "cpu" and self._seconds >= _MIN_SECONDS
        if not (is_measured and self.share > _MAX_SHARE):
            return ""
        return (
            "the machine was busy: during the runs, their cores worked for other processes "
            f"{self.share:.0%} of the time, so that the measured seconds are too long; use fewer "
            "workers, or a machine without other load"
        )


class EarlyWarnings:
    """Checks of the runs of one call of `Tuner.run`, which warn of problems at once.

    Parameters
    ----------
    spec : Spec
        The spec of the tune.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._counts: Counter[str] = Counter()
        self._tried: set[tuple[str, int | None]] = set()  # arms, or configurations of a space
        self._other_load = OtherLoad(spec)
        self._warned: set[str] = set()
        self._unmatched = 0

    def observe(self, record: TrialRecord) -> None:
        """Take a run into account: warn of each problem once, raise if all runs have failed."""
        if record.outcome == EXPIRED:
            self._warn(EXPIRED, f"a run does not count and is repeated: {record.reason}")
            return
        self._counts[record.outcome] += 1
        self._tried.add((record.arm, record.configuration))
        self._check_pattern(record)
        self._other_load.add(record)
        if text := self._other_load.warning:
            self._warn("others", text)
        failed_count = self._counts["failed"] + self._counts["out of memory"]
        runs = self._counts.total()
        # Until all arms, or many configurations of a space, have failed, another may succeed.
        noun = "arm"
        needed_count = len(self._spec.arms)
        if self._spec.search is not None:
            noun = "configuration"
            needed_count = _MIN_CONFIGURATIONS
        has_tried_enough = len(self._tried) >= needed_count
        if failed_count == runs >= _MIN_RUNS and (has_tried_enough or runs >= _MAX_FAILED_RUNS):
            raise AllFailedError(
                f"all {runs} runs failed, of {count_text(len(self._tried), noun)}; the last, of "
                f"{record.arm!r} on {record.instance!r}, {record.reason}{_format_output(record)}"
            )

    def _check_pattern(self, record: TrialRecord) -> None:
        """Warn if success.pattern or success.number was found in none of ten outputs."""
        success = self._spec.success
        self._unmatched += record.reason.endswith("was not found")
        if self._unmatched >= _MIN_RUNS and not self._counts["ok"]:
            entry = "number"
            if success.pattern and "pattern" in record.reason:
                entry = "pattern"
            expression = getattr(success, entry)
            self._warn(
                "pattern",
                f"success.{entry} {expression!r} was found in none of {self._unmatched} outputs so "
                f"far{_format_output(record)}",
            )

    def _warn(self, topic: str, text: str) -> None:
        if topic not in self._warned:
            self._warned.add(topic)
            warnings.warn(text, stacklevel=2)


def workers_warning(workers: int, cores_each: int, cores: Sequence[int]) -> str:
    """Return a warning if workers need more cores than there are; else ""."""
    needed_count = workers * cores_each
    core_count = count_physical_cores(cores)
    if not cores or needed_count <= core_count:
        return ""
    return (
        f"workers: {count_text(needed_count, 'core')} would be needed, and this process may use "
        f"{core_count} with {count_text(len(cores), 'thread')}: the measured seconds are too long"
    )


def _format_output(record: TrialRecord) -> str:
    """Return the end of the output of a run on one line, as the end of a message."""
    text = ""
    for line in reversed(record.output.splitlines()):
        longer = " ".join(f"{line} {text}".split())
        if text and len(longer) > _MOST_CHARACTERS:
            break
        text = longer
    return f"; its output: {text[-_MOST_CHARACTERS:]}" if text else "; no output"
