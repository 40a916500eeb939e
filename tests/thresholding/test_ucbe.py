import numpy as np
import pytest

from keyhole import simulate
from keyhole.thresholding import UCBE, Problem
from tests.thresholding.cases import SETUP_1, bernoulli, drive, learner_of

pytestmark = pytest.mark.interpreted

PROBLEM = Problem(SETUP_1, 0.5)


@pytest.mark.compiled
def test_one_run_a_budget_equals_separate_simulations():
    budgets = (10, 60, 200, 317)
    arguments = {"replications": 50, "seed": 9}
    together = simulate(PROBLEM, [UCBE(0)], horizon=400, checkpoints=budgets, **arguments)
    for c, budget in enumerate(budgets):
        alone = simulate(PROBLEM, [UCBE(0)], horizon=budget, **arguments)
        for metric in together.metrics:
            found = together.values("UCBE(b=0)", metric)[c]
            assert np.array_equal(found, alone.values("UCBE(b=0)", metric)[0])


@pytest.mark.compiled
def test_the_horizon_beyond_the_last_budget_changes_nothing():
    arguments = {"checkpoints": [50, 100], "replications": 20}
    short = simulate(PROBLEM, [UCBE(1)], horizon=100, **arguments)
    long = simulate(PROBLEM, [UCBE(1)], horizon=5000, **arguments)
    for metric in short.metrics:
        assert np.array_equal(short.values("UCBE(b=1)", metric), long.values("UCBE(b=1)", metric))


def test_the_index_is_that_of_the_paper():
    learner = UCBE(b=2).learner(arms=1, threshold=0.25, horizon=101, hardness=50.0)
    drive(learner, lambda arm, n: [1.0, 0.0, 0.5][n], 3)
    a = 4**2 * (101 - 1) / 50.0
    assert learner.state["index"][0] == pytest.approx(0.25 - np.sqrt(a / 3))


def test_much_exploration_means_pulling_equally_often():
    learner = learner_of(UCBE(b=40), PROBLEM, 100)
    asked = drive(learner, bernoulli(SETUP_1, 0, 0), 100)
    assert np.bincount(asked).tolist() == [10] * 10


def test_a_problem_without_gap_has_no_hardness():
    with pytest.raises(
        ValueError, match=r"means must differ from the threshold .* got means\[0\] = 0.5"
    ):
        simulate(Problem([0.5, 0.7], 0.5), [UCBE()], horizon=10, replications=1)
