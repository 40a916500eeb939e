"""Policies with hazards: observations, variances, and too little exploration."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from keyhole import simulate
from keyhole.resource import (
    HazardThompson,
    HazardUCB,
    Power,
    Problem,
    Replay,
    SuccessiveHalving,
    portfolio_problem,
)
from keyhole.resource.hazard_rate_policy import variance_divisor
from keyhole.study import Study
from tests.reference import resource as reference

pytestmark = pytest.mark.interpreted

MADE = {"arms": 1, "limits": [0.2, 0.4, 0.6], "cost": Power(), "penalty": Power(constant=1)}
# Two solvers and one limit: six runs of ten are done, and four.
TWO = Problem(
    [Replay(np.ones(10), np.where(np.arange(10) < done, 0.5, 9.0)) for done in (6, 4)],
    [1.0],
    Power(),
    Power(),
)


def told(policy, runs):
    """Return the state after runs of arm 0 up to the last limit; None: it exceeded that."""
    learner = policy.learner(**MADE)
    for consumption in runs:
        learner.ask()
        learner._decision["arm"][...] = 0
        learner._decision["limit"][...] = 0.6
        if consumption is None:
            learner.tell(exceeded=True)
        else:
            learner.tell(reward=0.5, consumption=consumption)
    return SimpleNamespace(**learner.state)


def test_a_run_tells_of_every_interval_that_it_reached():
    state = told(HazardUCB(), [0.1, 0.3, None])
    assert state.reached[0].tolist() == [3, 2, 1]
    assert state.ended[0].tolist() == [1, 1, 0]
    assert state.earned[0].tolist() == [0.5, 0.5, 0]
    assert state.squares[0].tolist() == [0.25, 0.25, 0]


def test_an_open_run_has_survived_what_it_has_outlived():
    state = told(HazardUCB(), [0.1, 0.3])
    known = SimpleNamespace(limits=np.array(MADE["limits"]), limit_count=3, strength=8.0)
    HazardUCB.impute(known, state, 0.25, 0, 0.6)
    assert state.reached[0, 0] == 3
    assert state.ended[0, 0] == 1  # it did not end there
    assert state.reached[0, 1] == 2  # it is there now
    assert 1 < state.ended[0, 1] < 2  # and may end there
    assert state.reached[0, 2] == pytest.approx(2 - state.ended[0, 1])  # or go on


def test_a_solver_that_is_added_begins_with_what_is_known_and_one_that_is_retired_is_forgotten(
    tmp_path,
):
    facts = {"limits": [0.2, 0.4, 0.6], "cost": Power(slope=1), "penalty": Power(slope=1)}
    with Study.create(tmp_path / "s.db", "s", HazardUCB(), ["slow", "quick"], **facts) as study:
        for _ in range(30):
            asked = study.ask()
            if asked.arm == "quick":
                study.tell(asked.id, reward=1, consumption=0.1)
            else:
                study.tell(asked.id, exceeded=True)
        study.add_arm("new")
        assert study.recommend()[0] == "quick"
        study.retire("quick")
        for _ in range(60):
            asked = study.ask()
            study.tell(asked.id, exceeded=True)
        assert study.recommend()[1] == 0.2  # of those that are left no run ever ended


def test_the_variance_is_greenwoods_where_all_that_counts_is_to_end():
    penalty = 0.7
    policy = reference.HazardUCB(
        arms=1, limits=[1, 2, 3], cost=lambda x: 0.0, penalty=lambda x: penalty, strength=2, alpha=1
    )
    runs = [(0, 3, 1, 0.5), (0, 3, 1, 1.5), (0, 3, 1, 2.5), (0, 2, None, None), (0, 3, None, None)]
    seen = policy.seen(runs)
    hazards, _ = policy.on_average(seen, 0)
    for j in range(3):
        alive = math.prod(1 - h for h in hazards[: j + 1])
        parts = [hazards[k] / ((seen[0, k][0] + policy.s) * (1 - hazards[k])) for k in range(j + 1)]
        greenwood = alive**2 * sum(parts)
        assert policy.variance(seen, 0, j) == pytest.approx((1 + penalty) ** 2 * greenwood)


def test_the_focus_falls_to_one():
    found = [variance_divisor(5.0, 10, t) for t in (1, 40_000, 10**9)]
    assert found == pytest.approx([5.0, 3.0, 1.0], abs=1e-3)
    assert variance_divisor(1.0, 10, 12_345) == 1.0


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("policy", "least", "most"),
    [(HazardUCB(alpha=0), 0.08, 1), (HazardUCB(), 0, 0.02), (HazardThompson(), 0, 0.02)],
    ids=repr,
)
def test_without_exploration_the_worse_arm_may_be_kept_for_ever(policy, least, most):
    curves = simulate(TWO, [policy], horizon=5000, replications=200, seed=2)
    share = np.mean(curves.values(policy, "best_arm_share")[-1] < 0.01)
    assert least <= share <= most


@pytest.mark.slow
def test_halving_compares_for_its_share_of_the_rounds():
    problem = portfolio_problem("alike", 8, seed=4)
    curves = simulate(
        problem, {"it": SuccessiveHalving(share=0.3)}, horizon=1000, replications=20, details=True
    )
    pulls = np.array([curves.values("it", f"pulls[{arm}]")[-1] for arm in range(8)])
    assert (1000 - pulls.max(axis=0) <= 300).all()
    assert (pulls.min(axis=0) == 1000 * 0.3 // (3 * 8)).all()


def test_a_portfolio_is_what_it_says():
    lone = portfolio_problem("lone", 9)
    best = lone.gains.max(axis=1)
    assert best.argmax() == 4
    assert np.sort(best)[-2] < 0.1 * best[4]
    alike, scattered = (
        portfolio_problem(kind, 9, seed=1).gains.max(axis=1) for kind in ("alike", "scattered")
    )
    assert alike.std() < scattered.std()
    assert (
        portfolio_problem("alike", 9, seed=2).gains.tolist()
        != portfolio_problem("alike", 9, seed=1).gains.tolist()
    )
    with pytest.raises(
        ValueError, match="kind must be one of scattered, alike, lone; got 'lonely'"
    ):
        portfolio_problem("lonely")
