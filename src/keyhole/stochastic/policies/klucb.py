"""Upper confidence bounds from the Kullback-Leibler divergence."""

import math
from typing import Final

from keyhole.core.memory import counts, per
from keyhole.core.policy import parameter
from keyhole.stochastic.setting import Policy

# Newton's steps gain digits twofold: from the start below, seven leave no error but rounding
# (tested against 50 digits: below 4e-15).
_STEPS: Final = 7


class KLUCB(Policy):
    r"""Pull the arm with the largest mean that is not yet ruled out.

    Asymptotically the best there is on Bernoulli arms, and better than `UCB1` on all others with
    rewards in [0, 1].

    After one pull of each arm, pull in round t

    .. math:: \arg\max_i \; \max \{ q \in [0, 1] : n_i \, \mathrm{kl}(\hat\mu_i, q) \le
        \ln t + c \ln \ln t \}

    with :math:`n_i` the pulls of arm i, :math:`\hat\mu_i` the mean of their rewards, and kl the
    divergence of Bernoulli laws.

    Parameters
    ----------
    c : float, default 0
        Weight of ln ln t, at least 0. The paper proves its bound for 3 and recommends 0.

    Notes
    -----
    Setting: stochastic bandit; anytime.

    Feedback: the reward of the arm pulled, in [0, 1].

    Randomness: none.

    Cost per round: O(K) square roots, and Newton's method for the two or three arms that can win.

    Departures from the paper: none. Ties, open in the paper, go to the lowest
    arm. Where ln t is below 1, ln ln t counts as 0. The bound is computed to 4e-15; by Pinsker's
    inequality an arm is left out whose mean + sqrt(L / 2 n) is below a bound that is already known,
    L the right-hand side.

    References
    ----------
    Garivier and Cappe (2011), "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond",
    COLT; Algorithm 1 and Theorem 1.

    Examples
    --------
    >>> learner = KLUCB().learner(arms=2)
    >>> asked = []
    >>> for reward in (0.0, 1.0, 1.0, 1.0):
    ...     asked.append(learner.ask())
    ...     learner.tell(reward)
    >>> asked
    [0, 1, 1, 1]
    """

    c: float = parameter(0.0, ge=0, doc="weight of ln ln t")

    class State:
        """Pulls and summed rewards of each arm, and the arm pulled last."""

        pulls = per("arms")
        totals = per("arms")
        last = counts()

    def select(p, s: State, t: int) -> int:
        """Return the arm with the largest bound, or the first that was never pulled."""
        if t <= p.arms:
            return t - 1
        level = math.log(t)
        level += p.c * math.log(max(level, 1.0))
        # Mostly the last arm wins again: with it first, most others are left out.
        best = int(s.last[0])
        highest = kl_bound(s.pulls[best], s.totals[best], level)
        for arm in range(p.arms):
            pulls = s.pulls[arm]
            if s.totals[arm] / pulls + math.sqrt(0.5 * level / pulls) < highest:
                continue
            bound = kl_bound(pulls, s.totals[arm], level)
            if bound > highest or (bound == highest and arm < best):
                best, highest = arm, bound
        return best

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        s.last[0] = arm


def kl_bound(pulls: float, total: float, level: float) -> float:
    """Return the largest q with pulls kl(total / pulls, q) <= level.

    With x = ln(1 - q) the divergence is convex and falls: Newton's method from the left of the
    root never overshoots. The start is the better of Pinsker's bound and the one without the
    entropy's first part.

    Parameters
    ----------
    pulls : float
        At least 1.
    total : float
        From 0 to `pulls`.
    level : float
        At least 0.

    Returns
    -------
    float
        In [total / pulls, 1].
    """
    mean, allowed = total / pulls, level / pulls
    miss = 1.0 - mean
    if mean <= 0.0:
        return -math.expm1(-allowed)
    if miss <= 0.0:
        return 1.0
    entropy = -mean * math.log(mean) - miss * math.log(miss)
    x = -(allowed + entropy) / miss
    pinsker = miss - math.sqrt(0.5 * allowed)
    if pinsker > 0.0:
        x = max(x, math.log(pinsker))
    for _ in range(_STEPS):
        rest = math.exp(x)
        q = -math.expm1(x)
        excess = -entropy - mean * math.log(q) - miss * x - allowed
        slope = mean * rest / q - miss
        if slope >= 0.0:
            break
        x = min(x - excess / slope, math.log(miss))
    return max(mean, -math.expm1(x))
