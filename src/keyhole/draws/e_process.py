"""Kernels that compute evidence on a mean by betting, from rewards on a grid in [0, 1]."""

import math
from typing import Any, Final

import numpy as np

from keyhole.draws.mean_bounds import log_mixture_evidence_above

GRID: Final = 20
"""The grid is 0, 1/20, ..., 1. With 1, 2, 4, 10, 20, 40 or 100 steps, an arm of mean .6 is settled
as above .45 after 99.8, 27.1, 19.9, 18.8, 18.6, 18.6 or 18.6 pulls (beta rewards, concentration 8,
2,000 runs), an arm of mean .5 after 1105, 231, 112, 86, 83, 82 or 82 pulls."""

# Nodes and weights that integrate the wealth (`log_wealth`) over an interval of bets. Near an end,
# the wealth may vanish as a power of the distance to it, with an exponent below 1. So a
# substitution clusters the nodes of Gauss and Legendre at both ends. With it, the logarithm of the
# mean wealth is right to 1e-6 (measured).
_POSITIONS: Final = (np.polynomial.legendre.leggauss(48)[0] + 1.0) / 2.0
_NODES: Final = _POSITIONS**2 * (3.0 - 2.0 * _POSITIONS)
_WEIGHTS: Final = np.polynomial.legendre.leggauss(48)[1] * 3.0 * _POSITIONS * (1.0 - _POSITIONS)
# Bets are left out if the logarithm of their wealth is below the largest by more than this.
_NEGLIGIBLE: Final = 25.0
# The bet of `find_wealth_peak` has a log wealth that is at most this much below the largest.
_PEAK_ERROR: Final = 0.1
_STEPS: Final = 60  # of Newton's method or bisection, at most
_TINY: Final = 1e-300  # replaces smaller divisors; they are 0 if all rewards equal the null


def add_to_histogram(histogram: Any, arm: int, reward: float) -> None:
    """Add a reward to an arm's row of the histogram.

    A reward enters as weights at the two grid points next to it. The weights sum to 1, and the mean
    of the two points by these weights is the reward. Cells 1 to 19 of a row have the weights at
    1/20, ..., 19/20; cell 0 has their sum. The weights at 0 and 1 follow from the row, the number
    of rewards and their total (`weights_at_ends`). Rewards of 0 and 1 leave the row as it is.
    """
    lower = int(reward * GRID)
    upper_weight = reward * GRID - lower
    if 0 < lower < GRID:
        histogram[arm, lower] += 1.0 - upper_weight
        histogram[arm, 0] += 1.0 - upper_weight
    if upper_weight > 0.0 and lower + 1 < GRID:
        histogram[arm, lower + 1] += upper_weight
        histogram[arm, 0] += upper_weight


def weights_at_ends(histogram: Any, arm: int, pulls: float, total: float) -> tuple[float, float]:
    """Return the weights of an arm's rewards at 0 and at 1."""
    zeros = pulls - total
    ones = total
    if histogram[arm, 0] > 0.0:
        for grade in range(1, GRID):
            ones -= histogram[arm, grade] * (grade / GRID)
            zeros -= histogram[arm, grade] * (1.0 - grade / GRID)
    return max(zeros, 0.0), max(ones, 0.0)


def log_wealth(
    histogram: Any, arm: int, zeros: float, ones: float, null: float, bet: float
) -> float:
    """Return the logarithm of the wealth of one bet.

    The wealth of a bet b against the mean c (`null`) begins at 1, and each reward x multiplies it
    by 1 + b (x - c); b lies strictly between -1 / (1 - c) and 1 / c. The rewards enter as weights
    (`add_to_histogram`): `zeros` and `ones` are those at 0 and 1. The weights multiply the wealth
    by no more than the rewards themselves would, since ln(1 + b (x - c)) is concave in x.
    """
    wealth = 0.0
    if zeros > 0.0:
        wealth += zeros * math.log(1.0 - bet * null)
    if ones > 0.0:
        wealth += ones * math.log(1.0 + bet * (1.0 - null))
    for grade in range(1, GRID):
        if histogram[arm, grade] > 0.0:
            wealth += histogram[arm, grade] * math.log(1.0 + bet * (grade / GRID - null))
    return wealth


def log_wealth_slopes(
    histogram: Any, arm: int, zeros: float, ones: float, null: float, bet: float
) -> tuple[float, float]:
    """Return the slope of `log_wealth` in the bet, and minus its curvature."""
    ratio = (1.0 - null) / (1.0 + bet * (1.0 - null))
    slope = ones * ratio
    curvature = ones * ratio * ratio
    ratio = null / (1.0 - bet * null)
    slope -= zeros * ratio
    curvature += zeros * ratio * ratio
    for grade in range(1, GRID):
        if histogram[arm, grade] > 0.0:
            distance = grade / GRID - null
            ratio = distance / (1.0 + bet * distance)
            slope += histogram[arm, grade] * ratio
            curvature += histogram[arm, grade] * ratio * ratio
    return slope, curvature


def find_wealth_peak(
    histogram: Any, arm: int, zeros: float, ones: float, null: float, low: float, high: float
) -> tuple[float, float, float]:
    """Return a bet near the peak of the wealth, and what `log_wealth_slopes` returns for it.

    The bet lies between `low` and `high`. The logarithm of the wealth is concave in the bet.
    """
    lower = low
    upper = high
    slope, curvature = log_wealth_slopes(histogram, arm, zeros, ones, null, 0.0)
    margin = 0.05 * (high - low)
    bet = min(max(slope / max(curvature, _TINY), low + margin), high - margin)
    for _ in range(_STEPS):
        slope, curvature = log_wealth_slopes(histogram, arm, zeros, ones, null, bet)
        if slope > 0.0:
            lower = bet
        else:
            upper = bet
        # Stop if the bet is near the peak, or so near to an end that the rest of the way adds
        # little. One of the two products is 0, since `lower` or `upper` is the bet.
        if slope * slope <= 0.01 * curvature or slope * (upper - bet) + slope * (lower - bet) < 0.1:
            break
        bet += slope / max(curvature, _TINY)
        if not lower < bet < upper:
            bet = 0.5 * (lower + upper)
    return bet, slope, curvature


def log_mean_wealth(
    histogram: Any, arm: int, pulls: float, total: float, null: float,
    low: float, high: float, floor: float,
) -> float:  # fmt: skip
    """Return the logarithm of the mean wealth over all bets from `low` to `high`.

    Return minus infinity if the logarithm is certainly below `floor`.
    """
    zeros, ones = weights_at_ends(histogram, arm, pulls, total)
    bet, slope, curvature = find_wealth_peak(histogram, arm, zeros, ones, null, low, high)
    peak = log_wealth(histogram, arm, zeros, ones, null, bet)
    if peak + _PEAK_ERROR < floor:
        return -math.inf
    # Integrate over six standard deviations of a normal curve on each side of the peak, or farther
    # if the wealth falls more slowly.
    reach = 6.0 / max(math.sqrt(curvature) + abs(slope), _TINY)
    begin = bet - reach
    while begin > low and log_wealth(histogram, arm, zeros, ones, null, begin) > peak - _NEGLIGIBLE:
        begin = bet - 1.6 * (bet - begin)
    end = bet + reach
    while end < high and log_wealth(histogram, arm, zeros, ones, null, end) > peak - _NEGLIGIBLE:
        end = bet + 1.6 * (end - bet)
    begin = max(begin, low)
    end = min(end, high)
    area = 0.0
    for node in range(len(_NODES)):
        node_bet = begin + (end - begin) * float(_NODES[node])
        wealth = log_wealth(histogram, arm, zeros, ones, null, node_bet)
        area += float(_WEIGHTS[node]) * math.exp(wealth - peak)
    return peak + math.log(area * (end - begin) / (high - low))


def log_evidence_above(
    histogram: Any, arm: int, pulls: float, total: float, null: float, floor: float
) -> float:
    r"""Return the logarithm of the e-process against "mean <= null".

    If the logarithm is below `floor`, the result may be minus infinity. The e-process is

    .. math:: E_n = c \int_0^{1/c} \prod_{t=1}^{n} \big(1 + b (x_t - c)\big) \, \mathrm{d}b

    with c the null; each reward enters by its weights on the grid. For rewards of 0 and 1, this is
    `log_mixture_evidence_above`. For other rewards, `log_mixture_evidence_above` is a lower bound,
    which is returned if rounding makes the value smaller than the bound.
    """
    distance = total - null * pulls
    if distance <= 0.0:
        return -math.inf
    evidence = log_mixture_evidence_above(total, pulls, null, floor)
    # The wealth of a bet b is at most exp(b * distance), and b at most 1 / null. So if the distance
    # is below floor * null, the evidence is certainly below `floor`.
    if histogram[arm, 0] > 0.0 and distance >= floor * null:
        limit = 1.0 / null
        wealth = log_mean_wealth(histogram, arm, pulls, total, null, 0.0, limit, floor)
        evidence = max(evidence, wealth)
    return evidence


def log_evidence_below(
    histogram: Any, arm: int, pulls: float, total: float, null: float, floor: float
) -> float:
    """Return the logarithm of the e-process against "mean >= null": see `log_evidence_above`."""
    distance = null * pulls - total
    if distance <= 0.0:
        return -math.inf
    evidence = log_mixture_evidence_above(pulls - total, pulls, 1.0 - null, floor)
    if histogram[arm, 0] > 0.0 and distance >= floor * (1.0 - null):
        limit = -1.0 / (1.0 - null)
        wealth = log_mean_wealth(histogram, arm, pulls, total, null, limit, 0.0, floor)
        evidence = max(evidence, wealth)
    return evidence


def log_evidence_against(
    histogram: Any, arm: int, pulls: float, total: float, mean: float
) -> float:
    r"""Return the log of the e-process against "the mean is `mean`", which is convex in `mean`.

    .. math:: E_n = \int_0^1 \prod_{t=1}^{n} \Big(\frac{q}{\mu} \, x_t
       + \frac{1 - q}{1 - \mu} \, (1 - x_t)\Big) \, \mathrm{d}q

    with :math:`\mu` the mean. It is the mean wealth of all bets, of either sign.
    """
    low = -1.0 / (1.0 - mean)
    return log_mean_wealth(histogram, arm, pulls, total, mean, low, 1.0 / mean, -math.inf)


def log_largest_wealth(histogram: Any, arm: int, pulls: float, total: float, mean: float) -> float:
    """Return an upper bound of `log_evidence_against`, in a tenth of the time."""
    zeros, ones = weights_at_ends(histogram, arm, pulls, total)
    low = -1.0 / (1.0 - mean)
    bet = find_wealth_peak(histogram, arm, zeros, ones, mean, low, 1.0 / mean)[0]
    return log_wealth(histogram, arm, zeros, ones, mean, bet) + _PEAK_ERROR
