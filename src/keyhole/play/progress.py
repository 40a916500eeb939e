"""Progress of one or many simulations on screen: a bar, a line in a notebook, or plain lines."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Final

from keyhole.durations import format_duration
from keyhole.status_output import print_status
from keyhole.validation import escape_controls, short_repr

Report = Callable[[str, int, int], object]
"""Called from time to time with a policy's label, the rounds done so far, and the rounds in all."""
TimeLeft = Callable[[str, int, int], str]
"""Takes the arguments of `Report`; returns the time left for all work as text, "" if unknown."""
ShowTotal = Callable[[str, float, str], None]
"""Shows the current work, the share of all rounds done, and the time left ("" if unknown)."""
ShowText = Callable[[str, float], None]
"""Shows a text, and the share of the rounds that is done."""


_SECONDS_BETWEEN_LINES: Final = 5.0
_SECONDS_BETWEEN_TOTALS: Final = 10.0
_SECONDS_BETWEEN_UPDATES: Final = 0.5  # of the line below a cell of a notebook
_SECONDS_UNTIL_SPEED: Final = 1.0  # before that, too few rounds are reported to tell the speed


@contextmanager
def progress_callback(
    progress: bool | Report, estimate_time_left: TimeLeft | None = None
) -> Iterator[Report | None]:
    """Yield the function that shows progress, or None if `progress` is False.

    If `progress` is a function, it is yielded itself. Without `estimate_time_left`, the time left
    for the current policy is shown.
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
    else:
        with _open_display(_SECONDS_BETWEEN_LINES) as show:
            yield _PolicyProgress(show, estimate_time_left)


@contextmanager
def _open_display(seconds_between_lines: float) -> Iterator[ShowText]:
    """Yield the function that shows texts: beside a bar on a terminal, else line by line."""
    if sys.stderr is None or not sys.stderr.isatty():
        line = StatusLine(seconds_between_lines)

        def print_line(text: str, share: float) -> None:
            if share == 1.0 or line.is_due:
                line.print(text)

        yield print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True)) as display:
        task = display.add_task("starting", total=1.0)

        def move_bar(text: str, share: float) -> None:
            display.update(task, completed=share, description=escape_controls(text))

        yield move_bar


class StatusLine:
    """A line of text about progress, which is shown from time to time.

    Each text is a new line on standard error. A notebook would show standard error in red: there,
    a single line below the cell shows the last text.

    Parameters
    ----------
    seconds : float
        The least time between two lines, outside of notebooks.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = _SECONDS_BETWEEN_UPDATES if _is_in_notebook() else seconds
        self.printed_at = time.monotonic()

    def set_interval(self, seconds: float) -> None:
        """Raise the least time between two lines to `seconds`, outside of notebooks."""
        if not _is_in_notebook():
            self.seconds = max(self.seconds, seconds)

    @property
    def is_due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() - self.printed_at >= self.seconds

    def print(self, text: str) -> None:
        """Print a line."""
        self.printed_at = time.monotonic()
        if _is_in_notebook():
            _show_in_cell(text)
        else:
            print_status(escape_controls(text))


_cells_with_line: Final[set[int]] = set()
"""The numbers of the cells of a notebook that have a line below them."""


def _show_in_cell(text: str) -> None:
    """Show a text below the cell that is executed, in place of the text before."""
    # A carriage return would not do: a saved notebook would keep every version of the text, and
    # the next text that the cell prints would continue on this line.
    cell = sys.modules["IPython"].get_ipython().execution_count
    display = import_module("IPython.display").display
    data = {"text/plain": text}
    is_update = cell in _cells_with_line
    display(data, raw=True, display_id=f"keyhole, cell {cell}", update=is_update)
    _cells_with_line.add(cell)


def print_step_name(text: str) -> None:
    """Print the name of a step that takes a while, such as the drawing of a report."""
    StatusLine(0.0).print(text)


def _is_in_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _PolicyProgress:
    """Shows the share of a policy's rounds that is done, their speed, and the time left."""

    def __init__(self, show: ShowText, estimate_time_left: TimeLeft | None) -> None:
        self.show = show
        self.estimate_time_left = estimate_time_left
        self.first_reports: dict[str, tuple[float, int]] = {}
        self.finished_labels: set[str] = set()

    def __call__(self, label: str, rounds_done: int, total: int) -> None:
        now = time.monotonic()
        start, rounds_before = self.first_reports.setdefault(label, (now, rounds_done))
        # `estimate_time_left` is called at each report, since it counts the rounds.
        time_left = self.estimate_time_left and self.estimate_time_left(label, rounds_done, total)
        if rounds_done == 0 or label in self.finished_labels:
            return
        if rounds_done == total:
            self.finished_labels.add(label)
        speed = (rounds_done - rounds_before) / max(now - start, 1e-9)
        speed_text = f", {speed:,.0f} rounds/s" if speed > 0 else ""
        text = f"{label}: {100 * rounds_done // total} %{speed_text}"
        if time_left:
            text += f"; {time_left}"
        elif speed > 0 and rounds_done < total and now - start >= _SECONDS_UNTIL_SPEED:
            text += f", {(total - rounds_done) / speed:.0f} s left"
        self.show(text, rounds_done / total)


@dataclass(frozen=True)
class WorkItem:
    """The simulation of one policy on one problem.

    Attributes
    ----------
    location, label : str
        The problem, by a path such as ``paper/figure`` ("" for a run of one spec), and the policy.
    rounds : int
        The rounds of all replications.
    seconds : float
        The expected duration, with compilation, on the machine on which rounds were timed.
    """

    location: str
    label: str
    rounds: int
    seconds: float


class TotalProgress:
    """Tracks the progress of work that is done item by item, and the time that is left.

    If the work done so far took twice the expected time, the rest is assumed to take twice its
    expected time. Tables and pages, which are written at the end, are not counted.

    Parameters
    ----------
    work : sequence of WorkItem
        All work.
    show : callable, optional
        A function that is called at each report of progress.
    clock : callable, optional
        A function that returns the time in seconds.
    """

    def __init__(
        self,
        work: Sequence[WorkItem],
        show: ShowTotal | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._remaining = {(item.location, item.label): item for item in work}
        self._rounds = sum(item.rounds for item in work)
        self._show = show
        self._clock = clock
        self._start = clock()
        self._stored_rounds: dict[tuple[str, str], int] = {}
        self._expected_seconds_done = 0.0

    def tracker(self, location: str) -> TimeLeft:
        """Return the function that tracks the work on one problem."""
        return partial(self.update, location)

    def mark_as_done(self, location: str) -> None:
        """Count the work on a problem, or on all problems below a folder, as done.

        Without this, cached results would never count, since they report no progress.
        """
        for key in [key for key in self._remaining if f"{key[0]}/".startswith(f"{location}/")]:
            # The item is no longer among the remaining ones: no part of it is left to subtract.
            self._show_progress(self._remaining.pop(key), 0, 0.0)

    def update(self, location: str, label: str, rounds_done: int, total: int) -> str:
        """Track the progress of a policy; return the time left for all work, "" if unknown."""
        key = location, label
        if (item := self._remaining.get(key)) is None:
            return ""
        # The rounds of the first report were read from files, so they say nothing about the speed.
        rounds_here = rounds_done - self._stored_rounds.setdefault(key, rounds_done)
        expected_seconds = item.seconds * rounds_here / total
        if rounds_done == total:
            del self._remaining[key]
            self._expected_seconds_done += expected_seconds
            return self._show_progress(item, 0, 0.0)
        return self._show_progress(item, rounds_done, expected_seconds)

    def _show_progress(self, item: WorkItem, rounds_done: int, expected_seconds: float) -> str:
        """Show the progress of all work, given that of the current item; return the time left.

        `expected_seconds` is the expected duration of those rounds that were done here. For an item
        that is done, and so is no longer among the remaining items, both numbers are 0.
        """
        share = rounds_done / max(item.rounds, 1)
        work_left = sum(work.seconds for work in self._remaining.values()) - share * item.seconds
        work_done = self._expected_seconds_done + expected_seconds
        seconds = (self._clock() - self._start) * work_left / (work_done or math.inf)
        text = f"about {format_duration(seconds)} left" if seconds else ""
        if self._show is not None:
            rounds_left = sum(work.rounds for work in self._remaining.values()) - rounds_done
            done_share = 1.0 - rounds_left / max(self._rounds, 1)
            self._show(f"{item.location}: {item.label}", done_share, text)
        return text


@contextmanager
def track_total(is_shown: bool, work: Sequence[WorkItem]) -> Iterator[TotalProgress]:
    """Yield the tracker of all work, which shows progress on standard error if `is_shown`."""
    if not is_shown:
        yield TotalProgress(work)
        return
    with _open_display(_SECONDS_BETWEEN_TOTALS) as show:
        yield TotalProgress(work, partial(_show_total_progress, show))


def _show_total_progress(show: ShowText, work: str, share: float, time_left: str) -> None:
    # At a share of 1 a last line would be printed, although the results follow.
    show(f"{100 * share:.0f} % of all rounds; {work}; {time_left}".rstrip("; "), min(share, 0.999))
