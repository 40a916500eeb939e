"""Progress: a bar on a terminal, one line that changes in a notebook, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from keyhole.validate import short_repr

Report = Callable[[str, int, int], None]
"""Told, every now and then: a policy's label, rounds played so far, rounds in all."""

_SECONDS_BETWEEN_LINES: Final = 5.0
_SECONDS_IN_PLACE: Final = 0.5


@contextmanager
def bar(wanted: bool | Report) -> Iterator[Report | None]:
    """Give what is told label, rounds played and rounds in all, or None where none is wanted.

    In place of True may stand who is told.
    """
    if callable(wanted):
        yield wanted
    elif not isinstance(wanted, bool):
        raise TypeError(
            "progress must be True, False or a function that is told how far it is, got "
            f"{short_repr(wanted)}"
        )
    elif not wanted:
        yield None
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield _Lines()


def _bar() -> Iterator[Report]:
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

        def report(label: str, played: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = display.add_task(label, total=total, speed="")
            display.update(tasks[label], completed=played)
            speed = display.tasks[tasks[label]].speed
            display.update(tasks[label], speed=f"{speed:,.0f} rounds/s" if speed else "")

        yield report


class Line:
    """Says how far something is, now and then.

    On standard error a line every few seconds; in a notebook, which shows that in red, on standard
    output, each line in the place of the last until one is to stay.

    Parameters
    ----------
    seconds : float
        How long a line stays the last one, outside of notebooks.
    """

    def __init__(self, seconds: float) -> None:
        self.in_place = _in_notebook()
        self.seconds = _SECONDS_IN_PLACE if self.in_place else seconds
        self.said = time.monotonic()
        self.width = 0

    @property
    def due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() - self.said >= self.seconds

    def say(self, text: str, *, stays: bool = True) -> None:
        """Print a line."""
        self.said = time.monotonic()
        if not self.in_place:
            print(text, file=sys.stderr, flush=True)  # noqa: T201
            return
        covering, self.width = text.ljust(self.width), 0 if stays else len(text)
        print(f"\r{covering}", end="\n" if stays else "", flush=True)  # noqa: T201


def step(text: str) -> None:
    """Say on a line what comes now: after the bar, where something still takes a while."""
    Line(0.0).say(text)


def _in_notebook() -> bool:
    """Return whether a notebook's kernel runs this: IPython is there, and its shell has one."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Lines:
    """Says a line when a policy is done, and every now and then in between."""

    def __init__(self) -> None:
        self.started: dict[str, tuple[float, int]] = {}
        self.done: set[str] = set()
        self.line = Line(_SECONDS_BETWEEN_LINES)

    def __call__(self, label: str, played: int, total: int) -> None:
        now = time.monotonic()
        began, before = self.started.setdefault(label, (now, played))
        early = played < total and not self.line.due
        if early or played == 0 or label in self.done:
            return
        if played == total:
            self.done.add(label)
        speed = (played - before) / max(now - began, 1e-9)
        left = f", {(total - played) / speed:.0f} s left" if speed > 0 and played < total else ""
        pace = f", {speed:,.0f} rounds/s" if speed > 0 else ""
        self.line.say(f"{label}: {100 * played // total} %{pace}{left}", stays=played == total)
