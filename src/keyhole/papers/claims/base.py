"""What a claim is, and what a verdict on it rests on."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from keyhole.core.curves import Curves
from keyhole.experiment.report import Status, Verdict

Origin = Literal["paper", "paper, conclusion only", "our replica", "ours"]
"""Who says so: the paper; the paper, of experiments of which only the conclusion could be read;
our own reference simulation of its set-up; or we, of set-ups that are not the paper's."""

Finding = tuple[Status, str]
"""The verdict, and the numbers behind it."""

TWO_SIDED_95: Final = 1.959963984540054
"""Standard errors in half of a 95 % interval."""


@dataclass(frozen=True)
class Result:
    """What was measured on one problem.

    Attributes
    ----------
    title : str
        The problem.
    arms : int
        Its number of arms.
    curves : Curves
        The measurements.
    """

    title: str
    arms: int
    curves: Curves

    def at(self, policy: str, metric: str, round: int) -> tuple[float, float]:
        """Return a metric's mean and its standard error at a checkpoint."""
        c = self.curves.checkpoints.index(round)
        return (
            float(self.curves.mean(policy, metric)[c]),
            float(self.curves.std_error(policy, metric)[c]),
        )


class Claim(BaseModel, ABC):
    """A statement about one problem that results can support or contradict.

    A claim holds, does not hold, or is undecided: too few replications to tell. Nothing is made
    of a difference whose 95 % interval, over common random numbers, contains zero.

    Attributes
    ----------
    kind : str
        How it is judged; each subclass is a kind.
    text : str
        What is claimed, in the source's words where it is quoted.
    source : str
        Where.
    origin : Origin
        By whom.
    reading : str
        How the words were made into numbers, where they leave it open.
    problem : str
        The key of the problem.
    metric : str
        Of which metric; lower is better.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    source: str
    origin: Origin
    reading: str = ""
    problem: str
    metric: str = "aggregate_regret"

    @abstractmethod
    def judge(self, result: Result) -> Finding:
        """Return the status and the numbers behind it."""

    def verdict(self, result: Result) -> Verdict:
        """Return the claim with what the results say of it."""
        status, detail = self.judge(result)
        source = f"{self.origin}: {self.source}"
        if self.reading:
            source += f" Read as: {self.reading}"
        return Verdict(f"{result.title}: {self.text}", source, status, detail)


def decide(*, supported: bool, contradicted: bool) -> Status:
    """Return the verdict; undecided where the results neither support nor contradict."""
    if supported:
        return "holds"
    return "does not hold" if contradicted else "undecided"
