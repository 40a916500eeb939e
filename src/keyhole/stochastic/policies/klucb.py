"""Policy KLUCB: pulls the largest mean that the Kullback-Leibler divergence makes plausible."""

import math
from typing import Final

from keyhole.confidence_sequences import binary_entropy
from keyhole.draws.mean_bounds import log_complement
from keyhole.policy import first_unpulled, float_array, int_array, parameter, scratch_array
from keyhole.stochastic.policy_base import Policy, RewardCounts

# `select` tries up to so many values of q for one that lies between the two largest bounds, which
# shows the winner without computing a bound; mostly the second value does.
_TRIES: Final = 3
# A q is accepted only if it differs from every bound by _MARGIN in ln(1 - q) and from every
# mean by _CLEAR relatively: far more than the rounding error of q, which is below 1e-13. Outside of
# _LOWEST to _HIGHEST, in ln(1 - q), rounding of q or of divergences could be larger.
_MARGIN: Final = 1e-8
_CLEAR: Final = 1e-5
_LOWEST: Final = -8.0
_HIGHEST: Final = -1e-3


class KLUCB(Policy):
    r"""Pull the arm with the largest mean that the Kullback-Leibler divergence makes plausible.

    Asymptotically optimal on Bernoulli arms, and better than `UCB1` on all others with rewards in
    [0, 1].

    After one pull of each arm, pull in round t

    .. math:: \arg\max_i \; \max \{ q \in [0, 1] : n_i \, \mathrm{kl}(\hat\mu_i, q) \le
        \ln t + c \ln \ln t \}

    with :math:`n_i` the pulls of arm i, :math:`\hat\mu_i` the mean of their rewards, and kl the
    divergence of Bernoulli distributions.

    Parameters
    ----------
    c : float, default 0
        Weight of ln ln t, at least 0. The paper proves its bound for 3 and recommends 0.

    Notes
    -----
    Departures from the paper: none. Ties, open in the paper, go to the lowest arm. Where ln t is
    below 1, ln ln t counts as 0. No bound is computed where a q is found between the largest bound
    and all others: an arm's bound is above q if its :math:`n_i \, \mathrm{kl}(\hat\mu_i, q)` is
    at most :math:`\ln t + c \ln \ln t`. Near ties the bounds q are computed as ln(1 - q), with an
    error in q below 1e-13, and only for arms that win a comparison.

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

    pending = ("impute", "ignore")
    arms_change = True
    off_policy = True
    cost_per_round = "O(K), with four or five logarithms; Newton's method near ties"

    c: float = parameter(default=0.0, ge=0, doc="weight of ln ln t")

    class State(RewardCounts):
        """Pulls, summed rewards, their mean and its entropy of each arm; the arm pulled last.

        `between` is ln(1 - q) for the last q that lay between the largest bound and the others, or
        that was the largest bound: the next search starts there. All arms before `unpulled` are
        known to have pulls.
        """

        mean = float_array("arms")
        entropy = float_array("arms")
        last = int_array()
        between = scratch_array()
        unpulled = scratch_array()

    def select(p, s: State, t: int) -> int:
        """Return the first arm without pulls, else the arm with the largest bound."""
        arm = first_unpulled(s.pulls, s.unpulled)
        if arm >= 0:
            return arm
        level = math.log(t)
        level += p.c * math.log(max(level, 1.0))
        # The last number between the two largest bounds mostly still separates them: then no bound
        # is computed. Otherwise it is adapted a few times before all bounds are compared.
        x = s.between[0]
        for _ in range(_TRIES):
            if not _LOWEST < x < _HIGHEST:
                break
            best = find_only_arm_above(s, x, level)
            if best >= 0:
                s.between[0] = x
                return best
            x = separate_largest(s, x, level)
        # The last arm mostly wins again: starting with it, few other bounds are computed.
        best = min(int(s.last[0]), p.arms - 1)  # arms may have been retired
        x = log_complement(s.pulls[best], s.mean[best], s.entropy[best], level)
        q = -math.expm1(x)
        log_q = math.log(q)
        for arm in range(p.arms):
            if arm != best and has_larger_bound(s, arm, best, x, q, log_q, level):
                best = arm
                x = log_complement(s.pulls[best], s.mean[best], s.entropy[best], level)
                q = -math.expm1(x)
                log_q = math.log(q)
        s.between[0] = x
        return best

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        mean = s.totals[arm] / s.pulls[arm]
        s.mean[arm] = mean
        s.entropy[arm] = binary_entropy(mean)
        s.last[0] = arm


def find_only_arm_above(s: KLUCB.State, x: float, level: float) -> int:
    """Return the only arm whose bound is above q, where x is ln(1 - q); -1 if it is uncertain.

    Arms with equal pulls and means count as one, the lowest of them.
    """
    q = -math.expm1(x)
    log_q = math.log(q)
    only_arm = -1
    for arm in range(len(s.mean)):
        mean, pulls = s.mean[arm], s.pulls[arm]
        # An arm with mean 1 has the bound 1; every smaller mean has a smaller bound.
        if mean >= 1.0:
            return arm
        # The level less pulls times the divergence at q. With entropy, ln q and ln(1 - q) at hand,
        # no arm needs a logarithm.
        slack = level + pulls * (s.entropy[arm] + mean * log_q + (1.0 - mean) * x)
        gap = (q - mean) / q  # derivative of the divergence with respect to x, negated
        if gap > _CLEAR:
            if slack < -_MARGIN * pulls * gap:
                continue
            if slack < _MARGIN * pulls * gap:
                return -1
        elif gap > -_CLEAR:
            return -1
        if only_arm < 0:
            only_arm = arm
        elif pulls != s.pulls[only_arm] or mean != s.mean[only_arm]:
            return -1
    return only_arm


def separate_largest(s: KLUCB.State, x: float, level: float) -> float:
    """Return ln(1 - q) for a q that is probably between the two largest bounds, given one nearby.

    Each bound is estimated by one step of Newton's method, or roughly if it is far above.
    """
    q = -math.expm1(x)
    log_q = math.log(q)
    first = second = math.inf
    for arm in range(len(s.mean)):
        mean = s.mean[arm]
        allowed = level / s.pulls[arm]
        gap = (q - mean) / q
        if gap > _CLEAR:
            root = x - (allowed + s.entropy[arm] + mean * log_q + (1.0 - mean) * x) / gap
        else:
            root = math.log1p(-mean) - math.sqrt(0.5 * allowed)
        if root < first:
            first, second = root, first
        elif first < root < second:
            second = root
    return 0.5 * (first + min(second, 0.0))


def has_larger_bound(
    s: KLUCB.State, arm: int, best: int, x: float, q: float, log_q: float, level: float
) -> bool:
    """Return whether an arm wins against the best so far, whose bound is q; x is ln(1 - q)."""
    mean, pulls = s.mean[arm], s.pulls[arm]
    if mean >= 1.0:
        return x > -math.inf or arm < best
    if x == -math.inf:
        return False
    if pulls == s.pulls[best] and mean == s.mean[best]:
        return arm < best
    if q <= mean:
        return True
    divergence = -s.entropy[arm] - mean * log_q - (1.0 - mean) * x
    return bool(pulls * divergence < level)
