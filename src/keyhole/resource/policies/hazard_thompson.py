"""Policy HazardThompson: draws hazard rates of runs, and plays the pair best for them."""

import math

from keyhole.policy import Stream, beta, betas, parameter, scratch_array
from keyhole.resource.hazard_rate_policy import (
    PRIOR_RUNS,
    HazardRatePolicy,
    cost_mean,
    find_best_limit,
    first_untried_every_second_round,
    grid_coarseness,
    prior_strength,
    reward_variance,
    variance_divisor,
    write_pooled_means,
)


class HazardThompson(HazardRatePolicy):
    r"""Draw the hazard rates of runs from a posterior; play the best pair of arm and limit.

    It is `HazardUCB` with samples in place of an index: slightly worse in hundreds of runs, equal
    in thousands. Of the :math:`n_{ij}` runs of arm i that reached interval j, :math:`d_{ij}` ended
    in it. Draw the probability that a run which reaches interval j ends in it,

    .. math:: h_{ij} \sim \mathrm{Beta}\bigl(\kappa_t (s \bar h_j + d_{ij}),
        \; \kappa_t (s (1 - \bar h_j) + n_{ij} - d_{ij})\bigr)

    with :math:`\bar h_j` the hazard pooled over all arms. Play the pair with the largest gain under
    these draws. Every second round plays an arm that was never run, if any: see :doc:`/resource`.

    Parameters
    ----------
    focus : float, default 5
        At least 1. :math:`\kappa_t`, which divides the posterior variances, starts at `focus` and
        tends to 1. For fewer than ten limits it starts lower: for one, at max(1, `focus` / 1.5).
    strength : float, default 8
        Above 0. s is `strength` for ten limits or more and lower for fewer: for one, half of it.

    Notes
    -----
    Source: Keyhole's own. Nothing is proved of it. Ties: the lowest arm, then the smallest limit.

    References
    ----------
    Kaplan and Meier (1958), "Nonparametric Estimation from Incomplete Observations", JASA 53. Hjort
    (1990), "Nonparametric Bayes Estimators Based on Beta Processes in Models for Life History
    Data", Annals of Statistics 18.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> cost = Power(slope=1)
    >>> learner = HazardThompson().learner(arms=2, limits=[0.1, 1], cost=cost, penalty=cost, seed=1)
    >>> for _ in range(50):
    ...     arm, limit = learner.ask()
    ...     learner.tell(reward=arm, consumption=0.05)
    >>> learner.recommend()
    (1, 0.1)
    """

    randomness = (
        "none in rounds that play an arm that was never run; otherwise a beta variate for each "
        "pair, arm by arm from the smallest limit up; then, in the same order, for each pair one "
        "for its reward, if any arm had a reward below 1 in this interval, and one for its cost, "
        "unless the mean cost is the least or the largest that it can be"
    )
    pending = ("impute", "ignore")
    cost_per_round = "two beta variates for each pair; three if rewards vary"

    focus: float = parameter(
        default=5.0, ge=1, doc="how much narrower samples are than the posterior"
    )

    class State(HazardRatePolicy.State):
        """Counts, shapes of the posteriors, and draws from them."""

        # The two parameters of the beta distribution of each pair, and the draw from it.
        up = scratch_array("arms", "limit_count")
        down = scratch_array("arms", "limit_count")
        drawn = scratch_array("arms", "limit_count")

    def select(p, s: State, t: int, rng: Stream) -> tuple[int, float]:
        """Return an arm that was never run, or the pair with the largest of the sampled values."""
        strength = prior_strength(p.strength, p.limit_count)
        untried_arm = first_untried_every_second_round(s, t)
        if untried_arm >= 0:
            return untried_arm, p.limits[find_best_limit(s, strength, p.limits, untried_arm)[1]]
        write_pooled_means(s)
        first_focus = max(1.0, p.focus / (1.0 + 0.5 * grid_coarseness(p.limit_count)))
        focus = variance_divisor(first_focus, p.arms, t)
        for arm in range(p.arms):
            for position in range(p.limit_count):
                ended = s.ended[arm, position]
                hazard = s.hazard[position]
                survived = s.reached[arm, position] - ended
                # Both shapes times `focus` keep the mean, and divide the variance by about `focus`.
                s.up[arm, position] = focus * (strength * hazard + ended)
                s.down[arm, position] = focus * (strength * (1.0 - hazard) + survived)
        # One call for all pairs: many variates at once are faster than one at a time.
        pairs = p.arms * p.limit_count
        betas(rng, s.up.reshape(pairs), s.down.reshape(pairs), pairs, s.drawn.reshape(pairs))
        best_gain = -math.inf
        best_arm = best_position = 0
        for arm in range(p.arms):
            ended_gain, alive = 0.0, 1.0
            for position in range(p.limit_count):
                # The order of the draws is part of every result: arm by arm, reward before cost.
                reward = draw_reward(s, rng, focus, arm, position)
                cost = draw_cost(s, rng, focus, arm, position)
                hazard = s.drawn[arm, position]
                ended_gain += alive * hazard * (reward - cost)
                alive *= 1.0 - hazard
                gain = ended_gain - s.penalties[position] * alive
                if gain > best_gain:
                    best_gain = gain
                    best_arm, best_position = arm, position
        return best_arm, p.limits[best_position]


def draw_reward(
    s: HazardThompson.State, rng: Stream, focus: float, arm: int, position: int
) -> float:
    """Draw the mean reward of an arm's runs that end in an interval."""
    ended = s.ended[arm, position]
    earned = s.earned[arm, position]
    reward_sum = PRIOR_RUNS * s.reward[position] + earned
    missed_sum = PRIOR_RUNS * (1.0 - s.reward[position]) + (ended - earned)  # sum of 1 - reward
    # If no reward below 1 is known, no variate is drawn.
    if missed_sum <= 0.0:
        return 1.0
    mean = reward_sum / (reward_sum + missed_sum)
    # The shapes are multiplied by `focus`, and by the ratio of two variances: of rewards of 0 and 1
    # with this mean, and of the rewards.
    scale = focus * mean * (1.0 - mean) / reward_variance(s, arm, position, mean)
    return beta(rng, scale * reward_sum, scale * missed_sum)


def draw_cost(s: HazardThompson.State, rng: Stream, focus: float, arm: int, position: int) -> float:
    """Draw the mean cost of an arm's runs that end in an interval."""
    lowest_cost = s.least_cost[position]
    mean = cost_mean(s, arm, position, s.cost[position])
    width = s.most_cost[position] - lowest_cost
    if not lowest_cost < mean < lowest_cost + width:
        return mean
    # The mean of n costs that are uniform over the interval, of width w, has the variance
    # w^2 / (12 n). A beta variate over the interval, with its mean in the middle, has about this
    # variance if its shapes add up to 3 n. The 2 is the sum of the shapes of a uniform prior.
    share = (mean - lowest_cost) / width
    shape_sum = focus * (3.0 * s.ended[arm, position] + 2.0)
    return float(lowest_cost + width * beta(rng, shape_sum * share, shape_sum * (1.0 - share)))
