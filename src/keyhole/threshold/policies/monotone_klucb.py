"""Policy MonotoneKLUCB: pulls the arm whose chance to reach the threshold has the largest bound."""

import math
from typing import Final

from keyhole.confidence_sequences import binary_entropy
from keyhole.draws.mean_bounds import log_1_minus_ucb
from keyhole.policy import float_array, int_array, parameter
from keyhole.threshold.policies.anytime_dkwucb import anytime_log_term
from keyhole.threshold.policy_base import Policy, ReachCounts, add_observation, impute_pull

# An arm is excluded without computing its bound only if the divergence times the pulls exceeds this
# multiple of `limit`. Closer bounds are computed and compared, so that rounding errors do not
# decide.
_CLEAR_FACTOR: Final = 1.0 + 1e-9


class MonotoneKLUCB(Policy):
    r"""Pull the arm with the largest bound at the threshold, capped by its bounds at lower levels.

    An arm reaches a higher level no more often than a lower level, so an upper bound at a low level
    holds at all higher levels. With rising thresholds the regret may be below the lower bound of
    Theorem 3, since that theorem does not hold for survival functions. Use the policy for censored
    feedback and any order of thresholds; it warns if feedback is uncensored, since it ignores by
    how much a sample exceeds the threshold. On Keyhole's data of flights and of deliveries it has
    an eighth to two fifths of the regret of `KaplanMeierUCB`; `SurvivalThompson` has less regret.

    .. math:: \arg\max_i \; \min_{j \le c_t} \; \max \{ q \in [0, 1] :
        N_i(j) \, \mathrm{kl}(\hat F_i(j), q) \le \ln t + c \ln \ln t \}

    with :math:`N_i(j)` the pulls of arm i at thresholds of at least j, :math:`\hat F_i(j)` the
    share of these pulls whose samples reached j, and kl the divergence of Bernoulli distributions.
    At a level without samples the bound is 1.

    Parameters
    ----------
    c : float, default 0
        Weight of ln ln t, at least 0. Theory for such indices uses 3, practice 0.

    Notes
    -----
    Source: Keyhole's own; the estimator is the paper's. If ln t is below 1, ln ln t counts as 0.
    Ties go to the lowest arm.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; eq. (8), for the estimator, and Theorem 3. Garivier and Cappe (2011), "The KL-UCB
    Algorithm for Bounded Stochastic Bandits and Beyond", COLT; Algorithm 1, for the bound.

    Examples
    --------
    >>> learner = MonotoneKLUCB().learner(arms=2, levels=3, feedback="censored")
    >>> for value in (0, None, None):
    ...     arm = learner.ask(threshold=1)
    ...     learner.tell(value, censored=value is None)
    >>> learner.ask(threshold=3)  # arm 0 failed at level 1: it is no better at level 3
    1
    """

    pending = ("impute", "ignore")
    warns_if_uncensored = True
    cost_per_round = (
        "O(K c) multiplications and 2 c logarithms, c being the threshold; Newton's method (four "
        "or five steps) for one or two bounds"
    )

    c: float = parameter(default=0.0, ge=0, doc="weight of ln ln t")

    class State(ReachCounts):
        """The counts of each arm and level, their entropies, and the arm pulled last."""

        entropy = float_array("arms", "levels")
        """Entropy of a Bernoulli distribution whose mean is the estimate at the level, in nats."""
        last = int_array()
        """The arm pulled last."""

    def select(p, s: State, t: int, threshold: int) -> int:
        """Return the arm with the largest bound."""
        limit = anytime_log_term(t, p.c)
        # The arm pulled last mostly has the largest bound again. So it comes first: then the bounds
        # of few other arms have to be computed.
        best = int(s.last[0])
        # x is ln(1 - q) for the best arm's bound q. The smaller x is, the larger is the bound.
        x = log_1_minus_least_bound(s, best, threshold, limit)
        for arm in range(p.arms):
            if arm != best and can_be_best(s, arm, threshold, x, limit):
                arm_x = log_1_minus_least_bound(s, arm, threshold, limit)
                if arm_x < x or (arm_x == x and arm < best):
                    best, x = arm, arm_x
        return best

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count the pull at the levels up to its threshold."""
        add_observation(s, arm, threshold, value)
        update_entropies(s, arm, threshold)
        s.last[0] = arm

    def impute(p, s: State, threshold: int, arm: int) -> None:  # type: ignore[override]
        """Count the pending pull with its expected result."""
        impute_pull(s.reached, s.tried, arm, threshold)
        update_entropies(s, arm, threshold)


def update_entropies(s: MonotoneKLUCB.State, arm: int, threshold: int) -> None:
    """Update the entropies of an arm at the levels up to the threshold."""
    for j in range(threshold):
        s.entropy[arm, j] = binary_entropy(s.reached[arm, j] / s.tried[arm, j])


def log_1_minus_least_bound(
    s: MonotoneKLUCB.State, arm: int, threshold: int, limit: float
) -> float:
    """Return ln(1 - q) for the smallest of the arm's bounds q at the levels up to the threshold.

    `limit` is ln t + c ln ln t, which the divergence times the pulls must not exceed. Near 1, q
    itself would have too few digits.
    """
    # The search begins with q = 1, the bound at a level without samples.
    x = -math.inf
    q = 1.0
    log_q = 0.0
    # The loop begins at the threshold. The bound there is mostly the smallest, and then the bounds
    # of few other levels have to be computed.
    for j in range(threshold - 1, -1, -1):
        if is_q_above_bound(s, arm, j, x, q, log_q, limit):
            tried = s.tried[arm, j]
            x = max(x, log_1_minus_ucb(tried, s.reached[arm, j] / tried, s.entropy[arm, j], limit))
            q = -math.expm1(x)
            log_q = math.log(q) if q > 0.0 else -math.inf
    return x


def can_be_best(s: MonotoneKLUCB.State, arm: int, threshold: int, x: float, limit: float) -> bool:
    """Return whether no bound of the arm is clearly below q, the best arm's bound.

    x is ln(1 - q). This check takes no steps of Newton's method, and for most arms it ends at one
    of the lowest levels.
    """
    q = -math.expm1(x)
    log_q = math.log(q) if q > 0.0 else -math.inf
    j = 0
    while j < threshold and not is_q_above_bound(s, arm, j, x, q, log_q, limit * _CLEAR_FACTOR):
        j += 1
    return j == threshold


def is_q_above_bound(
    s: MonotoneKLUCB.State, arm: int, j: int, x: float, q: float, log_q: float, limit: float
) -> bool:
    """Return whether q exceeds the arm's bound at level j + 1; x is ln(1 - q), log_q is ln q."""
    tried = s.tried[arm, j]
    if tried == 0.0:
        return False
    mean = s.reached[arm, j] / tried
    # An upper bound is never below the mean.
    if q <= mean:
        return False
    # At q = 1 the divergence from a smaller mean is infinite.
    if x == -math.inf:
        return True
    divergence = -s.entropy[arm, j] - mean * log_q - (1.0 - mean) * x
    return bool(tried * divergence > limit)
