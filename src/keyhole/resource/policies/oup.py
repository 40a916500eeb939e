"""Policy OUP: finds an arm whose mean utility is nearly the largest."""

import math

from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter
from keyhole.resource.cost_functions import value_at
from keyhole.resource.policy_base import Policy, net_reward, scale_gain
from keyhole.resource.setting import limit_index


class OUP(Policy):
    r"""Find an arm that is nearly the best with the largest limit, and keep it.

    Use it for thousands of runs of each arm. With probability :math:`1 - \delta` the mean utility
    of the arm that it keeps is at most :math:`\varepsilon` below the largest. The utility is W = 0
    for a run that exceeds the largest limit, else :math:`W = (R - c(C) + \lambda) / (1 + \lambda)`,
    with :math:`\lambda` the penalty of the largest limit. It does not search for a better limit.

    Each arm has a limit :math:`\tau`, at first the smallest. A run stopped there has at most the
    utility u of R = 1 and :math:`C = \tau`; for the largest limit u is 0. With K arms, after m runs
    with an arm's k-th limit, :math:`\hat U` is the mean of max(W, u), and :math:`\hat F` the share
    of runs with :math:`W \ge u`. The arm's upper and lower bounds are the tightest so far of

    .. math::
        \hat U + (1 - u) \alpha, \quad \hat U - u (1 - \hat F) - \alpha, \quad
        \alpha^2 = \frac{1}{2m} \ln \frac{4 (\pi^2 / 6)^2 K m^2 k^2}{\delta}.

    Run the arm with the largest upper bound. If :math:`2 (1 - u) \alpha \le u (1 - \hat F +
    \alpha)`, first double its limit; bounds stay until the new limit has more runs than the old. If
    no upper bound is over :math:`\varepsilon` above the largest lower bound, keep this bound's arm.

    Parameters
    ----------
    epsilon, delta : float, default 0.1
        :math:`\varepsilon` in [0, 1), :math:`\delta` in (0, 1). With `epsilon` = 0 no arm is kept.

    Notes
    -----
    Departures from the paper: the formulas are those of its authors' program; each run has a
    new instance; rewards may vary. See :doc:`/resource`. Ties go to the lowest arm.

    References
    ----------
    Graham and Leyton-Brown (2024), "Utilitarian Algorithm Configuration for Infinite Parameter
    Spaces", arXiv 2405.18246: OUP, the procedure for finitely many arms.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> OUP().learner(arms=2, limits=[0.1, 0.4, 1], cost=Power(), penalty=Power()).ask()
    (0, 0.4)
    """

    pending = ("ignore",)
    penalty_covers_cost = True
    cost_per_round = "a logarithm, and two comparisons for each arm"

    epsilon: float = parameter(default=0.1, ge=0, lt=1, doc="how near to the largest mean utility")
    delta: float = parameter(default=0.1, gt=0, lt=1, doc="chance to be wrong")

    class State:
        """Limit, runs and bounds of each arm, and the arm to run next."""

        position = int_array("arms")  # the position of the arm's limit
        doublings = int_array("arms")
        runs = float_array("arms")  # the number of runs with this limit
        needed = float_array("arms")  # runs after which the bounds are computed again
        total = float_array("arms")  # the sum of max(W, u) over these runs
        ended = float_array("arms")  # the number of these runs with W at least u
        upper = float_array("arms")
        lower = float_array("arms")
        arm = int_array()  # the arm with the largest upper bound, or the kept arm
        best_arm = int_array()  # the arm with the largest lower bound
        kept = int_array()  # 1 once an arm is kept for good
        plays = int_array("arms", "limit_count")

    def init(p, s: State) -> None:
        """Set all upper bounds to 1; before the first run, double limits that are too short."""
        s.upper[:] = 1.0
        s.needed[:] = 1.0
        # Before the first run, alpha and the share of stopped runs count as 1.
        top_utility = largest_utility(p.limits, 0, p.cost, p.penalty)
        if is_limit_too_short(top_utility, 1.0, 1.0):
            s.position[:] = limit_index(p.limits, 2.0 * p.limits[0])
            s.doublings[:] = 1

    def select(p, s: State) -> tuple[int, float]:
        """Return the arm with the largest upper bound, or the kept arm, and the arm's limit."""
        return s.arm[0], p.limits[s.position[s.arm[0]]]

    def update(
        p, s: State, arm: int, limit: float, reward: float, consumption: float, exceeded: int
    ) -> None:
        """Learn about the arm; choose its next limit and the next arm, or keep an arm for good."""
        position = limit_index(p.limits, limit)
        s.plays[arm, position] += 1
        # If several runs are pending, the arm's limit may have changed since this run began.
        if s.kept[0] == 1 or position != s.position[arm]:
            return
        top_utility = largest_utility(p.limits, position, p.cost, p.penalty)
        utility = 0.0
        if exceeded == 0:
            largest_penalty = value_at(p.penalty, p.limits[p.limit_count - 1])
            gain = net_reward(p.cost, reward, consumption, exceeded)
            utility = scale_gain(gain, largest_penalty)
        s.runs[arm] += 1.0
        s.total[arm] += max(utility, top_utility)
        s.ended[arm] += utility >= top_utility
        if s.runs[arm] < s.needed[arm]:
            return
        radius = bound_deviation(p.arms, s.runs[arm], s.doublings[arm], p.delta)
        mean = s.total[arm] / s.runs[arm]
        stopped_share = 1.0 - s.ended[arm] / s.runs[arm]
        s.upper[arm] = min(s.upper[arm], mean + (1.0 - top_utility) * radius)
        s.lower[arm] = max(s.lower[arm], mean - radius - top_utility * stopped_share)
        if is_limit_too_short(top_utility, radius, stopped_share):
            s.position[arm] = limit_index(p.limits, 2.0 * limit)
            s.doublings[arm] += 1
            s.needed[arm] = s.runs[arm] + 1.0
            s.runs[arm] = 0.0
            s.total[arm] = 0.0
            s.ended[arm] = 0.0
        s.arm[0] = 0
        s.best_arm[0] = 0
        for rival in range(1, p.arms):
            if s.upper[rival] > s.upper[s.arm[0]]:
                s.arm[0] = rival
            if s.lower[rival] > s.lower[s.best_arm[0]]:
                s.best_arm[0] = rival
        if s.upper[s.arm[0]] - s.lower[s.best_arm[0]] <= p.epsilon:
            s.kept[0] = 1
            s.arm[0] = s.best_arm[0]
            s.position[s.arm[0]] = p.limit_count - 1

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the arm with the largest lower bound, with the largest limit."""
        best_arm[0] = s.best_arm[0]
        best_limit[0] = p.limits[p.limit_count - 1]


def largest_utility(
    limits: FloatArray, position: int, cost: FloatArray, penalty: FloatArray
) -> float:
    """Return the largest utility of a run that is stopped at a limit: 0 for the last limit."""
    last = len(limits) - 1
    if position == last:
        return 0.0
    return scale_gain(1.0 - value_at(cost, limits[position]), value_at(penalty, limits[last]))


def is_limit_too_short(top_utility: float, radius: float, stopped_share: float) -> bool:
    """Return whether an arm's bounds are wide because of its limit rather than its few runs."""
    return 2.0 * (1.0 - top_utility) * radius <= top_utility * (stopped_share + radius)


def bound_deviation(arms: int, runs: float, doublings: int, delta: float) -> float:
    """Return alpha: with probability 1 - delta no mean ever deviates by more, at any limit."""
    log_term = math.log(math.pi**4 / 9.0 * arms * (runs * (doublings + 1)) ** 2 / delta)
    return min(1.0, math.sqrt(log_term / (2.0 * runs)))
