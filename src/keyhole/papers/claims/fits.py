"""Judgements of claims that a mean lies on a straight line, or grows as a power of a number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
from pydantic import AfterValidator, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.claims.statistics import Finding, Results
from keyhole.papers.field_types import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import Estimate, PairedDifference, mean_estimate, paired_difference
from keyhole.results.holm_adjustment import LEVEL, holm

_POINTS: Final = 3  # any two means lie on a line, and three determine a power
_ROUNDING: Final = 1e-12  # relative rounding error of a mean
_LINE_ROUNDING: Final = 1e-11  # relative rounding error of a point on a fitted line


def _require_three_x(x: dict[str, float]) -> dict[str, float]:
    if len(set(x.values())) < _POINTS:
        raise ValueError(f"x must have at least three different numbers, got {x}")
    return x


def linear_fit(
    results: Results, metric: str, policy: PolicyName,
    x: Annotated[dict[ProblemName, float], AfterValidator(_require_three_x)],
    r_squared: Annotated[float, Field(gt=0, lt=1)] | None = None, round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    """Judge whether the mean of a metric over several problems rises linearly in a number x.

    The line is the weighted least-squares fit to the means. The weights are 1 / standard error
    squared; if an error is 0 or infinite, all weights are equal. The intervals of slope and R
    squared follow from the replications, which are paired over the problems. For the slope, the
    weights are taken as known; the interval of R squared is a jackknife interval.

    The claim holds if the 95 % interval of the slope lies above 0 and the interval of R squared
    lies at or above `r_squared`. Without `r_squared` only the slope counts, which suits a
    metric that varies too much to show a shape.

    The claim does not hold if the slope is significantly below 0. It also does not hold if the
    interval of R squared lies below `r_squared` and some mean lies significantly off the line
    (adjusted by Holm): a low R squared alone may come from noise.
    """
    values = np.array([results[key].values(policy, metric, round) for key in x])
    line = fit_line(np.array(list(x.values())), values)
    detail = f"{statistics.format_round(round)}: slope {line.slope}"
    slope = statistics.number_of("slope", line.slope, at_least=0.0)
    if line.r_squared is None:
        status = statistics.decide(supported=False, contradicted=line.slope.error == 0.0)
        return Finding(status, f"{detail}; the mean is the same everywhere", (slope,))
    p_values = holm([gap.p_value for gap in line.gaps])
    claim_text = "a rising slope alone"
    if r_squared is not None:
        claim_text = f"at least {r_squared:g}"
    least_r_squared, _ = statistics.make_open_ends_infinite(r_squared, None)
    is_bent = line.r_squared.high < least_r_squared and min(p_values) < LEVEL
    r_squared_number = statistics.number_of("R squared", line.r_squared, least_r_squared)
    r_squared_number = replace(r_squared_number, high=min(1.0, r_squared_number.high))
    names = [f"{results[key].title} off the line by" for key in x]
    off_line = statistics.numbers_of(names, line.gaps)
    furthest = int(np.argmin(p_values))
    return Finding(
        statistics.decide(
            supported=line.slope.low > 0 and line.r_squared.low >= least_r_squared,
            contradicted=line.slope.high < 0 or is_bent,
        ),
        f"{detail}; R squared {r_squared_number} (claimed: {claim_text}); most clearly: "
        f"{names[furthest]} {off_line[furthest]}",
        (slope, r_squared_number, *statistics.trim_numbers(off_line, [off_line[furthest]])),
    )


@dataclass(frozen=True)
class FittedLine:
    """A straight line that is fitted to means."""

    slope: Estimate
    # the share of the weighted variation that the line explains; None where there is no variation
    r_squared: Estimate | None
    gaps: list[PairedDifference]  # the difference of each mean from the line


def fit_line(x: FloatArray, values: FloatArray) -> FittedLine:
    r"""Fit a straight line by least squares to the means of `values`, which has a row for each x.

    .. math:: \hat\beta = (X^\top W X)^{-1} X^\top W \bar y, \qquad
        R^2 = 1 - \frac{\sum_j w_j (\bar y_j - \hat y_j)^2}{\sum_j w_j (\bar y_j - \bar y_w)^2}

    X has a column of ones and the column x. W is diagonal with the weights w_j, which are
    proportional to 1 / standard error squared (equal if an error is 0 or infinite). The fitted
    values are :math:`\hat y = X \hat\beta`, and :math:`\bar y_w` is the weighted mean.
    """
    errors = np.array([mean_estimate(row).error for row in values])
    is_weighted = bool(((errors > 0) & np.isfinite(errors)).all())
    weights = np.ones(len(x))
    if is_weighted:
        weights = errors**-2.0
    weights = weights / weights.sum()
    mean_x = (weights * x).sum()
    deviations = x - mean_x
    variance = (weights * deviations**2).sum()
    # Slope and intercept are linear in the means, so each replication has its own.
    slopes = ((weights * deviations)[:, None] * values).sum(axis=0) / variance
    intercepts = (weights[:, None] * values).sum(axis=0) - mean_x * slopes
    rises = np.outer(x, slopes)
    return FittedLine(
        mean_estimate(slopes),
        _r_squared_estimate(x, values, is_weighted=is_weighted),
        [_gap_to_line(row, intercepts, rise) for row, rise in zip(values, rises, strict=True)],
    )


def _gap_to_line(row: FloatArray, intercepts: FloatArray, rises: FloatArray) -> PairedDifference:
    """Return the difference of values from a line; differences by rounding errors count as 0."""
    line = intercepts + rises
    size = np.maximum(np.abs(intercepts), np.abs(rises))
    # The sums in slope and intercept lose digits. A value on the line must compare as equal: a
    # difference of 1e-15 in every replication would be significant.
    is_on_line = np.abs(row - line) <= _LINE_ROUNDING * size
    return paired_difference(row, np.where(is_on_line, row, line))


def _r_squared_estimate(x: FloatArray, values: FloatArray, *, is_weighted: bool) -> Estimate | None:
    """Return R squared with its jackknife error, in which the weights vary too."""
    n = values.shape[1]
    means = values.mean(axis=1)
    deviations = values - values.mean(axis=1, keepdims=True)
    squares = (deviations**2).sum(axis=1)
    # The weights are those of `fit_line` except for a common factor, which has no effect.
    r_squared = _r_squared(x, means, _mean_weights(squares, is_weighted=is_weighted))
    if not np.isfinite(r_squared):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        # The mean and sum of squares without a replication follow from the mean and sum of squares
        # of all replications: O(n), not O(n^2).
        left_out_means = means[:, None] - deviations / np.float64(n - 1)
        left_out_squares = squares[:, None] - deviations**2 * n / np.float64(n - 1)
        weights = _mean_weights(left_out_squares, is_weighted=is_weighted)
        jackknife = _r_squared(x, left_out_means, weights)
        error = float(np.sqrt(((jackknife - jackknife.mean()) ** 2).sum() * (n - 1) / n))
    if not np.isfinite(error):
        error = np.inf
    return Estimate(float(r_squared), error, n)


def _mean_weights(squares: FloatArray, *, is_weighted: bool) -> FloatArray:
    """Return the weights of means, up to a factor, from the sums of their squared deviations."""
    return 1.0 / squares if is_weighted else np.ones_like(squares)


def _r_squared(x: FloatArray, means: FloatArray, weights: FloatArray) -> FloatArray:
    """Return R squared of a weighted fit, or of many fits, one for each column of means.

    It is not finite where the means do not vary.
    """
    shares = weights / weights.sum(axis=0)
    positions = x.reshape(-1, *[1] * (means.ndim - 1))
    off_x = positions - (shares * positions).sum(axis=0)
    off_y = means - (shares * means).sum(axis=0)
    off_y = np.where(np.abs(off_y) <= _ROUNDING * np.abs(means), 0.0, off_y)
    slope = (shares * off_x * off_y).sum(axis=0) / (shares * off_x**2).sum(axis=0)
    residual = (shares * (off_y - slope * off_x) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 - residual / (shares * off_y**2).sum(axis=0))


_Exponent = Annotated[float, Field(ge=-8, le=8)]
_EXPONENTS: Final = (-8.0, 8.0)  # the range in which an exponent is searched
_HALVINGS: Final = 40  # bisections of this range, down to a width of 1.5e-11


def judge_power(
    results: Results, metric: str, policy: PolicyName,
    at_least: _Exponent | None = None, at_most: _Exponent | None = None,
    problem: ProblemName | None = None, rounds: list[Checkpoint] | None = None,
    x: dict[ProblemName, float] | None = None, round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    r"""Judge whether a metric grows as a power of T or of a number x, with an exponent in a range.

    The points are either three `rounds` T of a `problem`, or three different numbers above 0, which
    `x` gives to problems. The metric of these problems is taken at the checkpoint `round`, by
    default the last.

    With means :math:`\bar y_j` at :math:`x_1 < x_2 < x_3`, the exponent is the a at which

    .. math:: \frac{\bar y_3 - \bar y_2}{\bar y_2 - \bar y_1}
        = \frac{x_3^a - x_2^a}{x_2^a - x_1^a},

    the exponent of the curve :math:`y = b + c\,x^a` through the three points. An exponent of 0
    stands for ln x, and 1 for a straight line. The constant b, such as the cost of a search, does
    not change the exponent. For a given a, multiply the equation by the denominator on the left:
    the difference of the two sides is then a linear combination of the means. A t-test of this
    difference tells whether the exponent is below a. The interval consists of the exponents that
    such tests do not reject. The claim holds if the 95 % interval lies in the range, and does not
    hold if it lies outside. It is undecided if the 95 % interval of the rise from the first point
    to the second contains 0 or lies below it.

    If several problems have the same x, only the worst counts: the problem with the largest mean,
    or with the smallest if higher is better. The worst problem may differ from x to x, as gaps that
    are hard for a short horizon are easy for a long one. The interval does not allow for this
    choice by the mean.
    """
    points = _distinct_x(rounds, x)
    if problem is not None:
        y = np.array([results[problem].values(policy, metric, int(t)) for t in points])
    else:
        y = _values_of_worst_problem(results, metric, policy, x or {}, round)
    # Without a rise from the first point to the second the exponent is not identified.
    rise = mean_estimate(y[1] - y[0])
    if not rise.low > 0.0:
        where = f"from {points[0]:,g} to {points[1]:,g}"
        detail = f"{where} the mean does not clearly rise: {rise}"
        return Finding("undecided", detail, (statistics.number_of(f"gain {where}", rise),))
    low, high = statistics.make_open_ends_infinite(at_least, at_most)
    # The excess falls as the exponent rises. If the claim is true, the excess is at most 0 at the
    # upper end of the range, and at least 0 at the lower end. The interval is only shown: it may be
    # cut off at the ends of the search.
    tests = [
        (_step_excess(points, y, end), floor, ceiling)
        for end, floor, ceiling in ((high, -math.inf, 0.0), (low, 0.0, math.inf))
        if math.isfinite(end)
    ]
    exponent, lowest, highest = (
        _solve_exponent(points, y, field) for field in ("value", "low", "high")
    )
    exponents = [_format_exponent(number) for number in (exponent, lowest, highest)]
    means = [mean_estimate(row) for row in y]
    positions = [f"{point:,g}" for point in points]
    p_value = min(excess.p_value(floor, ceiling) for excess, floor, ceiling in tests)
    ends = (("at least", at_least), ("at most", at_most))
    claimed_ends = [f"{text} {end:g}" for text, end in ends if end is not None]
    return Finding(
        statistics.judge_ranges(tests),
        f"means {', '.join(map(str, means))} at {', '.join(positions)}; "
        f"exponent of the increase {exponents[0]} [{exponents[1]}, {exponents[2]}]"
        f" (claimed: {' and '.join(claimed_ends)})",
        (
            *statistics.numbers_of([f"mean at {position}" for position in positions], means),
            Number("exponent", exponent, lowest, highest, p_value, low, high),
        ),
    )


def check_power(claim: AnyClaim, plan: Plan) -> None:
    """Require either three rounds of a problem, or problems with three different numbers."""
    # All three are false if `problem` and `rounds` are given, and all are true if `x` is.
    if len({claim.problem is None, claim.rounds is None, claim.x is not None}) > 1:
        raise ValueError("either problem and rounds must be given, or x")
    points = _distinct_x(claim.rounds, claim.x)
    if len(points) != _POINTS or points[0] <= 0:
        name = "rounds" if claim.x is None else "x"
        raise ValueError(f"{name} must have three different numbers above 0, got {points}")


def _distinct_x(rounds: Sequence[int] | None, x: Mapping[str, float] | None) -> list[float]:
    """Return the distinct rounds, or the distinct numbers of the problems, in rising order."""
    return sorted(map(float, set(rounds or (x or {}).values())))


def _values_of_worst_problem(
    results: Results, metric: str, policy: str, x: Mapping[str, float], round: int | None
) -> FloatArray:
    """Return the values on the worst problem of each number, in rising order of numbers."""
    rows: dict[float, list[FloatArray]] = {}
    for key, number in sorted(x.items(), key=lambda item: item[1]):
        rows.setdefault(number, []).append(results[key].values(policy, metric, round))
    choose = max if results[key].curves.metric(metric).better == "lower" else min
    return np.array([choose(candidates, key=np.mean) for candidates in rows.values()])


def _step_excess(x: Sequence[float], y: FloatArray, exponent: float) -> Estimate:
    """Return y's second step less the second step of a curve b + c x^exponent.

    A step is the rise from one x to the next. The curve has the same first step as y.
    """
    first = math.log(x[1] / x[0])
    second = math.log(x[2] / x[1])
    expected = second / first  # ratio of the two steps, here for exponent 0, which is ln x
    if exponent != 0.0:
        # Near exponent 0 both differences of powers vanish; expm1 keeps their digits.
        rise = exponent * first
        expected = math.exp(rise) * math.expm1(exponent * second) / math.expm1(rise)
    return mean_estimate(y[2] - y[1] - expected * (y[1] - y[0]))


def _solve_exponent(x: Sequence[float], y: FloatArray, field: str) -> float:
    """Return the exponent at which a field of `_step_excess`, "value", "low" or "high", is 0.

    It is found by bisection, since the excess falls as the exponent rises. An exponent beyond the
    range of the search is returned as infinite.
    """
    low, high = _EXPONENTS
    if getattr(_step_excess(x, y, low), field) < 0.0:
        return -math.inf
    if getattr(_step_excess(x, y, high), field) > 0.0:
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if getattr(_step_excess(x, y, middle), field) > 0.0:
            low = middle
        else:
            high = middle
    return low


def _format_exponent(exponent: float) -> str:
    """Return an exponent as text; beyond the searched range, as "below -8" or "above 8"."""
    low, high = _EXPONENTS
    if exponent == -math.inf:
        return f"below {low:g}"
    if exponent == math.inf:
        return f"above {high:g}"
    return f"{round(exponent, 2) + 0.0:.2f}"
