"""Claims that a number lies in a range."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keyhole.contract.state_memory import FloatArray
from keyhole.papers.claims.base import Finding, Result, Rounds, decide, when
from keyhole.papers.claims.cells import Cell, OverCells, names, problems_of
from keyhole.papers.claims.estimate import is_inside, log_quotient, ratio_of
from keyhole.papers.claims.negative_control import OfOne
from keyhole.papers.claims.numbers import factor_of, number_of
from keyhole.papers.entry_validation import Checkpoint, PolicyName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, format_estimate, mean_estimate, share_estimate

End = float | list[float] | None
_Factor = Annotated[float, Field(gt=0)]
_Share = Annotated[float, Field(ge=0, le=1)]


class Between(OfOne):
    """The mean of a metric of a policy lies between two numbers.

    The claim holds if the 95 % interval lies between them at every round, and does not hold if
    it lies outside at some (with several rounds: significantly outside, adjusted by Holm).
    """

    kind: Literal["between"]
    rounds: Rounds | None = None  # at which checkpoints; by default the last
    low: End = None  # of all rounds, or of each; at least one is given
    high: End = None

    @model_validator(mode="after")
    def _ends(self) -> Self:
        check_ends(self.low, self.high, self.rounds)
        return self

    @property
    def needs_negative_control(self) -> bool:
        """Whether the range is open on one side: then any policy may keep a metric in it."""
        return self.low is None or self.high is None or super().needs_negative_control

    def judge_one(self, result: Result, policy: str) -> Finding:
        """Compare the interval with the range, round by round."""
        rounds: Sequence[int | None] = self.rounds or [None]
        found = [result.estimate(policy, self.metric, t) for t in rounds]
        status, detail, numbers = _judged("mean", found, rounds, self.low, self.high)
        return Finding(status, f"{self._title(result)} {detail}", numbers)


class TwoCellClaim(OverCells):
    """Base of the claims that what is made of two cells lies between two numbers."""

    rounds: Rounds | None = None  # at which checkpoints; by default the last of each problem
    low: End = None  # of all rounds, or of each; at least one is given
    high: End = None

    @model_validator(mode="after")
    def _ends(self) -> Self:
        check_ends(self.low, self.high, self.rounds)
        return self

    def _judge(self, results: Mapping[str, Result], sign: str, one: Cell, other: Cell) -> Finding:
        """Compare the interval of what the two make with the range, round by round."""
        first, second = names([one, other], results)
        rounds: Sequence[int | None] = self.rounds or [None]
        found = []
        for t in rounds:
            made = self.made(*(cell.values(results, self.metric, t) for cell in (one, other)))
            if made is None:
                return Finding("undecided", f"the mean of {second} may be 0 {when(t)}")
            found.append(made)
        words = f"{first} {sign} {second}"
        status, detail, numbers = _judged(words, found, rounds, self.low, self.high)
        return Finding(status, f"{words} {detail}", numbers)

    @staticmethod
    def made(above: FloatArray, below: FloatArray) -> Estimate | None:
        """Return the number; None where it could be anything."""
        raise NotImplementedError


class Ratio(TwoCellClaim):
    """The mean of one cell over the mean of another lies between two numbers.

    The interval comes from the delta method on paired replications; status as of `Between`. Where
    the denominator may be 0, the claim is undecided.
    """

    kind: Literal["ratio"]
    numerator: Cell
    denominator: Cell
    made = staticmethod(ratio_of)

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of both."""
        return problems_of([self.numerator, self.denominator])

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the interval of the ratio with the range."""
        return self._judge(results, "/", self.numerator, self.denominator)


class Excess(TwoCellClaim):
    """The mean of one cell less that of another lies between two numbers.

    Replications are paired; status as of `Between`.
    """

    kind: Literal["excess"]
    cell: Cell
    over: Cell

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of both."""
        return problems_of([self.cell, self.over])

    @staticmethod
    def made(above: FloatArray, below: FloatArray) -> Estimate:
        """Return the mean difference."""
        return mean_estimate(above - below)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the interval of the difference with the range."""
        return self._judge(results, "less", self.cell, self.over)


class Growth(OfOne):
    """The mean of a metric at a late round is at least, or at most, so many times an early one's.

    Or, with `ratio_to`, the mean divided by that of another policy is. The interval comes from the
    delta method on paired replications; status as of `Between`. Where the early mean, or with
    `ratio_to` any of the four, may be 0, the claim is undecided.
    """

    kind: Literal["growth"]
    early: Checkpoint
    late: Checkpoint
    ratio_to: PolicyName | None = None  # the label of the policy by whose mean it is divided
    at_least: _Factor | None = None  # factors; at least one is given
    at_most: _Factor | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.ratio_to is not None and self.ratio_to in (self.policy, self.negative_control):
            raise ValueError(f"ratio_to must be another policy, got {self.ratio_to!r}")
        if self.late <= self.early:
            raise ValueError(f"late must come after early, got {self.late} after {self.early}")
        check_pair("at_least", self.at_least, "at_most", self.at_most)
        return self

    def judge_one(self, result: Result, policy: str) -> Finding:
        """Compare the interval of the ratio with the factors."""
        if self.ratio_to is not None:
            return self._quotient(result, policy, self.ratio_to)
        late, early = (result.values(policy, self.metric, t) for t in (self.late, self.early))
        found = ratio_of(late, early)
        if found is None:
            return Finding("undecided", f"the mean may be 0 {when(self.early)}")
        means = [(mean_estimate(late), when(self.late)), (mean_estimate(early), when(self.early))]
        low, high = or_infinite(self.at_least, self.at_most)
        return Finding(
            is_inside([(found, low, high)]),
            f"{self._title(result)} {', '.join(f'{mean} {at}' for mean, at in means)}; "
            f"ratio {found}{format_range(low, high)}",
            (
                *(number_of(f"mean {at}", mean) for mean, at in means),
                number_of("ratio of means", found, low, high),
            ),
        )

    def _quotient(self, result: Result, policy: str, over: str) -> Finding:
        """Compare the two quotients, each of two means, on the scale of logarithms."""
        logs, quotients = [], list[Number]()
        for t in (self.late, self.early):
            both = [result.values(one, self.metric, t) for one in (policy, over)]
            if any(mean_estimate(one).low <= 0.0 for one in both):
                return Finding("undecided", f"a mean may be 0 {when(t)}")
            logs.append(log_quotient(*both))
            quotients.append(factor_of(f"{policy} / {over} {when(t)}", mean_estimate(logs[-1])))
        step = mean_estimate(logs[0] - logs[1])
        low, high = or_infinite(self.at_least, self.at_most)
        ends = math.log(low) if low > 0 else -math.inf, math.log(high)
        factor = factor_of("from the early to the late, times", step, low, high)
        late, early = quotients
        return Finding(
            is_inside([(step, *ends)]),
            f"{policy} / {over} {late} {when(self.late)}, {early} {when(self.early)}; from the "
            f"early to the late times {factor}{format_range(low, high)}",
            (late, early, factor),
        )


class Counts(OfOne):
    """The share of replications in which a metric lies in a range is at least, or at most, p.

    The claim holds if the exact 95 % interval of the share (Clopper and Pearson, 1934) lies on
    the right side of p, and does not hold if it lies on the other. A share of 1 in n replications
    is compatible with a true share as low as 0.025 to the power 1/n.
    """

    kind: Literal["counts"]
    round: Checkpoint | None = None  # at which checkpoint; by default the last
    low: float | None = None  # ends of the metric's range, both included; at least one is given
    high: float | None = None
    at_least: _Share | None = None  # the share, from 0 to 1; at least one is given
    at_most: _Share | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        check_pair("low", self.low, "high", self.high)
        check_pair("at_least", self.at_least, "at_most", self.at_most)
        return self

    @property
    def needs_negative_control(self) -> bool:
        """Whether the range is open on one side: then doing nothing may keep a metric in it."""
        return self.low is None or self.high is None or super().needs_negative_control

    def judge_one(self, result: Result, policy: str) -> Finding:
        """Count, and compare the interval of the share with p."""
        values = result.values(policy, self.metric, self.round)
        low, high = or_infinite(self.low, self.high)
        share = share_estimate(((low <= values) & (values <= high)).astype(float))
        least, most = or_infinite(self.at_least, self.at_most)
        status = decide(
            supported=least <= share.low and share.high <= most,
            contradicted=share.high < least or most < share.low,
        )
        detail = (
            f"{self._title(result)} in the range in {share.count:,} of {share.replications:,} "
            f"replications {when(self.round)}: "
            f"{share}{format_range(least, most)}"
        )
        number = number_of(f"share of replications {when(self.round)}", share, least, most)
        return Finding(status, detail, (number,))


def check_ends(low: End, high: End, rounds: Sequence[int] | None) -> None:
    """Refuse ranges that are not one for each round, or that nothing lies in."""
    count = len(rounds) if rounds else 1
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, list) and len(end) != count:
            raise ValueError(f"{name} must have one number for each round, {count}, got {end}")
    for one, other in zip(_each(low, count), _each(high, count), strict=True):
        check_pair("low", one, "high", other)


def check_pair(low_name: str, low: float | None, high_name: str, high: float | None) -> None:
    """Refuse a range without ends, or that nothing lies in."""
    if low is None and high is None:
        raise ValueError(f"{low_name} or {high_name} must be given")
    if low is not None and high is not None and high < low:
        raise ValueError(f"{high_name} must be at least {low_name}, {low:g}, got {high:g}")


def _judged(
    what: str, found: Sequence[Estimate], rounds: Sequence[int | None], low: End, high: End
) -> Finding:
    ends = [
        or_infinite(one, other)
        for one, other in zip(_each(low, len(found)), _each(high, len(found)), strict=True)
    ]
    ranged = [(number, *end) for number, end in zip(found, ends, strict=True)]
    detail = "; ".join(
        f"{when(t)}: {number}{format_range(*end)}"
        for t, number, end in zip(rounds, found, ends, strict=True)
    )
    numbers = (number_of(f"{what} {when(t)}", *one) for t, one in zip(rounds, ranged, strict=True))
    return Finding(is_inside(ranged), detail, tuple(numbers))


def _each(end: End, count: int) -> Sequence[float | None]:
    return end if isinstance(end, list) else [end] * count


def or_infinite(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of a range; one that is not given is infinite."""
    return -math.inf if low is None else low, math.inf if high is None else high


def format_range(low: float, high: float) -> str:
    """Return a range as what is claimed."""
    if math.isinf(high):
        return f" (claimed: at least {format_estimate(low)})"
    if math.isinf(low):
        return f" (claimed: at most {format_estimate(high)})"
    return f" (claimed: {format_estimate(low)} to {format_estimate(high)})"
