"""Policy FixedLimit: all runs have one limit, and another policy chooses what to run."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from keyhole.policy import (
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    WrapperPolicy,
    float_array,
    int_array,
    parameter,
)
from keyhole.resource.cost_functions import value_at
from keyhole.resource.policy_base import Policy, net_reward, scale_gain
from keyhole.resource.setting import limit_index
from keyhole.stochastic import UCB1
from keyhole.stochastic import Policy as StochasticPolicy
from keyhole.stochastic.policy_base import RewardCounts

# Limits count as equal if their ratio is between this and its reciprocal.
_NEAR: Final = 1.0 - 1e-12


class FixedLimit(WrapperPolicy, Policy):
    r"""Run every arm up to the same limit, and leave the choice of the arm to another policy.

    A baseline that does not learn limits. If the best limit is known, this policy is better than
    those that learn it. Any policy of the classical bandit (`keyhole.stochastic`) can be the base.
    The base's reward is the gain of the run rescaled to [0, 1],

    .. math:: Z = \frac{(R - c(C)) 1\{C \le \tau\} - \lambda(\tau) 1\{C > \tau\} + \lambda(\tau)}
        {1 + \lambda(\tau)}

    with the symbols of `Problem`. The cost of the limit must not exceed its penalty; then Z >= 0.

    Parameters
    ----------
    limit : float
        :math:`\tau`: one of the limits or, if every limit may be chosen, at most the largest.
    base : policy of `keyhole.stochastic`, default UCB1()
        The policy that chooses the arm.

    Notes
    -----
    Source: Keyhole's own. Gains are rescaled to [0, 1] as if `limit` were the largest limit. The
    recommendation is the arm that was run most often; of equally frequent arms, the lowest.

    References
    ----------
    The rescaled gains are those of Bengs and Huellermeier (2022), "Multi-Armed Bandits with
    Censored Consumption of Resources", Machine Learning; section 3.1, equation (7).

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = FixedLimit(limit=0.5).learner(
    ...     arms=2, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2)
    ... )
    >>> asked = []
    >>> for _ in range(3):
    ...     asked.append(learner.ask())
    ...     learner.tell(exceeded=True)
    >>> asked
    [(0, 0.5), (1, 0.5), (0, 0.5)]
    """

    pending = ("impute", "ignore")
    cost_per_round = "that of the base"

    limit: float = parameter(gt=0, doc="the limit of every run")
    base: StochasticPolicy = parameter(default=UCB1(), doc="a policy of the classical bandit")

    class State:
        """The limit as listed, its penalty, the runs of each arm, and the state of the base."""

        fixed = float_array()
        fixed_penalty = float_array()
        runs = int_array("arms")

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked facts; refuse a limit that is not allowed or costs too much."""
        facts = super().check_facts(values)
        limits = facts["limits"]
        position = limit_index(limits, self.limit * _NEAR)
        if facts["continuous"] == 1:
            if self.limit > limits[-1]:
                raise ValueError(f"limit must be at most {limits[-1]:g}, got {self.limit:g}")
        elif not _NEAR * self.limit <= limits[position] <= self.limit / _NEAR:
            limit_text = ", ".join(f"{allowed:g}" for allowed in limits)
            raise ValueError(f"limit must be one of {limit_text}, got {self.limit:g}")
        cost, penalty = (value_at(facts[name], self.limit) for name in ("cost", "penalty"))
        if cost > penalty:
            raise ValueError(
                f"penalty must be at least the cost at the limit, {cost:g}, for FixedLimit; "
                f"got {penalty:g}"
            )
        return facts

    def init(p, s: State, rng: Stream, base_init: Kernel) -> None:
        """Find the limit in the list, and initialise the base."""
        s.fixed[0] = p.limit
        if p.continuous == 0:
            # Rounding may have made `limit` slightly larger than the listed limit. A slightly
            # smaller value is looked up, since `limit` itself could find the next larger one.
            s.fixed[0] = p.limits[limit_index(p.limits, p.limit * _NEAR)]
        s.fixed_penalty[0] = value_at(p.penalty, s.fixed[0])
        base_init(p, s, 0, rng)

    def select(p, s: State, t: int, rng: Stream, base_select: Kernel) -> tuple[int, float]:
        """Return the arm that the base chooses, and the limit."""
        return base_select(p, s, t, rng), s.fixed[0]

    def update(
        p,
        s: State,
        t: int,
        rng: Stream,
        arm: int,
        reward: float,
        consumption: float,
        exceeded: int,
        base_update: Kernel,
    ) -> None:
        """Update the base with the rescaled gain of the run."""
        s.runs[arm] += 1
        gain = -s.fixed_penalty[0]
        if exceeded == 0:
            gain = net_reward(p.cost, reward, consumption, exceeded)
        base_update(p, s, t, rng, arm, scale_gain(gain, s.fixed_penalty[0]))

    def impute(p, s: RewardCounts, t: int, rng: Stream, arm: int, base_update: Kernel) -> None:
        """Update the base with the arm's mean, or with 1/2 for an arm without observations."""
        pulls = s.pulls[arm]  # `pulls` and `totals` are fields of the base's state
        base_update(p, s, t, rng, arm, s.totals[arm] / pulls if pulls > 0.0 else 0.5)

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the arm that was run most often."""
        best_arm[0], best_limit[0] = np.argmax(s.runs), s.fixed[0]
