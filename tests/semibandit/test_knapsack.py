"""The knapsack against every set, and against HiGHS; run with -s for a report."""

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from keyhole.semibandit import knapsack as search
from keyhole.semibandit.knapsack import (
    choose_items,
    list_fitting_items,
    make_scratch,
    solve_knapsack,
    sort_at_better_price,
)
from tests.reference.semibandit import knapsack as best_by_enumeration


def report(line):
    """Show a line of the report."""
    sys.stdout.write(f"{line}\n")


def best_of_all(values, weights, capacity):
    """Return the largest value of any set that fits."""
    bits = np.array(list(itertools.product((0, 1), repeat=len(values))))
    fits = bits @ weights <= capacity + 1e-10
    return float((bits @ values)[fits].max())


def highs(values, weights, capacity):
    """Return the value that HiGHS finds."""
    found = milp(
        -values,
        constraints=LinearConstraint(weights[None], ub=capacity),
        integrality=np.ones(len(values)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    return -float(found.fun)


def solve_depth_first(values, weights, capacity):
    """Return the set found where there is no memory for a list of sets."""
    items, space = len(values), capacity + search.SLACK
    s, chosen = make_scratch(items), np.zeros(items, np.int64)
    count, total = list_fitting_items(s.order, values, weights, items, space)
    if total <= space:
        chosen[s.order[:count]] = 1
    else:
        price, gain_end = sort_at_better_price(s, values, weights, count, space)
        search.search_depth_first(s, values, weights, count, space, price, gain_end, chosen)
    return chosen.astype(bool)


def few_grid(rng):
    n = rng.integers(1, 11)
    values, weights = rng.integers(0, 5, n) / 10, rng.integers(0, 5, n) / 10
    return values, weights, rng.integers(0, 15) / 10


def few_real(rng):
    n = rng.integers(1, 11)
    return rng.random(n), rng.random(n), rng.random() * n * 0.6


def subset_sum(rng):
    weights = rng.random(rng.integers(1, 11))
    return weights, weights, rng.random() * weights.sum()


def touching(rng):
    """Sums of decimals that are the capacity but for rounding."""
    weights = rng.integers(1, 10, rng.integers(2, 11)) / 10
    some = rng.random(len(weights)) < 0.5
    return rng.random(len(weights)), weights, float(weights[some].sum())


def nearly_equal(rng):
    n = rng.integers(2, 11)
    return 0.5 + 1e-3 * rng.random(n), 0.7 + 1e-3 * rng.random(n), 0.7 * n * rng.random()


def nothing_fits(rng):
    n = rng.integers(1, 11)
    return rng.random(n), 0.5 + rng.random(n), 0.4


def everything_fits(rng):
    n = rng.integers(1, 11)
    weights = rng.random(n)
    return rng.random(n), weights, float(weights.sum())


SMALL = [few_grid, few_real, subset_sum, touching, nearly_equal, nothing_fits, everything_fits]


@pytest.mark.parametrize("instances", [60, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.__name__)
def test_no_set_is_better(kind, instances):
    rng, wrong = np.random.default_rng(7), []
    for _ in range(instances):
        values, weights, capacity = kind(rng)
        best = best_of_all(values, weights, capacity)
        for solve in (solve_knapsack, solve_depth_first):
            chosen = solve(values, weights, capacity)
            assert weights[chosen].sum() <= capacity + 1e-9
            if abs(values[chosen].sum() - best) > 1e-9:
                wrong.append((values, weights, capacity))
    report(f"knapsack, {kind.__name__}: {2 * instances} solved, {len(wrong)} disagreements")
    assert wrong == []


def many_real(rng, n):
    weights = 0.2 + 0.7 * rng.random(n)
    return rng.random(n), weights, 0.4 * weights.sum()


def many_posterior(rng, n):
    means, weights = np.linspace(0.25, 0.65, n), 0.2 + 0.7 * rng.random(n)
    return rng.beta(200 * means, 200 * (1 - means)), weights, 0.4 * weights.sum()


def many_of_few_weights(rng, n):
    means, weights = np.linspace(0.25, 0.65, n), rng.choice([0.7, 0.6, 0.35, 0.5], n)
    return rng.beta(200 * means, 200 * (1 - means)), weights, 0.2 * n + 0.33


def many_of_one_weight(rng, n):
    return rng.random(n), np.full(n, 0.7), 0.28 * n + 0.33


def many_correlated(rng, n):
    weights = 0.2 + 0.7 * rng.random(n)
    return np.abs(weights + 0.05 * rng.standard_normal(n)), weights, 0.4 * weights.sum()


MANY = [many_real, many_posterior, many_of_few_weights, many_of_one_weight, many_correlated]


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", MANY, ids=lambda kind: kind.__name__)
def test_highs_finds_none_that_is_better(kind, times):
    rng, wrong, solved = np.random.default_rng(8), [], 0
    # HiGHS takes up to a second for 200 items.
    for n, instances in ((20, 6), (60, 2), *([(200, 1)] if times > 1 else [])):
        for _ in range(times * instances):
            values, weights, capacity = kind(rng, n)
            chosen = solve_knapsack(values, weights, capacity)
            assert weights[chosen].sum() <= capacity + 1e-9
            # HiGHS allows for 1e-6 in its constraint, and may find a little more.
            if not -1e-9 <= highs(values, weights, capacity) - values[chosen].sum() <= 1e-5:
                wrong.append((values, weights, capacity))
            solved += 1
    report(f"{kind.__name__}: {solved} solved by HiGHS too, {len(wrong)} disagreements")
    assert wrong == []


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(1, 7))
def test_of_equally_good_sets_the_one_that_is_promised_is_chosen(data, n):
    grid = st.sampled_from([0.0, 0.25, 0.5, 0.75])
    values = data.draw(st.lists(grid, min_size=n, max_size=n))
    weights = data.draw(st.lists(grid, min_size=n, max_size=n))
    capacity = data.draw(st.sampled_from([0.0, 0.5, 1.0, 1.25, 2.0]))
    chosen = solve_knapsack(values, weights, capacity)
    if sum(weights[i] for i in range(n) if values[i] > 0 and weights[i] <= capacity) > capacity:
        assert set(np.flatnonzero(chosen)) == best_by_enumeration(values, weights, capacity)


def test_sums_that_touch_the_capacity_fit():
    assert solve_knapsack([1, 1, 1], [0.1, 0.2, 0.3], 0.6).all()
    assert 0.1 + 0.2 + 0.3 > 0.6
    assert solve_knapsack([1] * 49, [1 / 49] * 49, 1).all()
    assert solve_knapsack([1, 1], [0.5, 0.5 + 1e-9], 1).sum() == 1
    assert math.fsum([0.7, 0.7, 0.6]) == 2
    assert solve_knapsack([0.9, 0.8, 0.7], [0.7, 0.7, 0.6], 2).all()


def test_what_adds_nothing_is_left():
    assert solve_knapsack([0, 0.5, 0], [0, 0.5, 0.1], 1).tolist() == [False, True, False]
    assert solve_knapsack([0.5, 0.5], [0, 2], 0).tolist() == [True, False]


def test_the_log_is_cleared_of_what_is_no_longer_needed(monkeypatch):
    rng = np.random.default_rng(2)
    values, weights, capacity = many_correlated(rng, 60)
    expected = solve_knapsack(values, weights, capacity)
    struck, compact = [], search.compact_log

    def counted(s, side, sets, logged):
        left = compact(s, side, sets, logged)
        struck.append((logged, left))
        return left

    s = make_scratch(60)
    monkeypatch.setattr(search, "compact_log", counted)
    monkeypatch.setattr(search, "LOG", 3)
    monkeypatch.setattr("keyhole.semibandit.knapsack.LOG", 3)
    chosen = np.zeros(60, np.int64)
    choose_items(s, values, weights, 60, capacity, chosen)
    assert struck
    assert all(left < logged for logged, left in struck)
    assert np.array_equal(chosen.astype(bool), expected)


@pytest.mark.parametrize(
    ("values", "weights", "capacity", "message"),
    [
        ([], [], 1, "values must have at least one entry"),
        ([1, -1], [1, 1], 1, r"values\[1\] must be at least 0, got -1"),
        ([1, 1], [1, -1], 1, r"weights\[1\] must be at least 0, got -1"),
        ([1, 1], [1], 1, "weights must have 2 entries, got 1"),
        ([1], [1], -1, "capacity must be at least 0, got -1"),
        ([math.nan], [1], 1, r"values\[0\] must"),
    ],
)
def test_bad_input_is_named(values, weights, capacity, message):
    with pytest.raises((TypeError, ValueError), match=message):
        solve_knapsack(values, weights, capacity)
