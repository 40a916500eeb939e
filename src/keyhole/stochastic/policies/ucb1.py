"""Policy UCB1: pulls the arm with the largest upper confidence bound of its mean."""

import math

from keyhole.policy import first_unpulled, float_array, scratch_array
from keyhole.stochastic.policy_base import Policy, RewardCounts


class UCB1(Policy):
    r"""Pull the arm with the largest upper bound: its mean plus a margin that shrinks with pulls.

    It is the usual baseline, simple and without a horizon. `KLUCB` has a smaller regret on
    Bernoulli arms, with a proven bound.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{2 \ln n / n_i}

    with :math:`n_i` the pulls of arm i, :math:`\hat\mu_i` the mean of their rewards, and n the
    pulls of all arms so far.

    Notes
    -----
    Departures from the paper: none. Ties, open in the paper, go to the lowest arm.

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem",
    Machine Learning 47; Figure 1.

    Examples
    --------
    >>> learner = UCB1().learner(arms=2)
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
    cost_per_round = "a logarithm, and O(K) multiplications"

    class State(RewardCounts):
        """Pulls, summed rewards and mean of each arm, and values kept to save time."""

        mean = float_array("arms")
        root = float_array("arms")
        """1 / sqrt(n), n being the pulls of the arm."""
        begin = scratch_array()
        """The arm at which `first_unpulled` begins: all arms below it have pulls."""

    def select(p, s: State, t: int) -> int:
        """Return the first arm without pulls, else the arm with the largest bound."""
        arm = first_unpulled(s.pulls, s.begin)
        if arm >= 0:
            return arm
        # 1 / sqrt(n_i) is kept in the state, since a root and a division for each arm would cost
        # more than the rest of the round.
        root_of_log = math.sqrt(2.0 * math.log(t - 1.0))
        best, highest = 0, -1.0
        for arm in range(p.arms):
            bound = s.mean[arm] + root_of_log * s.root[arm]
            if bound > highest:
                best, highest = arm, bound
        return best

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        s.mean[arm] = s.totals[arm] / s.pulls[arm]
        s.root[arm] = 1.0 / math.sqrt(s.pulls[arm])
