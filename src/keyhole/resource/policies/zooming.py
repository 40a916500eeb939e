"""The zooming Resource-censored Upper Confidence Bound algorithm."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from keyhole.core.memory import Field, FloatArray, IntArray, counts, per
from keyhole.core.policy import known, parameter
from keyhole.resource.functions import value_at
from keyhole.resource.grid import count_round, estimate, keep, log_ratio, refine_grid, renew_best
from keyhole.resource.optimism import net_reward
from keyhole.resource.setting import Policy

# Grid points of all arms together: at nine arrays of 8 bytes, 72 MB for each replication at work.
_MOST_POINTS: Final = 2**20


class ZoomingRCUCB(Policy):
    r"""Play RCUCB on grids of limits, one an arm, that become finer where it pays.

    For limits that need not come from a list: it finds out by itself where the best limit lies.

    Every grid starts as the largest limit :math:`\bar\tau` alone. A grid point :math:`\tau` stands
    for the limits between the next smaller point :math:`\tau^-` (or 0) and itself. Each arm is
    played once. Then play

    .. math::
        \arg\max_{i, \tau} \; \hat g_{i,\tau} - \hat\ell_{i,\tau} + c_{i,\tau} + b_{i,\tau},
        \qquad c_{i,\tau} = (w + \lambda(\tau))
        \sqrt{\frac{\alpha \ln(T^2 / \delta)}{2 N_{i,\tau}}},
        \quad b_{i,\tau} = L (\tau - \tau^-)

    with the estimates and counts of `RCUCB`. After the round, for each point of the played arm
    with :math:`b_{i,\tau} \ge c_{i,\tau}`, the points that cut its interval into n equal parts
    join the grid; what earlier rounds tell about them is looked up. Recommended is the pair
    played on the finest level of refinement, of several the one with the largest estimate.

    Parameters
    ----------
    alpha : float, default 1
        Exploration, above 0.
    delta : float, default 0.05
        Confidence level, in (0, 1).
    refine : int, default 2
        n: parts into which an interval is cut, from 2 to 64.
    lipschitz : float, default 1
        L, above 0: near the optimum, a limit away from it by x is worth at most L x less.
    gain_range : float, default 1
        w, in (0, 2]; see `RCUCB`.

    Notes
    -----
    Setting: censored consumption of resources, every limit up to the largest; needs the horizon.

    Feedback: reward and consumption of a run, or that it exceeded its limit.

    Randomness: none.

    Cost per round: a square root for each grid point of the played arm up to the limit played. A
    refinement goes through all earlier rounds of the arm once. Memory grows with the horizon.

    Departures from the paper: alpha multiplies :math:`\ln(T^2 / \delta)`, which the paper has in
    place of :math:`\alpha \ln t` (alpha = 1 is that); the constants of the confidence length were
    rebuilt, as for `RCUCB`. The semi-metric of the bias is L times the distance, computed from the
    level, so that equal widths tie. Open in the paper: new points are themselves refined in a
    later round of their arm at the earliest; ties go to the lowest arm and then to the smallest
    limit. The pair with the finest level is read as one among those played, of several the one
    with the largest estimate: intervals of small limits are cut along with the larger ones that
    are played, however little they are worth. Measured in the instance Indep with arms as in the
    tests, T = 100,000, defaults: simple regret 0.0002; over whole grids 0.089.

    References
    ----------
    Bengs and Huellermeier (2022), "Multi-Armed Bandits with Censored Consumption of Resources",
    Machine Learning; section 4, Algorithm 1, equations (13) and (14).

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = ZoomingRCUCB(lipschitz=4).learner(
    ...     arms=1, limits=[1.0], cost=Power(slope=0.1), penalty=Power(constant=0.2),
    ...     continuous=True, horizon=100,
    ... )
    >>> for _ in range(100):
    ...     arm, limit = learner.ask()
    ...     if limit < 0.4:
    ...         learner.tell(exceeded=True)
    ...     else:
    ...         learner.tell(reward=0.9, consumption=0.4)
    >>> 0.4 <= learner.recommend()[1] < 1.0
    True
    """

    needs = ("horizon",)

    alpha: float = parameter(1.0, gt=0, doc="exploration")
    delta: float = parameter(0.05, gt=0, lt=1, doc="confidence level")
    refine: int = parameter(2, ge=2, le=64, doc="parts into which an interval is cut")
    lipschitz: float = parameter(1.0, gt=0, doc="how fast gains fall off the best limit")
    gain_range: float = parameter(1.0, gt=0, le=2, doc="width of the range of R - c(C)")
    grid_size: ClassVar[int] = known()

    class State:
        """Grids with sums for each point, the history of all rounds, and the best of each arm."""

        sizes = counts("arms")
        points = per("arms", "grid_size")
        penalties = per("arms", "grid_size")
        levels = counts("arms", "grid_size")  # how often the point's interval has been cut
        played = counts("arms", "grid_size")  # 1 + the level at which it was last played, or 0
        told = per("arms", "grid_size")  # N
        net = per("arms", "grid_size")  # sum of (R - c(C)) 1{C <= point}
        over = per("arms", "grid_size")  # sum of 1{C > point}
        fresh = counts("grid_size")  # places of new points
        best_index = per("arms")
        best_point = per("arms")
        plays = counts("arms")
        # The rounds of an arm are chained in their order: counted from 1, 0 is the end.
        first = counts("arms")
        last = counts("arms")
        following = counts("horizon")
        limits = per("horizon")
        consumptions = per("horizon")
        gains = per("horizon")

    @classmethod
    def input_fields(cls) -> dict[str, Field]:
        """Return what kernels find in `p`; among it the most points that a grid can have."""
        return super().input_fields() | {"grid_size": Field("int64")}

    def informed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        r"""Return what the policy is told, checked, and how large grids can become.

        No interval is cut that is shorter than :math:`c / L` after T rounds, so that none is
        shorter than that over n.
        """
        facts = super().informed(values)
        if facts["continuous"] != 1:
            raise ValueError(
                "continuous must be True for ZoomingRCUCB, which chooses among all limits"
            )
        largest, horizon = float(facts["limits"][-1]), facts["horizon"]
        shortest = (
            self.gain_range
            * math.sqrt(0.5 * self.alpha * log_ratio(horizon, self.delta) / horizon)
            / self.lipschitz
        )
        grid_size = math.ceil(largest / shortest * self.refine) + 1
        if grid_size * facts["arms"] > _MOST_POINTS:
            raise ValueError(
                f"lipschitz must be smaller: with {self.lipschitz:g} the grids may need "
                f"{grid_size} points an arm, {_MOST_POINTS} in all are allowed"
            )
        return facts | {"grid_size": grid_size}

    def init(p, s: State) -> None:
        """Start every grid with the largest limit alone."""
        largest = p.limits[p.limit_count - 1]
        for arm in range(p.arms):
            s.sizes[arm] = 1
            s.points[arm, 0] = largest
            s.penalties[arm, 0] = value_at(p.penalty, largest)
            s.best_index[arm] = math.inf
            s.best_point[arm] = largest

    def select(p, s: State) -> tuple[int, float]:
        """Return the pair with the largest index."""
        best = 0
        for arm in range(1, p.arms):
            if s.best_index[arm] > s.best_index[best]:
                best = arm
        return best, s.best_point[best]

    def update(
        p,
        s: State,
        t: int,
        arm: int,
        limit: float,
        reward: float,
        consumption: float,
        exceeded: int,
    ) -> None:
        """Learn about every point up to the limit played; refine the arm's grid."""
        gain = net_reward(p.cost, reward, consumption, exceeded)
        used = math.inf if exceeded == 1 else consumption
        s.plays[arm] += 1
        keep(s, t, arm, limit, used, gain)
        for k in range(s.sizes[arm]):
            if s.points[arm, k] > limit:
                break
            count_round(s, arm, k, used, gain)
            if s.points[arm, k] == limit:
                s.played[arm, k] = 1 + s.levels[arm, k]
        refine_grid(p, s, arm)
        renew_best(p, s, arm)

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:  # type: ignore[override]
        """Name the pair played on the finest level, of several the one of the largest estimate."""
        finest, largest = 0, -math.inf
        for arm in range(p.arms):
            for k in range(s.sizes[arm]):
                level = s.played[arm, k]
                if level == 0 or level < finest:
                    continue
                value = estimate(s, arm, k)
                if level > finest or value > largest:
                    finest, largest = level, value
                    best_arm[0] = arm
                    best_limit[0] = s.points[arm, k]
