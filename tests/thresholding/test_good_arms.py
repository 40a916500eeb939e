"""Policies that settle arms one by one, each as soon as its bounds allow."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.thresholding import LUCBG, FamilywiseStopping, HDoC, Problem
from tests.lengths import short_or_long
from tests.reference import thresholding as reference
from tests.thresholding.cases import bernoulli

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("kind", [HDoC, LUCBG])
@settings(max_examples=short_or_long(5, 20), deadline=None)
@given(
    means=st.lists(st.floats(0, 1, width=16), min_size=1, max_size=5),
    delta=st.sampled_from([0.05, 0.5]),
    seed=st.integers(0, 2**32),
)
def test_it_takes_the_decisions_of_the_reference(kind, means, delta, seed):
    slow = getattr(reference, kind.__name__)(0.5, len(means), delta)
    learner = kind(delta=delta).learner(arms=len(means), threshold=0.5)
    reward = bernoulli(means, seed, 0)
    for t in range(1, 201):
        if learner.is_done:
            break
        arm = learner.ask()
        assert arm == slow.choose(t)
        value = reward(arm, len(slow.rewards[arm]))
        learner.tell(value)
        slow.learn(arm, value)
        expected = dict.fromkeys(slow.good, "above") | dict.fromkeys(slow.bad, "below")
        assert learner.settled == expected
    assert learner.is_done == (not slow.active())


def test_good_arms_are_named_before_bad_ones_are_given_up():
    learner = HDoC().learner(arms=4, threshold=0.5)
    named = []
    while not learner.is_done:
        arm = learner.ask()
        learner.tell(0.95 if arm in (1, 3) else 0.05)
        named += [arm for arm in learner.settled if arm not in named]
    assert named[:2] == [1, 3]
    assert learner.settled == {0: "below", 1: "above", 2: "below", 3: "above"}
    assert learner.recommend().tolist() == [False, True, False, True]


@pytest.mark.parametrize("kind", [HDoC, LUCBG])
def test_errors_are_rare_with_all_means_just_below(kind):
    policy = kind(delta=0.3)
    problem = Problem([0.5 - 1e-9] * 3, 0.5)
    curves = simulate(problem, [policy], horizon=200, replications=60)
    error = curves.mean(curves.labels[0], policy.guarantee().metric)[-1]
    assert error <= 0.3 + 5 * math.sqrt(0.3 * 0.7 / 60)


def test_hoeffdings_bounds_take_more_pulls_than_bets():
    problem = Problem([0.1, 0.9], 0.5)
    policies = {"HDoC": HDoC(), "bets": FamilywiseStopping(tolerance=0)}
    curves = simulate(problem, policies, horizon=1000, replications=10)
    assert curves.mean("bets", "rounds_used")[-1] < 0.7 * curves.mean("HDoC", "rounds_used")[-1]


@pytest.mark.parametrize("kind", [HDoC, LUCBG])
def test_bad_input_is_named(kind):
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 0"):
        kind(delta=0)
