import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from keyhole import simulate
from keyhole.thresholding import LSA, KnownGaps, Problem, bounds

gap_lists = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8)


def plain_optimum(gaps, budget, c):
    """Minimise the sum of exp(-c x gap^2) numerically."""
    gaps = np.array(gaps)
    found = minimize(
        lambda x: np.exp(-c * x * gaps**2).sum(),
        np.full(len(gaps), budget / len(gaps)),
        jac=lambda x: -c * gaps**2 * np.exp(-c * x * gaps**2),
        bounds=[(0, None)] * len(gaps),
        constraints={"type": "eq", "fun": lambda x: x.sum() - budget, "jac": lambda x: x * 0 + 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return found.fun


@pytest.mark.parametrize("c", [0.1, 2.0, 2.7])
@pytest.mark.parametrize("budget", [1, 30, 300])
@pytest.mark.parametrize("gaps", [[0.1, 0.4], [0.3, 0.3, 0.3], [0.05, 0.2, 0.5, 0.9]])
def test_the_optimal_value_is_what_a_numerical_solver_finds(gaps, budget, c):
    assert bounds.optimal_value(gaps, budget, c=c) == pytest.approx(
        plain_optimum(gaps, budget, c), rel=1e-5
    )


@settings(max_examples=100, deadline=None)
@given(gaps=gap_lists, budget=st.floats(0, 1e4), c=st.floats(0.1, 10))
def test_the_optimal_allocation_meets_its_conditions(gaps, budget, c):
    x, gaps = bounds.optimal_allocation(gaps, budget, c=c), np.array(gaps)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(budget, rel=1e-9, abs=1e-9)
    # Karush-Kuhn-Tucker: what one more pull gains is the same for all arms that get any, and no
    # larger for those that get none.
    gain = np.log(c * gaps**2) - c * x * gaps**2
    used = x > 1e-9 * max(budget, 1)
    if used.any():
        assert gain[used] == pytest.approx(gain[used].max(), abs=1e-6)
        assert (gain <= gain[used].max() + 1e-6).all()


def test_whole_pulls_do_not_do_better():
    gaps, budget = [0.2, 0.35, 0.5], 14
    best = min(
        sum(math.exp(-2 * n * g * g) for n, g in zip(pulls, gaps, strict=True))
        for pulls in itertools.product(range(budget + 1), repeat=3)
        if sum(pulls) == budget
    )
    # Equation (8): the relaxation is below, and above with K fewer pulls.
    assert bounds.optimal_value(gaps, budget) <= best
    assert best <= bounds.optimal_value(gaps, budget - 3)


def test_an_arm_on_the_threshold_gets_nothing():
    assert bounds.optimal_allocation([0.0, 0.3], 50) == pytest.approx([0.0, 50.0])
    assert bounds.optimal_value([0.0, 0.3], 50) == pytest.approx(1 + math.exp(-2 * 50 * 0.09))


def plain_level(gaps, budget, alpha):
    """Solve equation (10) by bisection."""
    share = budget / max(40 / alpha + 1, 40)

    def total(x):
        return sum(
            math.exp(2 * x)
            if g == 0 or x <= math.log(1 / g)
            else (x - math.log(1 / g) + alpha) / (alpha * g * g)
            for g in gaps
        )

    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < share else (low, middle)
    return low


@settings(max_examples=60, deadline=None)
@given(gaps=gap_lists, spare=st.floats(1, 1e4), alpha=st.floats(0.05, 8))
def test_the_exploration_level_solves_equation_10(gaps, spare, alpha):
    per_arm = max(40 / alpha + 1, 40)
    budget = per_arm * len(gaps) * spare
    level = bounds.exploration_level(gaps, budget, alpha=alpha)
    assert level == pytest.approx(plain_level(gaps, budget, alpha), abs=1e-8)
    shares = bounds.exploration_budget(gaps, budget, alpha=alpha)
    assert shares.sum() == pytest.approx(budget / per_arm, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 1.35, 8.0])
def test_lambda_solves_the_programme_that_the_paper_says(alpha):
    # "the optimal solution to P_{2 alpha}({max{Delta_i, exp(-Lambda)}}, T / max{40/alpha + 1, 40})"
    gaps = np.array([0.01, 0.1, 0.25, 0.4])
    budget = 100 * 4 * max(40 / alpha + 1, 40)
    level = bounds.exploration_level(gaps, budget, alpha=alpha)
    raised = np.maximum(gaps, math.exp(-level))
    shares = bounds.exploration_budget(gaps, budget, alpha=alpha)
    expected = bounds.optimal_allocation(raised, shares.sum(), c=2 * alpha)
    assert shares == pytest.approx(expected, rel=1e-8)


def test_the_regret_of_lsa_stays_below_theorem_1():
    problem = Problem(means=[0.1, 0.3, 0.8], threshold=0.5)
    curves = simulate(
        problem, {"LSA": LSA()}, horizon=4000, replications=200, checkpoints=[200, 1000, 4000]
    )
    for c, budget in enumerate(curves.checkpoints):
        assert curves.mean("LSA", "aggregate_regret")[c] <= bounds.lsa_regret_bound(
            problem.gaps, budget
        )


def test_the_oracle_stays_below_twice_its_optimal_value():
    problem = Problem(means=[0.2, 0.35, 0.6, 0.8], threshold=0.5)
    curves = simulate(
        problem, {"O'": KnownGaps()}, horizon=400, replications=4000, checkpoints=[50, 100, 400]
    )
    mean, error = (
        curves.mean("O'", "aggregate_regret"),
        curves.std_error("O'", "aggregate_regret"),
    )
    for c, budget in enumerate(curves.checkpoints):
        # O' spends whole pulls: equation (8) allows for K of them.
        bound = 2 * bounds.optimal_value(problem.gaps, budget - problem.arms)
        assert mean[c] <= bound + 5 * error[c]


@pytest.mark.parametrize("mean", [0.5, 0.1])
def test_lemma_19_covers_as_often_as_it_says(mean):
    horizon, replications, b = 300, 4000, 1.0
    a = 9.0
    draws = np.random.default_rng(0).random((replications, horizon)) < mean
    t = np.arange(1, horizon + 1)
    means = draws.cumsum(axis=1) / t
    radius = bounds.confidence_sequence(t, horizon, a=a, b=b)
    missed = (np.abs(means - mean) > radius).any(axis=1).mean()
    promised = bounds.confidence_failure(a, b)
    assert 0 < promised < 0.2
    assert missed <= promised + 5 * math.sqrt(promised * (1 - promised) / replications)
    # An eighth of the radius is missed much more often: the test can fail.
    assert (np.abs(means - mean) > radius / 8).any(axis=1).mean() > promised


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.optimal_allocation([], 10), "gaps must have at least one entry"),
        (lambda: bounds.optimal_allocation([0.0], 10), "gaps must have an entry above 0"),
        (lambda: bounds.optimal_allocation([1.5], 10), r"gaps\[0\] must lie in \[0, 1\], got 1.5"),
        (lambda: bounds.optimal_allocation([0.1], -1), "budget must be at least 0, got -1"),
        (lambda: bounds.optimal_value([0.1], 1, c=0), "c must be above 0, got 0"),
        (
            lambda: bounds.lsa_regret_bound([0.1], 1e6, alpha=9),
            r"alpha must lie in \(0, 8\], got 9",
        ),
        (lambda: bounds.lsa_regret_bound([0.1] * 3, 119), "budget must be at least 120, got 119"),
        (lambda: bounds.confidence_sequence([0], 5, a=1, b=1), r"rounds\[0\] must lie in \[1, 5\]"),
        (lambda: bounds.confidence_failure(math.nan, 1), "a must be above 0, got nan"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
