"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

Report = Callable[[str, int, int], None]
"""Told, every now and then: a policy's label, rounds played so far, rounds in all."""

_SECONDS_BETWEEN_LINES: Final = 5.0


@contextmanager
def bar(wanted: bool | Report) -> Iterator[Report | None]:
    """Give what is told label, rounds played and rounds in all, or None where none is wanted.

    In place of True may stand who is told.
    """
    if callable(wanted):
        yield wanted
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


class _Lines:
    """Prints a line when a policy is done, and every few seconds in between."""

    def __init__(self) -> None:
        self.started: dict[str, float] = {}
        self.done: set[str] = set()
        self.printed = time.monotonic()

    def __call__(self, label: str, played: int, total: int) -> None:
        now = time.monotonic()
        began = self.started.setdefault(label, now)
        early = played < total and now - self.printed < _SECONDS_BETWEEN_LINES
        if early or played == 0 or label in self.done:
            return
        if played == total:
            self.done.add(label)
        self.printed = now
        speed = played / max(now - began, 1e-9)
        left = f", {(total - played) / speed:.0f} s left" if 0 < played < total else ""
        pace = f", {speed:,.0f} rounds/s" if now > began else ""
        print(  # noqa: T201
            f"{label}: {100 * played // total} %{pace}{left}", file=sys.stderr, flush=True
        )
