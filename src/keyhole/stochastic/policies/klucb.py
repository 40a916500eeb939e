"""Policy KLUCB: pulls the arm with the largest mean plausible by Kullback-Leibler divergence."""

import math
from typing import Final

from keyhole.confidence_sequences import binary_entropy
from keyhole.draws.mean_bounds import log_1_minus_ucb
from keyhole.policy import first_unpulled, float_array, int_array, parameter, scratch_array
from keyhole.stochastic.policy_base import Policy, RewardCounts

# `select` need not compute any bound if it finds a number q between the two largest bounds, since
# only the best arm then has a bound above q. It tries up to this number of values of q; mostly the
# second is such a q.
_TRIES: Final = 3
# A q is accepted only if it differs from every bound by at least _BOUND_MARGIN in ln(1 - q), and
# from every mean by at least _MEAN_MARGIN times q. This is far more than the rounding error of q,
# which is below 1e-13 if ln(1 - q) lies between _LOWEST_X and _HIGHEST_X. Outside of this range,
# rounding errors of q or of the divergences could be larger.
_BOUND_MARGIN: Final = 1e-8
_MEAN_MARGIN: Final = 1e-5
_LOWEST_X: Final = -8.0
_HIGHEST_X: Final = -1e-3


class KLUCB(Policy):
    r"""Pull the arm with the largest mean that the Kullback-Leibler divergence makes plausible.

    It is asymptotically optimal on Bernoulli arms, and better than `UCB1` on all other arms with
    rewards in [0, 1]. After one pull of each arm, pull in round t

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
    Departures from the paper: none. Ties, open in the paper, go to the lowest arm. If ln t is
    below 1, ln ln t counts as 0. If a q is found between the largest bound and all others, no bound
    is computed: an arm's bound is at least q if q is at most :math:`\hat\mu_i`, or if :math:`n_i \,
    \mathrm{kl}(\hat\mu_i, q) \le \ln t + c \ln \ln t`. Otherwise the bound of the arm
    pulled last and the bounds of arms that win a comparison are computed, with an error below
    1e-13.

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
        """Pulls, summed rewards, mean and entropy of each arm, and where the next search begins."""

        mean = float_array("arms")
        entropy = float_array("arms")
        """The entropy of the Bernoulli distribution with the arm's mean, in nats."""
        last = int_array()
        """The arm pulled last."""
        between = scratch_array()
        """The value of ln(1 - q) with which the next `select` begins. The last `select` found this
        q between the two largest bounds, or computed it as the largest bound."""
        begin = scratch_array()
        """The arm at which `first_unpulled` begins: all arms below it have pulls."""

    def select(p, s: State, t: int) -> int:
        """Return the first arm without pulls, else the arm with the largest bound."""
        arm = first_unpulled(s.pulls, s.begin)
        if arm >= 0:
            return arm
        level = math.log(t)
        level += p.c * math.log(max(level, 1.0))
        # The q of the last `select` mostly still separates the two largest bounds. If not, q is
        # adapted a few times before bounds are computed. Throughout, x is ln(1 - q).
        x = s.between[0]
        for _ in range(_TRIES):
            if not _LOWEST_X < x < _HIGHEST_X:
                break
            best = find_only_arm_above(s, x, level)
            if best >= 0:
                s.between[0] = x
                return best
            x = guess_x_between(s, x, level)
        # The arm pulled last mostly has the largest bound again. So it comes first: then the bounds
        # of few other arms have to be computed. There may be fewer arms now, if some were retired.
        best = min(int(s.last[0]), p.arms - 1)
        x = log_1_minus_ucb(s.pulls[best], s.mean[best], s.entropy[best], level)
        q = -math.expm1(x)
        log_q = math.log(q)
        for arm in range(p.arms):
            if arm != best and has_larger_bound(s, arm, best, x, q, log_q, level):
                best = arm
                x = log_1_minus_ucb(s.pulls[best], s.mean[best], s.entropy[best], level)
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
    """Return the only arm whose bound is above q, where x is ln(1 - q).

    Return -1 if there is no such arm, if there are several, or if rounding errors leave this open.
    Arms with equal pulls and means count as one arm, the lowest of them. `level` is ln t + c ln ln
    t: an arm's bound is the largest q at which pulls times divergence is at most this.
    """
    q = -math.expm1(x)
    log_q = math.log(q)
    only_arm = -1
    for arm in range(len(s.mean)):
        mean, pulls = s.mean[arm], s.pulls[arm]
        # An arm with mean 1 has the bound 1; every smaller mean has a smaller bound.
        if mean >= 1.0:
            return arm
        # The slack is the level less the pulls times the divergence at q. It takes no logarithm for
        # each arm, since the entropy, ln q and ln(1 - q) are known.
        slack = level + pulls * (s.entropy[arm] + mean * log_q + (1.0 - mean) * x)
        slope = (q - mean) / q  # minus the derivative of the divergence with respect to x
        if slope > _MEAN_MARGIN:
            if slack < -_BOUND_MARGIN * pulls * slope:
                continue
            if slack < _BOUND_MARGIN * pulls * slope:
                return -1
        elif slope > -_MEAN_MARGIN:
            return -1
        if only_arm < 0:
            only_arm = arm
        elif pulls != s.pulls[only_arm] or mean != s.mean[only_arm]:
            return -1
    return only_arm


def guess_x_between(s: KLUCB.State, x: float, level: float) -> float:
    """Return ln(1 - q) for a q that is probably between the two largest bounds.

    `x` is ln(1 - q) for a q nearby. Each bound is estimated by one step of Newton's method from x,
    or by a rough formula if the arm's mean is not clearly below q.
    """
    q = -math.expm1(x)
    log_q = math.log(q)
    # Bounds are compared as ln(1 - bound). The smaller this is, the larger is the bound.
    smallest = second_smallest = math.inf
    for arm in range(len(s.mean)):
        mean = s.mean[arm]
        allowed_divergence = level / s.pulls[arm]
        slope = (q - mean) / q
        if slope > _MEAN_MARGIN:
            # The allowed divergence less the divergence at q.
            excess = allowed_divergence + s.entropy[arm] + mean * log_q + (1.0 - mean) * x
            estimate = x - excess / slope
        else:
            estimate = math.log1p(-mean) - math.sqrt(0.5 * allowed_divergence)
        if estimate < smallest:
            smallest, second_smallest = estimate, smallest
        elif smallest < estimate < second_smallest:
            second_smallest = estimate
    return 0.5 * (smallest + min(second_smallest, 0.0))


def has_larger_bound(
    s: KLUCB.State, arm: int, best: int, x: float, q: float, log_q: float, level: float
) -> bool:
    """Return whether an arm's bound is above that of `best`, or equal and the arm's number lower.

    `q` is the bound of `best`, and `x` is ln(1 - q), which is minus infinity for a bound of 1.
    """
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
