"""Base class of policies that choose arm and limit by estimates of when runs end.

Limits divide the consumption into intervals. The *hazard* of an interval is the probability that a
run that has reached it ends within it. The hazard does not depend on the limit of the run. So a
run, also a stopped one, is an observation of all intervals that it reached (Kaplan and Meier 1958).
"""

import math
from typing import Final, TypeAlias

from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter, scratch_array
from keyhole.resource.cost_functions import value_at
from keyhole.resource.policy_base import Policy
from keyhole.resource.setting import limit_index

PRIOR_RUNS: Final = 2.0
"""In the mean reward and the mean cost of an arm, the pooled mean counts as this many runs. In a
pooled mean, an arm with n observations has the weight n / (n + PRIOR_RUNS)."""
LEAST_VARIANCE_SHARE: Final = 0.01
"""Lower bound of the variance of rewards, as a share of the variance of a Bernoulli variable with
the same mean."""
HALFWAY_RUNS: Final = 4000.0
"""Runs per arm after which the variance divisor is halfway from its first value to 1. Measured in
up to 100,000 runs on scenarios of ASlib: the value 1,000 was worse on most scenarios, and with a
constant divisor the policy ended with a wrong pair on a third of them."""


class HazardRatePolicy(Policy, abstract=True):
    """Base class of policies that estimate hazards; see `HazardThompson` for the symbols."""

    arms_change = True
    off_policy = True

    strength: float = parameter(default=8.0, gt=0, doc="how many runs the pooled hazard counts as")

    class State:
        """Observations of each interval, per arm and pooled over the arms."""

        penalties = float_array("limit_count")
        # Costs of runs that end in the interval: the prior mean, the smallest and the largest cost.
        hoped = float_array("limit_count")
        least_cost = float_array("limit_count")
        most_cost = float_array("limit_count")
        # Means pooled over the arms. The hazard is over the runs that reached the interval, the
        # others are over the runs that ended in it.
        hazard = scratch_array("limit_count")
        reward = scratch_array("limit_count")
        square = scratch_array("limit_count")  # mean of the squared reward
        cost = scratch_array("limit_count")
        reached = float_array("arms", "limit_count")  # n: number of runs that reached the interval
        ended = float_array("arms", "limit_count")  # d: number of runs that ended in it
        # Sums over the runs that ended in the interval.
        earned = float_array("arms", "limit_count")  # of the rewards
        squares = float_array("arms", "limit_count")  # of the squared rewards
        spent = float_array("arms", "limit_count")  # of the costs
        plays = int_array("arms", "limit_count")

    def init(p, s: State) -> None:
        """Tabulate the penalties, and the costs of runs that end in each interval."""
        previous_limit = 0.0
        for position in range(p.limit_count):
            s.penalties[position] = value_at(p.penalty, p.limits[position])
            # The prior mean is the cost of a run that ends in the middle of the interval.
            s.hoped[position] = value_at(p.cost, 0.5 * (previous_limit + p.limits[position]))
            s.least_cost[position] = value_at(p.cost, previous_limit)
            s.most_cost[position] = value_at(p.cost, p.limits[position])
            previous_limit = p.limits[position]

    def update(
        p, s: State, arm: int, limit: float, reward: float, consumption: float, exceeded: int
    ) -> None:
        """Count the run in every interval that it reached."""
        played_position = limit_index(p.limits, limit)
        s.plays[arm, played_position] += 1
        last_position = played_position
        if exceeded == 0:
            # A consumption equal to a limit belongs to the interval that ends there.
            last_position = limit_index(p.limits, consumption)
            s.ended[arm, last_position] += 1.0
            s.earned[arm, last_position] += reward
            s.squares[arm, last_position] += reward * reward
            s.spent[arm, last_position] += value_at(p.cost, consumption)
        for position in range(last_position + 1):
            s.reached[arm, position] += 1.0

    def impute(p, s: State, age: float, arm: int, limit: float) -> None:
        """Count a pending run in intervals that it survived; add expected counts in later ones."""
        write_pooled_means(s)
        strength = prior_strength(p.strength, p.limit_count)
        alive = 1.0  # probability that the run reaches the interval
        for position in range(limit_index(p.limits, limit) + 1):
            if p.limits[position] <= age:
                s.reached[arm, position] += 1.0
            else:
                ending = alive * hazard_mean(s, strength, arm, position, s.hazard[position])
                reward = reward_mean(s, arm, position, s.reward[position])
                square = reward * reward + reward_variance(s, arm, position, reward)
                cost = cost_mean(s, arm, position, s.cost[position])
                s.reached[arm, position] += alive
                s.ended[arm, position] += ending
                s.earned[arm, position] += ending * reward
                s.squares[arm, position] += ending * square
                s.spent[arm, position] += ending * cost
                alive -= ending

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the pair with the largest mean gain, among the arms that were run."""
        strength = prior_strength(p.strength, p.limit_count)
        best_gain = 0.0
        chosen_arm = -1
        best_position = 0
        for arm in range(p.arms):
            gain, position = find_best_limit(s, strength, p.limits, arm)
            # An arm that was never run has the pooled means, which may make it look the best.
            if s.reached[arm, 0] > 0.0 and (chosen_arm < 0 or gain > best_gain):
                best_gain = gain
                chosen_arm, best_position = arm, position
        if chosen_arm < 0:
            chosen_arm = 0
            best_position = find_best_limit(s, strength, p.limits, 0)[1]
        best_arm[0], best_limit[0] = chosen_arm, p.limits[best_position]


HazardState: TypeAlias = HazardRatePolicy.State


def first_untried_every_second_round(s: HazardState, t: int) -> int:
    """Return the first arm that was never run, or -1 if there is none or t is even.

    A pending run counts as a run, because it has reached the first interval.
    """
    if t % 2 == 1:
        for arm in range(s.reached.shape[0]):
            if s.reached[arm, 0] == 0.0:
                return arm
    return -1


def find_best_limit(
    s: HazardState, strength: float, limits: FloatArray, arm: int
) -> tuple[float, int]:
    """Return the largest gain of an arm at the posterior means, and the position of its limit."""
    ended_gain, alive = 0.0, 1.0
    best_gain = -math.inf
    best_position = 0
    for position in range(len(limits)):
        pooled_hazard, reward, _, cost = pooled_means(s, position)
        hazard = hazard_mean(s, strength, arm, position, pooled_hazard)
        net = reward_mean(s, arm, position, reward) - cost_mean(s, arm, position, cost)
        ended_gain += alive * hazard * net
        alive *= 1.0 - hazard
        gain = ended_gain - s.penalties[position] * alive
        if gain > best_gain:
            best_gain, best_position = gain, position
    return best_gain, best_position


def grid_coarseness(limit_count: int) -> float:
    """Return 1 - log10(limit_count), at least 0: 1 for one limit, 0 for ten or more."""
    return max(0.0, 1.0 - math.log10(limit_count))


def prior_strength(strength: float, limit_count: int) -> float:
    """Return the number of runs that the pooled hazard counts as.

    It is `strength` for ten limits or more, and half of it for one limit.
    """
    return strength * (1.0 - 0.5 * grid_coarseness(limit_count))


def variance_divisor(focus: float, arms: int, t: int) -> float:
    """Return the divisor of the posterior variances in round t; it goes from `focus` towards 1."""
    progress = t / (HALFWAY_RUNS * arms)
    return (focus + progress) / (1.0 + progress)


def write_pooled_means(s: HazardState) -> None:
    """Write the pooled means of every interval into the state."""
    for position in range(s.reached.shape[1]):
        means = pooled_means(s, position)
        s.hazard[position], s.reward[position], s.square[position], s.cost[position] = means


def pooled_means(s: HazardState, position: int) -> tuple[float, float, float, float]:
    """Return hazard, reward, squared reward and cost of an interval, pooled over the arms.

    An arm's weight is below 1, however often it was run. Costs are pooled, too: if an arm that was
    never run had the cost at the middle of the interval, it would look slow or fast depending on
    the grid of limits.
    """
    # The prior counts as one run that reached the interval and half a run that ended in it. For
    # rewards and costs it counts as one run that ended, with a reward of 1 and the prior mean cost.
    ended, reached = 0.5, 1.0
    earned = squares = ended_weight = 1.0
    spent = s.hoped[position]
    for arm in range(s.reached.shape[0]):
        weight_per_run = 1.0 / (s.reached[arm, position] + PRIOR_RUNS)
        ended += s.ended[arm, position] * weight_per_run
        reached += s.reached[arm, position] * weight_per_run
        # Only runs that ended have a known reward and cost, so only these are counted here.
        weight_per_run = 1.0 / (s.ended[arm, position] + PRIOR_RUNS)
        earned += s.earned[arm, position] * weight_per_run
        squares += s.squares[arm, position] * weight_per_run
        spent += s.spent[arm, position] * weight_per_run
        ended_weight += s.ended[arm, position] * weight_per_run
    mean_reward, mean_square = earned / ended_weight, squares / ended_weight
    return ended / reached, mean_reward, mean_square, spent / ended_weight


def hazard_mean(s: HazardState, strength: float, arm: int, position: int, prior: float) -> float:
    """Return the posterior mean of a hazard."""
    runs = strength + s.reached[arm, position]
    return float((strength * prior + s.ended[arm, position]) / runs)


def reward_mean(s: HazardState, arm: int, position: int, prior: float) -> float:
    """Return the posterior mean of the reward of runs that end in an interval."""
    runs = PRIOR_RUNS + s.ended[arm, position]
    return float((PRIOR_RUNS * prior + s.earned[arm, position]) / runs)


def reward_variance(s: HazardState, arm: int, position: int, mean: float) -> float:
    """Return the variance of the rewards of runs that end in an interval, given their mean."""
    runs = PRIOR_RUNS + s.ended[arm, position]
    variance = (PRIOR_RUNS * s.square[position] + s.squares[arm, position]) / runs - mean * mean
    # After equal rewards the variance would be 0, and the posterior a single point.
    return float(max(variance, LEAST_VARIANCE_SHARE * mean * (1.0 - mean)))


def cost_mean(s: HazardState, arm: int, position: int, prior: float) -> float:
    """Return the posterior mean of the cost of runs that end in an interval."""
    runs = PRIOR_RUNS + s.ended[arm, position]
    return float((PRIOR_RUNS * prior + s.spent[arm, position]) / runs)
