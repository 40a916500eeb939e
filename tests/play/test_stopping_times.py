"""Simulated stopping times: quantiles with intervals, and tests that are not done."""

import math

import pytest

from keyhole import simulate, stopping_times
from keyhole.stochastic import UCB1, BestArmStopping, Problem
from keyhole.thresholding import PerArmStopping
from keyhole.thresholding import Problem as LabelProblem

pytestmark = pytest.mark.interpreted
EASY = Problem([0.1, 0.9])


def test_they_are_the_rounds_of_a_simulation():
    times = stopping_times(EASY, BestArmStopping(), replications=30, seed=3)
    curves = simulate(EASY, [BestArmStopping()], horizon=200_000, replications=30, seed=3)
    rounds = sorted(curves.values("BestArmStopping", "rounds_used")[-1].tolist())
    assert times.median[0] == rounds[14]
    assert times.quantile_90[0] == rounds[26]
    assert times.median[1] < times.median[0] < times.median[2]
    assert (times.tests, times.not_done) == (30, 0)
    assert times == stopping_times(EASY, BestArmStopping(), replications=30, seed=3)


def test_tests_that_are_not_done_are_counted_and_no_quantile_is_made_of_them():
    times = stopping_times(Problem([0.5, 0.5]), BestArmStopping(), horizon=50, replications=20)
    assert times.not_done >= 18
    assert times.median[0] == times.quantile_90[0] == math.inf
    assert f"{times.not_done} of 20 were not done after 50 decisions" in str(times)
    assert "median of over 50 " in str(times)
    assert "To end sooner, take fewer arms" in str(times)
    assert "To end sooner" not in str(stopping_times(EASY, BestArmStopping(), replications=20))


def test_a_few_tests_leave_the_upper_end_of_the_quantile_open():
    times = stopping_times(EASY, BestArmStopping(), replications=5)
    assert math.isfinite(times.quantile_90[0])
    assert times.quantile_90[2] == math.inf


def test_labels_are_planned_too():
    problem = LabelProblem([0.1, 0.9], threshold=0.5)
    times = stopping_times(problem, PerArmStopping(), replications=10)
    assert times.not_done == 0
    assert 2 <= times.median[0] < 100
    assert times.guarantee == PerArmStopping().guarantee().text


def test_a_policy_that_cannot_stop_is_refused():
    with pytest.raises(ValueError, match=r"policy must be one that can stop.*got UCB1"):
        stopping_times(EASY, UCB1())
