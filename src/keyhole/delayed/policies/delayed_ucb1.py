"""Policy DelayedUCB1 for late rewards: the policy UCB1, from the rewards that have arrived."""

import math
from typing import Any

from keyhole.delayed.policy_base import Policy, format_used_rewards
from keyhole.policy import FloatArray, IntArray, float_array, int_array


class DelayedUCB1(Policy):
    r"""Pull the arm with the largest upper confidence bound, from the rewards that have arrived.

    It is the simplest policy for named feedback: it is UCB1, but counts a pull only when its reward
    arrives. `QPMD` needs queues, but has a guarantee for any base.

    If :math:`s_i` rewards of arm i have arrived by the beginning of round t, and
    :math:`\hat\mu_i` is their mean, it pulls

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{2 \ln t / s_i}

    Notes
    -----
    Departures from the paper: none. The paper is read as follows: arms without rewards come first.
    Of several such arms, the arm with the fewest pulls is taken; ties go to the lowest arm.

    References
    ----------
    Joulani, Gyorgy and Szepesvari (2013), "Online Learning under Delayed Feedback", ICML; section
    4, Delayed-UCB1.

    Examples
    --------
    >>> learner = DelayedUCB1().learner(arms=2, feedback="named")
    >>> asked = []
    >>> for arrived in ([], [], [(0, 1.0), (1, 0.0)], []):
    ...     asked.append(learner.ask())
    ...     learner.tell(arrived)
    >>> asked
    [0, 1, 0, 0]
    """

    pending = ("wait",)
    feedback = "each reward that arrives, and its arm (named)"
    cost_per_round = "O(K), and O(1) for each reward that arrives"
    works_with = ("named",)

    class State:
        """For each arm the pulls, the number of rewards that have arrived, and their sum."""

        pulls = int_array("arms")
        arrived = float_array("arms")
        totals = float_array("arms")

    def select(p, s: State, t: int) -> int:
        """Return the arm with the largest bound, or of those without rewards the least pulled."""
        best, highest = 0, -1.0
        log_term = 2.0 * math.log(t)
        for arm in range(p.arms):
            bound = math.inf
            if s.arrived[arm] > 0.0:
                bound = s.totals[arm] / s.arrived[arm] + math.sqrt(log_term / s.arrived[arm])
            # Arms without rewards have an infinite bound. Of these the arm with the fewest pulls
            # comes first, so that they take turns until their first rewards arrive.
            wins_tie = bound == math.inf and s.pulls[arm] < s.pulls[best]
            if bound > highest or (bound == highest and wins_tie):
                best, highest = arm, bound
        return best

    def update(p, s: State, arm: int, count: int, sources: IntArray, rewards: FloatArray) -> None:
        """Count the pull, and what has arrived."""
        s.pulls[arm] += 1
        for i in range(count):
            s.arrived[sources[i]] += 1.0
            s.totals[sources[i]] += rewards[i]

    def describe(self, learner: Any) -> list[str]:
        """Return the number of arrived rewards and their mean for each arm."""
        return format_used_rewards(learner.state["arrived"], learner.state["totals"], learner.scale)
