"""One progress line for many experiments, with the time left for simulation and compilation."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from keyhole.play.progress import Report, StatusLine

_SECONDS_BETWEEN_LINES: Final = 10.0
_MINUTE: Final = 60.0

Show = Callable[[str, float, float, float], None]
"""Shows the current work, the share that is done, and seconds left to simulate and to compile."""


@dataclass(frozen=True)
class WorkItem:
    """One policy on one problem: its place, its class of speed, and its number of rounds."""

    place: str
    label: str
    kind: tuple[str, ...]  # simulated workers, setting, policy class: from coarse to fine
    rounds: int


class TotalProgress:
    """Tracks the progress of all work, done in order, and shows the time that is left.

    The time per round of a kind of policy is measured when it runs; until then it is taken from its
    setting, else from work with as many simulated workers, else from all work. Compilation is
    estimated apart, for kinds that have not run yet: the time until a policy's first rounds.
    """

    def __init__(
        self, work: Sequence[WorkItem], show: Show, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._left = {(one.place, one.label): one for one in work}
        self._all = sum(one.rounds for one in work)
        self._show, self._clock = show, clock
        self._since = clock()  # the end of the last policy
        self._started: dict[tuple[str, str], tuple[float, int]] = {}
        self._rounds: dict[tuple[str, ...], int] = defaultdict(int)
        self._seconds: dict[tuple[str, ...], float] = defaultdict(float)
        self._prepared: list[float] = []

    def of(self, place: str) -> Report:
        """Return the progress callback of one problem."""

        def report(label: str, played: int, total: int) -> None:
            key = (place, label)
            if key in self._left:
                self._update(key, played, total)

        return report

    def finish(self, entry: str) -> None:
        """Count an entry as done, with cached results, which report no progress."""
        for key in [key for key in self._left if key[0].startswith(f"{entry}/")]:
            self._show_remaining(self._left.pop(key), 0, 0.0, 0)
        self._since = self._clock()

    def _update(self, key: tuple[str, str], played: int, total: int) -> None:
        now, work = self._clock(), self._left[key]
        if key not in self._started:
            self._started[key] = (now, played)
            # The first report of a new kind comes when its engine is compiled: the time since the
            # last policy ended is the time that compiling took.
            if work.kind not in self._rounds:
                self._prepared.append(now - self._since)
        began, from_round = self._started[key]
        if played < total:
            self._show_remaining(work, played, now - began, played - from_round)
            return
        del self._left[key]
        self._rounds[work.kind] += played - from_round
        self._seconds[work.kind] += now - began
        self._since = now
        self._show_remaining(work, 0, 0.0, 0)

    def _show_remaining(self, work: WorkItem, played: int, seconds: float, rounds: int) -> None:
        """Show what is left, with the speed of the current policy so far."""
        current = {work.kind: (rounds, seconds)}
        rounds_left: dict[tuple[str, ...], int] = defaultdict(int)
        for one in self._left.values():
            rounds_left[one.kind] += one.rounds
        rounds_left[work.kind] -= min(played, work.rounds)
        left = sum(rounds_left.values())
        playing = sum(n * self._seconds_per_round(kind, current) for kind, n in rounds_left.items())
        # Kinds of work that have not begun: each is assumed to compile as long as others did.
        new = rounds_left.keys() - self._rounds.keys() - {work.kind}
        wait = sum(self._prepared) / len(self._prepared) if self._prepared else 0.0
        share = 1.0 - left / self._all if self._all else 1.0
        self._show(f"{work.place}: {work.label}", share, playing, len(new) * wait)

    def _seconds_per_round(
        self, kind: tuple[str, ...], current: dict[tuple[str, ...], tuple[int, float]]
    ) -> float:
        """Return seconds per round of finished work that shares the longest prefix of its kind."""
        known = [(other, (n, self._seconds[other])) for other, n in self._rounds.items()]
        # The longest shared prefix first: class, then setting, then simulated workers, then
        # everything.
        for common in range(len(kind), -1, -1):
            rounds, seconds = 0, 0.0
            for other, (more, longer) in (*known, *current.items()):
                if other[:common] == kind[:common]:
                    rounds, seconds = rounds + more, seconds + longer
            if rounds > 0:
                return seconds / rounds
        return 0.0


@contextmanager
def track_total(wanted: bool, work: Sequence[WorkItem]) -> Iterator[TotalProgress | None]:
    """Return a context manager with the tracker, shown on standard error, or with None."""
    if not wanted:
        yield None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield TotalProgress(work, show)
    else:
        yield TotalProgress(work, _Lines())


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

        def show(what: str, share: float, playing: float, preparing: float) -> None:
            text = f"{what}; {_format_remaining(playing, preparing)}"
            display.update(task, completed=share, description=text)

        yield show


class _Lines:
    """Prints a line every ten seconds."""

    def __init__(self) -> None:
        self.line = StatusLine(_SECONDS_BETWEEN_LINES)

    def __call__(self, what: str, share: float, playing: float, preparing: float) -> None:
        if self.line.is_due:
            left = _format_remaining(playing, preparing)
            self.line.print(f"{100 * share:.0f} % of all rounds; {what}; {left}")


def _format_remaining(playing: float, preparing: float) -> str:
    """Return the text for the time that is left."""
    text = f"about {format_duration(playing + preparing)} left"
    return f"{text}, {format_duration(preparing)} of it compiling" if preparing >= 1.0 else text


def format_duration(seconds: float) -> str:
    """Return a duration in seconds, or in minutes from two minutes on."""
    return f"{seconds:.0f} s" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:.0f} min"
