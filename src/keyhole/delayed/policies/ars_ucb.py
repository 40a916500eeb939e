"""Policy ARSUCB for late rewards: pulls arms many times in a row, without knowing the delays."""

import math
from typing import Any

from keyhole.contract.reward_units import format_arm_means
from keyhole.delayed.policy_base import Policy
from keyhole.policy import first_unpulled, float_array, int_array, parameter, scratch_array


class ARSUCB(Policy):
    r"""Pull the chosen arm several times in a row, more at each choice; delays may be unknown.

    A *round* of the paper is several pulls of an arm in a row. The k-th round of an arm has
    :math:`\lceil k^q \rceil` pulls, and rewards that arrive meanwhile are credited to this arm.
    After one round of each arm, the paper's round that begins at time t pulls the arm

    .. math:: \arg\max_i \; M_i / N_i + \sqrt{\alpha \ln t / N_i}

    with :math:`N_i` the pulls of arm i so far, and :math:`M_i` the sum of the rewards credited to
    it. The policy breaks if delays are long and nearly constant; then use `RegressionUCB`.

    Parameters
    ----------
    alpha : float, default 4
        Exploration, above 0.
    growth : float, default 1
        q, from 0 to 8: how fast rounds grow. With 2 they are soon longer than the delays.

    Notes
    -----
    Departures from the paper: a reward arrives at once, not in pieces. The paper claims, for an
    :math:`\alpha` above 4, a regret of the order :math:`\sum_i \ln T / \Delta_i`, as in the lower
    bound, plus a term that depends on the delays only: see `keyhole reproduce ars-ucb`. The paper
    was known at second hand: :math:`k^q` pulls, q = 1 and :math:`\alpha = 4` are a reading of it;
    ties go to the lowest arm. Of named feedback only the sums are used.

    References
    ----------
    Wang, Wang and Huang (2021), "Adaptive Algorithms for Multi-armed Bandit with Composite and
    Anonymous Feedback", AAAI, arXiv:2012.07048; ARS-UCB.

    Examples
    --------
    >>> learner = ARSUCB().learner(arms=2, feedback="anonymous")
    >>> pulled = []
    >>> for _ in range(12):
    ...     pulled.append(learner.ask())
    ...     learner.tell(0)
    >>> pulled
    [0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    """

    pending = ("wait",)
    cost_per_round = "O(1); O(K) at the end of a round of the paper"

    alpha: float = parameter(default=4.0, gt=0, doc="exploration")
    growth: float = parameter(default=1.0, ge=0, le=8, doc="q: the k-th round has k**q pulls")

    class State:
        """Credited rewards and pulls of each arm, and the present round of the paper."""

        totals = float_array("arms")
        pulls = float_array("arms")
        rounds = float_array("arms")
        """The number of the arm's rounds of the paper that have begun."""
        arm = int_array()
        """The arm of the present round of the paper."""
        left = float_array()
        """Pulls that remain in the present round of the paper."""
        begin = scratch_array()  # the arm at which the search for an unpulled arm begins

    def select(p, s: State, t: int) -> int:
        """Return the arm of the paper's present round; if that is over, begin the next one."""
        if s.left[0] > 0.0:
            return int(s.arm[0])
        best = first_unpulled(s.pulls, s.begin)
        if best < 0:
            highest = -math.inf
            log_term = p.alpha * math.log(t)
            for arm in range(p.arms):
                bound = s.totals[arm] / s.pulls[arm] + math.sqrt(log_term / s.pulls[arm])
                if bound > highest:
                    best = arm
                    highest = bound
        s.arm[0] = best
        s.rounds[best] += 1.0
        s.left[0] = math.ceil(s.rounds[best] ** p.growth)
        return int(best)

    def update(p, s: State, arm: int, total: float) -> None:
        """Credit the rewards that arrived to the arm."""
        s.totals[arm] += total
        s.pulls[arm] += 1.0
        s.left[0] -= 1.0

    def describe(self, learner: Any) -> list[str]:
        """Return the pulls of each arm and the mean of the rewards credited to it."""
        return format_arm_means(learner.state["pulls"], learner.state["totals"], learner.scale)
