import itertools
import math

import pytest

from keyhole.semibandit import Problem
from keyhole.semibandit.bounds import (
    csbdt_search_bound,
    csbst_bound,
    csbst_search_bound,
    lower_bound,
)

INSTANCE_1 = Problem([round(0.25 + i / 50, 2) for i in range(20)], 0.7, resource=7)


def divergence(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def test_the_lower_bound_sums_over_the_arms_to_be_funded():
    # Ten of the 20 arms can be funded; the tenth smallest mean loss is 0.43.
    means = [0.45 + i / 50 for i in range(10)]
    expected = sum((m - 0.43) / divergence(0.43, m) for m in means) * math.log(10_000)
    assert lower_bound(INSTANCE_1, 10_000) == pytest.approx(expected, rel=1e-9)


def test_the_lower_bound_does_not_depend_on_the_order_of_the_arms():
    means = [0.9, 0.3, 0.6, 0.5]
    found = {
        round(lower_bound(Problem(list(order), 0.5, resource=1), 100), 9)
        for order in itertools.permutations(means)
    }
    assert len(found) == 1


def test_arms_as_good_as_the_last_left_alone_add_nothing():
    assert lower_bound(Problem([0.5, 0.5, 0.5], 0.5, resource=1), 100) == 0
    assert lower_bound(Problem([0.5, 0.6], 0.5, resource=1), 100) == 0  # all can be funded
    assert lower_bound(Problem([0.5, 0.6], 0.9, resource=0.5), 100) == 0  # none can
    assert lower_bound(Problem([0.5, 1.0], 0.9, resource=1), 100) == 0  # one loss less is enough


def test_the_bounds_on_the_search_are_those_of_the_paper():
    candidates = 14
    trial = math.log(math.log2(candidates) / 0.1) / (7 * math.log(1 / 0.9))
    expected = trial * math.log2(candidates)
    assert csbst_search_bound(20, 7, 0.1, 0.1) == pytest.approx(expected)
    assert csbst_search_bound(3, 5.0, 0.1, 0.1) == 0
    steps = math.log2(1001)
    expected = 5 * math.log(5 * steps / 0.1) / (2 * math.log(1 / 0.9)) * steps
    assert csbdt_search_bound(5, 2, 0.1, 0.1, 1e-3) == pytest.approx(expected)
    assert csbdt_search_bound(5, 0.5, 0.1, 0.1, 1e-3) == pytest.approx(2 * expected)


def test_theorem_1_adds_search_and_lower_bound():
    problem, horizon = INSTANCE_1, 10_000
    worst = problem.mean_losses.sum() - sum(round(0.25 + i / 50, 2) for i in range(10))
    search = math.log(horizon * math.log2(14)) / (7 * math.log(1 / 0.8)) * math.log2(14)
    expected = search * worst + lower_bound(problem, horizon)
    assert csbst_bound(problem, horizon, 0.2) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lower_bound(Problem([0.5, 0.6], [0.5, 0.6], 1), 10), "one threshold for all"),
        (lambda: lower_bound(INSTANCE_1, 0), "horizon must be at least 1"),
        (lambda: csbst_search_bound(20, 7, 0, 0.1), "delta must lie in"),
        (lambda: csbst_search_bound(20, 0, 0.1, 0.1), "resource must be above 0"),
        (lambda: csbst_bound(INSTANCE_1, 100, 1.0), "epsilon must lie in"),
        (lambda: csbst_bound(INSTANCE_1, 10_000, 0.3), "at most the smallest mean loss, 0.25, for"),
        (lambda: csbst_bound(INSTANCE_1, 10, 0.1), "horizon must be above 18.* Theorem 1, got 10"),
        (
            lambda: csbst_bound(Problem([0.5, 0.5, 0.7], 0.5, 1), 1000, 0.1),
            "unique optimal set .* but a funded and an unfunded arm .* mean loss, 0.5",
        ),
        (lambda: csbdt_search_bound(5, 2, 0.1, 0.1, 0), "gamma must lie in"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
