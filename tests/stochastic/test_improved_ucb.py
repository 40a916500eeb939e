import math

import pytest

from keyhole.stochastic import ImprovedUCB
from keyhole.stochastic.policies.improved_ucb import last_phase
from tests.stochastic.cases import drive

pytestmark = pytest.mark.interpreted


def test_the_phases_are_those_computed_by_hand():
    horizon = 10_000
    lengths = [math.ceil(2 * math.log(horizon * 4.0**-m) / 4.0**-m) for m in range(3)]
    assert lengths == [19, 63, 207]
    learner = ImprovedUCB().learner(arms=2, horizon=horizon)
    asked = drive(learner, lambda arm, n: 0.5, 2 * 207)
    expected = []
    for before, after in ((0, 19), (19, 63), (63, 207)):
        expected += [0] * (after - before) + [1] * (after - before)
    assert asked == expected
    assert learner.state["phase"][0] == 3


def test_an_arm_that_falls_behind_is_given_up_and_never_pulled_again():
    learner = ImprovedUCB().learner(arms=3, horizon=2000)
    asked = drive(learner, lambda arm, n: float(arm == 2), 2000)
    last = max(i for i, arm in enumerate(asked) if arm != 2)
    assert last < 300
    assert "arm 0" in repr(learner)
    assert repr(learner).count("given up") == 2


@pytest.mark.parametrize("horizon", [3, 10, 11, 44, 1000, 10**6, 2**40])
def test_the_last_phase_is_the_last_whose_logarithm_is_at_least_one(horizon):
    phase = last_phase(horizon)
    assert horizon * 4.0**-phase >= math.e > horizon * 4.0 ** -(phase + 1)


def test_after_the_last_phase_those_left_are_pulled_in_turn():
    learner = ImprovedUCB().learner(arms=3, horizon=2)
    assert drive(learner, lambda arm, n: 1.0, 2) == [0, 1]
