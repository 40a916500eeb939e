"""Thresholds that arms share, and Propositions 1 to 3."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.draws.streams import POLICY, stream
from keyhole.semibandit import CTS, MPTS, Problem, candidate_thresholds, count_funded_arms
from tests.reference import semibandit as reference
from tests.semibandit.cases import losses_of

pytestmark = pytest.mark.interpreted

unit = st.floats(0.02, 1)


@settings(max_examples=50)
@given(arms=st.integers(1, 30), resource=st.floats(0.1, 40))
def test_candidates_are_as_many_as_the_lemma_says(arms, resource):
    found = candidate_thresholds(arms, resource)
    assert np.all(np.diff(found) > 0)
    assert found[-1] == min(1.0, resource if resource < 1 else 1.0)
    assert len(found) <= max(1, np.ceil(arms - resource + 1))


def test_quotients_that_are_whole_but_for_rounding_are_taken_for_whole():
    assert 0.3 / 0.1 < 3
    assert count_funded_arms(0.1, arms=9, resource=0.3) == 3
    assert count_funded_arms(0.7, arms=20, resource=7) == 10
    assert count_funded_arms(0.7, arms=4, resource=7) == 4


@settings(max_examples=30)
@given(data=st.data(), arms=st.integers(1, 6), resource=st.floats(0.3, 4))
def test_proposition_2_the_optimum_is_a_knapsack(data, arms, resource):
    entries = {"min_size": arms, "max_size": arms}
    means = data.draw(st.lists(st.floats(0, 1), **entries))
    problem = Problem(means, data.draw(st.lists(unit, **entries)), resource)
    least = min(
        sum(m for m, bit in zip(means, bits, strict=True) if not bit)
        for bits in itertools.product((0, 1), repeat=arms)
        if np.dot(bits, problem.thresholds) <= resource + 1e-10
    )
    assert problem.least_loss == pytest.approx(least, abs=1e-9)


def multiple_play_regret(problem, m, horizon, seed, replication):
    """Play MP-TS in the bandit with multiple plays: m arms play, and lose what they lose."""
    policy = reference.MPTS(problem.arms, problem.resource, m)
    rng, means = stream(seed, replication, POLICY), problem.mean_losses
    regret, best = 0.0, np.sort(means)[:m].sum()
    for t in range(1, horizon + 1):
        playing = [arm for arm, given in enumerate(policy.ask(rng, t)) if given == 0]
        assert len(playing) == m
        losses = losses_of(problem, seed, replication, t)
        policy.tell([losses[arm] if arm in playing else 0 for arm in range(problem.arms)], t, rng)
        regret += means[playing].sum() - best
    return regret


def test_proposition_1_one_known_threshold_is_a_bandit_with_multiple_plays():
    problem = Problem([0.9, 0.3, 0.6, 0.5, 0.75, 0.2], 0.45, resource=1.5)
    m = problem.arms - count_funded_arms(0.45, problem.arms, problem.resource)
    assert m == 3
    curves = simulate(problem, {"it": MPTS(m=m)}, horizon=120, replications=1, seed=4)
    expected = [multiple_play_regret(problem, m, 120, 4, 0)]
    assert curves.values("it", "regret")[-1].tolist() == pytest.approx(expected, abs=1e-9)
    assert min(expected) > 0


def semi_bandit_regret(problem, horizon, seed, replication):
    """Play CTS in the combinatorial semi-bandit whose oracle is the knapsack."""
    policy = reference.CTS(problem.arms, problem.resource, problem.thresholds, solve_every=1)
    rng, means = stream(seed, replication, POLICY), problem.mean_losses
    oracle = reference.knapsack(means, problem.thresholds, problem.resource)
    regret, best = 0.0, sum(means[arm] for arm in range(problem.arms) if arm not in oracle)
    for t in range(1, horizon + 1):
        policy.ask(rng, t)
        superarm = [arm for arm in range(problem.arms) if arm not in policy.funded]
        losses = losses_of(problem, seed, replication, t)
        policy.tell([losses[arm] if arm in superarm else 0 for arm in range(problem.arms)], t, rng)
        regret += means[superarm].sum() - best
    return regret


def test_proposition_3_known_thresholds_are_a_combinatorial_semi_bandit():
    problem = Problem([0.9, 0.89, 0.87, 0.58, 0.3], [0.7, 0.7, 0.7, 0.6, 0.35], resource=2)
    curves = simulate(problem, {"it": CTS()}, horizon=120, replications=1, seed=4)
    expected = [semi_bandit_regret(problem, 120, 4, 0)]
    assert curves.values("it", "regret")[-1].tolist() == pytest.approx(expected, abs=1e-9)
    assert min(expected) > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: candidate_thresholds(0, 1), "arms must be at least 1, got 0"),
        (lambda: candidate_thresholds(3, 0), "resource must be above 0, got 0"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
