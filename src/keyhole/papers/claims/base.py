"""Base classes of claims (statements of a paper), and the results that claims are judged by."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.sample_size import replications_needed
from keyhole.papers.entry_references import Checkpoint, MetricName, ProblemName, names_in
from keyhole.papers.text_limits import ShortText
from keyhole.papers.verdicts import Number, Origin, Setup, Status, Verdict
from keyhole.play.plan import Plan
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate

Rounds = Annotated[list[Checkpoint], Field(min_length=1)]

_LISTED: Final = 4


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


class Claim(BaseModel, ABC):
    """A statement that results can support or contradict.

    A claim holds, does not hold, or is undecided for lack of replications. A difference whose 95 %
    interval, over common random numbers, contains zero counts for neither.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str  # the claim, in the words of its source where it is quoted
    # the same in few plain words, for first screens; needless where the text has few
    short: ShortText = ""
    source: str
    origin: Origin  # whose claim it is
    setup: Setup = "ours"  # whose set-up it is judged on; in a file by default the entry's
    # the ids of claims in which other entries judge the same statement of the same set-up
    same_as: tuple[str, ...] = ()
    reading: str = ""  # how the words were translated into numbers, where they leave it open
    metric: MetricName  # in a file by default the entry's first
    id: str = ""  # the entry's name and the position in it, from 1; set when a file is read

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The keys of the problems that it is about: all that its fields name."""
        return tuple(names_in(self, "problem"))

    @property
    def subject(self) -> str:
        """The label of the policy that it is about, if it is about one."""
        return getattr(self, "policy", None) or ""

    @property
    def judged_by(self) -> str:
        """The kind of the claim, as verdicts state it."""
        return str(getattr(self, "kind", ""))

    @abstractmethod
    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Return the status and the numbers behind it, given the results of every problem."""

    def title(self, result: Result) -> str:
        """Return the title of the claim's metric."""
        return result.curves.metric(self.metric).title

    def check(self, plan: Plan) -> None:
        """Raise a ValueError that begins with a field name, if the experiment cannot decide it.

        Names of problems, policies and metrics, and rounds, are validated for all kinds elsewhere.
        """

    def verdict(self, results: Mapping[str, Result]) -> Verdict:
        """Return the claim with its verdict by the results."""
        status, detail, numbers = self.judge(results)
        head = _format_titles([results[key].title for key in self.problem_keys])
        if self.subject and not _contains_label(self.text, self.subject):
            head = f"{self.subject} on {head}"
        # Cells of different problems are paired, so the smallest number of replications limits all.
        replications = min(results[key].curves.replications for key in self.problem_keys)
        undecided = status == "undecided"
        return Verdict(
            text=self.text,
            short=self.short,
            source=self.source,
            origin=self.origin,
            setup=self.setup,
            status=status,
            detail=detail,
            numbers=numbers,
            about=head,
            reading=self.reading,
            metric=self.metric,
            kind=self.judged_by,
            id=self.id,
            same_as=self.same_as,
            replications=replications,
            needed=self._replications_needed(numbers, replications) if undecided else None,
        )

    def _replications_needed(self, numbers: Sequence[Number], replications: int) -> int | None:
        """Return about how many replications would decide it, at least as many as it requires."""
        asked: int | None = getattr(self, "runs", None)
        if asked is not None and replications < asked:
            return asked
        return replications_needed(self.own_numbers(numbers), replications)

    def own_numbers(self, numbers: Sequence[Number]) -> Sequence[Number]:
        """Return the numbers of the claim itself, without those of its negative control."""
        return numbers


class ProblemClaim(Claim):
    """A statement about one problem."""

    problem: ProblemName

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Judge by the results on the claim's problem."""
        return self.judge_result(results[self.problem])

    @abstractmethod
    def judge_result(self, result: Result) -> Finding:
        """Return the status and the numbers behind it."""


def decide(*, supported: bool, contradicted: bool) -> Status:
    """Return the status: undecided where the results neither support nor contradict the claim."""
    if supported:
        return "holds"
    return "does not hold" if contradicted else "undecided"


def format_round(round: int | None) -> str:
    """Return the words for a checkpoint in verdicts and names of numbers."""
    return "at the end" if round is None else f"at T = {round:,}"


def _contains_label(text: str, label: str) -> bool:
    """Return whether a text contains a policy's label as a whole word."""
    # "us" is not named by "us-2", nor "UCB" by "UCB1": labels may contain each other.
    return re.search(rf"(?<![\w-]){re.escape(label)}(?![\w-])", text) is not None


def _format_titles(titles: Sequence[str]) -> str:
    """Return the titles of problems; of many, the first and the last."""
    if len(titles) <= _LISTED:
        return ", ".join(titles)
    return f"{titles[0]}, ..., {titles[-1]} ({len(titles)} problems)"
