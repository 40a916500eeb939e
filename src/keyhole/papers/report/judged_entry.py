"""An entry (a reproduced experiment) that has been run, with its verdicts, as its pages show it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from keyhole.experiment import RunFolder
from keyhole.papers.claims import Claim
from keyhole.papers.entry import Entry
from keyhole.papers.verdicts import Status, Verdict
from keyhole.play.total_progress import format_duration
from keyhole.results.curves import Curves


class TemplateBlock:
    """A part of a page: a template of this package, and the values that it shows."""

    template: ClassVar[str]  # of each block its own

    def __init__(self, template: str, **values: Any) -> None:
        vars(self).update(values, template=f"papers/report/templates/{template}.html.j2")


@dataclass(frozen=True)
class JudgedEntry:
    """An entry that has been run, with its verdicts."""

    entry: Entry
    scale: str
    runs: dict[str, RunFolder]  # the finished runs, by problem
    verdicts: tuple[Verdict, ...]  # on its claims

    @property
    def picture(self) -> str | None:
        """The file of the main figure in the folder of the report, if there is one."""
        if self.entry.parameter_figures:
            return "overview-1.png"
        if self.entry.problem_figures:
            return "drawing-1.png"
        for key in self.runs:
            for metric in self.metrics_of(key):
                return f"{key}-{metric}.png"
        return None

    @property
    def command(self) -> str:
        """The command that runs the entry, without its scale."""
        return f"keyhole reproduce {Path(self.entry.identifier).name}"

    @property
    def replications(self) -> int:
        """The number of replications of every policy on every problem."""
        return min(run.curves.replications for run in self.runs.values())

    @property
    def curves(self) -> dict[str, Curves]:
        """The results, by problem."""
        return {key: run.curves for key, run in self.runs.items()}

    @property
    def claims(self) -> dict[str, Claim]:
        """The claims, by id."""
        return {claim.id: claim for claim in self.entry.claims}

    @property
    def papers_verdicts(self) -> list[Verdict]:
        """The verdicts on claims of the paper."""
        return [verdict for verdict in self.verdicts if verdict.origin != "ours"]

    @property
    def own_verdicts(self) -> list[Verdict]:
        """The verdicts on Keyhole's own checks."""
        return [verdict for verdict in self.verdicts if verdict.origin == "ours"]

    def metrics_of(self, problem: str) -> list[str]:
        """Return the entry's metrics that a problem has, the most important first."""
        known = self.runs[problem].curves.metrics
        return [metric for metric in self.entry.metrics if metric in known]

    def common_metric(self) -> str:
        """Return the first of the entry's metrics that all problems have."""
        for metric in self.entry.metrics:
            if all(metric in curves.metrics for curves in self.curves.values()):
                return metric
        return self.entry.metrics[0]


def verdicts_by_id(parts: Iterable[JudgedEntry]) -> Mapping[str, Verdict]:
    """Return all verdicts of some entries by id."""
    return {verdict.id: verdict for part in parts for verdict in part.verdicts}


@dataclass(frozen=True)
class SharedVerdict:
    """The verdict of another entry on the same statement, or the command that finds it."""

    id: str
    replications: int
    status: Status | None = None  # None where it has not been judged
    address: str = ""  # link to the verdict, if there is a page
    command: str = ""  # that judges it, if it has not been

    @property
    def text(self) -> str:
        """What was found in how many runs: "in 40,000 runs it does not hold"."""
        if self.status is None:
            return f"{self.replications:,} runs would judge:"
        found = "is open" if self.status == "undecided" else self.status
        return f"in {self.replications:,} runs it {found}"


def shared_verdicts(
    verdict: Verdict, scale: str, known: Mapping[str, Verdict], on_page: Collection[str]
) -> list[SharedVerdict]:
    """Return the verdicts of other entries on the same statement, that with most runs first.

    Parameters
    ----------
    verdict : Verdict
        A verdict on the statement.
    scale : str
        The scale at which the other entries are run, if they are.
    known : mapping of str to Verdict
        By id, all verdicts of this page and of the pages beside it.
    on_page : collection of str
        The entries of this page.
    """
    others = [_shared_verdict(one, scale, known, on_page) for one in verdict.same_as]
    return sorted(others, key=lambda other: -other.replications)


def _shared_verdict(
    id: str, scale: str, known: Mapping[str, Verdict], on_page: Collection[str]
) -> SharedVerdict:
    entry = id.partition("/")[0]
    if id in known:
        address = f"#{id}" if entry in on_page else f"../{entry}/report.html#{id}"
        return SharedVerdict(id, known[id].replications, known[id].status, address)
    # It has not been run: its scale says how many replications it would have.
    replications = Entry.load(entry).scales[scale].replications
    return SharedVerdict(id, replications, command=f"keyhole reproduce {entry} --scale {scale}")


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
