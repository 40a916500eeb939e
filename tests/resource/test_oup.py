"""OUP: its limits and bounds are those of its authors' program, and hold as proved."""

import numpy as np
import pytest

from keyhole.resource import OUP, PiecewiseLinear, Power, Problem, Replay
from tests.reference import resource as reference
from tests.resource.cases import drive, learner_of, runs_of

pytestmark = pytest.mark.interpreted

LIMITS = [0.05, 0.1, 0.4, 0.6, 1.0]
COST = Power(slope=0.5)
# The third arm fails in a third of its runs: it is stopped, or ends without an answer.
ARMS = [
    Replay([1.0, 1.0, 1.0], [0.5, 0.6, 0.9]),
    Replay([1.0, 1.0, 1.0], [0.02, 0.3, 0.4]),
    Replay([1.0, 0.0, 1.0], [0.2, 0.3, 2.0]),
]
PROBLEM = Problem(ARMS, LIMITS, COST, COST)
TOP = 0.5  # the penalty of the largest limit


def utilities(problem):
    """Return the mean utility of each arm with the largest limit, from its gain."""
    return (problem.gains[:, -1] + TOP) / (1 + TOP)


def test_it_doubles_limits_and_keeps_an_arm_as_the_reference_does():
    policy = OUP(epsilon=0.25, delta=0.5)
    run = runs_of(PROBLEM, 1, 0)
    slow = reference.OUP(
        arms=3, limits=LIMITS, cost=lambda x: x / 2, penalty=lambda x: x / 2, **policy.parameters()
    )
    asked, best = reference.play(slow, run, 1500)
    learner = learner_of(policy, PROBLEM, None)
    assert drive(learner, run, 1500) == asked
    assert learner.recommend() == best == asked[-1] == (1, 1.0)
    assert learner.state["kept"][0] == 1
    assert {limit for _, limit in asked} == {0.1, 0.4, 1.0}
    assert utilities(PROBLEM)[1] == utilities(PROBLEM).max()


def test_a_limit_that_says_enough_is_not_raised():
    """If runs end early and later ones are worth little, no more is to be learnt from these."""
    steep = PiecewiseLinear([0, 0.08, 1], [0, 0.9, 1])
    quick = Problem([Replay(np.ones(20), np.linspace(0.01, 0.09, 20))], LIMITS, steep, steep)
    learner = learner_of(OUP(epsilon=0), quick, None)
    assert {limit for _, limit in drive(learner, runs_of(quick, 1, 0), 500)} == {0.1}
    assert learner.state["kept"][0] == 0


@pytest.mark.slow
def test_means_lie_within_the_bounds_in_nearly_all_runs():
    """With probability 1 - delta at all times: the bounds keep the tightest values so far."""
    outside = 0
    for replication in range(20):
        learner = learner_of(OUP(epsilon=0, delta=0.1), PROBLEM, None)
        drive(learner, runs_of(PROBLEM, 3, replication), 300)
        below = learner.state["lower"] > utilities(PROBLEM)
        above = learner.state["upper"] < utilities(PROBLEM)
        outside += bool((below | above).any())
    assert outside <= 2


def test_rewards_that_vary_count_with_what_they_are_worth():
    """A run that ends early with a small reward is no better than one that may still end."""
    paid = Problem([Replay([0.1, 0.9], [0.02, 0.03])], LIMITS, COST, COST)
    learner = learner_of(OUP(epsilon=0), paid, None)
    drive(learner, runs_of(paid, 1, 0), 3000)
    assert learner.state["position"][0] == len(LIMITS) - 1
    assert learner.state["lower"][0] < utilities(paid)[0] < learner.state["upper"][0]
    assert learner.state["upper"][0] - learner.state["lower"][0] < 0.15


def test_late_feedback_of_an_earlier_limit_does_not_count():
    learner = learner_of(OUP(), PROBLEM, None)
    assert learner.ask() == (0, 0.1)
    learner.state["position"][0] = 2
    learner.tell(1, 0.05)
    assert learner.state["runs"][0] == 0
    assert learner.state["plays"][0, 1] == 1
