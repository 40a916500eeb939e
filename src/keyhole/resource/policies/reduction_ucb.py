"""Policy ReductionUCB: plays UCB on the pairs of arm and limit, each an arm of its own."""

import math

from keyhole.policy import float_array, parameter, scratch_array
from keyhole.resource.policy_base import (
    PairPolicy,
    argmax_ucb,
    first_unobserved,
    net_reward,
    scale_gain,
)
from keyhole.resource.setting import limit_index


class ReductionUCB(PairPolicy):
    r"""Treat every pair of arm and limit as an arm of its own, and play UCB on these.

    A baseline for a list of limits: a run counts for its own limit only. Use `RCUCB`.

    Each pair is played once. Then play

    .. math::
        \arg\max_{i, \tau} \; \hat Z_{i,\tau} + \sqrt{\frac{\alpha \ln t}{2 T_{i,\tau}}},
        \qquad Z = \frac{(R - c(C)) 1\{C \le \tau\} - \lambda(\tau) 1\{C > \tau\}
        + \lambda(\bar\tau)}{1 + \lambda(\bar\tau)}

    with :math:`T_{i,\tau}` the number of rounds with the pair, :math:`\hat Z_{i,\tau}` the
    mean of Z over these rounds, and :math:`\bar\tau` the largest limit. The cost of this limit must
    not exceed its penalty; then Z lies in [0, 1]. The other symbols are those of `Problem`.

    Parameters
    ----------
    alpha : float, default 0.5
        Exploration, above 0; the theory needs more than 1. The default is `RCUCB`'s.

    Notes
    -----
    Departures from the paper: its formula could not be read; the root is Hoeffding's for [0, 1].
    Pairs are first played arm by arm; ties go to the lowest arm and then to the smallest limit.

    References
    ----------
    Bengs and Huellermeier (2022), "Multi-Armed Bandits with Censored Consumption of Resources",
    Machine Learning; section 3.1, equation (7), and appendix E.1, equation (31).

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> cost = Power(slope=0.1)
    >>> learner = ReductionUCB().learner(arms=1, limits=[0.5, 1], cost=cost, penalty=cost)
    >>> learner.ask()
    (0, 0.5)
    >>> learner.tell(exceeded=True)
    >>> learner.ask()
    (0, 1.0)
    """

    pending = ("impute", "ignore")
    penalty_covers_cost = True
    cost_per_round = "a product for each pair, one square root"

    alpha: float = parameter(default=0.5, gt=0, doc="exploration")

    class State(PairPolicy.State):
        """Plays and summed scaled gains of each pair, and the terms of its index."""

        totals = float_array("arms", "limit_count")
        estimate = float_array("arms", "limit_count")
        spread = float_array("arms", "limit_count")
        begin = scratch_array()  # the pair at which the search for an unobserved pair begins

    def select(p, s: State, t: int) -> tuple[int, float]:
        """Return the pair with the largest index."""
        arm, position = first_unobserved(s.plays, s.begin, 0)
        if arm < 0:
            arm, position = argmax_ucb(s.estimate, s.spread, math.sqrt(math.log(t)))
        return arm, p.limits[position]

    def update(
        p, s: State, arm: int, limit: float, reward: float, consumption: float, exceeded: int
    ) -> None:
        """Learn about the pair played."""
        position = limit_index(p.limits, limit)
        gain = net_reward(p.cost, reward, consumption, exceeded)
        if exceeded == 1:
            gain = -s.penalties[position]
        s.plays[arm, position] += 1
        # The gains of all pairs are scaled by the largest penalty, so that they can be compared.
        s.totals[arm, position] += scale_gain(gain, s.penalties[p.limit_count - 1])
        s.estimate[arm, position] = s.totals[arm, position] / s.plays[arm, position]
        s.spread[arm, position] = math.sqrt(0.5 * p.alpha / s.plays[arm, position])

    def impute(p, s: State, arm: int, limit: float) -> None:
        """Impute the pair's mean."""
        position = limit_index(p.limits, limit)
        plays = s.plays[arm, position] + 1
        s.totals[arm, position] += s.estimate[arm, position]
        s.plays[arm, position] = plays
        s.spread[arm, position] = math.sqrt(0.5 * p.alpha / plays)
