"""Policy ZoomingRCUCB: chooses the arm and limit of a run on grids of limits that it refines."""

import math
from collections.abc import Mapping
from typing import Any

from keyhole.policy import Kernel, float_array, int_array, parameter
from keyhole.resource.policy_base import net_reward
from keyhole.resource.refined_grid_policy import (
    RefinedGridPolicy,
    append_round,
    count_earlier_rounds,
    recompute_indices,
    scaled_log_term,
    update_grid,
    update_statistics,
    write_best_point,
)


class ZoomingRCUCB(RefinedGridPolicy):
    r"""Play `RCUCB` on a grid of limits for each arm, and refine the grids near the best limits.

    For a continuum of limits. Each grid is at first the largest limit. A point :math:`\tau` stands
    for the limits above the next smaller point :math:`\tau^-` (or 0). Play each arm once, then

    .. math::
        \arg\max_{i, \tau} \; \hat g_{i,\tau} - \hat\ell_{i,\tau} + c_{i,\tau} + b_{i,\tau},
        \; c_{i,\tau} = (w + \lambda(\tau)) \sqrt{\frac{\alpha \ln(T^2 / \delta)}{2 N_{i,\tau}}},
        \; b_{i,\tau} = L (\tau - \tau^-)

    with the estimates and counts of `RCUCB`. After each round, if :math:`b_{i,\tau} \ge
    c_{i,\tau}`, the interval of the point is split into n parts: the grid of arm i gets new points.
    The recommendation is the pair that was played with the narrowest interval.

    Parameters
    ----------
    alpha, lipschitz, gain_range : float, default 1
        `alpha`, above 0, is the exploration. `lipschitz` is L, above 0: near the best limit, gains
        fall by at most L x over a distance x from it. `gain_range` is w of `RCUCB`, in (0, 2].
    delta, refine : default 0.05 and 2
        `delta` is the confidence level, in (0, 1); `refine` is n, from 2 to 64.

    Notes
    -----
    Departures from the paper: its formulas could not be read; only pairs that were played are
    recommended. See :doc:`/resource`. Ties go to the lowest arm and then to the smallest limit.

    References
    ----------
    Bengs and Huellermeier (2022), "Multi-Armed Bandits with Censored Consumption of Resources",
    Machine Learning; section 4, Algorithm 1, equations (13) and (14).

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = ZoomingRCUCB(lipschitz=4).learner(
    ...     arms=1, limits=[1], cost=Power(), penalty=Power(slope=1), continuous=True, horizon=100
    ... )
    >>> learner.ask()
    (0, 1.0)
    """

    pending = ("wait",)
    cost_per_round = (
        "a square root for each grid point of the played arm up to the limit played; a refinement "
        "goes through all earlier rounds of the arm once; memory grows with the horizon"
    )

    gain_range: float = parameter(default=1.0, gt=0, le=2, doc="width of the range of R - c(C)")

    class State(RefinedGridPolicy.State):
        """Grids, and the history of all rounds."""

        # A linked list of the rounds of each arm, in order. Rounds count from 1, and 0 ends a list.
        # The statistics of new grid points are computed from it.
        first = int_array("arms")
        last = int_array("arms")
        following = int_array("horizon")
        limits = float_array("horizon")
        consumptions = float_array("horizon")
        gains = float_array("horizon")

    def least_factor(self, facts: Mapping[str, Any]) -> float:
        """Return w, the factor of the root at a point without penalty."""
        return self.gain_range

    def factor(p, s: State, arm: int, k: int) -> float:
        """Return the factor of the root: w plus the penalty at the point."""
        return float(p.gain_range + s.penalties[arm, k])

    def update(
        p,
        s: State,
        t: int,
        arm: int,
        limit: float,
        reward: float,
        consumption: float,
        exceeded: int,
        factor: Kernel,
        planned_rounds: Kernel,
    ) -> None:
        """Learn about every point up to the limit played; refine the arm's grid."""
        rounds = planned_rounds(p, s)
        learn_from_run(p, s, t, arm, limit, reward, consumption, exceeded, factor, rounds)


def learn_from_run(
    p: ZoomingRCUCB,
    s: ZoomingRCUCB.State,
    t: int,
    arm: int,
    limit: float,
    reward: float,
    consumption: float,
    exceeded: int,
    factor: Kernel,
    rounds: int,
) -> None:
    """Learn about every point up to the limit played in round t; refine the arm's grid."""
    gain = net_reward(p.cost, reward, consumption, exceeded)
    # A stopped run consumed more than its limit, and thus more than every point about which it is
    # informative.
    used = math.inf if exceeded == 1 else consumption
    s.plays[arm] += 1
    append_round(s, t, arm, limit, used, gain)
    stop = 0
    while stop < s.sizes[arm] and s.points[arm, stop] <= limit:
        update_statistics(s, arm, stop, used, gain)
        stop += 1
    # Only the point at the limit counts as played, not the points at smaller limits.
    if stop > 0 and s.points[arm, stop - 1] == limit:
        s.played[arm, stop - 1] = 1 + s.levels[arm, stop - 1]
    log_term = scaled_log_term(p, rounds)
    fresh_count = update_grid(p, s, arm, 0, stop, factor, log_term)
    if fresh_count > 0:
        count_earlier_rounds(s, arm, fresh_count)
        recompute_indices(p, s, arm, 0, s.sizes[arm], factor, log_term)
    write_best_point(s, arm)
