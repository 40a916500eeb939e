"""Reward scale: rewards in the user's unit."""

import math

import numpy as np
import pytest

from keyhole.resource import Power, Problem, Replay, RewardRange, Steps

pytestmark = pytest.mark.interpreted

RNG = np.random.default_rng(3)
RUNS = [(RNG.uniform(-20, 80, 50), RNG.random(50)) for _ in range(3)]
LIMITS = [0.3, 0.6, 0.9]


def plain_gain(arm, limit, cost, penalty):
    """Average equation (2) over the runs, in their own unit."""
    rewards, used = RUNS[arm]
    pairs = zip(rewards, used, strict=True)
    worths = [r - cost(c) if c <= limit else -penalty(limit) for r, c in pairs]
    return sum(worths) / len(worths)


@pytest.mark.parametrize(
    ("cost", "penalty"),
    [
        (Power(slope=4), Power(slope=4, factor=30, power=2, constant=25)),
        (lambda x: 3 * math.sqrt(x), lambda x: 25 + x),
        (Steps([0.5], [1, 9]), Steps([0.5], [20, 60])),
    ],
)
def test_gains_are_those_of_the_rewards_own_unit(cost, penalty):
    scale = RewardRange(-20, 80)
    distributions = [Replay([scale.reward(r) for r in rewards], used) for rewards, used in RUNS]
    problem = Problem(distributions, LIMITS, scale.cost(cost), scale.penalty(penalty))
    for arm in range(3):
        for place, limit in enumerate(LIMITS):
            found = scale.gain(problem.gains[arm, place])
            # A function of one's own is joined by straight lines between 4,097 points.
            assert found == pytest.approx(plain_gain(arm, limit, cost, penalty), abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RewardRange(1, 1), "high must be above 1, got 1"),
        (lambda: RewardRange(0, 5).reward(6), r"reward must lie in \[0, 5\], got 6"),
        (
            lambda: RewardRange(-1, 0).penalty(Power(slope=1)),
            "penalty must be at least 1, where the lowest reward is -1, got 0 at 0",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
