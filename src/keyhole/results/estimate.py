"""Estimates with 95 % confidence intervals, for tables, figures and claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.draws.beta_cdf import beta_cdf, log_beta_weight
from keyhole.extras import has_extra, require_extra
from keyhole.pages.page import Table

_MAX_NEWTON_STEPS: Final = 200  # of hundreds of quantiles tried, none took more than 70
_EPSILON: Final = 2.0**-52


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the quantile of a beta distribution, with `probability` in [1e-6, 0.999].

    This is Newton's method on `beta_cdf`, with bisection in place of each step that would leave the
    interval in which the quantile is known to lie.

    Examples
    --------
    >>> round(beta_quantile(0.5, 3.0, 3.0), 12), round(beta_quantile(0.025, 1.0, 10.0), 12)
    (0.5, 0.002528578544)
    """
    low = 0.0
    high = 1.0
    x = a / (a + b)
    for _ in range(_MAX_NEWTON_STEPS):
        excess = beta_cdf(x, a, b) - probability
        if excess == 0.0:
            return x
        low, high = (low, x) if excess > 0.0 else (x, high)
        density = math.exp(log_beta_weight(x, a, b)) / (x * (1.0 - x))
        next_x = x - excess / density if density > 0.0 else low  # `low` leads to bisection
        if not low < next_x < high:  # bisection
            next_x = 0.5 * (low + high)
        if abs(next_x - x) <= 2.0 * _EPSILON * x:
            return next_x
        x = next_x
    return x


@lru_cache(maxsize=4096)
def student_t_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution, with `probability` in [0.501, 0.999].

    Examples
    --------
    >>> round(student_t_quantile(0.975, 1), 9), round(student_t_quantile(0.975, 30), 9)
    (12.706204736, 2.042272456)
    """
    # t^2 / (t^2 + freedom) has the beta distribution with the parameters 1/2 and freedom / 2.
    share = beta_quantile(2.0 * probability - 1.0, 0.5, 0.5 * freedom)
    return math.sqrt(freedom * share / (1.0 - share))


_TAIL_PROBABILITY: Final = 0.025  # beyond each end of a 95 % interval
_ROUNDING: Final = 1e-12  # relative: sums of the same numbers in another order differ by less
_WORST_TENTH_RANK: Final = 0.9  # as a share of the number of runs
_WHOLE_NUMBERS_FROM: Final = 1000  # a `Tail` shows values of at least this without decimals
_LEAST_P_VALUE: Final = 1e-300
_PAIRED_HEAD: Final = ("mean difference [95 % interval], p of the two-sided t-test", "replications")
_SIGNIFICANT_DIGITS: Final = 6
_MOST_DECIMALS: Final = 9  # a number that would need more has three significant digits
_EXPONENTS_FROM: Final = 1e15  # larger numbers, and those below its inverse, have exponents


@dataclass(frozen=True)
class Estimate:
    """A number estimated from replications."""

    value: float
    error: float  # the standard error of `value`; infinite for one replication
    replications: int
    # A share is the mean of a metric that is 0 or 1 in each replication, and `count` the number of
    # ones; `count` is None for any other estimate. A share has the interval of Clopper and Pearson,
    # any other estimate Student's t.
    count: int | None = None

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        if self.count is not None:
            return exact_interval(self.count, self.replications)[0]
        return self.value - self._t_half_width()

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        if self.count is not None:
            return exact_interval(self.count, self.replications)[1]
        return self.value + self._t_half_width()

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return self._t_half_width() if self.count is None else (self.high - self.low) / 2

    def _t_half_width(self) -> float:
        return t_factor(self.replications) * self.error if self.error else 0.0

    def p_value(self, low: float, high: float) -> float:
        """Return the two-sided p-value against the nearer end of a range; 1 within the range.

        `low` and `high` are the ends of the range, not of the interval. A mean of one replication
        has the p-value 1.
        """
        distance = max(low - self.value, self.value - high)
        if not distance > 0.0 or math.isinf(self.error):
            return 1.0
        if self.count is not None:
            return self._share_p_value(self.count, low, high)
        # All replications have the same value: chance does not explain the distance.
        if self.error == 0.0:
            return 0.0
        require_extra("scipy", "a p-value")
        from scipy.special import stdtr

        return 2.0 * float(stdtr(self.replications - 1, -distance / self.error))

    def _share_p_value(self, count: int, low: float, high: float) -> float:
        require_extra("scipy", "a p-value")
        from scipy.special import bdtr, bdtrc

        if not (low <= 1.0 and high >= 0.0):  # no share lies in the range
            return 0.0
        is_below = self.value < low
        n = self.replications
        # Clopper and Pearson's interval inverts these tails, so that test and interval agree.
        one_sided = bdtr(count, n, low) if is_below else bdtrc(count - 1, n, high)
        return min(1.0, 2.0 * float(one_sided))

    def __str__(self) -> str:
        """Return the estimate with its interval, rounded to the precision of the interval."""
        return _format_interval(self.value, self.low, self.high, self.half_width)

    def plus_minus(self) -> str:
        """Return the estimate for a table, as the value ± half of its interval.

        A share, and a number that is equal in every run, are returned as by `str`.
        """
        if self.count is not None or self.half_width == 0.0:
            return str(self)
        if not math.isfinite(self.half_width):
            return f"{format_estimate(self.value)} ± n/a"
        value = format_estimate(self.value, self.half_width)
        return f"{value} ± {format_estimate(self.half_width, self.half_width)}"


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference of two policies over common random numbers.

    Attributes
    ----------
    difference : float
        Mean of `a` minus mean of `b`; in the metric's unit.
    low, high : float
        The ends of the 95 % confidence interval (Student's t over replications); infinite for one
        replication.
    p_value : float
        The p-value of the two-sided paired t-test of equal means.
    replications : int
        The number of pairs.
    """

    difference: float
    low: float
    high: float
    p_value: float
    replications: int

    @property
    def equal(self) -> bool:
        """Whether both policies have the same value in every replication."""
        return self.low == self.high == 0.0

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        row = [str(self), f"{self.replications:,}"]
        return Table("Paired over common random numbers.", _PAIRED_HEAD, [row]).html()

    def __str__(self) -> str:
        """Return the difference, its interval and its p-value."""
        if self.equal:
            return "0, equal in every run"
        half_width = (self.high - self.low) / 2
        text = _format_interval(self.difference, self.low, self.high, half_width)
        return f"{text}, {format_p_value(self.p_value)}" if 0.0 < half_width < math.inf else text


@dataclass(frozen=True)
class Tail:
    """The bad runs among replications: the value where the worst tenth begins, and the worst."""

    quantile: float
    worst: float

    def __str__(self) -> str:
        """Return both values as one text."""
        return ", ".join(self.cells())

    def cells(self) -> list[str]:
        """Return both values as texts, for a table."""
        return [_format_tail_value(self.quantile), _format_tail_value(self.worst)]


def tail_of_runs(values: FloatArray, *, lower_is_better: bool) -> Tail:
    """Return the tail of a metric, given its value in each replication.

    Examples
    --------
    >>> print(tail_of_runs(np.arange(100.0), lower_is_better=True))
    90, 99
    >>> print(tail_of_runs(np.arange(100.0), lower_is_better=False))
    9, 0
    """
    # The quantile is the value of a run, and not between two, so that readers can find this run.
    sign = 1.0 if lower_is_better else -1.0
    ascending = np.sort(sign * values)
    rank = min(len(ascending) - 1, math.floor(_WORST_TENTH_RANK * len(ascending)))
    return Tail(sign * float(ascending[rank]), sign * float(ascending[-1]))


def _format_tail_value(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE_NUMBERS_FROM else f"{value + 0.0:.4g}"


def t_factor(replications: int) -> float:
    """Return the number of standard errors in half of a mean's 95 % interval (Student's t)."""
    if replications <= 1:
        return math.inf
    # Earlier versions needed SciPy: where it is installed, results keep their last digits.
    if not has_extra("scipy"):
        return student_t_quantile(1.0 - _TAIL_PROBABILITY, replications - 1)
    from scipy.special import stdtrit

    return float(-stdtrit(replications - 1, _TAIL_PROBABILITY))


def exact_interval(count: int, runs: int) -> tuple[float, float]:
    """Return the 95 % interval of Clopper and Pearson (1934) for a binomial proportion."""
    quantile: Callable[[float, float, float], float] = beta_quantile
    if has_extra("scipy"):  # as in `t_factor`
        from scipy.special import betaincinv

        def quantile(probability: float, a: float, b: float) -> float:
            return float(betaincinv(a, b, probability))

    low = 0.0 if count == 0 else quantile(_TAIL_PROBABILITY, count, runs - count + 1)
    high = 1.0 if count == runs else quantile(1.0 - _TAIL_PROBABILITY, count + 1, runs - count)
    return low, high


def mean_estimate(values: FloatArray) -> Estimate:
    """Estimate a mean from its replications.

    Values that differ only by rounding errors count as equal.
    """
    n = len(values)
    lowest = float(values.min())
    highest = float(values.max())
    if n == 1:
        return Estimate(lowest, math.inf, n)
    # A standard error of rounding errors alone would make any difference significant.
    if highest - lowest <= _ROUNDING * max(abs(lowest), abs(highest)):
        return Estimate(float(values[0]), 0.0, n)
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n), n)


def share_estimate(values: FloatArray) -> Estimate:
    """Estimate the mean of values that are 0 or 1, with its exact interval."""
    n = len(values)
    count = int(values.sum())
    share = count / n
    return Estimate(share, math.sqrt(share * (1.0 - share) / n), n, count)


def estimate_from_summary(
    mean: float, std_error: float, replications: int, *, is_share: bool
) -> Estimate:
    """Return the estimate of a mean or a share, given its value and its standard error."""
    if is_share:
        return Estimate(mean, std_error, replications, round(mean * replications))
    # As in `mean_estimate`, a spread that is only due to rounding errors counts as 0.
    is_constant = std_error * math.sqrt(replications) <= _ROUNDING * abs(mean)
    return Estimate(mean, 0.0 if is_constant else std_error, replications)


def paired_difference(a: FloatArray, b: FloatArray) -> PairedDifference:
    """Return the mean difference of two paired samples.

    Pairs that differ only by rounding errors count as equal.
    """
    differences = a - b
    is_equal = np.abs(differences) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b))
    gap = mean_estimate(np.where(is_equal, 0.0, differences))
    p_value = gap.p_value(0.0, 0.0)
    return PairedDifference(gap.value, gap.low, gap.high, p_value, gap.replications)


def format_estimate(value: float, half_width: float = 0.0) -> str:
    """Return a number rounded to the place of the second significant digit of `half_width`.

    `half_width` is half the width of the number's interval. If it is 0, or so small that it is only
    due to rounding errors, the number counts as exact.
    """
    if math.isnan(value):
        return "n/a"
    size = abs(value)
    if _ROUNDING * size < half_width < _EXPONENTS_FROM and size < _EXPONENTS_FROM:
        decimals = 1 - math.floor(math.log10(half_width))
        number = round(value, decimals) + 0.0  # -0.0 becomes 0.0
        return f"{number:,.{max(0, decimals)}f}" if decimals <= _MOST_DECIMALS else f"{value:.3g}"
    if not 1.0 / _EXPONENTS_FROM < size < _EXPONENTS_FROM:
        return f"{value:.4g}"
    # An exact number, and one of a single replication, has six significant digits.
    decimals = max(0, _SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(size)))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def _format_interval(value: float, low: float, high: float, half_width: float) -> str:
    """Return a number with its interval, all rounded as by `format_estimate`."""
    if not math.isfinite(half_width):
        return f"{format_estimate(value)} (one replication: no interval)"
    if half_width == 0.0:
        return f"{format_estimate(value)} in every run"
    middle, lower, upper = (format_estimate(x, half_width) for x in (value, low, high))
    return f"{middle} [{lower}, {upper}]"


def format_p_value(p_value: float) -> str:
    """Return a p-value as reports show it."""
    if p_value < _LEAST_P_VALUE:
        return "p < 1e-300"
    return f"p = {p_value:.{1 if p_value < 1e-3 else 2}g}"
