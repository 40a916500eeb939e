r"""Bounds after Bengs and Huellermeier (2022), to plot against and to test with.

The copy of the paper at hand has its arguments and no formulas: the constants here were worked out
anew from those arguments, and hold for the confidence lengths of `keyhole.resource.RCUCB` and
`keyhole.resource.ReductionUCB`. Throughout, `gaps` are :math:`\Delta`, at least 0, of shape (arms,
limits), as `keyhole.resource.Problem.gaps`; `penalties` are :math:`\lambda(\tau)`, at least 0, of
shape (limits,); `horizon` is T, at least 1; `alpha` is the exploration, above 0; :math:`p_t` is
`deviation_failure`; and `slack` is :math:`\kappa`, in (0, 1), by default 0.5.

The refinement of the regret bound: a round with arm i and a larger limit tells of :math:`\tau` too.
So a pair that is played has seen few informative rounds, and those that its larger neighbour had
are plays that it was spared.
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_memory import FloatArray
from keyhole.validate import Range, check_integer, check_number, check_vector

_ABOVE_1: Final = Range(gt=1)
# Ratios between the slices of the peeling argument, among which the best is taken.
_RATIOS: Final = np.linspace(0.02, 0.98, 49)
# Numbers of rounds at which bounds are compared: from one to the next the bound moves little.
_STEP: Final = 1.02


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
    t = check_vector("rounds", rounds, Range(ge=1))
    alpha = check_number("alpha", alpha, Range(gt=0))
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
    check_vector("gaps", values.ravel(), Range(ge=0))
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
    Without the part that the theorem subtracts; with it: `refined_regret_bound`. It says
    nothing of whether RCUCB or the reduction is better: its width :math:`w + \lambda(\tau)` is
    larger than the :math:`1 + \lambda(\bar\tau)` of `ucb_regret_bound` where w = 2 and penalties
    are below 1, and then so is the bound, whatever the regrets are.

    Examples
    --------
    >>> gaps = [[0.0, 0.1], [0.2, 0.3]]
    >>> rcucb_regret_bound(gaps, [0.1, 0.2], 10**4, alpha=2) < 10**4 * 0.3
    True
    """
    penalties = check_vector("penalties", penalties, Range(ge=0))
    gaps = checked_gaps(gaps, len(penalties))
    horizon = check_integer("horizon", horizon, Range(ge=1))
    alpha = check_number("alpha", alpha, _ABOVE_1)
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
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
    penalties = check_vector("penalties", penalties, Range(ge=0))
    gaps = checked_gaps(gaps, len(penalties))
    horizon = check_integer("horizon", horizon, Range(ge=1))
    alpha = check_number("alpha", alpha, _ABOVE_1)
    width = np.full(len(penalties), 1.0 + penalties[-1])
    failures = 2.0 * float(deviation_failure(np.arange(1, horizon + 1), alpha=alpha).sum())
    plays = enough_rounds(gaps, width, horizon, alpha) + 2.0 + failures
    return regret_at_most(gaps, plays, horizon)


def regret_by_pair(gaps: ArrayLike, informative: ArrayLike) -> FloatArray:
    r"""Return what each pair added to the regret, from how many rounds told of each.

    .. math:: \Delta_{i,\tau} \left( N_{i,\tau} - N_{i,\tau^+} \right)

    with :math:`\tau^+` the next larger limit, and 0 rounds beyond the largest; the sum over all
    pairs is the regret. This is equation (11). N is `informative`, of shape (arms, limits): rounds
    with the arm and at least the limit.

    Examples
    --------
    >>> regret_by_pair([[0.1, 0.0], [0.5, 0.2]], [[9, 7], [3, 1]])
    array([[0.2, 0. ],
           [1. , 0.2]])
    """
    rounds = np.asarray(informative, np.float64)
    delta = checked_gaps(gaps, rounds.shape[-1] if rounds.ndim == 2 else 0)
    if rounds.shape != delta.shape:
        raise ValueError(f"informative must have shape {delta.shape}, got {rounds.shape}")
    plays = rounds - np.column_stack([rounds[:, 1:], np.zeros(len(rounds))])
    check_vector("the plays of each pair", plays.ravel(), Range(ge=0))
    return np.asarray(delta * plays)


def anytime_probability(
    arms: int, limits: int, horizon: int, *, alpha: float, slack: float = 0.5
) -> float:
    r"""Return how likely no estimate is ever off by more than a share of its confidence length.

    At least :math:`1 - 4 K |M| \sum_{t = K+1}^T p_t`, with :math:`p_t` = `deviation_failure` for
    :math:`\alpha \kappa^2`, K arms and \|M\| limits; 0 where that says nothing. A union bound
    (Remark 2).

    Examples
    --------
    >>> anytime_probability(2, 2, 1000, alpha=1.5)
    0.0
    >>> round(anytime_probability(2, 2, 1000, alpha=40.0), 2)
    0.99
    """
    arms, limits = (
        check_integer("arms", arms, Range(ge=1)),
        check_integer("limits", limits, Range(ge=1)),
    )
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
    r"""Return how many rounds with RCUCB tell of each pair, at least, unless estimates are far off.

    The largest m such that, with :math:`s_q = (w + \lambda_q) \sqrt{\alpha / 2}` and
    :math:`t_0 = \lceil T / 2 \rceil`,

    .. math:: m - 1 + \sum_q \left( \frac{(1 + \kappa) s_q}
        {\min_{t_0 \le t \le T} \bigl\{ (1 - \kappa) s / \sqrt{m - 1}
        - (\Delta - \Delta_q) / \sqrt{\ln t} \bigr\}} \right)^2 < T - t_0 + 1

    over the pairs q that tell nothing of this one, and all minima above 0; 1 if there is none. Of
    shape (arms, limits); 0 before each arm has been played. From appendix B, second part, (16) to
    (19), after Traca and Rudin (2021).

    Notes
    -----
    If fewer rounds told of the pair, its index would be at least its gain and
    :math:`(1 - \kappa) s \sqrt{\ln t / (m - 1)}` from :math:`t_0` on. Another pair is played only
    with an index above that, so not once its own length is too short; and these plays do not fill
    the rounds from :math:`t_0` to T. The paper's constants are lost; these are ours.

    Examples
    --------
    >>> least_informative_rounds([[0.0, 0.3]], [0.1, 0.2], 10**5, alpha=3.0)
    array([[50001.,   155.]])
    """
    penalties = check_vector("penalties", penalties, Range(ge=0))
    delta = checked_gaps(gaps, len(penalties))
    horizon = check_integer("horizon", horizon, Range(ge=1))
    alpha = check_number("alpha", alpha, Range(gt=0))
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    slack = check_number("slack", slack, Range(gt=0, lt=1))
    lengths = np.tile(width * np.sqrt(alpha / 2.0), (len(delta), 1))
    return np.asarray(_informative(delta, lengths, np.array([float(horizon)]), slack)[0])


def _informative(
    delta: FloatArray, lengths: FloatArray, rounds: FloatArray, slack: float
) -> FloatArray:
    """Return the bound after each number of rounds, for every pair (rounds, arms, limits)."""
    arms = len(delta)
    first = np.maximum(np.ceil(rounds / 2.0), arms + 1.0)
    window = rounds - first + 1.0
    found = np.empty((len(rounds), *delta.shape))
    for arm, place in np.ndindex(*delta.shape):
        others = np.ones(delta.shape, bool)
        others[arm, place:] = False  # these tell of the pair
        behind = delta[arm, place] - delta[others]
        # The root of ln t that makes the difference smallest.
        worst = np.where(behind > 0.0, first[:, None], np.maximum(rounds, 2.0)[:, None])
        drop = behind / np.sqrt(np.log(worst))
        reach = ((1.0 + slack) * lengths[others]) ** 2
        share = (1.0 - slack) * lengths[arm, place]
        # Every arm has been played; then the largest number that is possible, by bisection.
        low, high = np.ones(len(rounds)), np.maximum(window, 1.0)
        while (low < high).any():
            middle = np.floor((low + high + 1.0) / 2.0)
            left = share / np.sqrt(np.maximum(middle - 1.0, 1.0))[:, None] - drop
            with np.errstate(divide="ignore"):
                taken = middle - 1.0 + (reach / left**2).sum(axis=1)
            possible = (left > 0.0).all(axis=1) & (taken < window)
            low = np.where((low < high) & possible, middle, low)
            high = np.where((low < high) & ~possible, middle - 1.0, high)
        found[:, arm, place] = np.where(rounds < arms, 0.0, low)
    return found


def refined_regret_bound(
    gaps: ArrayLike,
    penalties: ArrayLike,
    horizon: int,
    *,
    alpha: float,
    gain_range: float = 2.0,
    slack: float = 0.5,
) -> float:
    r"""Return a bound on the regret of RCUCB after T rounds, with what Theorem 1 subtracts.

    From the plays that `keyhole.resource.bounds.rcucb_regret_bound` allows a pair,
    :math:`u(T) + 1 + 4 \sum p_t` with :math:`u(t) = 2 \alpha (w + \lambda(\tau))^2 \ln t /
    \Delta^2`, is subtracted

    .. math:: P \cdot \Bigl( u(T) - \max_{t \le T} \bigl\{ u(t) - m_{\tau^+}(t - 1) \bigr\} \Bigr)

    with P = `anytime_probability` and :math:`m_{\tau^+}` = `least_informative_rounds` of the same
    arm with the next larger limit.

    Notes
    -----
    A pair that is played in round t has seen fewer than u(t) informative rounds (unless some
    estimate is off), of which :math:`N_{\tau^+}` were plays of larger limits; so its own plays are
    fewer by what the neighbour is known to have had by then. It would not do to subtract the
    neighbour's rounds up to T: the last play may have come early. Nor can N itself be bounded by
    u(T), as (11) alone would ask for: of the limits below the best, the best arm's rounds all tell.

    How much it is worth: a sixteenth of u(T) at most, with the default slack; and nothing unless
    alpha is large (P is 0 up to about alpha = 20). The theorem explains RCUCB better than it
    measures it.

    Examples
    --------
    >>> from keyhole.resource.bounds import rcucb_regret_bound
    >>> gaps, penalties = [[0.0, 0.3], [0.5, 0.4]], [0.1, 0.2]
    >>> plain = rcucb_regret_bound(gaps, penalties, 10**5, alpha=40)
    >>> round(refined_regret_bound(gaps, penalties, 10**5, alpha=40) / plain, 3)
    0.991
    """
    penalties = check_vector("penalties", penalties, Range(ge=0))
    delta = checked_gaps(gaps, len(penalties))
    horizon = check_integer("horizon", horizon, Range(ge=1))
    alpha = check_number("alpha", alpha, Range(gt=1))
    width = check_number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    arms, limits = delta.shape
    plays = rcucb_plays(delta, width, horizon, alpha)
    share = anytime_probability(arms, limits, horizon, alpha=alpha, slack=slack)
    if share == 0.0 or horizon <= arms:
        return regret_at_most(delta, plays, horizon)
    lengths = np.tile(width * np.sqrt(alpha / 2.0), (arms, 1))
    steps = int(np.ceil(np.log(horizon / arms) / np.log(_STEP)))
    times = np.unique(np.floor(np.geomspace(arms, horizon, steps + 1)))
    times[-1] = horizon
    told = _informative(delta, lengths, times[:-1], slack)
    larger = np.concatenate([told[:, :, 1:], np.zeros((len(told), arms, 1))], axis=2)
    # From one time to the next u is at most what it is then, and m at least what it was before.
    later = times[1:, None, None]
    most = (enough_rounds(delta, width, later, alpha) - larger).max(axis=0)
    inside = delta > 0.0
    needed = enough_rounds(delta, width, horizon, alpha)[inside]
    plays[inside] -= share * np.maximum(0.0, needed - most[inside])
    return regret_at_most(delta, plays, horizon)
