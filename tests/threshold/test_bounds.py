import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.threshold import (
    DKWUCB,
    OPTIM,
    KaplanMeierUCB,
    MonotoneKLUCB,
    Problem,
    bounds,
)
from tests.threshold.cases import FIVE

# Arm 0 is the best at level 1 (gaps .1 and .3), arm 1 at level 2 (gaps .2 and .5).
THREE = [[0.8, 0.5], [0.7, 0.7], [0.5, 0.2]]
ALIKE = [[0.6, 0.3]] * 3


@st.composite
def survivals(draw):
    arms, levels = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    chance = st.integers(0, 20).map(lambda n: n / 20)
    return [
        sorted(draw(st.lists(chance, min_size=levels, max_size=levels)), reverse=True)
        for _ in range(arms)
    ]


def plain_gaps(survival):
    """Return the gaps of each arm, level by level."""
    best = [max(column) for column in zip(*survival, strict=True)]
    return [[b - f for b, f in zip(best, row, strict=True)] for row in survival]


def plain_kl(p, q):
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += math.inf if b <= 0 else a * math.log(a / b)
    return total


def test_theorem_2_takes_each_arms_least_gap_where_it_is_not_the_best():
    # Arm 0: .2 (at level 1 it is the best); arm 1: .1; arm 2: min(.3, .5).
    expected = 8 * math.log(1000) * (1 / 0.2 + 1 / 0.1 + 1 / 0.3)
    assert bounds.dkwucb_bound(THREE, 1000) == pytest.approx(expected)


def test_theorem_3_by_hand():
    # kl(.7, .8) = .7 ln(7/8) + .3 ln(3/2), and so on: the four pairs that are not the best.
    level_1 = 0.1 / (0.7 * math.log(7 / 8) + 0.3 * math.log(3 / 2)) + 0.3 / (
        0.5 * math.log(5 / 8) + 0.5 * math.log(5 / 2)
    )
    level_2 = 0.2 / (0.5 * math.log(5 / 7) + 0.5 * math.log(5 / 3)) + 0.5 / (
        0.2 * math.log(2 / 7) + 0.8 * math.log(8 / 3)
    )
    expected = math.log(500) * (level_1 + level_2)
    assert bounds.adversarial_lower_bound(THREE, 1000) == pytest.approx(expected)


def test_theorem_3_asks_nothing_where_the_best_arm_never_fails():
    assert bounds.adversarial_lower_bound([[1.0, 0.5], [0.9, 0.5]], 1000) == 0.0


def test_theorem_3_at_the_edge_of_the_chances():
    # The worse arm never reaches the level: kl(0, q) = -ln(1 - q).
    found = bounds.adversarial_lower_bound([[0.5], [0.0]], 1000)
    assert found == pytest.approx(math.log(1000) * 0.5 / math.log(2))


def test_theorem_4_is_four_times_theorem_2():
    assert bounds.optim_bound(THREE, 1000) == pytest.approx(4 * bounds.dkwucb_bound(THREE, 1000))


def test_theorem_5_by_hand():
    # The largest gaps of the arms are .2, .1 and .5; the least of all that are not 0 is .1.
    expected = 128 * math.log(2) * math.log(1000) * (0.2 + 0.1 + 0.5) / 0.1**2
    assert bounds.kmucb_bound(THREE, 1000) == pytest.approx(expected)


@settings(max_examples=100)
@given(survivals(), st.integers(16, 10**6))
def test_bounds_are_their_sums_arm_by_arm(survival, horizon):
    gaps = plain_gaps(survival)
    positive = [[g for g in row if g > 0] for row in gaps]
    inverse = sum(1 / min(row) for row in positive if row)
    log = math.log(horizon)
    assert bounds.dkwucb_bound(survival, horizon) == pytest.approx(8 * log * inverse)
    assert bounds.optim_bound(survival, horizon) == pytest.approx(32 * log * inverse)
    lower = 0.0
    for row, distances in zip(survival, gaps, strict=True):
        for f, gap in zip(row, distances, strict=True):
            lower += gap / plain_kl(f, f + gap) if gap > 0 else 0.0
    lower *= math.log(horizon / len(survival[0]))
    assert bounds.adversarial_lower_bound(survival, horizon) == pytest.approx(lower)
    ties = any(sum(row[j] == 0 for row in gaps) > 1 for j in range(len(gaps[0])))
    if any(positive) and not ties:
        worst = sum(max(row) for row in gaps) / min(g for row in positive for g in row) ** 2
        expected = 128 * math.log(len(survival[0])) * log * worst
        assert bounds.kmucb_bound(survival, horizon) == pytest.approx(expected)


def test_arms_that_differ_by_rounding_add_nothing():
    mass = [[0.1, 0.6, 0.3], [0.1, 0.4, 0.5]]
    problem = Problem.from_mass(mass, feedback="censored")
    exact = [[0.9, 0.3], [0.9, 0.5]]
    for bound in (bounds.dkwucb_bound, bounds.adversarial_lower_bound, bounds.optim_bound):
        assert bound(problem, 1000) == pytest.approx(bound(exact, 1000))
        assert bound([[0.1 + 0.2], [0.3]], 1000) == 0.0
    with pytest.raises(ValueError, match="got several at level 1"):
        bounds.kmucb_bound(problem, 1000)


@pytest.mark.parametrize("order", ["iid", "cyclic"])
def test_a_problem_is_accepted_for_its_survival_functions(order):
    problem = Problem(THREE, feedback="censored", order=order)
    for bound in (
        bounds.dkwucb_bound,
        bounds.adversarial_lower_bound,
        bounds.optim_bound,
        bounds.kmucb_bound,
    ):
        assert bound(problem, 500) == bound(THREE, 500) > 0


def test_bounds_of_equal_arms_are_0():
    for bound in (
        bounds.dkwucb_bound,
        bounds.adversarial_lower_bound,
        bounds.optim_bound,
        bounds.kmucb_bound,
    ):
        assert bound(ALIKE, 100) == 0.0


def test_the_lower_bound_is_below_the_upper_ones():
    # Pinsker: KL is at least 2 gap^2, so a level adds at most ln T / (2 gap) an arm.
    lower = bounds.adversarial_lower_bound(FIVE, 10_000)
    assert lower <= len(FIVE[0]) * bounds.dkwucb_bound(FIVE, 10_000) / 16


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "feedback", "order", "bound"),
    [
        (DKWUCB(), "uncensored", "iid", bounds.dkwucb_bound),
        (DKWUCB(), "uncensored", "adversarial", bounds.dkwucb_bound),
        (OPTIM(), "censored", "optimistic", bounds.optim_bound),
    ],
)
def test_policies_stay_below_the_bounds_of_their_theorems(policy, feedback, order, bound):
    problem = Problem(THREE, feedback=feedback, order=order)
    curves = simulate(problem, [policy], horizon=40_000, replications=100, seed=3)
    mean, error = curves.mean(repr(policy), "regret")[-1], curves.std_error(repr(policy), "regret")
    assert 0 < mean + 5 * error[-1] <= bound(problem, 40_000)
    # Pulling at random would not.
    assert 40_000 * problem.gaps.mean() > bound(problem, 40_000)


@pytest.mark.slow
def test_with_rising_thresholds_a_policy_that_forgets_is_above_the_sum_of_theorem_3():
    problem = Problem(THREE, feedback="censored", order="adversarial")
    curves = simulate(problem, [KaplanMeierUCB()], horizon=20_000, replications=100, seed=3)
    mean, error = (
        curves.mean("KaplanMeierUCB()", "regret"),
        curves.std_error("KaplanMeierUCB()", "regret"),
    )
    assert mean[-1] - 5 * error[-1] >= bounds.adversarial_lower_bound(problem, 20_000)


@pytest.mark.slow
def test_theorem_3_is_no_lower_bound_for_survival_functions():
    problem = Problem([[0.9] * 5, [0.5] * 5], feedback="censored", order="adversarial")
    curves = simulate(problem, [MonotoneKLUCB()], horizon=10_000, replications=40, seed=3)
    label = curves.labels[0]
    mean, error = curves.mean(label, "regret")[-1], curves.std_error(label, "regret")[-1]
    # Being below it is not enough: at one horizon five separate KL-UCB have nine tenths of it.
    assert mean + 5 * error < bounds.adversarial_lower_bound(problem, 10_000) / 2
    # One level's share of it is a bound: nothing is known beforehand at the first.
    assert mean > bounds.adversarial_lower_bound(problem, 10_000) / 5 - 5 * error


def test_lemma_4_by_hand():
    assert bounds.estimate_failure([0, 8], 0.5) == pytest.approx([2, 2 * math.exp(-1)])
    assert bounds.estimate_width([8], 2 / math.e) == pytest.approx([0.5])


@given(st.integers(1, 10**6), st.floats(1e-6, 0.999))
def test_the_width_is_the_error_at_which_the_chance_is_delta(support, delta):
    width = bounds.estimate_width([support], delta)[0]
    assert bounds.estimate_failure([support], width)[0] == pytest.approx(delta)


@pytest.mark.parametrize("chance", [0.5, 0.3])
def test_lemma_4_covers_as_often_as_it_says(chance):
    support, delta, replications = 60, 0.2, 20_000
    rng = np.random.default_rng(4)
    estimates = rng.binomial(support, chance, replications) / support
    width = bounds.estimate_width([support], delta)[0]
    missed = (np.abs(estimates - chance) >= width).mean()
    assert missed <= delta + 5 * math.sqrt(delta * (1 - delta) / replications)
    # An eighth of the width is missed more often: the test can fail.
    assert (np.abs(estimates - chance) >= width / 8).mean() > delta + 0.1


def test_lemma_3_covers_all_levels_at_once():
    # The distance between the empirical and the true distribution, from samples drawn here.
    survival, pulls, replications = np.array(FIVE[0]), 50, 20_000
    rng = np.random.default_rng(3)
    samples = rng.random((replications, pulls, 1)) < survival
    off = np.abs(samples.mean(axis=1) - survival).max(axis=1)
    for delta in (0.05, 0.2):
        width = bounds.sample_width([pulls], delta)[0]
        assert bounds.sample_failure([pulls], width)[0] == pytest.approx(delta)
        share, error = (off >= width).mean(), math.sqrt(delta * (1 - delta) / replications)
        assert share <= delta + 5 * error
        # Half the width is missed more often: the test can fail.
        assert (off >= width / 2).mean() > delta + 5 * error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.dkwucb_bound([[0.2, 0.5]], 9), r"survival\[0\] must not rise, got 0.5 at"),
        (lambda: bounds.dkwucb_bound([[1.2]], 9), r"survival\[0\]\[0\] must lie in \[0, 1\]"),
        (lambda: bounds.dkwucb_bound(THREE, 0), "horizon must be at least 1, got 0"),
        (lambda: bounds.adversarial_lower_bound(THREE, 1), "horizon must be at least 2, got 1"),
        (lambda: bounds.optim_bound(THREE, 5), "horizon must be at least 6, got 5"),
        (lambda: bounds.kmucb_bound(THREE, 5), "horizon must be at least 6, got 5"),
        (lambda: bounds.kmucb_bound([[0.5], [0.2]], 9), "levels must be at least 2 for Theorem 5"),
        (
            lambda: bounds.kmucb_bound([[0.5, 0.3], [0.4, 0.3]], 9),
            "survival must have one best arm at every level for Theorem 5, got several at level 2",
        ),
        (
            lambda: bounds.estimate_failure([-1], 0.1),
            r"support\[0\] must be at least 0, got -1",
        ),
        (lambda: bounds.estimate_failure([1], -0.1), "error must be at least 0, got -0.1"),
        (lambda: bounds.estimate_width([0], 0.1), r"support\[0\] must be above 0, got 0"),
        (lambda: bounds.estimate_width([1], 1.0), r"delta must lie in \(0, 1\), got 1.0"),
        (lambda: bounds.sample_failure([-1], 0.1), r"pulls\[0\] must be at least 0, got -1"),
        (lambda: bounds.sample_width([0], 0.1), r"pulls\[0\] must be above 0, got 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
