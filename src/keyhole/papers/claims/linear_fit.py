"""Claim (statement of a paper) that a metric's mean is a linear function of a problem's parameter.

A metric, such as the reward lost, is measured in simulations of a policy (a rule that chooses among
options).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import AfterValidator, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Finding, Result, decide, format_round
from keyhole.papers.claims.claimed_ranges import or_infinite
from keyhole.papers.claims.paired_comparisons import LEVEL, holm
from keyhole.papers.claims.verdict_numbers import format_compared, number_of
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import (
    Estimate,
    PairedDifference,
    compare,
    format_estimate,
    format_p_value,
    mean_estimate,
)

_FEWEST: Final = 3  # any two means lie on a line
_ROUNDING: Final = 1e-12
_SUMMED: Final = 1e-11  # of a line, whose slope and intercept are sums
_FINEST: Final = 1e-5


def _check_three_numbers(x: dict[str, float]) -> dict[str, float]:
    if len(set(x.values())) < _FEWEST:
        raise ValueError(f"x must have at least three different numbers, got {x}")
    return x


def linear_fit(
    results: Mapping[str, Result], metric: str, policy: PolicyName,
    x: Annotated[dict[ProblemName, float], AfterValidator(_check_three_numbers)],
    r_squared: Annotated[float, Field(gt=0, lt=1)] | None = None,
    slope: Literal["rising", "falling"] = "rising", round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    """Judge whether over several problems the mean of a metric is a straight line in a number x.

    The line is the weighted least-squares fit to the means (weights 1 / standard error squared;
    equal where some standard error is 0). The intervals of slope and R squared follow from the
    replications, which are paired over the problems: that of the slope with the weights taken as
    given, that of R squared by the jackknife. The claim holds if the slope has the claimed sign
    and R squared is at least `r_squared`, by their 95 % intervals; by default the slope alone
    counts, for a metric that varies too much to show a shape. It does not hold if the slope
    significantly has the other sign, or if R squared is significantly below and the noise does
    not explain why: some mean lies significantly off the line (adjusted by Holm).
    """
    values = np.array([results[key].values(policy, metric, round) for key in x])
    line = fit(np.array(list(x.values())), values)
    detail = f"{format_round(round)}: slope {line.slope}, intercept {line.intercept}"
    side = {"at_least": 0.0} if slope == "rising" else {"at_most": 0.0}
    numbers = number_of("slope", line.slope, **side), number_of("intercept", line.intercept)
    if line.r_squared is None:
        status = decide(supported=False, contradicted=line.slope.error == 0.0)
        return Finding(status, f"{detail}; the mean is the same everywhere", numbers)
    sign = 1.0 if slope == "rising" else -1.0
    rises = sign * line.slope.value - line.slope.reach > 0
    turned = sign * line.slope.value + line.slope.reach < 0
    straight, bent, claimed = True, False, f"a {slope} slope alone"
    if r_squared is not None:
        straight = line.r_squared.low >= r_squared
        bent = line.r_squared.high < r_squared and min(line.off_line) < LEVEL
        claimed = f"at least {r_squared:g}"
    titles, furthest = [results[key].title for key in x], int(np.argmin(line.off_line))
    share = number_of("R squared", line.r_squared, *or_infinite(r_squared, None))
    share = replace(share, high=min(1.0, share.high))
    off = [
        number_of(f"{title} off the line by", gap)
        for title, gap in zip(titles, line.gaps, strict=True)
    ]
    return Finding(
        decide(supported=rises and straight, contradicted=turned or bent),
        f"{detail}; R squared {_share(share)} (claimed: {claimed}); {_off(titles[furthest], line)}",
        (*numbers, share, *format_compared(off, [off[furthest]])),
    )


def _off(furthest: str, line: "Line") -> str:
    if all(gap.equal for gap in line.gaps):
        return "every run is on the line"
    always = any(gap.low == gap.high != 0.0 for gap in line.gaps)
    how = "in every run" if always else format_p_value(min(line.off_line))
    return f"most clearly off the line: {furthest} ({how})"


def _share(share: Number) -> str:
    """Return R squared with its interval, in at most six digits."""
    reach = max((share.high - share.low) / 2, _FINEST)
    value, low, high = (format_estimate(end, reach) for end in (share.value, share.low, share.high))
    return f"{value} [{low}, {high}]"


@dataclass(frozen=True)
class Line:
    """A straight line through means."""

    slope: Estimate
    intercept: Estimate
    # the share of the weighted variation that it explains; None where there is no variation
    r_squared: Estimate | None
    gaps: list[PairedDifference]  # by how much each mean is off the line

    @property
    def off_line(self) -> FloatArray:
        """The p-value of each mean's distance from the line, adjusted for being many (Holm)."""
        return holm([gap.p_value for gap in self.gaps])


def fit(x: FloatArray, values: FloatArray) -> Line:
    r"""Fit a straight line to means by weighted least squares.

    .. math:: \hat\beta = (X^\top W X)^{-1} X^\top W \bar y, \qquad
        R^2 = 1 - \frac{\sum_j w_j (\bar y_j - \hat y_j)^2}{\sum_j w_j (\bar y_j - \bar y_w)^2}
    """
    # Weights need a positive finite error everywhere; otherwise all weigh the same.
    errors = np.array([mean_estimate(row).error for row in values])
    equal = not ((errors > 0) & np.isfinite(errors)).all()
    weights = np.ones(len(x)) if equal else errors**-2.0
    weights = weights / weights.sum()
    middle = (weights * x).sum()
    center = x - middle
    spread = (weights * center**2).sum()
    # Slope and intercept are linear in the means, so each replication has its own.
    slopes = ((weights * center)[:, None] * values).sum(axis=0) / spread
    intercepts = (weights[:, None] * values).sum(axis=0) - middle * slopes
    gaps = [_gap(row, intercepts, place * slopes) for place, row in zip(x, values, strict=True)]
    return Line(
        mean_estimate(slopes),
        mean_estimate(intercepts),
        _r_squared_with_error(x, values, equal=equal),
        gaps,
    )


def _gap(row: FloatArray, intercepts: FloatArray, rises: FloatArray) -> PairedDifference:
    """Compare values with those on a line; differences within rounding error count as none."""
    line = intercepts + rises
    size = np.maximum(np.abs(intercepts), np.abs(rises))
    # Slope and intercept are sums over replications, and lose digits: values on a line must compare
    # as equal, not as off by 1e-15 in every replication, which would be significant.
    near = np.abs(row - line) <= _SUMMED * size
    return compare(row, np.where(near, row, line))


def _r_squared_with_error(x: FloatArray, values: FloatArray, *, equal: bool) -> Estimate | None:
    """Return R squared with its jackknife error, since the weights are estimated too."""
    n = values.shape[1]
    means, deviations = values.mean(axis=1), values - values.mean(axis=1, keepdims=True)
    squares = (deviations**2).sum(axis=1)
    # Inverse sums of squares are proportional to the weights of `fit`, which suffices.
    whole = _r_squared(x, means, np.ones(len(x)) if equal else 1.0 / squares)
    if not np.isfinite(whole):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        # Mean and sum of squares without each replication, from those of all: O(n) in place of
        # O(n^2).
        left_out = means[:, None] - deviations / np.float64(n - 1)
        rest = squares[:, None] - deviations**2 * n / np.float64(n - 1)
        each = _r_squared(x, left_out, np.ones_like(rest) if equal else 1.0 / rest)
        error = float(np.sqrt(((each - each.mean()) ** 2).sum() * (n - 1) / n))
    return Estimate(float(whole), error if np.isfinite(error) else np.inf, n)


def _r_squared(x: FloatArray, means: FloatArray, weights: FloatArray) -> FloatArray:
    """Return R squared of the weighted fit; means and weights may be those of many fits.

    It is not finite where the means do not vary.
    """
    share = weights / weights.sum(axis=0)
    places = x.reshape(-1, *[1] * (means.ndim - 1))
    off_x = places - (share * places).sum(axis=0)
    off_y = means - (share * means).sum(axis=0)
    off_y = np.where(np.abs(off_y) <= _ROUNDING * np.abs(means), 0.0, off_y)
    slope = (share * off_x * off_y).sum(axis=0) / (share * off_x**2).sum(axis=0)
    left = (share * (off_y - slope * off_x) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 - left / (share * off_y**2).sum(axis=0))
