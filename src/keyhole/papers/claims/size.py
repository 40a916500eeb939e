"""Claims about how large something is."""

import math
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keyhole.contract.state_memory import FloatArray
from keyhole.papers.claims.base import Finding, Result, Single, decide
from keyhole.papers.claims.negative_control import OfOne
from keyhole.papers.claims.numbers import factor_of, format_compared, known_number, number_of
from keyhole.papers.entry_validation import Checkpoint, PolicyName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, mean_estimate

_Error = Annotated[float, Field(ge=0)]


class Level(OfOne):
    """A mean, or ln(mean / arms), lies within some standard errors of given levels.

    The standard error is that of the difference: of what was measured, and of the levels.
    """

    kind: Literal["level"]
    rounds: list[Checkpoint]
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
        found, numbers, furthest = list[str](), list[Number](), 0.0
        for t, level, error in zip(self.rounds, self.levels, errors, strict=True):
            number, at = mean_estimate(result.values(policy, self.metric, t)), f"T = {t:,}"
            if self.of != "mean":
                if number.value <= 0.0:
                    detail = f"the mean at {at} has no logarithm: {number}"
                    return Finding("undecided", detail, (number_of(f"mean at {at}", number),))
                number = _log(number, result.arms)
            noise = math.hypot(number.error, error)
            if noise == 0.0 or math.isinf(noise):
                detail = f"without a standard error at {at}: {number}"
                return Finding("undecided", detail, (number_of(f"{self.of} at {at}", number),))
            distance = abs(number.value - level) / noise
            furthest = max(furthest, distance)
            found.append(f"{at}: {number}, {distance:.1f} s.e. from {level:.4g}")
            numbers += [
                number_of(f"{self.of} at {at}", number),
                known_number(f"s.e. from {level:.4g} at {at}", distance, at_most=self.std_errors),
            ]
        within = furthest <= self.std_errors
        status = decide(supported=within, contradicted=not within)
        return Finding(status, "; ".join(found), tuple(numbers))


class AxisEnd(Single):
    """ln(metric / arms) of a policy, or of the lowest curve, ends between two numbers."""

    kind: Literal["axis-end"]
    low: float
    high: float
    policy: PolicyName | None = None  # its label; by default that with the lowest mean

    def judge_one(self, result: Result) -> Finding:
        """Find the curve, and where its interval lies."""
        ends = {p: mean_estimate(result.values(p, self.metric)) for p in result.curves.labels}
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
        name = f"end of {self.policy or lowest}"
        end = Number(name, value, low, high, None, self.low, self.high)
        return Finding(status, f"{who} ends at {end}", (end,))


class Spread(Single):
    """The choice among some policies matters less than the choice among others.

    The spread of a group is ln(largest mean / smallest mean) at the horizon. The interval of the
    difference of two spreads comes from the delta method, which takes the policies with the
    largest and the smallest mean as given.
    """

    kind: Literal["spread"]
    narrow: list[PolicyName]
    wide: list[PolicyName]

    def judge_one(self, result: Result) -> Finding:
        """Return the ratio of the factors, with its interval."""
        spreads = list[tuple[float, FloatArray]]()  # each with what replications add to it
        for group in (self.wide, self.narrow):
            values = {p: result.curves.values(p, self.metric)[-1] for p in group}
            means = {p: float(v.mean()) for p, v in values.items()}
            top, bottom = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
            if means[bottom] == 0.0:
                return Finding("undecided", f"{bottom} was never wrong at the horizon")
            influence = values[top] / means[top] - values[bottom] / means[bottom]
            spreads.append((math.log(means[top] / means[bottom]), influence))
        (wide, widening), (narrow, narrowing) = spreads
        gap = replace(mean_estimate(widening - narrowing), value=wide - narrow)
        ratio = factor_of("ratio of the two", gap, at_least=1.0)
        widest, narrowest = (
            factor_of(
                f"largest mean / smallest mean among {', '.join(group)}",
                replace(mean_estimate(influence), value=spread),
            )
            for group, (spread, influence) in zip((self.wide, self.narrow), spreads, strict=True)
        )
        return Finding(
            decide(supported=gap.low > 0, contradicted=gap.high < 0),
            f"largest mean / smallest mean at the horizon: {narrowest} among "
            f"{', '.join(self.narrow)}; {widest} among {', '.join(self.wide)}; "
            f"ratio of the two {ratio}",
            (narrowest, widest, ratio),
        )


class Exactly(Single):
    """A metric has one value for a policy, by default all, at every checkpoint and replication."""

    kind: Literal["exactly"]
    value: float
    policy: PolicyName | None = None  # its label

    def judge_one(self, result: Result) -> Finding:
        """Look for any other value."""
        curves = result.curves
        counts = {}
        labels = curves.labels if self.policy is None else [self.policy]
        for label in labels:
            off = (curves.values(label, self.metric) != self.value).any(axis=0).sum()
            counts[label] = known_number(f"replications of {label} in which not so", off, at_most=0)
        wrong = [label for label, count in counts.items() if count.value]
        numbers = format_compared(list(counts.values()), [counts[label] for label in wrong])
        if wrong:
            return Finding("does not hold", f"not so for {', '.join(wrong)}", numbers)
        each = f" of each of {len(labels)} policies" if len(labels) > 1 else ""
        detail = f"so in all of {curves.replications:,} replications{each}"
        return Finding("holds", detail, numbers)


def _log(number: Estimate, arms: int) -> Estimate:
    """Return ln(mean / arms), by the delta method."""
    return Estimate(math.log(number.value / arms), number.error / number.value, number.replications)
