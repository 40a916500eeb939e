"""Tests that run for every policy of the setting: engine, learner and reference agree."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.thresholding import (
    APGAI,
    APT,
    LSA,
    UCBE,
    KnownGaps,
    OptKG,
    PooledKG,
    Problem,
    RoundRobin,
)
from tests.lengths import short_or_long
from tests.reference.thresholding import play
from tests.thresholding.cases import (
    SETUP_1,
    bernoulli,
    drive,
    learner_of,
    reference_of,
)

pytestmark = pytest.mark.interpreted

POLICIES = (
    LSA(),
    LSA(alpha=0.05),
    APGAI(),
    APT(),
    APT(epsilon=0.05),
    UCBE(b=-1),
    UCBE(b=4),
    OptKG(),
    OptKG(a=0.5, b=0.5),
    OptKG(a=3, b=0.7),
    PooledKG(),
    PooledKG(strength=20),
    RoundRobin(),
    KnownGaps(),
)
# The first of each class, in `make test`: a learner is compared with the reference for all.
BY_CLASS = [
    pytest.param(
        policy,
        id=repr(policy),
        marks=[pytest.mark.slow] if any(isinstance(p, type(policy)) for p in POLICIES[:i]) else [],
    )
    for i, policy in enumerate(POLICIES)
]
PROBLEMS = {
    "set-up 1": Problem(SETUP_1, 0.5),
    "one arm": Problem([0.4], 0.5),
    "two arms": Problem([0.1, 0.35], 0.3),
    "a decimal threshold": Problem([0.0, 0.3, 0.5, 0.6, 1.0], 0.55),
    "an arm close to the threshold": Problem([0.9, 0.75001, 0.2], 0.75),
    "thirty arms": Problem(np.linspace(0.03, 0.91, 30), 0.5),
}
HORIZON = 150
CHECKPOINTS = (30, 83, HORIZON)
REPLICATIONS = short_or_long(1, 3)
SEED = 11


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_the_learner_takes_the_decisions_of_the_reference(policy, problem):
    for replication in range(REPLICATIONS):
        reward = bernoulli(problem.means, SEED, replication)
        slow = reference_of(policy, problem, HORIZON)
        asked, labels = play(slow, reward, problem.arms, HORIZON)
        learner = learner_of(policy, problem, HORIZON)
        assert drive(learner, reward, HORIZON) == asked
        assert learner.recommend().tolist() == labels


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("policy", BY_CLASS)
def test_the_engine_measures_what_the_reference_does(policy, problem):
    curves = simulate(
        problem,
        {"it": policy},
        horizon=HORIZON,
        replications=REPLICATIONS,
        checkpoints=CHECKPOINTS,
        seed=SEED,
    )
    wrong = np.zeros((len(CHECKPOINTS), REPLICATIONS))
    for c, budget in enumerate(CHECKPOINTS):
        slow = reference_of(policy, problem, budget)
        for replication in range(REPLICATIONS):
            reward = bernoulli(problem.means, SEED, replication)
            _, labels = play(slow, reward, problem.arms, budget)
            wrong[c, replication] = np.sum(labels != problem.labels)
    assert np.array_equal(curves.values("it", "aggregate_regret"), wrong)
    assert np.array_equal(curves.values("it", "simple_regret"), wrong > 0)


@st.composite
def policies(draw):
    size = st.floats(0.01, 5)
    return draw(
        st.one_of(
            st.builds(LSA, alpha=size),
            st.builds(APT, epsilon=st.floats(0, 0.5)),
            st.builds(UCBE, b=st.floats(-3, 3)),
            st.builds(OptKG, a=size, b=size),
            st.just(RoundRobin()),
            st.just(KnownGaps()),
        )
    )


@given(
    policy=policies(),
    means=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    threshold=st.integers(1, 99).map(lambda percent: percent / 100),
    rounds=st.integers(1, 60),
    seed=st.integers(0, 2**63 - 1),
)
@settings(max_examples=short_or_long(25, 60), deadline=None)
def test_they_agree_on_any_problem(policy, means, threshold, rounds, seed):
    problem = Problem(means, threshold)
    if problem.gaps.min() < 1e-9 and isinstance(policy, UCBE):
        return
    rounds = max(rounds, len(means))
    reward = bernoulli(problem.means, seed, 0)
    asked, labels = play(reference_of(policy, problem, rounds), reward, problem.arms, rounds)
    learner = learner_of(policy, problem, rounds)
    assert drive(learner, reward, rounds) == asked
    assert learner.recommend().tolist() == labels


@pytest.mark.parametrize("policy", [LSA(), APT(), UCBE()], ids=repr)
def test_index_policies_pull_every_arm_once_first(policy):
    problem = Problem(SETUP_1, 0.5)
    learner = learner_of(policy, problem, 100)
    assert drive(learner, bernoulli(problem.means, 0, 0), 10) == list(range(10))


@pytest.mark.parametrize("policy", [LSA(), LSA(alpha=0.3), APT(0.1), UCBE(-1), OptKG()], ids=repr)
def test_mirrored_arms_tie_exactly(policy):
    reward = bernoulli([0.37], 3, 0)
    learner = policy.learner(arms=2, threshold=0.5, horizon=400, hardness=100.0)
    asked = drive(learner, lambda arm, n: abs(arm - reward(0, n)), 400)
    ahead = np.cumsum([1 if arm == 0 else -1 for arm in asked])
    ties = [t for t in range(399) if ahead[t] == 0]
    assert len(ties) > 20
    assert all(asked[t + 1] == 0 for t in ties)


@pytest.mark.parametrize("policy", [LSA(), APT(), OptKG(), RoundRobin(), KnownGaps()], ids=repr)
def test_all_arms_can_be_on_the_threshold(policy):
    curves = simulate(Problem([0.5, 0.5], 0.5), {"it": policy}, horizon=50, replications=8)
    assert np.isfinite(curves.values("it", "aggregate_regret")).all()


@pytest.mark.parametrize(
    "policy", [LSA(), APT(), OptKG(), RoundRobin(), KnownGaps(), UCBE()], ids=repr
)
def test_a_budget_below_the_number_of_arms_is_refused(policy):
    problem = Problem(SETUP_1, 0.5)
    message = "must be at least the number of arms, 10; got 9"
    with pytest.raises(ValueError, match=message):
        simulate(problem, [policy], horizon=9, replications=1)
    with pytest.raises(ValueError, match=message):
        simulate(problem, [policy], horizon=100, replications=1, checkpoints=[9, 100])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: APT(epsilon=-0.01), "epsilon must be at least 0, got -0.01"),
        (lambda: APT(epsilon=math.nan), "epsilon must be at least 0, got nan"),
        (lambda: UCBE(b=math.inf), "b must be a finite number, got inf"),
        (lambda: UCBE(b="4"), "b must be a number, got '4'"),
        (lambda: OptKG(a=0), r"a must lie in \[1e-06, 1e\+06\], got 0"),
        (lambda: OptKG(b=-1), r"b must lie in \[1e-06, 1e\+06\], got -1"),
        (lambda: OptKG(b=math.nan), "b must lie in .*, got nan"),
        (
            lambda: APT.from_parameters({"epsilom": 0.1}),
            r"parameter of APT must be one of epsilon; got 'epsilom' \(did you mean 'epsilon'\?\)",
        ),
        (lambda: RoundRobin.from_parameters({"a": 1}), "RoundRobin has no parameters, got 'a'"),
        (
            lambda: UCBE().learner(arms=2, threshold=0.5, horizon=10),
            r"hardness \(sum of 1 / gap\*\*2 over the arms\) must be given",
        ),
        (
            lambda: UCBE().learner(arms=5, threshold=0.5, horizon=4, hardness=3.0),
            "horizon must be at least the number of arms, 5; got 4",
        ),
        (
            lambda: KnownGaps().learner(arms=2, threshold=0.5),
            r"gaps \(true gaps to the threshold\) must be given",
        ),
        (
            lambda: KnownGaps().learner(arms=2, threshold=0.5, gaps=[0.1]),
            "gaps must have 2 entries, got 1",
        ),
        (
            lambda: KnownGaps().learner(arms=1, threshold=0.5, gaps=[1.5]),
            r"gaps\[0\] must lie in \[0, 1\], got 1.5",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
