r"""Formulas that bound the regret of limited runs: the loss against the best pair of arm and limit.

The bounds have the form of theorems of Bengs and Huellermeier (2022), with constants that were
derived again for the confidence lengths of `keyhole.resource.RCUCB` and
`keyhole.resource.ReductionUCB`. Parameters: `gaps` is :math:`\Delta`, at least 0, of shape (arms,
limits), as in `keyhole.resource.Problem.gaps`; `penalties` is :math:`\lambda(\tau)`, at least 0, of
shape (limits,); `horizon` is T, at least 1; `alpha` is the policy's exploration, above 0, and above
1 for a bound on the regret.

A round with arm i and a limit of at least :math:`\tau` is *informative* about the pair (i,
:math:`\tau`).
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.validation import Range, check_integer, check_number, check_vector

_ABOVE_1: Final = Range(gt=1)
# Values of beta in `deviation_failure`, which uses the best one.
_RATIOS: Final = np.linspace(0.02, 0.98, 49)


def deviation_failure(rounds: ArrayLike, *, alpha: float) -> FloatArray:
    r"""Return a bound on the chance that a mean errs to one side by its confidence length or more.

    .. math:: \min_{\beta \in (0, 1)} \left(1 + \frac{\ln t}{\ln(1/\beta)}\right)
        t^{-\alpha \beta}

    Here t is an entry of `rounds`, at least 1; a bound above 1 is replaced by 1. Source:
    Proposition 1 and appendix A.

    Notes
    -----
    The number n of rounds that a mean is taken over is random and at most t. So the range of n is
    cut into slices from :math:`\beta^{k+1} t` to :math:`\beta^k t` (peeling). In each slice
    Hoeffding's maximal inequality holds with exponent :math:`\alpha \beta`; the bounds of all
    slices are summed. The best of 49 values of :math:`\beta` is used.

    Examples
    --------
    >>> deviation_failure([1, 10, 1000], alpha=3.0).round(4)
    array([1.    , 0.0428, 0.    ])
    """
    t = check_vector("rounds", rounds, Range(ge=1))
    alpha = check_number("alpha", alpha, Range(gt=0))
    best = np.ones(len(t))
    log = np.log(t)
    for ratio in _RATIOS:
        # At least the number of slices: each ends at t times a power of `ratio` in [1 / t, 1].
        slices = 1.0 + log / np.log(1.0 / ratio)
        best = np.minimum(best, slices * np.exp(-alpha * ratio * log))
    return best


def estimate_failure(rounds: ArrayLike, *, alpha: float) -> FloatArray:
    """Return a bound on the chance that RCUCB's estimate errs by its confidence length or more.

    Only errors to one side count. The bound is twice `deviation_failure`, once for the gain and
    once for the penalty, and at most 1 (Proposition 1). It holds for RCUCB's `gain_range` = 2; if
    the cost of a run never exceeds its reward, it also holds for `gain_range` = 1.

    Examples
    --------
    >>> estimate_failure([1000], alpha=3.0) < 1e-6
    array([ True])
    """
    return np.minimum(1.0, 2.0 * deviation_failure(rounds, alpha=alpha))


def check_gaps(gaps: ArrayLike, limits: int) -> FloatArray:
    """Return the gaps of all pairs as an array, after a check of their shape and sign.

    Examples
    --------
    >>> check_gaps([[0.0, 0.1]], 2)
    array([[0. , 0.1]])
    """
    values = np.asarray(gaps, np.float64)
    if values.ndim != 2 or values.shape[1] != limits:
        raise ValueError(f"gaps must have shape (arms, {limits}), got {values.shape}")
    check_vector("gaps", values.ravel(), Range(ge=0))
    return values


def _check_arguments(
    gaps: ArrayLike, penalties: ArrayLike, horizon: int
) -> tuple[FloatArray, FloatArray, int]:
    penalty_vector = check_vector("penalties", penalties, Range(ge=0))
    gap_matrix = check_gaps(gaps, len(penalty_vector))
    return gap_matrix, penalty_vector, check_integer("horizon", horizon, Range(ge=1))


def sufficient_rounds(
    gaps: FloatArray, width: FloatArray, rounds: ArrayLike, alpha: float
) -> FloatArray:
    r"""Return the number of rounds after which a pair's confidence length is at most half its gap.

    The length after N rounds is :math:`\mathrm{width} \sqrt{\alpha \ln t / (2 N)}`, and t is an
    entry of `rounds`. All arguments are broadcast. Where the gap is 0, the number is infinite.

    Examples
    --------
    >>> sufficient_rounds(np.array([[0.5]]), np.array([1.0]), np.e, 2.0)
    array([[16.]])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * alpha * np.log(rounds) * width**2 / gaps**2)


def capped_regret(gaps: FloatArray, plays: FloatArray, horizon: int) -> float:
    """Return the sum of gap * min(plays, T) over the pairs, at most T times the largest gap.

    Examples
    --------
    >>> capped_regret(np.array([[0.0, 0.5]]), np.array([[np.inf, 3.0]]), 10)
    1.5
    """
    has_gap = gaps > 0.0
    total = float((gaps[has_gap] * np.minimum(plays[has_gap], float(horizon))).sum())
    return min(total, horizon * float(gaps.max()))


def rcucb_regret_bound(
    gaps: ArrayLike, penalties: ArrayLike, horizon: int, *, alpha: float, gain_range: float = 2.0
) -> float:
    r"""Return a bound on the regret of RCUCB after T rounds, in the form of Theorem 1.

    .. math::
        \min\Bigl\{ T \max_{i, \tau} \Delta_{i,\tau}, \;
        \sum_{i, \tau : \Delta_{i,\tau} > 0} \Delta_{i,\tau} \min\Bigl( T,
        \frac{2 \alpha (w + \lambda(\tau))^2 \ln T}{\Delta_{i,\tau}^2} + 1
        + 1\{\tau = \bar\tau\} + 4 \sum_{t \le T} p_t \Bigr) \Bigr\}

    with :math:`p_t` = `deviation_failure`, and :math:`\bar\tau` the largest limit, with which each
    arm is first played.

    Parameters
    ----------
    alpha : float
        Above 1.
    gain_range : float, default 2
        w, in (0, 2]. The bound holds if the values of :math:`(R - c(C)) 1\{C \le \tau\}` lie in an
        interval of length w, which is always true for w = 2. R is the reward of a run, C its
        consumption and c(C) its cost.

    Notes
    -----
    Theorem 1 also subtracts a term, which is left out here: it is 0 if alpha is below about 20, and
    without it the bound still holds. The bounds do not show whether RCUCB or ReductionUCB is
    better. If w = 2 and penalties are below 1, this bound is at least `ucb_regret_bound` whatever
    the regrets are, because its width :math:`w + \lambda(\tau)` is larger than the width
    :math:`1 + \lambda(\bar\tau)` there.

    Examples
    --------
    >>> gaps = [[0.0, 0.1], [0.2, 0.3]]
    >>> rcucb_regret_bound(gaps, [0.1, 0.2], 10**4, alpha=2) < 10**4 * 0.3
    True
    """
    gaps, penalties, horizon = _check_arguments(gaps, penalties, horizon)
    alpha = check_number("alpha", alpha, _ABOVE_1)
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    # In a round four estimates may fail: the gain and the penalty of the pair, and the gain and
    # the penalty of the best pair.
    failures = 4.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = sufficient_rounds(gaps, width, horizon, alpha) + 1.0 + failures
    plays[:, -1] += 1.0  # the first play of each arm
    return capped_regret(gaps, plays, horizon)


def ucb_regret_bound(gaps: ArrayLike, penalties: ArrayLike, horizon: int, *, alpha: float) -> float:
    r"""Return a bound on the regret of ReductionUCB after T rounds, in the form of Corollary 14.

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
    gaps, penalties, horizon = _check_arguments(gaps, penalties, horizon)
    alpha = check_number("alpha", alpha, _ABOVE_1)
    width = np.full(len(penalties), 1.0 + penalties[-1])
    failures = 2.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = sufficient_rounds(gaps, width, horizon, alpha) + 2.0 + failures
    return capped_regret(gaps, plays, horizon)


def regret_by_pair(gaps: ArrayLike, informative: ArrayLike) -> FloatArray:
    r"""Return the contribution of each pair to the regret, given the pair's informative rounds.

    .. math:: \Delta_{i,\tau} \left( N_{i,\tau} - N_{i,\tau^+} \right)

    Here :math:`\tau^+` is the next larger limit; beyond the largest limit, N is 0. The sum over all
    pairs is the regret (equation 11). N is `informative`, of shape (arms, limits): the number of
    rounds with the arm and with a limit of at least :math:`\tau`.

    Examples
    --------
    >>> regret_by_pair([[0.1, 0.0], [0.5, 0.2]], [[9, 7], [3, 1]])
    array([[0.2, 0. ],
           [1. , 0.2]])
    """
    rounds = np.asarray(informative, np.float64)
    delta = check_gaps(gaps, rounds.shape[-1] if rounds.ndim == 2 else 0)
    if rounds.shape != delta.shape:
        raise ValueError(f"informative must have shape {delta.shape}, got {rounds.shape}")
    plays = rounds - np.column_stack([rounds[:, 1:], np.zeros(len(rounds))])
    check_vector("the plays of each pair", plays.ravel(), Range(ge=0))
    return np.asarray(delta * plays)
