"""Statistics that judgements of claims share: results, comparisons, ratios, numbers, ranges."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, NamedTuple, cast

import numpy as np
from pydantic import Field

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.field_types import Checkpoint, PolicyName, ProblemName, TableModel
from keyhole.papers.verdicts import Number, Status
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate, PairedDifference, format_estimate, mean_estimate
from keyhole.results.holm_adjustment import LEVEL, holm

Rounds = Annotated[list[Checkpoint], Field(min_length=1)]
Policies = Annotated[list[PolicyName], Field(min_length=1)]


class Finding(NamedTuple):
    """Outcome of judging a claim: the status, an explanation, and the numbers behind it."""

    status: Status
    detail: str  # the explanation in words, with the numbers that matter most
    numbers: tuple[Number, ...] = ()  # the numbers that decide the status


@dataclass(frozen=True)
class Result:
    """Measurements on one problem."""

    title: str  # the problem's name in reports
    problem: Problem  # bounds are computed from it
    curves: Curves  # the measurements; the last checkpoint is the horizon
    # the policies by label, since some bounds depend on their parameters
    policies: Mapping[str, Policy] = field(default_factory=dict)

    @property
    def arms(self) -> int:
        """The problem's number of arms."""
        return int(self.problem.fact("arms"))

    def values(self, policy: str, metric: str, round: int | None = None) -> FloatArray:
        """Return a metric's value in every replication at a checkpoint, by default the last."""
        return cast(FloatArray, self.curves.values(policy, metric)[self._index_of(round)])

    def estimate(self, policy: str, metric: str, round: int | None = None) -> Estimate:
        """Return a metric's mean with its interval at a checkpoint, by default the last."""
        return self.curves.estimates(policy, metric)[self._index_of(round)]

    def _index_of(self, round: int | None) -> int:
        """Return the position of a checkpoint, by default of the last."""
        checkpoints = self.curves.checkpoints
        return checkpoints.index(checkpoints[-1] if round is None else round)

    def best_of(self, policies: Sequence[str], metric: str, round: int) -> str:
        """Return the policy with the best mean of a metric; if several are best, the first."""
        means = {policy: self.estimate(policy, metric, round).value for policy in policies}
        return self.curves.metric(metric).rank(means)[0]


Results = Mapping[str, Result]
"""The measurements on each problem, by its key."""


class Cell(TableModel):
    """One policy on one problem."""

    problem: ProblemName  # the problem's key; in a file by default the claim's
    policy: PolicyName  # the policy's label; in a file by default the claim's

    def values(self, results: Results, metric: str, round: int | None = None) -> FloatArray:
        """Return a metric's value in every replication at a checkpoint, by default the last."""
        return results[self.problem].values(self.policy, metric, round)


Cells = Annotated[list[Cell], Field(min_length=2)]


def decide(*, supported: bool, contradicted: bool) -> Status:
    """Return the status of a claim: undecided if results neither support nor contradict it."""
    if supported:
        return "holds"
    return "does not hold" if contradicted else "undecided"


def least_count(share: float, count: int) -> int:
    """Return the smallest integer that is at least `share` times `count`."""
    # In floating point 0.07 x 100 is 7.000000000000001, which must not be rounded up to 8.
    return math.ceil(share * count - 1e-9)


def format_round(round: int | None) -> str:
    """Return the words for a checkpoint (None is the last) in verdicts and names of numbers."""
    return "at the end" if round is None else f"at T = {round:,}"


def cell_names(cells: Sequence[Cell], results: Results) -> list[str]:
    """Return a name for each cell.

    It is the policy if all cells have one problem, the title of the problem if all cells have one
    policy, and else both.
    """
    titles = [results[cell.problem].title for cell in cells]
    policies = [cell.policy for cell in cells]
    if len(set(titles)) == 1:
        return policies
    if len(set(policies)) == 1:
        return titles
    return [f"{policy} on {title}" for policy, title in zip(policies, titles, strict=True)]


def mean_numbers(names: Sequence[str], values: Sequence[FloatArray]) -> tuple[Number, ...]:
    """Return the `Number` of the mean of each cell, given the cells' names and values."""
    return numbers_of([f"mean of {name}" for name in names], list(map(mean_estimate, values)))


def format_numbers(numbers: Sequence[Number]) -> str:
    """Return the text of numbers with their names and intervals."""
    return "; ".join(f"{number.name}: {number}" for number in numbers)


@dataclass(frozen=True)
class Comparison:
    """The comparison of one policy with another at one checkpoint."""

    policy: str
    rival: str
    round: int
    gap: PairedDifference  # mean of `policy` minus mean of `rival`, over common random numbers
    p_value: float  # two-sided; `adjust_p_values` adjusts it for comparisons that are made together
    is_higher_better: bool = False  # as the metric declares
    is_tied: bool = False  # whether both are equal in every replication, and not always 0

    @property
    def lead(self) -> float:
        """The difference of the means, positive where `policy` is better."""
        return self.gap.difference if self.is_higher_better else -self.gap.difference

    @property
    def is_better(self) -> bool:
        """Whether `policy` is significantly better."""
        return self.p_value < LEVEL and self.lead > 0

    @property
    def is_worse(self) -> bool:
        """Whether `policy` is significantly worse."""
        return self.p_value < LEVEL and self.lead < 0

    @property
    def evidence(self) -> float:
        """A number from -1, where `policy` is clearly worse, to 1, where it is clearly better."""
        return math.copysign(1.0 - self.gap.p_value, self.lead)

    def __str__(self) -> str:
        """Return the policies, the round, and the difference with its interval and p-value."""
        return f"{self.name()}: {self.gap}"

    def name(self, title: str = "") -> str:
        """Return the policies, the problem's title if it is given, and the round."""
        name = f"{self.policy} minus {self.rival}"
        if title:
            name += f" on {title}"
        return f"{name} at T = {self.round:,}"

    def number(self, *, claims_better: bool) -> Number:
        """Return the `Number` of the difference, with its claimed range.

        `claims_better` says whether the claim is that `policy` is better, or that it is not.
        """
        if claims_better == self.is_higher_better:
            return number_of(self.name(), self.gap, at_least=0.0)
        return number_of(self.name(), self.gap, at_most=0.0)


def compare_pairs(
    curves: Curves, metric: str, pairs: Sequence[tuple[str, str, int]], *, adjust: bool = True
) -> list[Comparison]:
    """Compare pairs of policies at rounds; with `adjust`, adjust the p-values for their number."""
    is_higher_better = curves.metric(metric).better == "higher"
    unadjusted = []
    for policy, rival, round in pairs:
        gap = curves.paired(policy, rival, metric=metric, round=round)
        # Two policies that are always 0 are not tied: more replications may show a rare event.
        values = curves.values(policy, metric)[curves.checkpoints.index(round)]
        is_tied = gap.equal and bool(values.any())
        unadjusted.append(
            Comparison(policy, rival, round, gap, gap.p_value, is_higher_better, is_tied)
        )
    return adjust_p_values(unadjusted) if adjust else unadjusted


def adjust_p_values(unadjusted: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons whose p-values are adjusted for the number of comparisons (Holm)."""
    p_values = holm([case.gap.p_value for case in unadjusted]).tolist()
    return [replace(case, p_value=p) for case, p in zip(unadjusted, p_values, strict=True)]


def significant_signs(tests: Sequence[tuple[float, float]]) -> list[float]:
    """Return the sign of each difference, or 0 where it is not significant (adjusted by Holm).

    `tests` are the differences, each with its p-value.
    """
    differences, p_values = zip(*tests, strict=True)
    signs: list[float] = np.where(holm(p_values) < LEVEL, np.sign(differences), 0.0).tolist()
    return signs


_FEWEST_REPLICATIONS: Final = 3  # the jackknife leaves one out; a variance needs two
_ROUNDING_SHARE: Final = 1e-24  # of the sum of squares: a smaller sum may be rounding alone


def ratio_of(numerators: FloatArray, denominators: FloatArray) -> Estimate | None:
    r"""Estimate the ratio of two means from paired replications, by the delta method.

    .. math:: \hat r = \bar a / \bar b, \qquad
        \widehat{\mathrm{se}}(\hat r) = \mathrm{sd}(a_i - \hat r\, b_i) / (\bar b \sqrt n)

    The result is None if the 95 % interval of the mean of the denominators contains zero, since the
    ratio could then be any number.

    Examples
    --------
    >>> print(ratio_of(np.array([3.0, 4.0, 5.0]), np.array([1.9, 2.0, 2.1])))
    2.00 [1.01, 2.99]
    """
    denominator = mean_estimate(denominators)
    if denominator.low <= 0.0 <= denominator.high:
        return None
    ratio = mean_estimate(numerators).value / denominator.value
    # Linearised, the ratio varies as the mean of a - r b, divided by the mean of b.
    residuals = numerators - ratio * denominators
    # Where all replications have the same ratio, the residuals are rounding errors.
    residuals = np.where(np.abs(residuals) <= 1e-12 * np.abs(numerators), 0.0, residuals)
    return Estimate(ratio, mean_estimate(residuals).error / abs(denominator.value), len(numerators))


def log_quotient(numerators: FloatArray, denominators: FloatArray) -> FloatArray:
    r"""Return one number for each replication; their mean is ln of the quotient of two means.

    By the delta method, the standard error of their mean is that of the logarithm.

    .. math:: \ln(\bar a / \bar b) + (a_i - \bar a) / \bar a - (b_i - \bar b) / \bar b
    """
    a, b = float(numerators.mean()), float(denominators.mean())
    return math.log(a / b) + (numerators - a) / a - (denominators - b) / b


def log_deviation_ratio(a: FloatArray, b: FloatArray) -> Estimate | None:
    r"""Estimate ln of the ratio of two standard deviations from paired replications.

    .. math:: \hat\ell = \ln(s_a / s_b), \qquad
        \widehat{\mathrm{se}}(\hat\ell)^2 = \frac{n-1}{n} \sum_i (\ell_{-i} - \bar\ell)^2

    where :math:`\ell_{-i}` is the estimate without replication i. The result is None if there are
    fewer than three replications, or if a sample would be constant without one of them.
    """
    n = len(a)
    # The jackknife leaves out one pair at a time, so it keeps the correlation of the two samples.
    # An F test would assume normality: for two exponential distributions its 95 % interval covers
    # the ratio of their deviations in 75 % of all cases.
    if n < _FEWEST_REPLICATIONS:
        return None
    squares_a, squares_a_without_each = _squared_deviations(a)
    squares_b, squares_b_without_each = _squared_deviations(b)
    if 0.0 in squares_a_without_each or 0.0 in squares_b_without_each:
        return None
    # A ratio has a skewed distribution; its logarithm has a nearly symmetric one.
    log_ratios = np.log(squares_a_without_each / squares_b_without_each) / 2
    error = math.sqrt(float(((log_ratios - log_ratios.mean()) ** 2).sum()) * (n - 1) / n)
    return Estimate(math.log(squares_a / squares_b) / 2, error, n)


def _squared_deviations(values: FloatArray) -> tuple[float, FloatArray]:
    """Return the sum of squared deviations, and for each replication the sum without it.

    A sum without one replication is 0 if it may consist of rounding errors alone.
    """
    n = len(values)
    deviations = (values - values.mean()) ** 2
    total = float(deviations.sum())
    without_each = total - deviations * n / (n - 1)
    is_measured = without_each > _ROUNDING_SHARE * (values**2).sum()
    return total, np.where(is_measured, without_each, 0.0)


_MOST_NUMBERS: Final = 50
MOST_SHOWN: Final = 3
"""The most comparisons, steps or exceptions that the text of a verdict shows."""
_LARGEST_EXPONENT: Final = 700.0  # exp(700) is finite, exp(710) is not


def number_of(
    name: str,
    estimate: Estimate | PairedDifference,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Number:
    """Return the `Number` of an estimate or of a difference, with its claimed range."""
    if isinstance(estimate, PairedDifference):
        value = estimate.difference
        p_value: float | None = estimate.p_value
    else:
        value = estimate.value
        p_value = _p_value(estimate, at_least, at_most)
    return Number(name, value, estimate.low, estimate.high, p_value, at_least, at_most)


def numbers_of(
    names: Sequence[str], estimates: Sequence[Estimate | PairedDifference]
) -> tuple[Number, ...]:
    """Return the `Number` of each of several estimates, without a claimed range."""
    return tuple(number_of(*pair) for pair in zip(names, estimates, strict=True))


def number_from_log(
    name: str, log: Estimate, at_least: float = 0.0, at_most: float = math.inf
) -> Number:
    """Return the `Number` of a quantity, such as a ratio, given the estimate of its logarithm."""
    p_value = _p_value(log, *log_range(at_least, at_most))
    value, low, high = (_exp_or_infinity(x) for x in (log.value, log.low, log.high))
    # The quantity is always above 0: an end of 0 is open.
    if at_least <= 0.0:
        at_least = -math.inf
    return Number(name, value, low, high, p_value, at_least, at_most)


def exact_number(
    name: str, value: float, at_least: float = -math.inf, at_most: float = math.inf
) -> Number:
    """Return the `Number` of a value that is known without error, such as a count."""
    exact_value = float(value)
    return Number(name, exact_value, exact_value, exact_value, None, at_least, at_most)


def trim_numbers(numbers: Sequence[Number], highlights: Sequence[Number]) -> tuple[Number, ...]:
    """Return all numbers; if they are more than 50, only `highlights`, which the text shows."""
    return tuple(numbers if len(numbers) <= _MOST_NUMBERS else highlights)


def judge_exception_counts(exceptions: Sequence[Number], replications: int) -> Finding:
    """Judge a claim about every replication, given counts of the replications that break it."""
    positive_counts = [number for number in exceptions if number.value][:MOST_SHOWN]
    if not positive_counts:
        detail = f"so in all of {replications:,} replications"
        return Finding("holds", detail, trim_numbers(exceptions, []))
    detail = "; ".join(
        f"{number.name}: {number.value:,.0f} of {replications:,}" for number in positive_counts
    )
    return Finding("does not hold", detail, trim_numbers(exceptions, positive_counts))


def control_numbers(control: str, numbers: Sequence[Number]) -> tuple[Number, ...]:
    """Return the numbers of a negative control, under its name and without claimed ranges."""
    return tuple(
        Number(f"{control}: {number.name}", number.value, number.low, number.high)
        for number in numbers
    )


def _p_value(estimate: Estimate, low: float, high: float) -> float | None:
    """Return the p-value of an estimate against a range; None if both ends are open."""
    if math.isfinite(low) or math.isfinite(high):
        return estimate.p_value(low, high)
    return None


def _exp_or_infinity(x: float) -> float:
    """Return the exponential of a number; it is infinite where it would overflow."""
    return math.exp(x) if x < _LARGEST_EXPONENT else math.inf


End = float | list[float] | None
"""An end of a range: a number for all rounds, a list of one for each, or None if it is open."""
Ranges = list[tuple[int | None, float, float]]
"""Each round (None is the last) with both ends of its range; an open end is infinite."""


def check_range_ends(low_name: str, low: End, high_name: str, high: End, count: int = 1) -> None:
    """Refuse an empty or fully open range, and a list of more or fewer than `count` ends."""
    for name, end in ((low_name, low), (high_name, high)):
        if isinstance(end, list) and len(end) != count:
            raise ValueError(f"{name} must have one number for each round, {count}, got {end}")
    if low is None and high is None:
        raise ValueError(f"{low_name} or {high_name} must be given")
    for _, floor, ceiling in rounds_with_ranges([None] * count, low, high):
        if ceiling < floor:
            raise ValueError(f"{high_name} must be at least {low_name}, {floor:g}, got {ceiling:g}")


def as_list(value: object, count: int = 1) -> list[Any]:
    """Return a list unchanged, and any other value as a list that has it `count` times."""
    return value if isinstance(value, list) else [value] * count


def rounds_with_ranges(rounds: Sequence[int | None] | None, low: End, high: End) -> Ranges:
    """Return each round, by default only the last, with its range."""
    rounds = rounds or [None]
    ends = [as_list(end, len(rounds)) for end in (low, high)]
    return [(t, *make_open_ends_infinite(*pair)) for t, *pair in zip(rounds, *ends, strict=True)]


def make_open_ends_infinite(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of a range; an end that is None becomes infinite."""
    return -math.inf if low is None else low, math.inf if high is None else high


def log_range(low: float, high: float) -> tuple[float, float]:
    """Return the logarithms of the ends of a range of ratios."""
    return math.log(low) if low > 0.0 else -math.inf, math.log(high)


def bracket_range(low: float, high: float) -> str:
    """Return a claimed range in brackets, for the text of a verdict."""
    return f" (claimed: {describe_range(low, high)})"


def describe_range(low: float, high: float) -> str:
    """Return a claimed range in words."""
    if math.isinf(high):
        return f"at least {format_estimate(low)}"
    if math.isinf(low):
        return f"at most {format_estimate(high)}"
    return f"{format_estimate(low)} to {format_estimate(high)}"


def judge_ranges(tests: Sequence[tuple[Estimate, float, float]]) -> Status:
    """Return the status of the claim that estimates lie in their ranges, which may be open.

    The claim holds if every 95 % interval lies in its range. It does not hold if some estimate is
    significantly outside (adjusted by Holm). If there is only one estimate, this means that its
    interval lies outside.
    """
    # The test that all intervals lie inside is an intersection-union test: it needs no adjustment.
    # But one estimate outside contradicts the claim, so these tests are adjusted for their number.
    p_values = [mean.p_value(low, high) for mean, low, high in tests]
    return decide(
        supported=all(low <= mean.low and mean.high <= high for mean, low, high in tests),
        contradicted=bool((holm(p_values) < LEVEL).any()),
    )
