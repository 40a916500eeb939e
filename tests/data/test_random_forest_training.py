import runpy
from pathlib import Path

import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import ForestTrainer, forests_problem, load_forest_runs, read_measured_runs_csv
from keyhole.data.random_forest_training import CONFIGURATIONS, draw_task, train_and_score
from keyhole.resource import RCUCB, Power


def test_training_is_real_and_repeatable():
    few = CONFIGURATIONS[0]
    found = [train_and_score((few, 2)), train_and_score((few, 2)), train_and_score((few, 4))]
    assert found[0] == found[1] != found[2]
    assert all(0.2 < reward < 0.8 for reward in found)


def test_tasks_differ_in_size_and_in_splits():
    tasks = [draw_task(seed, 2930) for seed in range(200)]
    sizes = [len(one[0][0]) + len(one[0][1]) for one in tasks]
    assert min(sizes) >= 150
    assert max(sizes) <= 450
    # Uniform: the standard error of the mean is 301 / sqrt(12 * 200) = 6.1.
    assert abs(np.mean(sizes) - 300) < 31
    # One in five: the standard error of the share is sqrt(.2 * .8 / 200) = .028.
    assert abs(np.mean([len(one) == 10 for one in tasks]) - 0.2) < 0.14
    for learnt, judged in tasks[0]:
        assert len(judged) == round(0.3 * sizes[0])
        assert not set(learnt) & set(judged)


@pytest.mark.slow  # the example of `ForestTrainer` runs one that is done; processes: tests/runner
@pytest.mark.interpreted
def test_runs_are_ended_at_their_limit_and_learnt_from():
    learner = RCUCB().learner(
        arms=len(CONFIGURATIONS),
        limits=[1e-4, 60.0],
        cost=Power(slope=0.01),
        penalty=Power(slope=0.02),
    )
    with ForestTrainer(seed=4) as runs:
        arm, limit = learner.ask()
        done = runs.run(arm, limit)
        assert done is not None
        assert 0.2 < done[0] < 0.8
        assert 0 < done[1] < 60
        learner.tell(*done)
        assert runs.run(arm, 1e-4) is None


@pytest.mark.slow
def test_the_measured_table_is_replayed():
    runs = load_forest_runs()
    assert runs.arms == tuple(map(str, CONFIGURATIONS))
    assert {len(rewards) for rewards in runs.rewards} == {40}
    low, high = runs.quartiles()
    problem = forests_problem(limits=5)
    assert problem.limits[-1] == 1
    assert problem.limits[0] == pytest.approx(low / high, abs=1e-9)
    assert np.diff(problem.limits) == pytest.approx(np.diff(problem.limits)[0])
    curves = simulate(problem, {"it": RCUCB()}, horizon=500, replications=4)
    again = simulate(forests_problem(limits=5), {"it": RCUCB()}, horizon=500, replications=4)
    assert np.array_equal(curves.values("it", "regret"), again.values("it", "regret"))


def test_there_is_a_limit_to_learn():
    problem = forests_problem()
    best = problem.gains.argmax(axis=1)
    inside = (best > 0) & (best < 10)
    assert inside.mean() > 0.6  # of the arms
    ends = problem.gains[inside][:, [0, -1]].max(axis=1)
    assert (problem.gains[inside].max(axis=1) - ends > 1e-3).all()
    # One pair is best; its limit ends one run in six, and whoever takes the largest loses a tenth.
    assert (problem.gaps == 0).sum() == 1
    arm, limit = problem.best_pair
    assert problem.limits[0] < limit < 0.5
    assert 0.1 < problem.censoring[arm, best[arm]] < 0.3
    assert problem.gaps[:, -1].min() > 0.1
    # Times overlap: a limit is seldom always or never exceeded.
    assert np.mean((problem.censoring > 0.02) & (problem.censoring < 0.98)) > 0.6


def test_gains_are_one_more_than_the_paper_s():
    # Written out from equation (2), with the paper's reward: minus the error, 0 for an ended run.
    runs, problem = load_forest_runs(), forests_problem()
    _, unit = runs.quartiles()
    for arm, gains in enumerate(problem.gains):
        used = runs.consumptions[arm] / unit
        for limit, gain in zip(problem.limits, gains, strict=True):
            done = used <= limit
            error = 1 - runs.rewards[arm]
            worth = np.where(done, -error - used / 10, -(1 + limit))
            assert gain - 1 == pytest.approx(worth.mean(), abs=1e-9)


@pytest.mark.slow
def test_runs_can_be_measured_anew(tmp_path):
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "measure_forests.py"))
    tool["main"](["--runs", "1", "--seed", "1", "--out", str(tmp_path)])
    found = read_measured_runs_csv(tmp_path / "forests.csv")
    assert found.arms == load_forest_runs().arms
    assert all(used.min() > 0 for used in found.consumptions)
    # The second task of the shipped ones; scikit-learn's forests may differ in other versions.
    shipped = np.array([rewards[1] for rewards in load_forest_runs().rewards])
    assert np.abs(np.concatenate(found.rewards) - shipped).max() < 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: forests_problem(limits=1), r"limits must lie in \[2, 1000\], got 1"),
        (
            lambda: forests_problem(limits=2**63),
            r"limits must lie in \[2, 1000\], got 9223372036854775808",
        ),
        (lambda: ForestTrainer(seed=-1), "seed must be at least 0, got -1"),
        (lambda: ForestTrainer().run(36, 1.0), r"arm must lie in \[0, 36\), got 36"),
        (lambda: ForestTrainer().run(0, 0), "limit must be above 0, got 0"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
