"""An entry (a reproduced experiment) that has been run, with its verdicts, as its pages show it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from keyhole.experiment import RunFolder
from keyhole.papers.claims import Claim
from keyhole.papers.entry import Entry
from keyhole.papers.verdicts import Verdict
from keyhole.results.curves import Curves


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
