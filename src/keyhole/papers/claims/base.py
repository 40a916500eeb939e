"""Results that claims (statements of papers) are judged by, and the parts of judgements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.verdict_numbers import number_of
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number, Status
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate, mean_estimate

Rounds = Annotated[list[Checkpoint], Field(min_length=1)]
Policies = Annotated[list[PolicyName], Field(min_length=1)]


class Finding(NamedTuple):
    """Outcome of judging a claim: the status, an explanation, and the numbers behind it."""

    status: Status
    detail: str  # in words, with the numbers that matter most
    numbers: tuple[Number, ...] = ()  # what decides it


@dataclass(frozen=True)
class Result:
    """Measurements on one problem."""

    title: str  # the problem's name in reports
    problem: Problem  # the problem itself, for bounds that depend on it
    curves: Curves  # the measurements; the last checkpoint is the horizon
    # the policies by label, for bounds that depend on their parameters
    policies: Mapping[str, Policy] = field(default_factory=dict)

    @property
    def arms(self) -> int:
        """The problem's number of arms."""
        return int(self.problem.fact("arms"))

    def values(self, policy: str, metric: str, round: int | None = None) -> FloatArray:
        """Return a metric in every replication at a checkpoint, by default the last."""
        checkpoints = self.curves.checkpoints
        c = len(checkpoints) - 1 if round is None else checkpoints.index(round)
        values: FloatArray = self.curves.values(policy, metric)[c]
        return values

    def estimate(self, policy: str, metric: str, round: int | None = None) -> Estimate:
        """Return a metric's mean with its interval at a checkpoint, by default the last."""
        checkpoints = self.curves.checkpoints
        c = len(checkpoints) - 1 if round is None else checkpoints.index(round)
        return self.curves.estimates(policy, metric)[c]

    def best_of(self, policies: Sequence[str], metric: str, round: int) -> str:
        """Return the policy with the best mean of a metric, the first of several."""
        choose = min if self.curves.metric(metric).better == "lower" else max
        return choose(policies, key=lambda policy: self.estimate(policy, metric, round).value)


def order_by_lead(result: Result, metric: str, other: str, policy: str) -> tuple[str, str]:
    """Return two policies in the order in which a better `policy` makes their ratio larger."""
    lower = result.curves.metric(metric).better == "lower"
    return (other, policy) if lower else (policy, other)


Results = Mapping[str, Result]
"""The measurements on each problem, by its key."""


class Cell(BaseModel):
    """One policy on one problem."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    problem: ProblemName  # the key of the problem; in a file by default the claim's
    policy: PolicyName  # the policy's label; in a file by default the claim's

    def values(self, results: Results, metric: str, round: int | None = None) -> FloatArray:
        """Return a metric in every replication at a checkpoint, by default the last."""
        return results[self.problem].values(self.policy, metric, round)


Cells = Annotated[list[Cell], Field(min_length=2)]


def decide(*, supported: bool, contradicted: bool) -> Status:
    """Return the status: undecided where the results neither support nor contradict the claim."""
    if supported:
        return "holds"
    return "does not hold" if contradicted else "undecided"


def format_round(round: int | None) -> str:
    """Return the words for a checkpoint in verdicts and names of numbers."""
    return "at the end" if round is None else f"at T = {round:,}"


def cell_names(cells: Sequence[Cell], results: Results) -> list[str]:
    """Return a name for each cell: policy, problem, or both, as needed to tell them apart."""
    titles = [results[cell.problem].title for cell in cells]
    policies = [cell.policy for cell in cells]
    if len(set(titles)) == 1:
        return policies
    if len(set(policies)) == 1:
        return titles
    return [f"{policy} on {title}" for policy, title in zip(policies, titles, strict=True)]


def format_means(
    names: Sequence[str], values: Sequence[FloatArray]
) -> tuple[list[Estimate], str, tuple[Number, ...]]:
    """Return the means of named cells, their text, and their numbers."""
    means = list(map(mean_estimate, values))
    text = ", ".join(f"{name} {m.plus_minus()}" for name, m in zip(names, means, strict=True))
    numbers = [number_of(f"mean of {name}", m) for name, m in zip(names, means, strict=True)]
    return means, text, tuple(numbers)
