"""Policy KnownGaps: a baseline that is told how far each arm's mean is from the threshold."""

import math

from keyhole.policy import argmin_tree_array, argmin_tree_find, argmin_tree_update
from keyhole.stochastic.policy_base import RewardCounts
from keyhole.thresholding.policy_base import Policy


class KnownGaps(Policy):
    r"""Pull the arm furthest behind its optimal number of pulls, which follows from the true gaps.

    It is an oracle: it knows every arm's gap, the distance of its mean from the threshold, but not
    on which side of the threshold the mean is. `LSA` has the same rule with empirical gaps; the
    difference in regret between the two is the cost of estimating the gaps.

    Pull

    .. math:: \arg\min_i \; T_i \Delta_i^2 + \ln \Delta_i^{-1}

    with :math:`T_i` the pulls of arm i and :math:`\Delta_i = |\theta_i - \theta|` its true gap.

    Notes
    -----
    Departures from the paper: none. The paper leaves two things open. Arms are not pulled once at
    the beginning, since the rule is defined at :math:`T_i = 0`; so a hard arm may never be pulled,
    as in the optimal allocation. An arm whose gap is 0, which no number of pulls would settle,
    comes after all others.

    References
    ----------
    Tao, Blanco, Peng and Zhou (2019), "Thresholding Bandit with Optimal Aggregate Regret",
    NeurIPS; section 3, algorithm O'.

    Examples
    --------
    >>> learner = KnownGaps().learner(arms=2, threshold=0.5, gaps=[0.1, 0.4])
    >>> asked = []
    >>> for reward in (1.0, 1.0, 0.0):
    ...     asked.append(learner.ask())
    ...     learner.tell(reward)
    >>> asked  # the easy arm first: its label takes few pulls
    [1, 1, 1]
    """

    pending = ("impute", "ignore")
    off_policy = True
    cost_per_round = "O(log K) for the arg-min"
    needs = ("gaps",)
    oracle = True

    class State(RewardCounts):
        """Pulls, summed rewards and index of each arm."""

        index = argmin_tree_array("arms")

    def init(p, s: State) -> None:
        """Set the index of every arm at 0 pulls."""
        s.index[:] = math.inf
        for arm in range(p.arms):
            argmin_tree_update(s.index, p.arms, arm, allocation_index(p.gaps[arm], 0.0))

    def select(p, s: State) -> int:
        """Return the arm with the smallest index."""
        return argmin_tree_find(s.index, p.arms)

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull and update the index of the arm."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        argmin_tree_update(s.index, p.arms, arm, allocation_index(p.gaps[arm], s.pulls[arm]))


def allocation_index(gap: float, pulls: float) -> float:
    """Return T Delta^2 + ln(1 / Delta); infinite for a gap of 0."""
    return pulls * gap * gap - math.log(gap) if gap > 0.0 else math.inf
