"""Claims about how large something is."""

import math
from typing import Literal

import numpy as np

from keyhole.papers.claims.base import TWO_SIDED_95, Finding, Result, Single, decide


class Level(Single):
    """ln(metric / arms) of a policy lies within some standard errors of given levels."""

    kind: Literal["level"]
    policy: str
    rounds: list[int]
    levels: list[float]
    std_errors: float

    def judge_one(self, result: Result) -> Finding:
        """Compare level by level."""
        found, furthest = [], 0.0
        for t, level in zip(self.rounds, self.levels, strict=True):
            mean, error = result.at(self.policy, self.metric, t)
            if mean == 0.0 or error == 0.0:
                return "undecided", f"the same in every replication at T = {t:,}: {mean:g}"
            value = math.log(mean / result.arms)
            distance = abs(value - level) * mean / error
            furthest = max(furthest, distance)
            found.append(f"T = {t:,}: {value:.3f}, {distance:.1f} s.e. from {level:.3f}")
        within = furthest <= self.std_errors
        return decide(supported=within, contradicted=not within), "; ".join(found)


class AxisEnd(Single):
    """ln(metric / arms) of the lowest curve at the horizon lies between two numbers."""

    kind: Literal["axis-end"]
    low: float
    high: float

    def judge_one(self, result: Result) -> Finding:
        """Find the lowest curve, and where its interval lies."""
        curves = result.curves
        ends = {p: result.at(p, self.metric, curves.checkpoints[-1]) for p in curves.labels}
        lowest = min(ends, key=lambda policy: ends[policy][0])
        mean, error = ends[lowest]
        low, value, high = (
            _log((mean + sign * TWO_SIDED_95 * error) / result.arms) for sign in (-1, 0, 1)
        )
        status = decide(
            supported=self.low < low and high < self.high,
            contradicted=high < self.low or low > self.high,
        )
        return status, f"the lowest, {lowest}, ends at {value:.2f} [{low:.2f}, {high:.2f}]"


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
        reach = TWO_SIDED_95 * float(influence.std(ddof=1)) / math.sqrt(len(influence))
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


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
