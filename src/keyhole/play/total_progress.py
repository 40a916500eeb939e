"""Progress of many simulations as one, with the time left."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from keyhole.durations import format_duration
from keyhole.play.progress import Observe, StatusLine

_SECONDS_BETWEEN_LINES: Final = 10.0

Show = Callable[[str, float, str], None]
"""Shows the current work, the share of all rounds that is done, and the time left, or ""."""


@dataclass(frozen=True)
class WorkItem:
    """One policy on one problem.

    Attributes
    ----------
    place, label : str
        The problem and the policy.
    rounds : int
        Its rounds, of all replications.
    expected : float
        The seconds that it is expected to take, with its compilation, on some machine.
    """

    place: str
    label: str
    rounds: int
    expected: float


class TotalProgress:
    """Tracks the progress of all work, done in order, and the time that is left.

    What is left takes as many times longer than expected as what was done here so far. Tables and
    pages, which are written at the end, are not counted.

    Parameters
    ----------
    work : sequence of WorkItem
        All work.
    show : callable, optional
        Is called at each report of progress.
    clock : callable, optional
        Returns the time in seconds.
    """

    def __init__(
        self,
        work: Sequence[WorkItem],
        show: Show | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = {(item.place, item.label): item for item in work}
        self._rounds = sum(item.rounds for item in work)
        self._show, self._clock = show, clock
        self._began = clock()
        self._stored_rounds: dict[tuple[str, str], int] = {}
        self._expected_of_done = 0.0

    def of(self, place: str) -> Observe:
        """Return the function that tracks one problem, and returns the time left as text."""
        return partial(self.update, place)

    def finish(self, place: str) -> None:
        """Count a place, and those below it, as done: cached results report no progress."""
        for key in [key for key in self._left if f"{key[0]}/".startswith(f"{place}/")]:
            item = self._left.pop(key)
            self._tell(item, 0, 0.0)

    def update(self, place: str, label: str, played: int, total: int) -> str:
        """Track the progress of a policy; return the time left, "" if nothing is known of it."""
        key = place, label
        if (item := self._left.get(key)) is None:
            return ""
        # Rounds of an earlier call were read, and say nothing of the speed.
        here = played - self._stored_rounds.setdefault(key, played)
        expected = item.expected * here / total
        if played == total:
            del self._left[key]
            self._expected_of_done += expected
            return self._tell(item, 0, 0.0)
        return self._tell(item, played, expected)

    def _tell(self, item: WorkItem, played: int, expected: float) -> str:
        """Show what is left while an item is played, and return the time left as text."""
        share = played / item.rounds if item.rounds else 0.0
        left = sum(other.expected for other in self._left.values()) - share * item.expected
        done = self._expected_of_done + expected
        seconds = (self._clock() - self._began) * left / done if done else 0.0
        text = f"about {format_duration(seconds)} left" if seconds else ""
        if self._show is not None:
            rounds_left = sum(other.rounds for other in self._left.values()) - played
            done_share = 1.0 - rounds_left / self._rounds if self._rounds else 1.0
            self._show(f"{item.place}: {item.label}", done_share, text)
        return text


@contextmanager
def track_total(wanted: bool, work: Sequence[WorkItem]) -> Iterator[TotalProgress | None]:
    """Return a context manager with the tracker, shown on standard error, or with None."""
    if not wanted:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar() as show:
            yield TotalProgress(work, show)
    else:
        yield TotalProgress(work, partial(_print_line, StatusLine(_SECONDS_BETWEEN_LINES)))


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

        def show(current: str, share: float, left: str) -> None:
            display.update(task, completed=share, description=f"{current}; {left}".rstrip("; "))

        yield show


def _print_line(line: StatusLine, current: str, share: float, left: str) -> None:
    if line.is_due:
        line.print(f"{100 * share:.0f} % of all rounds; {current}; {left}".rstrip("; "))
