"""Progress of many simulations as one, with the time left to simulate and to compile."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from keyhole.durations import format_duration
from keyhole.play.progress import Observe, Report, StatusLine

_SECONDS_BETWEEN_LINES: Final = 10.0
# To compile a policy, on an idle core of the machine on which the expected seconds were measured.
_SECONDS_TO_COMPILE: Final = 2.7
# What is expected beforehand counts as much as so many seconds of measurement, on that machine: the
# first seconds of a policy say little, since a second process may still be compiling.
_EXPECTED_COUNTS: Final = 5.0


@dataclass(frozen=True)
class TimeLeft:
    """The seconds left: to simulate, to wait for compilation, and to write tables and pages.

    Examples
    --------
    >>> str(TimeLeft(simulating=300.0, compiling=60.0, writing=10.0))
    'about 6.2 min left in all, 60 s of it compiling'
    """

    simulating: float
    compiling: float
    writing: float

    def __str__(self) -> str:
        """Return the text of a progress line."""
        seconds = self.simulating + self.compiling + self.writing
        text = f"about {format_duration(seconds)} left in all"
        if self.compiling < 1.0:
            return text
        return f"{text}, {format_duration(self.compiling)} of it compiling"


Show = Callable[[str, float, TimeLeft], None]
"""Shows the current work, the share of all rounds that is done, and the time left."""


@dataclass(frozen=True)
class WorkItem:
    """One policy on one problem.

    Attributes
    ----------
    place, label : str
        The problem and the policy.
    kind : tuple of str
        Its class of speed, from coarse to fine: simulated workers, setting, class of the policy.
    rounds : int
        Its rounds, of all replications.
    expected : float
        The seconds that they are expected to take on the machine of the estimate, when it is idle.
    code : Path, optional
        The file of its machine code in the compile cache, which need not exist yet; None if
        nothing will be compiled, or it is not known.
    """

    place: str
    label: str
    kind: tuple[str, ...]
    rounds: int
    expected: float
    code: Path | None = None


class TotalProgress:
    """Tracks the progress of all work, done in order, and the time that is left.

    How much slower simulations are than expected is measured: of all work, more precisely of work
    with as many simulated workers, of a setting, and of a class of policies. Each begins at what is
    known of the one before, and the first at how much slower compiling is than expected. What is
    not in the compile cache will take as long to compile as what was compiled so far, as a median.

    Parameters
    ----------
    work : sequence of WorkItem
        All work.
    show : callable, optional
        Is called at each report of progress.
    clock : callable, optional
        Returns the time in seconds.
    compilers : int, default 1
        2 if a second process compiles the later work, last first, while the first one runs.
    writing : float, default 0
        The seconds that tables and pages take at the end, on the machine of the estimate; here they
        are scaled by how long compiling takes, or simulations where nothing was compiled.
    """

    def __init__(
        self,
        work: Sequence[WorkItem],
        show: Show | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        compilers: int = 1,
        writing: float = 0.0,
    ) -> None:
        self._writing = writing
        self._left = {(one.place, one.label): one for one in work}
        self._all = sum(one.rounds for one in work)
        self._show, self._clock, self._compilers = show, clock, compilers
        self._started: dict[tuple[str, str], tuple[float, int]] = {}
        # Seconds that were expected, and that it took, of each kind of work so far.
        self._expected: dict[tuple[str, ...], float] = defaultdict(float)
        self._seconds: dict[tuple[str, ...], float] = defaultdict(float)
        self._compiled: list[float] = []  # how long each compilation took
        self._begin_next()

    def of(self, place: str) -> Report:
        """Return the progress callback of one problem."""

        def report(label: str, played: int, total: int) -> None:
            self.update(place, label, played, total)

        return report

    def observer(self, place: str) -> Observe:
        """Return the function that tracks one problem, and returns the time left as text."""

        def observe(label: str, played: int, total: int) -> str:
            left = self.update(place, label, played, total)
            return "" if left is None else str(left)

        return observe

    def finish(self, place: str) -> None:
        """Count a place, and those below it, as done: cached results report no progress."""
        for key in [key for key in self._left if f"{key[0]}/".startswith(f"{place}/")]:
            self._tell(self._left.pop(key), 0, 0.0, 0)
        self._begin_next()

    def update(self, place: str, label: str, played: int, total: int) -> TimeLeft | None:
        """Track the progress of a policy; return the time left, or None for unknown work."""
        key = place, label
        if (work := self._left.get(key)) is None:
            return None
        now = self._clock()
        if key not in self._started:
            self._started[key] = now, played
            # The first report of a policy comes when its engine is compiled: the time since the
            # last policy ended is the time that compiling took. Cached results compile nothing.
            if work.code is not None and work.code in self._missing and work.code.exists():
                self._compiled.append(now - self._since)
        began, from_round = self._started[key]
        if played < total:
            return self._tell(work, played, now - began, played - from_round)
        del self._left[key]
        self._expected[work.kind] += _share(work, played - from_round)
        self._seconds[work.kind] += now - began
        self._begin_next()
        return self._tell(work, 0, 0.0, 0)

    def _begin_next(self) -> None:
        """Record when the next work begins, and what is not compiled then."""
        self._since, self._missing = self._clock(), self._missing_code()

    def _missing_code(self) -> set[Path]:
        codes = {one.code for one in self._left.values() if one.code is not None}
        return {code for code in codes if not code.exists()}

    def _tell(self, work: WorkItem, played: int, seconds: float, rounds: int) -> TimeLeft:
        """Show what is left, with the speed of the current policy so far, and return it."""
        left = self._time_left(work, played, seconds, rounds)
        if self._show is not None:
            rounds_left = sum(one.rounds for one in self._left.values()) - min(played, work.rounds)
            share = 1.0 - rounds_left / self._all if self._all else 1.0
            self._show(f"{work.place}: {work.label}", share, left)
        return left

    def _time_left(self, work: WorkItem, played: int, seconds: float, rounds: int) -> TimeLeft:
        # The median: the first time includes what the compiler needs to start.
        took = median(self._compiled) if self._compiled else _SECONDS_TO_COMPILE
        slowness = took / _SECONDS_TO_COMPILE
        left: dict[tuple[str, ...], float] = defaultdict(float)
        for one in self._left.values():
            left[one.kind] += one.expected
        left[work.kind] -= _share(work, min(played, work.rounds))
        current = work.kind, _share(work, rounds), seconds
        simulating = sum(
            expected * self._simulation_slowness(kind, slowness, current)
            for kind, expected in left.items()
        )
        # Two processes meet: while this one compiles and simulates, the other compiles too.
        whole = simulating + took * len(self._missing_code())
        whole = max(simulating, whole / self._compilers)
        # Drawing uses one core, as compiling does, and simulations use all of them: their speed is
        # the measure only where nothing was compiled.
        if not self._compiled:
            slowness = self._simulation_slowness((), slowness, current)
        return TimeLeft(simulating, whole - simulating, self._writing * slowness)

    def _simulation_slowness(
        self, kind: tuple[str, ...], slowness: float, current: tuple[tuple[str, ...], float, float]
    ) -> float:
        """Return how many times longer than expected a kind of work takes."""
        known = [(other, self._expected[other], self._seconds[other]) for other in self._expected]
        for common in range(len(kind) + 1):
            expected = seconds = 0.0
            for other, more, longer in (*known, current):
                if other[:common] == kind[:common]:
                    expected, seconds = expected + more, seconds + longer
            slowness = (seconds + _EXPECTED_COUNTS * slowness) / (expected + _EXPECTED_COUNTS)
        return slowness


def _share(work: WorkItem, rounds: int) -> float:
    """Return the expected seconds of some rounds of a work."""
    return work.expected * rounds / work.rounds if work.rounds else 0.0


@contextmanager
def track_total(
    wanted: bool, work: Sequence[WorkItem], *, compilers: int = 1, writing: float = 0.0
) -> Iterator[TotalProgress | None]:
    """Return a context manager with the tracker, shown on standard error, or with None."""
    if not wanted:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar() as show:
            yield TotalProgress(work, show, compilers=compilers, writing=writing)
    else:
        yield TotalProgress(work, _Lines(), compilers=compilers, writing=writing)


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        task = display.add_task("reading", total=1.0)

        def show(what: str, share: float, left: TimeLeft) -> None:
            display.update(task, completed=share, description=f"{what}; {left}")

        yield show


class _Lines:
    """Prints a line every ten seconds."""

    def __init__(self) -> None:
        self.line = StatusLine(_SECONDS_BETWEEN_LINES)

    def __call__(self, what: str, share: float, left: TimeLeft) -> None:
        if self.line.is_due:
            self.line.print(f"{100 * share:.0f} % of all rounds; {what}; {left}")
