"""Policies with adaptive grids of limits."""

import math
from functools import cache

import numpy as np
import pytest

from keyhole import simulate
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.resource import RCUCB, AnytimeZoomingRCUCB, Power, Problem, StoOO, ZoomingRCUCB
from tests.lengths import short_or_long
from tests.reference import resource as reference
from tests.resource.cases import drive, learner_of, reconstructed_problem, runs_of

pytestmark = pytest.mark.interpreted

POLICY = ZoomingRCUCB(alpha=0.1, refine=3, lipschitz=4)


@cache
def after(policy, rounds, seed=0, instance="NegCorr"):
    problem = reconstructed_problem(instance, arms=3, continuous=True)
    learner = learner_of(policy, problem, rounds)
    asked = drive(learner, runs_of(problem, seed, 0), rounds)
    grids = [
        {name: learner.state[name][arm, :n] for name in ("points", "levels", "told", "net", "over")}
        for arm, n in enumerate(learner.state["sizes"])
    ]
    return problem, learner, asked, grids


def test_grids_rise_reach_the_largest_limit_and_have_widths_of_their_levels():
    _, learner, _, grids = after(POLICY, 600)
    assert max(len(grid["points"]) for grid in grids) > 20
    for grid in grids:
        points = grid["points"]
        assert points[-1] == 1.0
        widths = np.diff(points, prepend=0.0)
        assert widths == pytest.approx(3.0 ** -grid["levels"], rel=1e-9)
    assert learner.state["sizes"].max() <= learner.state["points"].shape[1]


def test_new_points_know_what_earlier_rounds_tell_about_them():
    problem, _, asked, grids = after(POLICY, 600)
    run, pulls = runs_of(problem, 0, 0), {}
    told = {}
    for arm, limit in asked:
        reward, used = run(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        told.setdefault(arm, []).append((limit, reward, used))
    for arm, grid in enumerate(grids):
        for k, point in enumerate(grid["points"]):
            seen = [(r, c) for limit, r, c in told[arm] if limit >= point]
            assert grid["told"][k] == len(seen)
            assert grid["over"][k] == sum(c > point for _, c in seen)
            assert grid["net"][k] == pytest.approx(sum(r - c / 10 for r, c in seen if c <= point))


def test_intervals_are_cut_exactly_when_their_bias_reaches_the_confidence_length():
    _, learner, _, grids = after(POLICY, 600)
    facts = learner.facts
    log = math.log(facts["horizon"] ** 2 / POLICY.delta)
    arm = int(np.argmax([len(grid["points"]) for grid in grids]))
    grid = grids[arm]
    penalty = Power(slope=0.1, factor=0.2, power=4)
    length = (1 + penalty(grid["points"])) * np.sqrt(POLICY.alpha * log / (2 * grid["told"]))
    bias = POLICY.lipschitz * np.diff(grid["points"], prepend=0.0)
    # Only points that are new, from the arm's last round, may be due for another cut.
    assert (bias < 3 * length).all()
    assert (bias >= length / 3).any()


def test_estimates_stay_within_their_confidence_lengths_as_lemma_8_says():
    # In at least 1 - delta of all runs, at the points of all grids; a tenth of the length is short.
    policy, rounds = ZoomingRCUCB(delta=0.2, lipschitz=4, gain_range=2), 300
    runs = short_or_long(5, 10)
    penalty, log = Power(slope=0.1, factor=0.2, power=4), math.log(rounds**2 / policy.delta)
    kept, kept_in_a_tenth = 0, 0
    for run in range(runs):
        problem, _, _, grids = after(policy, rounds, seed=run, instance="Indep")
        furthest = 0.0
        for arm, grid in enumerate(grids):
            points, told = grid["points"], grid["told"]
            estimate = (grid["net"] - penalty(points) * grid["over"]) / told
            truth = Problem(
                [problem.distributions[arm]], points, problem.cost, problem.penalty
            ).gains[0]
            length = (policy.gain_range + penalty(points)) * np.sqrt(0.5 * log / told)
            furthest = max(furthest, np.max(np.abs(estimate - truth) / length))
        kept += furthest <= 1.0
        kept_in_a_tenth += furthest <= 0.1
    assert kept >= (1 - policy.delta) * runs
    assert kept_in_a_tenth < (1 - policy.delta) * runs


@pytest.mark.parametrize(
    "policy",
    [
        ZoomingRCUCB(alpha=1e-4, lipschitz=0.05, gain_range=0.01),
        ZoomingRCUCB(alpha=1e-3, lipschitz=1, refine=64),
        ZoomingRCUCB(alpha=1e-5, delta=0.999, lipschitz=2, refine=2),
        AnytimeZoomingRCUCB(alpha=1e-3, lipschitz=1, refine=64),
        AnytimeZoomingRCUCB(alpha=1e-5, delta=0.999999, lipschitz=2, refine=3),
        StoOO(alpha=1e-3, lipschitz=1, refine=64),
    ],
    ids=repr,
)
def test_grids_never_outgrow_their_memory(policy):
    problem, rounds = (
        reconstructed_problem("Indep", arms=1, continuous=True),
        short_or_long(40, 300),
    )
    with bounds_checked():
        learner = learner_of(policy, problem, rounds)
    drive(learner, runs_of(problem, 1, 0), rounds)
    assert 1 < learner.state["sizes"][0] <= learner.state["points"].shape[1]


def test_one_round_is_enough_of_a_horizon():
    problem = reconstructed_problem("Indep", arms=2, continuous=True)
    curves = simulate(problem, {"it": POLICY}, horizon=1, replications=8)
    assert np.isfinite(curves.values("it", "simple_regret")).all()


@pytest.mark.slow
@pytest.mark.compiled
def test_it_comes_close_to_the_best_of_all_limits():
    problem = reconstructed_problem("Indep", continuous=True)
    curves = simulate(
        problem, {"it": ZoomingRCUCB()}, horizon=30_000, replications=16, checkpoints=[500, 30_000]
    )
    early, late = curves.mean("it", "simple_regret")
    assert late < 0.001 < early


@pytest.mark.parametrize(
    ("rounds", "replications"),
    [(1500, 1), pytest.param(30_000, 16, marks=[pytest.mark.compiled, pytest.mark.slow])],
)
def test_it_is_as_good_as_a_fine_list_that_it_need_not_be_given(rounds, replications):
    problem = reconstructed_problem("Indep", continuous=True)
    policies = {"zooming": ZoomingRCUCB(alpha=0.05, lipschitz=0.3), "list": RCUCB(alpha=0.5)}
    curves = simulate(problem, policies, horizon=rounds, replications=replications, seed=2)
    regret = {label: curves.mean(label, "regret")[-1] for label in policies}
    assert regret["zooming"] < 1.5 * regret["list"]


def test_without_a_horizon_decisions_do_not_depend_on_how_much_memory_there_is():
    problem = reconstructed_problem("Indep", arms=2, continuous=True)
    policy, run = AnytimeZoomingRCUCB(alpha=0.05, lipschitz=4), runs_of(problem, 2, 0)
    asked = [drive(learner_of(policy, problem, memory), run, 200) for memory in (200, 900)]
    assert asked[0] == asked[1]


def test_a_period_is_zooming_with_as_many_rounds():
    problem = reconstructed_problem("Indep", arms=2, continuous=True)
    run = runs_of(problem, 3, 0)
    learner = learner_of(AnytimeZoomingRCUCB(alpha=0.05, lipschitz=4), problem, 255)
    asked = drive(learner, run, 255)
    before = [sum(arm == a for a, _ in asked[:127]) for arm in range(2)]
    inner = learner_of(ZoomingRCUCB(alpha=0.05, lipschitz=4), problem, 128)
    again = drive(inner, lambda arm, n: run(arm, before[arm] + n), 128)
    assert again == asked[127:]
    assert learner.recommend() == inner.recommend()


@pytest.mark.slow
@pytest.mark.compiled
def test_what_a_run_tells_of_smaller_limits_is_worth_something():
    # The same rule, the same constants; only StoOO learns of nothing but the pair it plays.
    problem = reconstructed_problem("Indep", continuous=True)
    policies = {
        "zooming": ZoomingRCUCB(alpha=0.02, lipschitz=2),
        "stoo": StoOO(alpha=0.02, lipschitz=2),
    }
    curves = simulate(problem, policies, horizon=5000, replications=8, seed=4)
    gap = curves.paired("zooming", "stoo", metric="regret", round=5000)
    assert gap.high < 0


def test_several_intervals_cut_at_once_stay_what_they_are():
    problem = reconstructed_problem("PosCorr", arms=2, continuous=True)
    policy, rounds = StoOO(alpha=0.02, lipschitz=2), 300
    known = {
        "limits": problem.limits.tolist(),
        "cost": cache(lambda x: float(problem.cost(x))),
        "penalty": cache(lambda x: float(problem.penalty(x))),
    }
    slow = reference.StoOO(arms=2, **known, **policy.parameters(), horizon=10_000)
    run = runs_of(problem, 0, 0)
    asked, _ = reference.play(slow, run, rounds)
    assert drive(learner_of(policy, problem, 10_000), run, rounds) == asked
