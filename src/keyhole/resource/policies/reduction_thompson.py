"""Policy ReductionThompson: draws a plausible gain of each arm and limit, chooses the largest."""

import numpy as np

from keyhole.policy import Stream, betas, float_array, scratch_array, uniform
from keyhole.resource.policy_base import PairPolicy, net_reward, scale_gain
from keyhole.resource.setting import limit_index


class ReductionThompson(PairPolicy):
    r"""Draw a gain for every pair of arm and limit from its own posterior, and play the largest.

    A stronger baseline than `ReductionUCB`: a run also updates all smaller limits, although the
    pairs of an arm are modelled as independent. If there are few limits, its regret is small on
    average, but has a large variance.

    Each pair is played once. Then play

    .. math::
        \arg\max_{i, \tau} \theta_{i,\tau}, \qquad
        \theta_{i,\tau} \sim \mathrm{Beta}(A_{i,\tau}, B_{i,\tau})

    where A and B start at 1. After a round with arm i and limit :math:`\tau_t`, A or B grows by 1
    for each :math:`\tau \le \tau_t`: A with the probability :math:`Z(\tau)`, otherwise B. Z is the
    rescaled gain of `ReductionUCB` with the limit :math:`\tau`. The cost of the largest limit must
    not exceed its penalty. The policy needs a list of limits.

    Notes
    -----
    Departures from the paper: its formulas were not available to us, and the prior Beta(1, 1) is
    the usual one. Two points that the paper leaves open were settled: pairs are first played arm by
    arm from the smallest limit up; ties go to the lowest arm and then to the smallest limit.

    References
    ----------
    Bengs and Huellermeier (2022), "Multi-Armed Bandits with Censored Consumption of Resources",
    Machine Learning; appendix E.1, equation (32).

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = ReductionThompson().learner(
    ...     arms=1, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2), seed=1
    ... )
    >>> asked = []
    >>> for _ in range(2):
    ...     asked.append(learner.ask())
    ...     learner.tell(exceeded=True)
    >>> asked
    [(0, 0.5), (0, 1.0)]
    """

    randomness = (
        "a beta variate for each pair, arm by arm from the smallest limit up; then a coin for "
        "each limit up to the one played, from the smallest up"
    )
    pending = ("ignore",)
    penalty_covers_cost = True
    cost_per_round = "a beta variate for each pair"

    class State(PairPolicy.State):
        """Plays, successes and failures of each pair."""

        successes = float_array("arms", "limit_count")
        failures = float_array("arms", "limit_count")
        # The two parameters of the beta distribution of each pair, and the draw from it.
        up = scratch_array("arms", "limit_count")
        down = scratch_array("arms", "limit_count")
        drawn = scratch_array("arms", "limit_count")

    def select(p, s: State, t: int, rng: Stream) -> tuple[int, float]:
        """Return the pair with the largest of the sampled values."""
        if t <= p.arms * p.limit_count:
            return (t - 1) // p.limit_count, p.limits[(t - 1) % p.limit_count]
        for arm in range(p.arms):
            for position in range(p.limit_count):
                s.up[arm, position] = 1.0 + s.successes[arm, position]
                s.down[arm, position] = 1.0 + s.failures[arm, position]
        pairs = p.arms * p.limit_count
        draws = s.drawn.reshape(pairs)
        betas(rng, s.up.reshape(pairs), s.down.reshape(pairs), pairs, draws)
        best = int(np.argmax(draws))
        return best // p.limit_count, p.limits[best % p.limit_count]

    def update(
        p,
        s: State,
        rng: Stream,
        arm: int,
        limit: float,
        reward: float,
        consumption: float,
        exceeded: int,
    ) -> None:
        """Make a Bernoulli draw for every limit up to the one played."""
        played_position = limit_index(p.limits, limit)
        gain = net_reward(p.cost, reward, consumption, exceeded)
        largest_penalty = s.penalties[p.limit_count - 1]
        s.plays[arm, played_position] += 1
        for position in range(played_position + 1):
            value = gain
            if exceeded == 1 or consumption > p.limits[position]:
                value = -s.penalties[position]
            # A coin with the scaled gain as its probability, since a beta posterior counts
            # successes and failures.
            if uniform(rng) < scale_gain(value, largest_penalty):
                s.successes[arm, position] += 1.0
            else:
                s.failures[arm, position] += 1.0
