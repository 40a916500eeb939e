"""Claims about how large something is."""

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from keyhole.papers.claims.base import Finding, Result, Single, decide
from keyhole.papers.claims.witness import OfOne
from keyhole.results.estimate import Estimate, mean_of

_Error = Annotated[float, Field(ge=0)]


class Level(OfOne):
    """A mean, or ln(mean / arms), lies within some standard errors of given levels.

    The standard error is that of the difference: of what was measured, and of the levels.
    """

    kind: Literal["level"]
    rounds: list[int]
    levels: list[float]
    std_errors: float
    # standard errors of the levels, of all or of each, in their unit
    level_errors: _Error | list[_Error] = 0.0
    of: Literal["ln(mean / arms)", "mean"] = "ln(mean / arms)"  # what the levels are levels of

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        for name in ("levels", "level_errors"):
            given = getattr(self, name)
            if isinstance(given, list) and len(given) != len(self.rounds):
                raise ValueError(
                    f"{name} must have one number for each round, {len(self.rounds)}, got {given}"
                )
        return self

    def judge_one(self, result: Result, policy: str) -> Finding:
        """Compare level by level."""
        count = len(self.rounds)
        errors = self.level_errors if isinstance(self.level_errors, list) else [self.level_errors]
        errors = errors * (count // len(errors))
        found, furthest = [], 0.0
        for t, level, error in zip(self.rounds, self.levels, errors, strict=True):
            number = mean_of(result.values(policy, self.metric, t))
            if self.of != "mean":
                if number.value <= 0.0:
                    return "undecided", f"the mean at T = {t:,} has no logarithm: {number}"
                number = _log(number, result.arms)
            noise = math.hypot(number.error, error)
            if noise == 0.0 or math.isinf(noise):
                return "undecided", f"without a standard error at T = {t:,}: {number}"
            distance = abs(number.value - level) / noise
            furthest = max(furthest, distance)
            found.append(f"T = {t:,}: {number}, {distance:.1f} s.e. from {level:.4g}")
        within = furthest <= self.std_errors
        return decide(supported=within, contradicted=not within), "; ".join(found)


class AxisEnd(Single):
    """ln(metric / arms) of a policy, or of the lowest curve, ends between two numbers."""

    kind: Literal["axis-end"]
    low: float
    high: float
    policy: str | None = None  # its label; by default that with the lowest mean

    def judge_one(self, result: Result) -> Finding:
        """Find the curve, and where its interval lies."""
        ends = {p: mean_of(result.values(p, self.metric)) for p in result.curves.labels}
        lowest = min(ends, key=lambda policy: ends[policy].value)
        number = ends[self.policy or lowest]
        low, value, high = (
            math.log(end / result.arms) if end > 0.0 else -math.inf
            for end in (number.low, number.value, number.high)
        )
        status = decide(
            supported=self.low < low and high < self.high,
            contradicted=high < self.low or low > self.high,
        )
        who = self.policy or f"the lowest, {lowest},"
        return status, f"{who} ends at {value:.2f} [{low:.2f}, {high:.2f}]"


class Spread(Single):
    """The choice among some policies matters less than the choice among others.

    The spread of a group is ln(largest mean / smallest mean) at the horizon. The interval of the
    difference of two spreads comes from the delta method, which takes the policies with the
    largest and the smallest mean as given.
    """

    kind: Literal["spread"]
    narrow: list[str]
    wide: list[str]

    def judge_one(self, result: Result) -> Finding:
        """Return the ratio of the factors, with its interval."""
        influence = np.zeros(result.curves.replications)
        spreads = []
        for group, sign in ((self.wide, 1.0), (self.narrow, -1.0)):
            values = {p: result.curves.values(p, self.metric)[-1] for p in group}
            means = {p: float(v.mean()) for p, v in values.items()}
            top, bottom = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
            if means[bottom] == 0.0:
                return "undecided", f"{bottom} was never wrong at the horizon"
            spreads.append(math.log(means[top] / means[bottom]))
            influence += sign * (values[top] / means[top] - values[bottom] / means[bottom])
        reach = mean_of(influence).reach
        wide, narrow = spreads
        gap = wide - narrow
        return decide(supported=gap - reach > 0, contradicted=gap + reach < 0), (
            f"largest mean / smallest mean at the horizon: {math.exp(narrow):.2f} among "
            f"{', '.join(self.narrow)}; {math.exp(wide):.2f} among {', '.join(self.wide)}; "
            f"ratio of the two {math.exp(gap):.2f} "
            f"[{math.exp(gap - reach):.2f}, {math.exp(gap + reach):.2f}]"
        )


class Exactly(Single):
    """A metric has one value for every policy, checkpoint and replication."""

    kind: Literal["exactly"]
    value: float

    def judge_one(self, result: Result) -> Finding:
        """Look for any other value."""
        curves = result.curves
        off = [p for p in curves.labels if (curves.values(p, self.metric) != self.value).any()]
        if off:
            return "does not hold", f"not so for {', '.join(off)}"
        count = len(curves.labels) * curves.replications
        return "holds", f"so in all of {count:,} replications"


def _log(number: Estimate, arms: int) -> Estimate:
    """Return ln(mean / arms), by the delta method."""
    return Estimate(math.log(number.value / arms), number.error / number.value, number.replications)
