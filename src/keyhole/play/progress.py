"""Progress of one or many simulations on screen: bars, a line in a notebook, or plain lines."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final

from keyhole.durations import format_duration
from keyhole.status_output import print_status
from keyhole.validate import escape_controls, short_repr

Report = Callable[[str, int, int], object]
"""Called from time to time with a policy's label, the rounds done so far, and the rounds in all."""
TimeLeft = Callable[[str, int, int], str]
"""Takes the arguments of `Report`, and returns the time left in all as text, or ""."""
Show = Callable[[str, float, str], None]
"""Shows the current work, the share of all rounds that is done, and the time left, or ""."""

_SECONDS_BETWEEN_LINES: Final = 5.0
_SECONDS_BETWEEN_TOTALS: Final = 10.0
_SECONDS_BETWEEN_UPDATES: Final = 0.5  # of the line below a cell of a notebook
_SECONDS_UNTIL_SPEED: Final = 1.0  # before, too few rounds have been reported to tell the speed


@contextmanager
def progress_callback(
    progress: bool | Report, estimate_time_left: TimeLeft | None = None
) -> Iterator[Report | None]:
    """Yield the function that shows progress, or None if it is not wanted.

    `progress` may be a function, which is then yielded itself. Without `estimate_time_left`, the
    time that is left is shown for each policy alone.
    """
    if callable(progress):
        yield progress
    elif not isinstance(progress, bool):
        raise TypeError(
            "progress must be True, False or a function of label, rounds done and rounds in all, "
            f"got {short_repr(progress)}"
        )
    elif not progress:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty():
        yield from _show_bar(estimate_time_left)
    else:
        yield _LineReport(estimate_time_left)


def _show_bar(estimate_time_left: TimeLeft | None) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        tasks: dict[str, TaskID] = {}
        is_visible = estimate_time_left is not None
        all_task = display.add_task("all", total=None, speed="", visible=is_visible)

        def report(label: str, played: int, total: int) -> None:
            if estimate_time_left:
                time_left = estimate_time_left(label, played, total)
                display.update(all_task, description=time_left or "all")
            if label not in tasks:
                tasks[label] = display.add_task(escape_controls(label), total=total, speed="")
            display.update(tasks[label], completed=played)
            speed = display.tasks[tasks[label]].speed
            display.update(tasks[label], speed=f"{speed:,.0f} rounds/s" if speed else "")

        yield report


class StatusLine:
    """A line of text about progress, which is shown from time to time.

    It is printed to standard error. In a notebook, which shows that in red, it stands below the
    cell instead: a single line, which each text replaces.

    Parameters
    ----------
    seconds : float
        The least time between two lines, outside of notebooks.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = _SECONDS_BETWEEN_UPDATES if _in_notebook() else seconds
        self.printed_at = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() - self.printed_at >= self.seconds

    def print(self, text: str) -> None:
        """Print a line."""
        self.printed_at = time.monotonic()
        if _in_notebook():
            _show_in_cell(text)
        else:
            print_status(escape_controls(text))


_cell_line: Final[dict[str, Any]] = {}
"""The cell of a notebook that has a line below it, by its number, and the handle of that line."""


def _show_in_cell(text: str) -> None:
    """Show a text below the cell that is executed, in the place of the one before."""
    # Not printed with a carriage return: a saved notebook would keep every version of the text, and
    # what the cell prints next would continue on its line.
    cell = sys.modules["IPython"].get_ipython().execution_count
    data = {"text/plain": text}
    if _cell_line.get("cell") == cell:
        _cell_line["handle"].update(data, raw=True)
    else:
        display = import_module("IPython.display").display
        _cell_line.update(cell=cell, handle=display(data, raw=True, display_id=True))


def print_step(text: str) -> None:
    """Print the name of a step that follows the simulation and takes a while."""
    StatusLine(0.0).print(text)


def _in_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _LineReport:
    """Prints a line when a policy is done, and every few seconds before."""

    def __init__(self, estimate_time_left: TimeLeft | None) -> None:
        self.estimate_time_left = estimate_time_left
        self.started: dict[str, tuple[float, int]] = {}
        self.done: set[str] = set()
        self.line = StatusLine(_SECONDS_BETWEEN_LINES)

    def __call__(self, label: str, played: int, total: int) -> None:
        now = time.monotonic()
        began, played_before = self.started.setdefault(label, (now, played))
        # Called at each report, shown or not: it counts the rounds.
        time_left = self.estimate_time_left and self.estimate_time_left(label, played, total)
        is_early = played < total and not self.line.is_due
        if is_early or played == 0 or label in self.done:
            return
        if played == total:
            self.done.add(label)
        speed = (played - played_before) / max(now - began, 1e-9)
        per_second = f", {speed:,.0f} rounds/s" if speed > 0 else ""
        text = f"{label}: {100 * played // total} %{per_second}"
        if time_left:
            text += f"; {time_left}"
        elif speed > 0 and played < total and now - began >= _SECONDS_UNTIL_SPEED:
            text += f", {(total - played) / speed:.0f} s left"
        self.line.print(text)


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
        The seconds that it takes, with its compilation, on the machine of the known times.
    """

    place: str
    label: str
    rounds: int
    expected: float


class TotalProgress:
    """Tracks the progress of all work, done in order, and the time that is left.

    If the work done so far took twice the expected time, so will the rest. Tables and pages, which
    are written at the end, are not counted.

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
        self._show = show
        self._clock = clock
        self._began = clock()
        self._stored_rounds: dict[tuple[str, str], int] = {}
        self._expected_of_done = 0.0

    def of(self, place: str) -> TimeLeft:
        """Return the function that tracks the work on one problem."""
        return partial(self.update, place)

    def finish(self, place: str) -> None:
        """Count a place, and those below it, as done: cached results report no progress."""
        for key in [key for key in self._left if f"{key[0]}/".startswith(f"{place}/")]:
            self._tell(self._left.pop(key), 0, 0.0)

    def update(self, place: str, label: str, played: int, total: int) -> str:
        """Track the progress of a policy; return the time left, "" if nothing is known of it."""
        key = place, label
        if (item := self._left.get(key)) is None:
            return ""
        # Rounds that an earlier call played were read from files: they say nothing of the speed.
        rounds_here = played - self._stored_rounds.setdefault(key, played)
        expected = item.expected * rounds_here / total
        if played == total:
            del self._left[key]
            self._expected_of_done += expected
            return self._tell(item, 0, 0.0)
        return self._tell(item, played, expected)

    def _tell(self, item: WorkItem, played: int, expected: float) -> str:
        """Show what is left while an item is played, and return the time left as text."""
        share = played / max(item.rounds, 1)
        expected_left = sum(work.expected for work in self._left.values()) - share * item.expected
        expected_done = self._expected_of_done + expected
        seconds = (self._clock() - self._began) * expected_left / (expected_done or math.inf)
        text = f"about {format_duration(seconds)} left" if seconds else ""
        if self._show is not None:
            rounds_left = sum(work.rounds for work in self._left.values()) - played
            done_share = 1.0 - rounds_left / max(self._rounds, 1)
            self._show(f"{item.place}: {item.label}", done_share, text)
        return text


@contextmanager
def track_total(is_shown: bool, work: Sequence[WorkItem]) -> Iterator[TotalProgress]:
    """Return a context manager with the tracker, which shows progress on standard error or not."""
    if not is_shown:
        yield TotalProgress(work)
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar() as show:
            yield TotalProgress(work, show)
    else:
        yield TotalProgress(work, partial(_print_line, StatusLine(_SECONDS_BETWEEN_TOTALS)))


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

        def show(work: str, share: float, time_left: str) -> None:
            display.update(task, completed=share, description=f"{work}; {time_left}".rstrip("; "))

        yield show


def _print_line(line: StatusLine, work: str, share: float, time_left: str) -> None:
    if line.is_due:
        line.print(f"{100 * share:.0f} % of all rounds; {work}; {time_left}".rstrip("; "))
