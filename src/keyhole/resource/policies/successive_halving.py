"""Successive halving of the arms, with limits that rise."""

import math

from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter
from keyhole.resource.cost_functions import value_at
from keyhole.resource.limit_lookup import limit_index
from keyhole.resource.setting import Policy
from keyhole.resource.ucb_kernels import net_reward


class SuccessiveHalving(Policy):
    r"""Run all arms for a short time, the better half for longer, and so on; keep the last one.

    What is usual where runs are many and can be cut short: a yardstick. The K arms go through
    :math:`S = \lceil \log_2 K \rceil` stages. In stage s = 1, 2, ..., each of the
    :math:`K_s` arms that are left is run

    .. math:: \max\Bigl(1, \Bigl\lfloor \frac{\rho T}{S K_s} \Bigr\rfloor\Bigr) \quad
        \text{times with limit } \tau_{\lceil s M / S \rceil}

    out of M, and half of them, rounded down, are dropped: those whose best limit so far is worth
    the least on average. The last arm is run for the remaining rounds, with the limit that is worth
    the most on average. What is decided early is never mended.

    Parameters
    ----------
    share : float, default 0.15
        :math:`\rho`: the share of the rounds in which arms are compared, in (0, 1].

    Notes
    -----
    Departures from the paper: limits rise instead of numbers of pulls, and a run tells of smaller
    limits as in `RCUCB`; the share was picked by measuring. Of arms that are worth the same the
    lowest is kept, of limits the smallest.

    References
    ----------
    Karnin, Koren and Somekh (2013), "Almost Optimal Exploration in Multi-Armed Bandits", ICML;
    Algorithm 1.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = SuccessiveHalving().learner(
    ...     arms=4, limits=[0.5, 1.0], cost=Power(), penalty=Power(slope=0.1), horizon=100
    ... )
    >>> asked = []
    >>> for _ in range(7):
    ...     arm, limit = learner.ask()
    ...     asked.append((arm, limit))
    ...     if arm < 2:
    ...         learner.tell(exceeded=True)
    ...     else:
    ...         learner.tell(reward=0.5, consumption=0.4)
    >>> asked
    [(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5), (2, 1.0), (3, 1.0), (2, 1.0)]
    """

    needs = ("horizon",)
    pending = ("impute", "ignore")
    cost_per_round = "a comparison for each arm; K^2 where a stage ends"

    share: float = parameter(
        default=0.15, gt=0, le=1, doc="part of the rounds in which arms are compared"
    )

    class State:
        """Sums over the rounds that tell of each pair; who is left; the stage."""

        told = float_array("arms", "limit_count")
        worth = float_array("arms", "limit_count")
        plays = int_array("arms", "limit_count")
        dropped = int_array("arms")
        runs = float_array("arms")  # in this stage
        left = int_array()
        stage = int_array()  # from 0

    def init(p, s: State) -> None:
        """All are left."""
        s.left[0] = p.arms

    def select(p, s: State) -> tuple[int, float]:
        """Return the arm with the fewest runs in this stage; the best limit of the last."""
        found = -1
        for arm in range(p.arms):
            if s.dropped[arm] == 0 and (found < 0 or s.runs[arm] < s.runs[found]):
                found = arm
        if s.left[0] == 1 and s.told[found, 0] > 0.0:
            return found, p.limits[best_place(s.told, s.worth, found)]
        return found, p.limits[((s.stage[0] + 1) * p.limit_count - 1) // stages(p.arms)]

    def update(
        p, s: State, arm: int, limit: float, reward: float, consumption: float, exceeded: int
    ) -> None:
        """Learn about every limit up to the one played, and end the stage if all is done."""
        played = limit_index(p.limits, limit)
        s.plays[arm, played] += 1
        gain = net_reward(p.cost, reward, consumption, exceeded)
        for place in range(played + 1):
            within = exceeded == 0 and consumption <= p.limits[place]
            s.told[arm, place] += 1.0
            s.worth[arm, place] += gain if within else -value_at(p.penalty, p.limits[place])
        s.runs[arm] += 1.0
        needed = max(1.0, math.floor(p.share * p.horizon / (stages(p.arms) * s.left[0])))
        for other in range(p.arms):
            if s.dropped[other] == 0 and s.runs[other] < needed:
                return
        if s.left[0] == 1:
            return
        for _ in range(s.left[0] // 2):
            drop_worst(s.told, s.worth, s.dropped)
        s.left[0] -= s.left[0] // 2
        s.stage[0] = min(s.stage[0] + 1, stages(p.arms) - 1)
        s.runs[:] = 0.0

    def impute(p, s: State, arm: int) -> None:
        """Count the run as one of this stage."""
        s.runs[arm] += 1.0

    def recommend(  # type: ignore[override]
        p, s: State, best_arm: IntArray, best_limit: FloatArray
    ) -> None:
        """Name the pair that is worth the most on average, of the arms that are left."""
        best_arm[0], best_limit[0] = 0, p.limits[p.limit_count - 1]
        best = -math.inf
        for arm in range(p.arms):
            if s.dropped[arm] == 0 and s.told[arm, 0] > 0.0:
                place = best_place(s.told, s.worth, arm)
                if s.worth[arm, place] / s.told[arm, place] > best:
                    best = s.worth[arm, place] / s.told[arm, place]
                    best_arm[0], best_limit[0] = arm, p.limits[place]


def stages(arms: int) -> int:
    """Return how often the arms can be halved, rounded up; at least 1."""
    count, reach = 1, 2
    while reach < arms:
        count, reach = count + 1, 2 * reach
    return count


def best_place(told: FloatArray, worth: FloatArray, arm: int) -> int:
    """Return where the limit stands that is worth the most on average, of those with runs."""
    best = 0
    for place in range(1, told.shape[1]):
        if told[arm, place] == 0.0:
            break  # nor does any run tell of a larger one
        if worth[arm, place] / told[arm, place] > worth[arm, best] / told[arm, best]:
            best = place
    return best


def drop_worst(told: FloatArray, worth: FloatArray, dropped: IntArray) -> None:
    """Drop the arm whose best limit is worth the least, the highest of equals."""
    worst, lowest = -1, math.inf
    for arm in range(len(dropped)):
        if dropped[arm] == 0:
            place = best_place(told, worth, arm)
            value = worth[arm, place] / told[arm, place]
            if value <= lowest:
                worst, lowest = arm, value
    dropped[worst] = 1
