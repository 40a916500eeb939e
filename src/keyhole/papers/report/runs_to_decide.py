"""Text on how many simulations would decide an open claim, and the command that runs more."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from keyhole.durations import format_duration
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import Verdict

_FASTEST: Final = 2e8  # rounds a second; results that come faster were read from a cache


@dataclass(frozen=True)
class RunsToDecide:
    """How many runs would decide a claim, and the command that plays more, with its time."""

    text: str
    command: str = ""  # empty where no scale has more
    time: str = ""  # empty if unknown

    @property
    def cost(self) -> str:
        """What is typed, in short, and its time."""
        return f"--scale paper{f', about {self.time}' if self.time else ''}"


def runs_to_decide(part: JudgedEntry, verdict: Verdict) -> RunsToDecide | None:
    """Return how many runs would decide a claim, and how they are played; None if unknown."""
    if verdict.needed is None:
        return None
    about = float(f"{verdict.needed:.2g}")  # two digits of an estimate
    text = f"{about:,.0f} runs needed, {verdict.replications:,} played"
    most = part.entry.scales["paper"].replications
    if part.scale == "paper" or most <= verdict.replications:
        return RunsToDecide(f"{text}; raise the replications in a copy of the entry's file")
    command = f"{part.command} --scale paper"
    if most < about:
        text += f", {most:,} with"
    seconds = seconds_of_run(part)
    time = "" if seconds is None else format_duration(seconds * most / part.replications)
    return RunsToDecide(text, command, time)


def seconds_of_run(part: JudgedEntry) -> float | None:
    """Return how long the runs of an entry took; None if their results came from a cache."""
    total = 0.0
    for run in part.runs.values():
        started, finished = (
            datetime.fromisoformat(run.provenance[end]) for end in ("started", "finished")
        )
        # The times are whole seconds.
        seconds = (finished - started).total_seconds()
        curves = run.curves
        rounds = curves.replications * curves.checkpoints[-1] * len(curves.labels)
        if rounds > _FASTEST * max(seconds, 1.0):
            return None
        total += seconds
    return total or None
