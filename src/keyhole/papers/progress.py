"""How far many experiments are: one line for all, with what is left of playing and compiling."""

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
"""Told what is played, the share of all that is done, seconds left of playing, and of preparing."""


@dataclass(frozen=True)
class WorkItem:
    """One policy on one problem: where it belongs, what is alike in speed, and how much it is."""

    place: str
    label: str
    kind: tuple[str, ...]  # the workers, the setting's name, the policy's class
    rounds: int


class TotalProgress:
    """Keeps count of what is done of all work, to be played in its order, and shows what is left.

    How long a kind of policy takes for a round is measured when it plays; until then it is taken to
    be as fast as those of its setting, these as all with as many workers, and these as all.
    Compiling and reading are counted apart: the time until the first rounds of a policy are played,
    for kinds that have not played yet.
    """

    def __init__(
        self, work: Sequence[WorkItem], show: Show, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._left = {(one.place, one.label): one for one in work}
        self._all = sum(one.rounds for one in work)
        self._show, self._clock = show, clock
        self._since = clock()  # the end of the last policy
        self._begun: dict[tuple[str, str], tuple[float, int]] = {}
        self._rounds: dict[tuple[str, ...], int] = defaultdict(int)
        self._seconds: dict[tuple[str, ...], float] = defaultdict(float)
        self._prepared: list[float] = []

    def of(self, place: str) -> Report:
        """Return what is told the progress of one problem."""

        def report(label: str, played: int, total: int) -> None:
            key = (place, label)
            if key in self._left:
                self._update(key, played, total)

        return report

    def finish(self, entry: str) -> None:
        """Count an entry as done: what was on file, or played for another, was never told of."""
        for key in [key for key in self._left if key[0].startswith(f"{entry}/")]:
            self._say(self._left.pop(key), 0, 0.0, 0)
        self._since = self._clock()

    def _update(self, key: tuple[str, str], played: int, total: int) -> None:
        now, work = self._clock(), self._left[key]
        if key not in self._begun:
            self._begun[key] = (now, played)
            if work.kind not in self._rounds:
                self._prepared.append(now - self._since)
        began, from_round = self._begun[key]
        if played < total:
            self._say(work, played, now - began, played - from_round)
            return
        del self._left[key]
        self._rounds[work.kind] += played - from_round
        self._seconds[work.kind] += now - began
        self._since = now
        self._say(work, 0, 0.0, 0)

    def _say(self, work: WorkItem, played: int, seconds: float, rounds: int) -> None:
        """Tell what is left, with what the present policy has shown so far."""
        current = {work.kind: (rounds, seconds)}
        rounds_left: dict[tuple[str, ...], int] = defaultdict(int)
        for one in self._left.values():
            rounds_left[one.kind] += one.rounds
        rounds_left[work.kind] -= min(played, work.rounds)
        left = sum(rounds_left.values())
        playing = sum(n * self._pace(kind, current) for kind, n in rounds_left.items())
        new = rounds_left.keys() - self._rounds.keys() - {work.kind}
        wait = sum(self._prepared) / len(self._prepared) if self._prepared else 0.0
        share = 1.0 - left / self._all if self._all else 1.0
        self._show(f"{work.place}: {work.label}", share, playing, len(new) * wait)

    def _pace(
        self, kind: tuple[str, ...], current: dict[tuple[str, ...], tuple[int, float]]
    ) -> float:
        """Return seconds a round of what has most in common with the kind and has played."""
        known = [(other, (n, self._seconds[other])) for other, n in self._rounds.items()]
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
    """Give what keeps count and shows it on standard error, or None where that is not wanted."""
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
            text = f"{what}; {_left(playing, preparing)}"
            display.update(task, completed=share, description=text)

        yield show


class _Lines:
    """Says a line every ten seconds."""

    def __init__(self) -> None:
        self.line = StatusLine(_SECONDS_BETWEEN_LINES)

    def __call__(self, what: str, share: float, playing: float, preparing: float) -> None:
        if self.line.is_due:
            text = f"{100 * share:.0f} % of all rounds; {what}; {_left(playing, preparing)}"
            self.line.print(text, stays=False)


def _left(playing: float, preparing: float) -> str:
    """Return how long it may still take."""
    text = f"about {_duration(playing + preparing)} left"
    return f"{text}, {_duration(preparing)} of it compiling" if preparing >= 1.0 else text


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:.0f} min"
