"""Policy SuccessiveHalving: drops the worse half of the arms again and again, as limits rise."""

import math

from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter
from keyhole.resource.cost_functions import value_at
from keyhole.resource.policy_base import Policy, net_reward
from keyhole.resource.setting import limit_index


class SuccessiveHalving(Policy):
    r"""Run all arms for a short time, the better half for longer, and so on; keep the last arm.

    A baseline, common in practice for runs with a time limit. The K arms go through
    :math:`S = \lceil \log_2 K \rceil` stages. In stage s = 1, 2, ..., each of the
    :math:`K_s` remaining arms is run

    .. math:: \max\Bigl(1, \Bigl\lfloor \frac{\rho T}{S K_s} \Bigr\rfloor\Bigr) \quad
        \text{times with limit } \tau_{\lceil s M / S \rceil}

    of the M limits, where T is the horizon. Then half of these arms, rounded down, are dropped for
    good: those with the smallest mean gain at their best limit so far. The last arm is run for the
    remaining rounds, with the limit of its largest mean gain.

    Parameters
    ----------
    share : float, default 0.15
        :math:`\rho`: the share of the rounds in which arms are compared, in (0, 1].

    Notes
    -----
    Departures from the paper: limits increase instead of numbers of pulls, and a run counts for
    smaller limits as in `RCUCB`; the share was chosen by measurement. Ties go to the lowest arm and
    then to the smallest limit.

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
    >>> for _ in range(4):
    ...     arm, limit = learner.ask()
    ...     learner.tell(reward=arm / 4, consumption=0.4)
    >>> learner.ask()  # the better half, for longer
    (2, 1.0)
    """

    needs = ("horizon",)
    pending = ("impute", "ignore")
    cost_per_round = "a comparison for each arm; K^2 at the end of a stage"

    share: float = parameter(
        default=0.15, gt=0, le=1, doc="part of the rounds in which arms are compared"
    )

    class State:
        """Sums over the informative rounds of each pair, the remaining arms, and the stage."""

        told = float_array("arms", "limit_count")  # the number of informative rounds
        worth = float_array("arms", "limit_count")  # the sum of the gains in these rounds
        plays = int_array("arms", "limit_count")
        dropped = int_array("arms")
        runs = float_array("arms")  # the number of runs in this stage
        left = int_array()  # the number of remaining arms
        stage = int_array()  # s - 1

    def init(p, s: State) -> None:
        """Set the number of remaining arms to the number of all arms."""
        s.left[0] = p.arms

    def select(p, s: State) -> tuple[int, float]:
        """Return the arm with the fewest runs in the stage, and the stage's limit.

        If one arm remains, return the arm and its best limit.
        """
        chosen_arm = -1
        for arm in range(p.arms):
            if s.dropped[arm] == 0 and (chosen_arm < 0 or s.runs[arm] < s.runs[chosen_arm]):
                chosen_arm = arm
        if s.left[0] == 1 and s.told[chosen_arm, 0] > 0.0:
            return chosen_arm, p.limits[best_limit_position(s.told, s.worth, chosen_arm)]
        # This is the limit of the formula; positions and stages count from 0 here.
        return chosen_arm, p.limits[((s.stage[0] + 1) * p.limit_count - 1) // count_stages(p.arms)]

    def update(
        p, s: State, arm: int, limit: float, reward: float, consumption: float, exceeded: int
    ) -> None:
        """Learn about every limit up to the one played; end the stage if it is complete."""
        played_position = limit_index(p.limits, limit)
        s.plays[arm, played_position] += 1
        gain = net_reward(p.cost, reward, consumption, exceeded)
        for position in range(played_position + 1):
            # `worth` grows by the gain that the run would have had with this limit.
            within = exceeded == 0 and consumption <= p.limits[position]
            s.told[arm, position] += 1.0
            s.worth[arm, position] += gain if within else -value_at(p.penalty, p.limits[position])
        s.runs[arm] += 1.0
        needed_runs = max(1.0, math.floor(p.share * p.horizon / (count_stages(p.arms) * s.left[0])))
        for rival in range(p.arms):
            if s.dropped[rival] == 0 and s.runs[rival] < needed_runs:
                return
        if s.left[0] == 1:
            return
        for _ in range(s.left[0] // 2):
            drop_worst_arm(s.told, s.worth, s.dropped)
        s.left[0] -= s.left[0] // 2
        s.stage[0] = min(s.stage[0] + 1, count_stages(p.arms) - 1)
        s.runs[:] = 0.0

    def impute(p, s: State, arm: int) -> None:
        """Count the pending run as a run of this stage."""
        s.runs[arm] += 1.0

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the pair with the largest mean gain, among the remaining arms."""
        best_arm[0], best_limit[0] = 0, p.limits[p.limit_count - 1]
        best = -math.inf
        for arm in range(p.arms):
            if s.dropped[arm] == 0 and s.told[arm, 0] > 0.0:
                position = best_limit_position(s.told, s.worth, arm)
                if s.worth[arm, position] / s.told[arm, position] > best:
                    best = s.worth[arm, position] / s.told[arm, position]
                    best_arm[0], best_limit[0] = arm, p.limits[position]


def count_stages(arms: int) -> int:
    """Return the number of stages: log2 of the number of arms, rounded up; at least 1."""
    count = 1
    while 1 << count < arms:
        count += 1
    return count


def best_limit_position(told: FloatArray, worth: FloatArray, arm: int) -> int:
    """Return the position of an arm's limit with the largest mean gain, among those with runs."""
    best = 0
    for position in range(1, told.shape[1]):
        if told[arm, position] == 0.0:
            break  # larger limits have no informative rounds either
        if worth[arm, position] / told[arm, position] > worth[arm, best] / told[arm, best]:
            best = position
    return best


def drop_worst_arm(told: FloatArray, worth: FloatArray, dropped: IntArray) -> None:
    """Drop the arm with the smallest mean gain at its best limit; among equals the highest."""
    worst = -1
    lowest = math.inf
    for arm in range(len(dropped)):
        if dropped[arm] == 0:
            position = best_limit_position(told, worth, arm)
            value = worth[arm, position] / told[arm, position]
            # At equality the higher arm goes, so that ties favour the lowest.
            if value <= lowest:
                worst, lowest = arm, value
    dropped[worst] = 1
