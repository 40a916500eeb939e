"""Progress of a simulation on screen: a bar on a terminal, a line in a notebook, or plain lines."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from keyhole.status_output import print_status
from keyhole.validate import escape_controls, short_repr

Report = Callable[[str, int, int], object]
"""Called from time to time with a policy's label, the rounds done so far, and the rounds in all."""
Observe = Callable[[str, int, int], str]
"""Is told the same at each report, and returns the time left as text, or ""."""

_SECONDS_BETWEEN_LINES: Final = 5.0
_SECONDS_IN_PLACE: Final = 0.5
_LEAST_SECONDS: Final = 1.0  # after which a speed is known: the first rounds are counted late


@contextmanager
def progress_report(
    wanted: bool | Report, observe: Observe | None = None
) -> Iterator[Report | None]:
    """Yield the function that shows progress, or None if it is not wanted.

    `wanted` may be a function, which is then yielded itself. `observe` says how much time is left
    in all; without it, lines say how much is left of each policy.
    """
    if callable(wanted):
        yield wanted
    elif not isinstance(wanted, bool):
        raise TypeError(
            "progress must be True, False or a function of label, rounds done and rounds in all, "
            f"got {short_repr(wanted)}"
        )
    elif not wanted:
        yield None
    elif sys.stderr is not None and sys.stderr.isatty():
        yield from _show_bar(observe)
    else:
        yield _LineReport(observe)


def _show_bar(observe: Observe | None) -> Iterator[Report]:
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
        whole = None if observe is None else display.add_task("all", total=None, speed="")

        def report(label: str, played: int, total: int) -> None:
            if observe is not None and whole is not None:
                display.update(whole, description=observe(label, played, total) or "all")
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
        self.seconds = _SECONDS_IN_PLACE if _in_notebook() else seconds
        self.printed_at = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() - self.printed_at >= self.seconds

    def print(self, text: str) -> None:
        """Print a line."""
        self.printed_at = time.monotonic()
        if _in_notebook():
            _cell_line.show(text)
        else:
            print_status(escape_controls(text))


class _CellLine:
    """The line below the cell of a notebook that is being executed."""

    def __init__(self) -> None:
        self._cell: object = None
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Show a text in the place of the one before; in another cell, on a new line."""
        # An output that is updated, not printed text with a carriage return: of that, a saved
        # notebook would keep every version, and what is printed next would follow on its line.
        cell = sys.modules["IPython"].get_ipython().execution_count
        if cell != self._cell or self._handle is None:
            display = import_module("IPython.display").display
            self._cell, self._handle = cell, display(_as_plain(text), raw=True, display_id=True)
        else:
            self._handle.update(_as_plain(text), raw=True)


def _as_plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


_cell_line: Final = _CellLine()


def print_step(text: str) -> None:
    """Print the name of a step that follows the simulation and takes a while."""
    StatusLine(0.0).print(text)


def _in_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _LineReport:
    """Prints a line when a policy is done, and every few seconds before."""

    def __init__(self, observe: Observe | None = None) -> None:
        self.observe = observe
        self.started: dict[str, tuple[float, int]] = {}
        self.done: set[str] = set()
        self.line = StatusLine(_SECONDS_BETWEEN_LINES)

    def __call__(self, label: str, played: int, total: int) -> None:
        now = time.monotonic()
        began, before = self.started.setdefault(label, (now, played))
        observed = self.observe and self.observe(label, played, total)
        early = played < total and not self.line.is_due
        if early or played == 0 or label in self.done:
            return
        if played == total:
            self.done.add(label)
        speed = (played - before) / max(now - began, 1e-9)
        per_second = f", {speed:,.0f} rounds/s" if speed > 0 else ""
        text = f"{label}: {100 * played // total} %{per_second}"
        if observed:
            text += f"; {observed}"
        elif speed > 0 and played < total and now - began >= _LEAST_SECONDS:
            text += f", {(total - played) / speed:.0f} s left"
        self.line.print(text)
