"""Tests of the policy `ARSUCB` beside those that run for every policy of the setting."""

import pytest

from keyhole.delayed import ARSUCB, Geometric, Problem
from tests.delayed.cases import make_sampler, reference_of
from tests.reference.delayed import play

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("policy", [ARSUCB(0.5), ARSUCB(2.0, 2.0), ARSUCB(4.0, 0.5)], ids=repr)
def test_the_reference_takes_the_same_decisions_for_any_parameters(policy):
    problem = Problem([0.3, 0.7, 0.5], Geometric(15.0))
    asked, arrivals = play(reference_of(policy, 3, 1500), make_sampler(problem, 5, 0), 3, 1500)
    learner = policy.learner(arms=3, feedback="anonymous")
    for t, arm in enumerate(asked):
        assert learner.ask() == arm, t
        learner.tell(sum(reward for _, reward in arrivals[t]))


def test_the_kth_round_of_an_arm_has_a_power_of_k_pulls():
    learner, lengths = ARSUCB(growth=2.0).learner(arms=1, feedback="anonymous"), []
    for _ in range(1 + 4 + 9 + 16):
        learner.ask()
        learner.tell(1.0)
        if learner.state["left"][0] == 0:
            lengths.append(learner.state["pulls"][0])
    assert lengths == [1, 5, 14, 30]


@pytest.mark.parametrize(("alpha", "growth"), [(0, 1), (4, -1), (4, 9)])
def test_parameters_that_cannot_be_are_refused(alpha, growth):
    with pytest.raises(ValueError, match=r"(alpha|growth) must"):
        ARSUCB(alpha, growth)
