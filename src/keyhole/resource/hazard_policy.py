"""What policies have in common that learn for how long runs go on, with a prior shared by the arms.

Limits cut the consumption into intervals. A run that has reached an interval ends within it with a
chance that does not depend on its limit, the *hazard*: so a run tells about every interval that it
has reached, whatever came of it (Kaplan and Meier 1958).
"""

import math
from typing import Any, Final

from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter, scratch_array
from keyhole.resource.cost_functions import value_at
from keyhole.resource.limit_lookup import limit_index
from keyhole.resource.setting import Policy

SAY: Final = 2.0
"""From how many runs on an arm has half of its say in the pool; and how many runs the pool is
worth to the rewards and costs of an arm."""
LEAST_SPREAD: Final = 0.01
"""Rewards are never taken to vary less than by this share of the variance of a coin."""
PATIENCE: Final = 4000.0
"""After how many runs for each arm a policy is halfway from its own focus to 1. Measured up to
100,000 runs on scenarios of ASlib: with 1,000 more is lost than won in most, with none at all one
in three is still wrong in the end."""


class HazardPolicy(Policy, abstract=True):
    """Base of the policies that estimate hazards; see `HazardThompson` for the symbols."""

    strength: float = parameter(default=8.0, gt=0, doc="how many runs the shared prior is worth")

    class State:
        """For each interval what was seen of it, arm by arm, and pooled."""

        penalties = float_array("limit_count")
        hoped = float_array("limit_count")  # what runs that end there are taken to cost beforehand
        least_cost = float_array("limit_count")  # of a run that ends there
        most_cost = float_array("limit_count")
        hazard = scratch_array(
            "limit_count"
        )  # chance to end there, pooled over the arms of the moment
        reward = scratch_array("limit_count")  # reward of a run that ends there, pooled
        square = scratch_array("limit_count")  # its square
        cost = scratch_array("limit_count")  # cost of a run that ends there, pooled
        reached = float_array("arms", "limit_count")  # n: runs that reached the interval
        ended = float_array("arms", "limit_count")  # d: those that ended in it
        earned = float_array("arms", "limit_count")  # rewards of these
        squares = float_array("arms", "limit_count")  # squares of the rewards
        spent = float_array("arms", "limit_count")  # costs of these
        plays = int_array("arms", "limit_count")

    def init(p, s: State) -> None:
        """Look up the known functions."""
        before = 0.0
        for place in range(p.limit_count):
            s.penalties[place] = value_at(p.penalty, p.limits[place])
            s.hoped[place] = value_at(p.cost, 0.5 * (before + p.limits[place]))
            s.least_cost[place] = value_at(p.cost, before)
            s.most_cost[place] = value_at(p.cost, p.limits[place])
            before = p.limits[place]

    def update(
        p, s: State, arm: int, limit: float, reward: float, consumption: float, exceeded: int
    ) -> None:
        """Count the run in every interval that it reached."""
        played = limit_index(p.limits, limit)
        s.plays[arm, played] += 1
        last = played
        if exceeded == 0:
            last = limit_index(p.limits, consumption)
            s.ended[arm, last] += 1.0
            s.earned[arm, last] += reward
            s.squares[arm, last] += reward * reward
            s.spent[arm, last] += value_at(p.cost, consumption)
        for place in range(last + 1):
            s.reached[arm, place] += 1.0

    def impute(p, s: State, age: float, arm: int, limit: float) -> None:
        """Know that an open run has not ended before its age; expect the rest."""
        pool_hazards(s)
        strength = strength_at(p.strength, p.limit_count)
        alive = 1.0
        for place in range(limit_index(p.limits, limit) + 1):
            if p.limits[place] <= age:
                s.reached[arm, place] += 1.0
            else:
                ends = alive * hazard_mean(s, strength, arm, place, s.hazard[place])
                earns = reward_mean(s, arm, place, s.reward[place])
                square = earns * earns + reward_variance(s, arm, place, earns)
                costs = cost_mean(s, arm, place, s.cost[place])
                s.reached[arm, place] += alive
                s.ended[arm, place] += ends
                s.earned[arm, place] += ends * earns
                s.squares[arm, place] += ends * square
                s.spent[arm, place] += ends * costs
                alive -= ends

    def recommend(  # type: ignore[override]
        p, s: State, best_arm: IntArray, best_limit: FloatArray
    ) -> None:
        """Name the pair of an arm that was run that is worth the most on average."""
        strength = strength_at(p.strength, p.limit_count)
        best, found, at = 0.0, -1, 0
        for arm in range(p.arms):
            value, place = best_limit_of(s, strength, p.limits, arm)
            if s.reached[arm, 0] > 0.0 and (found < 0 or value > best):
                best, found, at = value, arm, place
        if found < 0:
            found, at = 0, best_limit_of(s, strength, p.limits, 0)[1]
        best_arm[0], best_limit[0] = found, p.limits[at]


def first_untried(s: Any, t: int) -> int:
    """Return the first arm that was never run, in every second round; -1 where there is none.

    A run that is still on counts: it has reached the first interval.
    """
    if t % 2 == 1:
        for arm in range(s.reached.shape[0]):
            if s.reached[arm, 0] == 0.0:
                return arm
    return -1


def best_limit_of(s: Any, strength: float, limits: FloatArray, arm: int) -> tuple[float, int]:
    """Return what an arm's best limit is worth on average, and its place; nothing is changed."""
    gain, alive = 0.0, 1.0
    best, at = -math.inf, 0
    for place in range(len(limits)):
        prior, earns, _, costs = pooled_hazard(s, place)
        hazard = hazard_mean(s, strength, arm, place, prior)
        net = reward_mean(s, arm, place, earns) - cost_mean(s, arm, place, costs)
        gain += alive * hazard * net
        alive *= 1.0 - hazard
        value = gain - s.penalties[place] * alive
        if value > best:
            best, at = value, place
    return best, at


def grid_coarseness(limits: int) -> float:
    """Return by how much limits are few: 1 for one, 0 from ten on."""
    return max(0.0, 1.0 - math.log10(limits))


def strength_at(strength: float, limits: int) -> float:
    """Return how many runs the pool is worth: half as many for one limit as for ten."""
    return strength * (1.0 - 0.5 * grid_coarseness(limits))


def weight_at(focus: float, arms: int, t: int) -> float:
    """Return by how much variances are divided in round t: in the end by 1."""
    runs = t / (PATIENCE * arms)
    return (focus + runs) / (1.0 + runs)


def pool_hazards(s: Any) -> None:
    """Note what all arms together show of every interval: the state, or a copy, is changed."""
    for place in range(s.reached.shape[1]):
        s.hazard[place], s.reward[place], s.square[place], s.cost[place] = pooled_hazard(s, place)


def pooled_hazard(s: Any, place: int) -> tuple[float, float, float, float]:
    """Return an interval's hazard, reward, its square, and cost: of all arms, each with one vote.

    Costs are pooled as the rest: an arm that was never run would else look slow, or quick, for
    where the middle of the interval is.
    """
    ended, reached = 0.5, 1.0
    earned, squares, spent, done = 1.0, 1.0, s.hoped[place], 1.0
    for arm in range(s.reached.shape[0]):
        vote = 1.0 / (s.reached[arm, place] + SAY)
        ended += s.ended[arm, place] * vote
        reached += s.reached[arm, place] * vote
        vote = 1.0 / (s.ended[arm, place] + SAY)
        earned += s.earned[arm, place] * vote
        squares += s.squares[arm, place] * vote
        spent += s.spent[arm, place] * vote
        done += s.ended[arm, place] * vote
    return ended / reached, earned / done, squares / done, spent / done


def hazard_mean(s: Any, strength: float, arm: int, place: int, prior: float) -> float:
    """Return the mean of the posterior of a hazard."""
    known = strength + s.reached[arm, place]
    return float((strength * prior + s.ended[arm, place]) / known)


def reward_mean(s: Any, arm: int, place: int, prior: float) -> float:
    """Return the mean of the posterior of the reward of runs that end in an interval."""
    known = SAY + s.ended[arm, place]
    return float((SAY * prior + s.earned[arm, place]) / known)


def reward_variance(s: Any, arm: int, place: int, mean: float) -> float:
    """Return the variance of the rewards of runs that end in an interval, with this mean."""
    known = SAY + s.ended[arm, place]
    variance = (SAY * s.square[place] + s.squares[arm, place]) / known - mean * mean
    return float(max(variance, LEAST_SPREAD * mean * (1.0 - mean)))


def cost_mean(s: Any, arm: int, place: int, prior: float) -> float:
    """Return the mean of the posterior of the cost of runs that end in an interval."""
    known = SAY + s.ended[arm, place]
    return float((SAY * prior + s.spent[arm, place]) / known)
