r"""Bounds after Bengs and Huellermeier (2022), to plot against and to test with.

The copy of the paper at hand has its arguments and no formulas: the constants here were worked out
anew from those arguments, and hold for the confidence lengths of `keyhole.resource.RCUCB` and
`keyhole.resource.ReductionUCB`. Throughout, `gaps` are :math:`\Delta`, at least 0, of shape (arms,
limits), as `keyhole.resource.Problem.gaps`; `penalties` are :math:`\lambda(\tau)`, at least 0, of
shape (limits,); `horizon` is T, at least 1; `alpha` is the exploration, above 0; and :math:`p_t` is
`deviation_failure`.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.memory import FloatArray
from keyhole.validate import Range, integer, number, vector

_ABOVE_1: Final = Range(gt=1)
# Ratios between the slices of the peeling argument, among which the best is taken.
_RATIOS: Final = np.linspace(0.02, 0.98, 49)


def deviation_failure(rounds: ArrayLike, *, alpha: float) -> FloatArray:
    r"""Return how likely a mean leaves its confidence length on one side in round t, at most.

    .. math:: \min_{\beta \in (0, 1)} \left(1 + \frac{\ln t}{\ln(1/\beta)}\right)
        t^{-\alpha \beta}

    For each of the rounds t, at least 1 (Proposition 1 and appendix A); 1 where the bound says
    nothing.

    Notes
    -----
    The number of rounds that a mean rests on is random: between two powers of :math:`\beta` times
    t Hoeffding's maximal inequality holds with exponent :math:`\alpha \beta`, and that is summed
    over the powers (peeling). The best of 49 values of :math:`\beta` is taken.

    Examples
    --------
    >>> deviation_failure([1, 10, 1000], alpha=3.0).round(4)
    array([1.    , 0.0428, 0.    ])
    """
    t = vector("rounds", rounds, Range(ge=1))
    alpha = number("alpha", alpha, Range(gt=0))
    best, log = np.ones(len(t)), np.log(t)
    for ratio in _RATIOS:
        slices = 1.0 + log / np.log(1.0 / ratio)
        best = np.minimum(best, slices * np.exp(-alpha * ratio * log))
    return best


def estimate_failure(rounds: ArrayLike, *, alpha: float) -> FloatArray:
    """Return how likely RCUCB's estimate is off by more than its confidence length, one-sided.

    Twice `deviation_failure`, for the gain and for the penalty, and at most 1 (Proposition 1): for
    `gain_range` = 2, or 1 where the cost of a run never exceeds its reward.

    Examples
    --------
    >>> estimate_failure([1000], alpha=3.0) < 1e-6
    array([ True])
    """
    return np.minimum(1.0, 2.0 * deviation_failure(rounds, alpha=alpha))


def checked_gaps(gaps: ArrayLike, limits: int) -> FloatArray:
    """Return the gaps of all pairs as an array; refuse another shape, and gaps below 0.

    Examples
    --------
    >>> checked_gaps([[0.0, 0.1]], 2)
    array([[0. , 0.1]])
    """
    values = np.asarray(gaps, np.float64)
    if values.ndim != 2 or values.shape[1] != limits:
        raise ValueError(f"gaps must have shape (arms, {limits}), got {values.shape}")
    vector("gaps", values.ravel(), Range(ge=0))
    return values


def enough_rounds(
    gaps: FloatArray, width: FloatArray, rounds: ArrayLike, alpha: float
) -> FloatArray:
    r"""Return after how many rounds a pair's confidence length is at most half its gap.

    That length is :math:`\mathrm{width} \sqrt{\alpha \ln t / (2 N)}` with t = `rounds`, broadcast
    against the gaps; infinite where there is no gap.

    Examples
    --------
    >>> enough_rounds(np.array([[0.5]]), np.array([1.0]), np.e, 2.0)
    array([[16.]])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * alpha * np.log(rounds) * width**2 / gaps**2)


def regret_at_most(gaps: FloatArray, plays: FloatArray, horizon: int) -> float:
    """Return the sum of gap * plays, with at most T plays a pair, and in all T times the largest.

    Examples
    --------
    >>> regret_at_most(np.array([[0.0, 0.5]]), np.array([[np.inf, 3.0]]), 10)
    1.5
    """
    inside = gaps > 0.0
    total = float((gaps[inside] * np.minimum(plays[inside], float(horizon))).sum())
    return min(total, horizon * float(gaps.max()))


def rcucb_plays(gaps: FloatArray, width: FloatArray, horizon: int, alpha: float) -> FloatArray:
    """Return how often RCUCB plays each pair at most, on average; see `rcucb_regret_bound`.

    Examples
    --------
    >>> rcucb_plays(np.array([[0.5]]), np.array([1.0]), 10, 20.0).round()
    array([[374.]])
    """
    failures = 4.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = enough_rounds(gaps, width, horizon, alpha) + 1.0 + failures
    plays[:, -1] += 1.0  # the first play of each arm
    return plays


def rcucb_regret_bound(
    gaps: ArrayLike,
    penalties: ArrayLike,
    horizon: int,
    *,
    alpha: float,
    gain_range: float = 2.0,
) -> float:
    r"""Return a bound on the regret of RCUCB after T rounds, in the form of Theorem 1.

    .. math::
        \min\Bigl\{ T \max_{i, \tau} \Delta_{i,\tau}, \;
        \sum_i \Delta_{i,\bar\tau}
        + \sum_{i, \tau : \Delta_{i,\tau} > 0} \Delta_{i,\tau} \min\Bigl( T,
        \frac{2 \alpha (w + \lambda(\tau))^2 \ln T}{\Delta_{i,\tau}^2} + 1
        + 4 \sum_{t \le T} p_t \Bigr) \Bigr\}

    with :math:`p_t` = `deviation_failure`; the first sum is for the first play of each arm.

    Parameters
    ----------
    alpha : float
        Above 1.
    gain_range : float, default 2
        w, in (0, 2]; below 2 the bound holds where :math:`(R - c(C)) 1\{C \le \tau\}` has a range
        of at most w.

    Notes
    -----
    Without the part that the theorem subtracts; with it: `keyhole.resource.refined`. It says
    nothing of whether RCUCB or the reduction is better: its width :math:`w + \lambda(\tau)` is
    larger than the :math:`1 + \lambda(\bar\tau)` of `ucb_regret_bound` where w = 2 and penalties
    are below 1, and then so is the bound, whatever the regrets are.

    Examples
    --------
    >>> gaps = [[0.0, 0.1], [0.2, 0.3]]
    >>> rcucb_regret_bound(gaps, [0.1, 0.2], 10**4, alpha=2) < 10**4 * 0.3
    True
    """
    penalties = vector("penalties", penalties, Range(ge=0))
    gaps = checked_gaps(gaps, len(penalties))
    horizon = integer("horizon", horizon, Range(ge=1))
    alpha = number("alpha", alpha, _ABOVE_1)
    width = number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    return regret_at_most(gaps, rcucb_plays(gaps, width, horizon, alpha), horizon)


def ucb_regret_bound(gaps: ArrayLike, penalties: ArrayLike, horizon: int, *, alpha: float) -> float:
    r"""Return a bound on the regret of UCB on pairs after T rounds, in the form of Corollary 14.

    .. math::
        \min\Bigl\{ T \max_{i, \tau} \Delta_{i,\tau}, \;
        \sum_{i, \tau : \Delta_{i,\tau} > 0} \Delta_{i,\tau} \min\Bigl( T,
        \frac{2 \alpha (1 + \lambda(\bar\tau))^2 \ln T}{\Delta_{i,\tau}^2} + 2
        + 2 \sum_{t \le T} p_t \Bigr) \Bigr\}

    with :math:`p_t` = `deviation_failure` and :math:`\bar\tau` the largest limit.

    Examples
    --------
    >>> gaps = [[0.0, 0.1], [0.2, 0.3]]
    >>> ucb_regret_bound(gaps, [0.1, 0.2], 10**4, alpha=2) < 10**4 * 0.3
    True
    """
    penalties = vector("penalties", penalties, Range(ge=0))
    gaps = checked_gaps(gaps, len(penalties))
    horizon = integer("horizon", horizon, Range(ge=1))
    alpha = number("alpha", alpha, _ABOVE_1)
    width = np.full(len(penalties), 1.0 + penalties[-1])
    failures = 2.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = enough_rounds(gaps, width, horizon, alpha) + 2.0 + failures
    return regret_at_most(gaps, plays, horizon)
