"""Policy StoOO: searches for each arm's best limit as for the maximum of a noisy function."""

import math
from collections.abc import Mapping
from typing import Any

from keyhole.policy import Kernel
from keyhole.resource.cost_functions import value_at
from keyhole.resource.policy_base import net_reward
from keyhole.resource.refined_grid_policy import (
    RefinedGridPolicy,
    recompute_indices,
    scaled_log_term,
    update_grid,
    update_statistics,
    write_best_point,
)


class StoOO(RefinedGridPolicy):
    r"""Search for each arm's best limit by a method for the maximum of a noisy function.

    A baseline for `ZoomingRCUCB`, for a continuum of limits: a run is informative only about the
    pair that was played. The cost of the largest limit must not exceed its penalty. Play

    .. math::
        \arg\max_{i, \tau} \; \hat \nu_{i,\tau} + c_{i,\tau} + b_{i,\tau},
        \qquad c_{i,\tau} = (1 + \lambda(\bar\tau))
        \sqrt{\frac{\alpha \ln(T^2 / \delta)}{2 T_{i,\tau}}},
        \quad b_{i,\tau} = L (\tau - \tau^-)

    with :math:`\hat \nu_{i,\tau}` the mean gain of the :math:`T_{i,\tau}` rounds with this pair,
    :math:`\lambda` the penalty, :math:`\bar\tau` the largest limit, T the horizon and
    :math:`\tau^-` the next smaller point of the grid (or 0). Pairs that were never played come
    first. `ZoomingRCUCB` says how grids are refined, and which pair is recommended.

    Parameters
    ----------
    alpha, delta, refine, lipschitz
        As for `ZoomingRCUCB`.

    Notes
    -----
    Departures from the paper: each arm has its own function, gain by limit; an interval is sampled
    at its right end, as in `ZoomingRCUCB`; gains are not rescaled to [0, 1]. See :doc:`/resource`.

    References
    ----------
    Munos (2014), "From Bandits to Monte-Carlo Tree Search", Foundations and Trends in Machine
    Learning; section 3.4, as suggested by Bengs and Huellermeier (2022), section 4.2.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = StoOO(alpha=0.1, lipschitz=4).learner(
    ...     arms=1, limits=[1], cost=Power(), penalty=Power(slope=1), continuous=True, horizon=100
    ... )
    >>> learner.ask()
    (0, 1.0)
    """

    pending = ("wait",)
    penalty_covers_cost = True
    cost_per_round = "a square root for each grid point of the played arm"

    def least_factor(self, facts: Mapping[str, Any]) -> float:
        """Return `factor`, which is the same at all points, from the known quantities."""
        return 1.0 + value_at(facts["penalty"], float(facts["limits"][-1]))

    def factor(p, s: RefinedGridPolicy.State, arm: int, k: int) -> float:
        """Return the factor of the root in c: the range of a run's gain."""
        return float(1.0 + s.penalties[arm, s.sizes[arm] - 1])

    def update(
        p,
        s: RefinedGridPolicy.State,
        arm: int,
        limit: float,
        reward: float,
        consumption: float,
        exceeded: int,
        factor: Kernel,
        planned_rounds: Kernel,
    ) -> None:
        """Learn about the point played; refine the arm's grid at this point."""
        gain = net_reward(p.cost, reward, consumption, exceeded)
        used = math.inf if exceeded == 1 else consumption
        s.plays[arm] += 1
        for k in range(s.sizes[arm]):
            # The comparison is exact, because the limit was copied from a point.
            if s.points[arm, k] == limit:
                update_statistics(s, arm, k, used, gain)
                s.played[arm, k] = 1 + s.levels[arm, k]
                log_term = scaled_log_term(p, planned_rounds(p, s))
                # If it adds points, the indices must be computed anew.
                if update_grid(p, s, arm, k, k + 1, factor, log_term) > 0:
                    recompute_indices(p, s, arm, 0, s.sizes[arm], factor, log_term)
                write_best_point(s, arm)
                return
