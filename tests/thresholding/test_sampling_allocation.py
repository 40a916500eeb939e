import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from keyhole.thresholding import sampling_allocation

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
    assert sampling_allocation.optimal_value(gaps, budget, c=c) == pytest.approx(
        plain_optimum(gaps, budget, c), rel=1e-5
    )


@settings(max_examples=100, deadline=None)
@given(gaps=gap_lists, budget=st.floats(0, 1e4), c=st.floats(0.1, 10))
def test_the_optimal_allocation_meets_its_conditions(gaps, budget, c):
    x, gaps = sampling_allocation.optimal_allocation(gaps, budget, c=c), np.array(gaps)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(budget, rel=1e-9, abs=1e-9)
    # Karush-Kuhn-Tucker: what one more pull gains is the same for all arms that get any, and no
    # larger for those that get none.
    gain = np.log(c * gaps**2) - c * x * gaps**2
    used = x > 1e-9 * max(budget, 1)
    if used.any():
        assert gain[used] == pytest.approx(gain[used].max(), abs=1e-6)
        assert (gain <= gain[used].max() + 1e-6).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    gaps=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=3),
    budget=st.integers(0, 14),
    c=st.floats(0.1, 10),
)
def test_the_integer_program_finds_the_best_whole_pulls(gaps, budget, c):
    best = min(
        sum(math.exp(-c * n * g * g) for n, g in zip(pulls, gaps, strict=True))
        for pulls in itertools.product(range(budget + 1), repeat=len(gaps))
        if sum(pulls) == budget
    )
    assert sampling_allocation.integer_allocation(gaps, budget, c=c).sum() == budget
    assert sampling_allocation.integer_value(gaps, budget, c=c) == pytest.approx(best, rel=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(gaps=gap_lists, budget=st.integers(0, 100_000), c=st.floats(0.1, 10))
def test_the_relaxation_encloses_the_integer_program(gaps, budget, c):
    # Equation (8). Values below 1e-9 of an arm are rounding.
    whole = sampling_allocation.integer_value(gaps, budget, c=c)
    assert sampling_allocation.integer_allocation(gaps, budget, c=c).sum() == budget
    assert sampling_allocation.optimal_value(gaps, budget, c=c) <= whole * (1 + 1e-9)
    if budget >= len(gaps):
        assert whole <= sampling_allocation.optimal_value(gaps, budget - len(gaps), c=c) * (
            1 + 1e-9
        )


def test_no_pull_of_the_integer_program_is_better_spent_elsewhere():
    gaps = np.array([0.013, 0.2, 0.2, 0.41, 0.87])
    pulls = sampling_allocation.integer_allocation(gaps, 50_000)
    gain = np.log(-np.expm1(-2 * gaps**2)) - 2 * gaps**2 * pulls
    last = gain + 2 * gaps**2
    assert gain.max() <= last[pulls > 0].min() + 1e-9


def test_an_arm_on_the_threshold_gets_nothing():
    assert sampling_allocation.optimal_allocation([0.0, 0.3], 50) == pytest.approx([0.0, 50.0])
    assert sampling_allocation.optimal_value([0.0, 0.3], 50) == pytest.approx(
        1 + math.exp(-2 * 50 * 0.09)
    )


@pytest.mark.parametrize("gap", [0.01, 0.1, 0.35, 0.478])
@pytest.mark.parametrize("budget", [1, 10, 200])
def test_the_best_test_of_one_arm_stays_above_the_lower_bound(gap, budget):
    # The mean of both errors of the likelihood ratio test of 1/2 - gap against 1/2 + gap.
    wrong = stats.binom.cdf((budget - 1) // 2, budget, 0.5 + gap)
    if budget % 2 == 0:
        wrong += stats.binom.pmf(budget // 2, budget, 0.5 + gap) / 2
    bound = sampling_allocation.regret_lower_bound([gap], budget)
    assert bound == pytest.approx(math.exp(-16 * budget * gap**2) / 4)
    assert wrong >= bound


def test_arms_that_are_far_from_the_threshold_add_nothing_to_the_lower_bound():
    assert sampling_allocation.regret_lower_bound(
        [0.1, 0.48], 50
    ) == sampling_allocation.regret_lower_bound([0.1], 50)
    assert sampling_allocation.regret_lower_bound([0.48, 0.5], 50) == 0.0


def test_the_lower_bound_takes_in_arms_as_long_as_its_divergence_is_one():
    assert math.atanh(2 * 0.478) <= 4 * 0.478
    assert math.atanh(2 * 0.479) > 4 * 0.479
    assert sampling_allocation.regret_lower_bound([0.478], 1) > 0.0
    assert sampling_allocation.regret_lower_bound([0.479], 1) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sampling_allocation.optimal_allocation([], 10),
            "gaps must have at least one entry",
        ),
        (
            lambda: sampling_allocation.optimal_allocation([0.0], 10),
            "gaps must have an entry above 0",
        ),
        (
            lambda: sampling_allocation.optimal_allocation([1.5], 10),
            r"gaps\[0\] must lie in \[0, 1\], got 1.5",
        ),
        (
            lambda: sampling_allocation.optimal_allocation([0.1], -1),
            "budget must be at least 0, got -1",
        ),
        (
            lambda: sampling_allocation.integer_allocation([0.1], -1),
            "budget must be at least 0, got -1",
        ),
        (lambda: sampling_allocation.integer_value([0.0], 1), "gaps must have an entry above 0"),
        (
            lambda: sampling_allocation.regret_lower_bound([0.0], 1),
            r"gaps\[0\] must lie in \(0, 0.5\], got 0.0",
        ),
        (lambda: sampling_allocation.optimal_value([0.1], 1, c=0), "c must be above 0, got 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
