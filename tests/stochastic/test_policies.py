"""Tests that run for every policy of the setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.drivers.learner_step import PENDING
from keyhole.stochastic import (
    KLUCB,
    MOSS,
    UCB1,
    HoeffdingUCB,
    ImprovedUCB,
    Problem,
    ThompsonSampling,
)
from tests.lengths import short_or_long
from tests.reference.stochastic import play
from tests.stochastic.cases import FIVE, POLICIES, bernoulli, drive, fractional, reference_of

pytestmark = pytest.mark.interpreted


def learner_of(policy, arms, rounds, seed=0):
    return policy.learner(arms=arms, horizon=rounds, seed=seed)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("rewards", [bernoulli, fractional])
@settings(max_examples=short_or_long(3, 10), deadline=None)
@given(
    means=st.lists(st.floats(0, 1, width=16), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_the_reference_takes_the_same_decisions(policy, rewards, means, seed):
    rounds = short_or_long(150, 250)
    slow = play(reference_of(policy, len(means), rounds, seed), rewards(means, seed, 0), rounds)
    learner = learner_of(policy, len(means), rounds, seed)
    assert drive(learner, rewards(means, seed, 0), rounds) == slow


@pytest.mark.parametrize("policy", [UCB1(), KLUCB(), MOSS(), ImprovedUCB()], ids=repr)
@pytest.mark.parametrize("rounds", [500, pytest.param(4000, marks=pytest.mark.slow)])
def test_a_long_run_agrees_with_the_reference(policy, rounds):
    slow = play(reference_of(policy, 5, rounds, 0), bernoulli(FIVE, 5, 0), rounds)
    learner = learner_of(policy, 5, rounds)
    assert drive(learner, bernoulli(FIVE, 5, 0), rounds) == slow


def test_regret_is_what_the_pulls_cost():
    curves = simulate(Problem(FIVE), [UCB1()], horizon=300, replications=6, seed=4, details=True)
    learner = UCB1().learner(arms=5)
    asked = drive(learner, bernoulli(FIVE, 4, 2), 300)
    assert curves.values("UCB1()", "regret")[-1, 2] == pytest.approx(
        sum(0.6 - FIVE[a] for a in asked)
    )
    assert curves.values("UCB1()", "best_share")[-1, 2] == asked.count(1) / 300
    pulls = [curves.values("UCB1()", f"pulls[{arm}]")[-1, 2] for arm in range(5)]
    assert pulls == [asked.count(arm) for arm in range(5)]
    reward = bernoulli(FIVE, 4, 2)
    earned = sum(reward(arm, n) for arm in range(5) for n in range(asked.count(arm)))
    assert curves.values("UCB1()", "cumulative_reward")[-1, 2] == earned
    assert curves.values("UCB1()", "observations")[-1, 2] == 300
    means = [
        np.mean([bernoulli(FIVE, 4, 2)(arm, n) for n in range(asked.count(arm))])
        for arm in range(5)
    ]
    assert learner.recommend() == int(np.argmax(means))


@pytest.mark.slow
@pytest.mark.compiled
def test_policies_rank_as_theory_has_it():
    curves = simulate(
        Problem(FIVE), [KLUCB(), UCB1(), HoeffdingUCB(), ThompsonSampling()],
        horizon=5000, replications=400, seed=1,
    )  # fmt: skip
    for better, worse in (
        ("KLUCB(c=0)", "HoeffdingUCB()"),
        ("HoeffdingUCB()", "UCB1()"),
        ("ThompsonSampling(a=1, b=1)", "HoeffdingUCB()"),
    ):
        gap = curves.paired(better, worse, metric="regret", round=5000)
        assert gap.difference < 0
        assert gap.p_value < 1e-6


@pytest.mark.parametrize("policy", [UCB1(), KLUCB(), MOSS(), HoeffdingUCB()], ids=repr)
def test_an_arm_whose_first_pull_expired_is_pulled_again(policy):
    learner = policy.learner(arms=3, horizon=60 if "horizon" in policy.needs else None)
    for t in range(60):
        learner.ask()
        if t == 2:
            learner._header[PENDING] = 0  # forgotten
            continue
        learner.tell(0.1)
    assert learner.state["pulls"].min() > 10


def test_the_horizon_must_be_given_to_those_that_need_it():
    for policy in (MOSS(), HoeffdingUCB(), ImprovedUCB()):
        with pytest.raises(TypeError, match="horizon"):
            policy.learner(arms=2)


@pytest.mark.parametrize("reward", [1.5, -0.1, float("nan"), "1", None])
def test_a_reward_that_is_not_allowed_changes_nothing(reward):
    learner = UCB1().learner(arms=2)
    arm = learner.ask()
    with pytest.raises((TypeError, ValueError), match="reward must"):
        learner.tell(reward)
    assert learner.ask() == arm
    assert learner.state["pulls"].sum() == 0
    learner.tell(1.0)
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell(1.0)
