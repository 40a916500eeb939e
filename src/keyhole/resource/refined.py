r"""How playing a larger limit spares a pair its own plays: the refinement of the regret bound.

A round with arm i and a larger limit tells of :math:`\tau` too. So a pair that is played has seen
few informative rounds, and those that its larger neighbour had are plays that it was spared.
Parameters are those of `keyhole.resource.bounds`; `slack` is :math:`\kappa`, in (0, 1), by default
0.5. Equations are those of Bengs and Huellermeier (2022).
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.memory import FloatArray
from keyhole.resource.bounds import (
    checked_gaps,
    enough_rounds,
    estimate_failure,
    rcucb_plays,
    regret_at_most,
)
from keyhole.validate import Range, integer, number, vector

# Numbers of rounds at which bounds are compared: from one to the next the bound moves little.
_STEP: Final = 1.02


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
    vector("the plays of each pair", plays.ravel(), Range(ge=0))
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
    arms, limits = integer("arms", arms, Range(ge=1)), integer("limits", limits, Range(ge=1))
    horizon = integer("horizon", horizon, Range(ge=1))
    alpha = number("alpha", alpha, Range(gt=0))
    slack = number("slack", slack, Range(gt=0, lt=1))
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
    penalties = vector("penalties", penalties, Range(ge=0))
    delta = checked_gaps(gaps, len(penalties))
    horizon = integer("horizon", horizon, Range(ge=1))
    alpha = number("alpha", alpha, Range(gt=0))
    width = number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
    slack = number("slack", slack, Range(gt=0, lt=1))
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
    penalties = vector("penalties", penalties, Range(ge=0))
    delta = checked_gaps(gaps, len(penalties))
    horizon = integer("horizon", horizon, Range(ge=1))
    alpha = number("alpha", alpha, Range(gt=1))
    width = number("gain_range", gain_range, Range(gt=0, le=2)) + penalties
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
