r"""Formulas that bound the regret of limited runs: the loss against the best pair of arm and limit.

The copy at hand of Bengs and Huellermeier (2022) has proofs in words but no formulas: the constants
here were derived again, and hold for the confidence lengths of `keyhole.resource.RCUCB` and
`keyhole.resource.ReductionUCB`. Throughout, `gaps` are :math:`\Delta`, at least 0, of shape (arms,
limits), as `keyhole.resource.Problem.gaps`; `penalties` are :math:`\lambda(\tau)`, at least 0, of
shape (limits,); `horizon` is T, at least 1; `alpha` is the exploration, above 0; :math:`p_t` is
`deviation_failure`; and `slack` is :math:`\kappa`, in (0, 1), by default 0.5.

A round with arm i and a limit of at least :math:`\tau` is *informative* about the pair (i,
:math:`\tau`). RCUCB plays a pair only while it has few informative rounds, and some of these are
plays of larger limits: the refined bound subtracts them.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.validate import Range, check_integer, check_number, check_vector

_ABOVE_1: Final = Range(gt=1)
# Candidate ratios between the slices of the peeling argument; the best one is used.
_RATIOS: Final = np.linspace(0.02, 0.98, 49)
# Ratio between successive numbers of rounds at which the bound is evaluated; it is monotone in
# between, so that a coarser grid costs tightness and not validity.
_STEP: Final = 1.02


def deviation_failure(rounds: ArrayLike, *, alpha: float) -> FloatArray:
    r"""Return a bound on the probability that a mean deviates by its confidence length, one-sided.

    .. math:: \min_{\beta \in (0, 1)} \left(1 + \frac{\ln t}{\ln(1/\beta)}\right)
        t^{-\alpha \beta}

    For each of the rounds t, at least 1 (Proposition 1 and appendix A); at most 1.

    Notes
    -----
    A peeling argument, since a mean is of a random number of rounds: between two powers of
    :math:`\beta` times t Hoeffding's maximal inequality holds with exponent :math:`\alpha \beta`,
    and the bounds are summed over the powers. The best of 49 values of :math:`\beta` is used.

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
        # So many powers of the ratio lie between 1 / t and 1: one bound for each slice.
        slices = 1.0 + log / np.log(1.0 / ratio)
        best = np.minimum(best, slices * np.exp(-alpha * ratio * log))
    return best


def estimate_failure(rounds: ArrayLike, *, alpha: float) -> FloatArray:
    """Return a bound on the probability that RCUCB's estimate deviates by its confidence length.

    One-sided: twice `deviation_failure`, for the gain and for the penalty, and at most 1
    (Proposition 1). For `gain_range` = 2, or 1 where the cost of a run never exceeds its reward.

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
    of_limits = check_vector("penalties", penalties, Range(ge=0))
    of_pairs = check_gaps(gaps, len(of_limits))
    return of_pairs, of_limits, check_integer("horizon", horizon, Range(ge=1))


def sufficient_rounds(
    gaps: FloatArray, width: FloatArray, rounds: ArrayLike, alpha: float
) -> FloatArray:
    r"""Return the number of rounds after which a pair's confidence length is at most half its gap.

    The length is :math:`\mathrm{width} \sqrt{\alpha \ln t / (2 N)}` with t = `rounds`, broadcast
    against the gaps; the number is infinite where the gap is 0.

    Examples
    --------
    >>> sufficient_rounds(np.array([[0.5]]), np.array([1.0]), np.e, 2.0)
    array([[16.]])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 * alpha * np.log(rounds) * width**2 / gaps**2)


def capped_regret(gaps: FloatArray, plays: FloatArray, horizon: int) -> float:
    """Return the sum of gap * plays, with at most T plays per pair, and at most T * largest gap.

    Examples
    --------
    >>> capped_regret(np.array([[0.0, 0.5]]), np.array([[np.inf, 3.0]]), 10)
    1.5
    """
    inside = gaps > 0.0
    total = float((gaps[inside] * np.minimum(plays[inside], float(horizon))).sum())
    return min(total, horizon * float(gaps.max()))


def rcucb_play_bound(gaps: FloatArray, width: FloatArray, horizon: int, alpha: float) -> FloatArray:
    """Return a bound on RCUCB's expected plays of each pair; see `rcucb_regret_bound`.

    Examples
    --------
    >>> rcucb_play_bound(np.array([[0.5]]), np.array([1.0]), 10, 20.0).round()
    array([[374.]])
    """
    # The pair and the best pair, each with an estimate of its gain and one of its penalty.
    failures = 4.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = sufficient_rounds(gaps, width, horizon, alpha) + 1.0 + failures
    plays[:, -1] += 1.0  # the first play of each arm
    return plays


def rcucb_regret_bound(
    gaps: ArrayLike, penalties: ArrayLike, horizon: int, *, alpha: float, gain_range: float = 2.0
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
    The term that the theorem subtracts is left out; `informed_regret_bound` has it. The bound does
    not say whether RCUCB or the reduction is better: where w = 2 and penalties are below 1, the
    width :math:`w + \lambda(\tau)`, and so the bound, is larger than the
    :math:`1 + \lambda(\bar\tau)` of `ucb_regret_bound`, whatever the regrets are.

    Examples
    --------
    >>> gaps = [[0.0, 0.1], [0.2, 0.3]]
    >>> rcucb_regret_bound(gaps, [0.1, 0.2], 10**4, alpha=2) < 10**4 * 0.3
    True
    """
    gaps, penalties, horizon = _check_arguments(gaps, penalties, horizon)
    alpha = check_number("alpha", alpha, _ABOVE_1)
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    return capped_regret(gaps, rcucb_play_bound(gaps, width, horizon, alpha), horizon)


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
    gaps, penalties, horizon = _check_arguments(gaps, penalties, horizon)
    alpha = check_number("alpha", alpha, _ABOVE_1)
    width = np.full(len(penalties), 1.0 + penalties[-1])
    failures = 2.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = sufficient_rounds(gaps, width, horizon, alpha) + 2.0 + failures
    return capped_regret(gaps, plays, horizon)


def regret_by_pair(gaps: ArrayLike, informative: ArrayLike) -> FloatArray:
    r"""Return each pair's contribution to the regret, given the informative rounds of each.

    .. math:: \Delta_{i,\tau} \left( N_{i,\tau} - N_{i,\tau^+} \right)

    with :math:`\tau^+` the next larger limit, and 0 rounds beyond the largest; the sum over all
    pairs is the regret (equation 11). N is `informative`, of shape (arms, limits): rounds with the
    arm and at least the limit.

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
    # Rounds with at least this limit, less those with at least the next.
    plays = rounds - np.column_stack([rounds[:, 1:], np.zeros(len(rounds))])
    check_vector("the plays of each pair", plays.ravel(), Range(ge=0))
    return np.asarray(delta * plays)


def anytime_probability(
    arms: int, limits: int, horizon: int, *, alpha: float, slack: float = 0.5
) -> float:
    r"""Return a lower bound on the probability that all estimates stay within `slack` lengths.

    :math:`1 - 4 K |M| \sum_{t = K+1}^T p_t`, with :math:`p_t` = `deviation_failure` for
    :math:`\alpha \kappa^2`, K arms and \|M\| limits, or 0 if that is negative: a union bound
    (Remark 2).

    Examples
    --------
    >>> anytime_probability(2, 2, 1000, alpha=1.5)
    0.0
    >>> round(anytime_probability(2, 2, 1000, alpha=40.0), 2)
    0.99
    """
    arms = check_integer("arms", arms, Range(ge=1))
    limits = check_integer("limits", limits, Range(ge=1))
    horizon = check_integer("horizon", horizon, Range(ge=1))
    alpha = check_number("alpha", alpha, Range(gt=0))
    slack = check_number("slack", slack, Range(gt=0, lt=1))
    rounds = np.arange(arms + 1, max(horizon, arms + 1) + 1)
    failures = 2.0 * float(estimate_failure(rounds, alpha=alpha * slack**2).sum())
    return max(0.0, 1.0 - arms * limits * failures)


def least_informative_rounds(
    gaps: ArrayLike,
    penalties: ArrayLike,
    horizon: int,
    *,
    alpha: float,
    gain_range: float = 2.0,
    slack: float = 0.5,
) -> FloatArray:
    r"""Return a lower bound on the informative rounds of each pair under RCUCB.

    It holds while every estimate is within :math:`\kappa` times its confidence length.

    The largest m such that, with :math:`s_q = (w + \lambda_q) \sqrt{\alpha / 2}` and
    :math:`t_0 = \lceil T / 2 \rceil`,

    .. math:: m - 1 + \sum_q \left( \frac{(1 + \kappa) s_q}
        {\min_{t_0 \le t \le T} \bigl\{ (1 - \kappa) s / \sqrt{m - 1}
        - (\Delta - \Delta_q) / \sqrt{\ln t} \bigr\}} \right)^2 < T - t_0 + 1

    over the pairs q whose plays are not informative about this one, with all minima above 0; 1 if
    there is no such m. Of shape (arms, limits); 0 before each arm has been played. From appendix B,
    second part, (16) to (19), after Traca and Rudin (2021); the constants are ours.

    Notes
    -----
    With fewer informative rounds, the pair's index would be at least its gain plus
    :math:`(1 - \kappa) s \sqrt{\ln t / (m - 1)}` from :math:`t_0` on. Another pair is played only
    while its index is larger, so only until its own confidence length is too short; and these plays
    do not fill the rounds from :math:`t_0` to T.

    Examples
    --------
    >>> least_informative_rounds([[0.0, 0.3]], [0.1, 0.2], 10**5, alpha=3.0)
    array([[50001.,   155.]])
    """
    delta, penalties, horizon = _check_arguments(gaps, penalties, horizon)
    alpha = check_number("alpha", alpha, Range(gt=0))
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    slack = check_number("slack", slack, Range(gt=0, lt=1))
    lengths = np.tile(width * np.sqrt(alpha / 2.0), (len(delta), 1))
    return np.asarray(_informative_rounds(delta, lengths, np.array([float(horizon)]), slack)[0])


def _informative_rounds(
    delta: FloatArray, lengths: FloatArray, rounds: FloatArray, slack: float
) -> FloatArray:
    """Return the bound after each number of rounds, for every pair (rounds, arms, limits)."""
    arms = len(delta)
    first = np.maximum(np.ceil(rounds / 2.0), arms + 1.0)
    window = rounds - first + 1.0
    fewest_rounds = np.empty((len(rounds), *delta.shape))
    for arm, position in np.ndindex(*delta.shape):
        others = np.ones(delta.shape, bool)
        others[arm, position:] = False  # plays of these are informative about the pair
        behind = delta[arm, position] - delta[others]
        # The minimum over t is at an end of [t_0, T]: which one depends on the sign of `behind`.
        worst = np.where(behind > 0.0, first[:, None], np.maximum(rounds, 2.0)[:, None])
        drop = behind / np.sqrt(np.log(worst))
        reach = ((1.0 + slack) * lengths[others]) ** 2
        share = (1.0 - slack) * lengths[arm, position]
        # Bisection for the largest feasible m: feasibility is monotone in m.
        low, high = np.ones(len(rounds)), np.maximum(window, 1.0)
        while (low < high).any():
            middle = np.floor((low + high + 1.0) / 2.0)
            margins = share / np.sqrt(np.maximum(middle - 1.0, 1.0))[:, None] - drop
            with np.errstate(divide="ignore"):
                rounds_needed = middle - 1.0 + (reach / margins**2).sum(axis=1)
            possible = (margins > 0.0).all(axis=1) & (rounds_needed < window)
            low = np.where((low < high) & possible, middle, low)
            high = np.where((low < high) & ~possible, middle - 1.0, high)
        fewest_rounds[:, arm, position] = np.where(rounds < arms, 0.0, low)
    return fewest_rounds


def informed_regret_bound(
    gaps: ArrayLike,
    penalties: ArrayLike,
    horizon: int,
    *,
    alpha: float,
    gain_range: float = 2.0,
    slack: float = 0.5,
) -> float:
    r"""Return a bound on RCUCB's regret after T rounds, with the term that Theorem 1 subtracts.

    The number of plays of a pair in `keyhole.resource.bounds.rcucb_regret_bound`,
    :math:`u(T) + 1 + 4 \sum p_t` with :math:`u(t) = 2 \alpha (w + \lambda(\tau))^2 \ln t /
    \Delta^2`, is reduced by

    .. math:: P \cdot \Bigl( u(T) - \max_{t \le T} \bigl\{ u(t) - m_{\tau^+}(t - 1) \bigr\} \Bigr)

    with P = `anytime_probability` and :math:`m_{\tau^+}` = `least_informative_rounds` of the same
    arm with the next larger limit.

    Notes
    -----
    A pair that is played in round t has had fewer than u(t) informative rounds (unless some
    estimate is off), of which :math:`N_{\tau^+}` were plays of larger limits, so its own plays are
    fewer by at least the lower bound on those. The neighbour's rounds up to T cannot be subtracted,
    because the pair's last play may have come early. Nor can u(T) bound N itself, as (11) alone
    would need: all rounds of the best arm are informative about limits below the best.

    The reduction is at most a sixteenth of u(T) with the default slack, and 0 unless alpha is large
    (P is 0 up to about alpha = 20).

    Examples
    --------
    >>> from keyhole.resource.bounds import rcucb_regret_bound
    >>> gaps, penalties = [[0.0, 0.3], [0.5, 0.4]], [0.1, 0.2]
    >>> plain = rcucb_regret_bound(gaps, penalties, 10**5, alpha=40)
    >>> round(informed_regret_bound(gaps, penalties, 10**5, alpha=40) / plain, 3)
    0.991
    """
    delta, penalties, horizon = _check_arguments(gaps, penalties, horizon)
    alpha = check_number("alpha", alpha, Range(gt=1))
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    arms, limits = delta.shape
    plays = rcucb_play_bound(delta, width, horizon, alpha)
    share = anytime_probability(arms, limits, horizon, alpha=alpha, slack=slack)
    if share == 0.0 or horizon <= arms:
        return capped_regret(delta, plays, horizon)
    lengths = np.tile(width * np.sqrt(alpha / 2.0), (arms, 1))
    steps = int(np.ceil(np.log(horizon / arms) / np.log(_STEP)))
    times = np.unique(np.floor(np.geomspace(arms, horizon, steps + 1)))
    times[-1] = horizon
    informative = _informative_rounds(delta, lengths, times[:-1], slack)
    larger = np.concatenate([informative[:, :, 1:], np.zeros((len(informative), arms, 1))], axis=2)
    # Between two times, u is at most its later value, and m at least its earlier one.
    later = times[1:, None, None]
    excess = (sufficient_rounds(delta, width, later, alpha) - larger).max(axis=0)
    inside = delta > 0.0
    needed = sufficient_rounds(delta, width, horizon, alpha)[inside]
    plays[inside] -= share * np.maximum(0.0, needed - excess[inside])
    return capped_regret(delta, plays, horizon)
