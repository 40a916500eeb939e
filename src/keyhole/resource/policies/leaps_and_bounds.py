"""Policy LeapsAndBounds: finds an arm whose runs take nearly the least time on average."""

import math

from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter
from keyhole.resource.policy_base import Policy
from keyhole.resource.setting import limit_index


class LeapsAndBounds(Policy):
    r"""Find an arm whose mean capped consumption is nearly the smallest, and keep it.

    A baseline with another objective, for more than thousands of runs: it ignores rewards, costs
    and the penalty. With probability :math:`1 - \zeta` there is a cap that stops at most a
    share :math:`\delta` of the kept arm's runs; their mean consumption with this cap is at most
    :math:`1 + \varepsilon` times the smallest mean. In phase k = 1, 2, ... each arm in turn is run

    .. math::
        b_k = \Bigl\lceil \frac{44}{\delta \varepsilon^2}
        \ln \frac{120 K k (k + 1)}{\zeta} \Bigr\rceil \text{ times, up to }
        \tau_k = \frac{4 \theta_k}{3 \delta}, \qquad \theta_k = \frac{16}{7} 2^{k - 1} \tau_1',

    with K arms and :math:`\tau_1'` the smallest limit. If an arm has consumed :math:`b_k \theta_k`,
    its turn ends with the mean :math:`\theta_k`. A phase with a mean below that is the last.

    Parameters
    ----------
    epsilon, delta, zeta : float, default 0.3, 0.5 and 0.1
        :math:`\varepsilon` in (0, 1/3], :math:`\delta` and :math:`\zeta` in (0, 1).

    Notes
    -----
    Departures from the paper: the constants are those of its authors' program, without early
    stopping; each run has a new instance. See :doc:`/resource`. Ties go to the lowest arm.

    References
    ----------
    Weisz, Gyorgy and Szepesvari (2018), "LeapsAndBounds: A Method for Approximately Optimal
    Algorithm Configuration", ICML.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> cost = Power(slope=1)
    >>> learner = LeapsAndBounds().learner(arms=2, limits=[0.1, 1], cost=cost, penalty=cost)
    >>> for _ in range(2000):
    ...     arm, limit = learner.ask()
    ...     learner.tell(reward=1, consumption=0.02)
    >>> learner.ask()  # still the first arm
    (0, 1.0)
    """

    pending = ("ignore",)
    cost_per_round = "a few operations, and binary searches among the limits"

    epsilon: float = parameter(default=0.3, gt=0, le=1 / 3, doc="how near to the smallest mean")
    delta: float = parameter(default=0.5, gt=0, lt=1, doc="share of the runs that may be stopped")
    zeta: float = parameter(default=0.1, gt=0, lt=1, doc="chance to be wrong")

    class State:
        """Position in the phases, sums of the present arm, and the best arm of the phase."""

        phase = int_array()  # k - 1
        arm = int_array()
        runs = float_array()  # the number of runs of the present arm in this phase
        used = float_array()  # the consumption of these runs
        best_arm = int_array()
        best = float_array()  # the smallest mean of this phase
        kept = int_array()  # 1 once an arm is kept for good
        plays = int_array("arms", "limit_count")

    def init(p, s: State) -> None:
        """Set the smallest mean to infinity."""
        s.best[0] = math.inf

    def select(p, s: State) -> tuple[int, float]:
        """Return the present arm, and the limit of its run."""
        theta = 16.0 / 7.0 * p.limits[0] * 2.0 ** s.phase[0]
        cap = 4.0 * theta / (3.0 * p.delta)
        if s.kept[0] == 1:
            return s.best_arm[0], p.limits[limit_index(p.limits, cap)]
        # A run needs no more than what the arm may still consume in this phase.
        remaining_consumption = (
            runs_per_phase(p.arms, s.phase[0], p.epsilon, p.delta, p.zeta) * theta - s.used[0]
        )
        return s.arm[0], p.limits[limit_index(p.limits, min(remaining_consumption, cap))]

    def update(p, s: State, arm: int, limit: float, consumption: float, exceeded: int) -> None:
        """Add the consumption to the present arm's sum; advance to the next arm, or phase."""
        s.plays[arm, limit_index(p.limits, limit)] += 1
        # If several runs were pending, the turn of this run's arm may be over.
        if s.kept[0] == 1 or arm != s.arm[0]:
            return
        theta = 16.0 / 7.0 * p.limits[0] * 2.0 ** s.phase[0]
        s.runs[0] += 1.0
        s.used[0] += limit if exceeded == 1 else consumption
        needed_runs = runs_per_phase(p.arms, s.phase[0], p.epsilon, p.delta, p.zeta)
        if s.runs[0] < needed_runs and s.used[0] < needed_runs * theta:
            return
        mean = theta if s.used[0] >= needed_runs * theta else s.used[0] / s.runs[0]
        if mean < s.best[0]:
            s.best[0] = mean
            s.best_arm[0] = arm
        s.arm[0] = arm + 1
        s.runs[0] = 0.0
        s.used[0] = 0.0
        if arm + 1 == p.arms:
            s.arm[0] = 0
            if s.best[0] < theta:
                s.kept[0] = 1
            else:
                s.phase[0] += 1
                s.best[0] = math.inf

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the phase's limit and best arm; until it has one, the last phase's best arm."""
        theta = 16.0 / 7.0 * p.limits[0] * 2.0 ** s.phase[0]
        best_arm[0] = s.best_arm[0]
        best_limit[0] = p.limits[limit_index(p.limits, 4.0 * theta / (3.0 * p.delta))]


def runs_per_phase(arms: int, phase: int, epsilon: float, delta: float, zeta: float) -> float:
    """Return the number of runs of each arm in a phase; phases count from 0."""
    log_term = math.log(120.0 * arms * (phase + 1) * (phase + 2) / zeta)
    return math.ceil(44.0 * log_term / (delta * epsilon * epsilon))
