import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.thresholding import LSA, KnownGaps, Problem, bounds, sampling_allocation

gap_lists = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8)


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
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < share else (low, middle)
    return low


@settings(max_examples=25, deadline=None)
@given(gaps=gap_lists, spare=st.floats(1, 1e4), alpha=st.floats(0.05, 8))
def test_the_exploration_level_solves_equation_10(gaps, spare, alpha):
    per_arm = max(40 / alpha + 1, 40)
    budget = per_arm * len(gaps) * spare
    level = bounds.exploration_level(gaps, budget, alpha=alpha)
    assert level == pytest.approx(plain_level(gaps, budget, alpha), abs=1e-8)
    shares = bounds.arm_budgets(gaps, budget, alpha=alpha)
    assert shares.sum() == pytest.approx(budget / per_arm, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.05, 1.35, 8.0])
def test_lambda_solves_the_programme_that_the_paper_says(alpha):
    # "the optimal solution to P_{2 alpha}({max{Delta_i, exp(-Lambda)}}, T / max{40/alpha + 1, 40})"
    gaps = np.array([0.01, 0.1, 0.25, 0.4])
    budget = 100 * 4 * max(40 / alpha + 1, 40)
    level = bounds.exploration_level(gaps, budget, alpha=alpha)
    raised = np.maximum(gaps, math.exp(-level))
    shares = bounds.arm_budgets(gaps, budget, alpha=alpha)
    expected = sampling_allocation.optimal_allocation(raised, shares.sum(), c=2 * alpha)
    assert shares == pytest.approx(expected, rel=1e-8)


def upsilon(alpha):
    """Return the factor of Theorem 1."""
    root = 2 ** (1 / (8 * alpha))
    return 9.3 * root / (root - 1) * math.exp((2.1 * alpha - math.log(alpha) - 0.5) / (4 * alpha))


@pytest.mark.parametrize("alpha", [0.05, 1.35, 8.0])
def test_theorem_1_follows_from_lemmas_3_and_4(alpha):
    gaps = [0.05, 0.1, 0.3, 0.45]
    budget = 50 * 4 * max(40 / alpha + 1, 40)
    level = bounds.exploration_level(gaps, budget, alpha=alpha)
    pulls = bounds.arm_budgets(gaps, budget, alpha=alpha)
    assert max(gaps) > math.exp(-level)
    # E bound(k) where the chance to be k short or more is that of Lemma 3; up to 0.1 alpha, as 0.1.
    ks = 0.1 * alpha + np.linspace(0, alpha, 201)
    values = [bounds.explored_regret_bound(gaps, budget, k, alpha=alpha) for k in ks]
    chances = [bounds.exploration_failure(k, alpha=alpha) for k in ks]
    mean = values[0] + np.sum(np.diff(values) * chances[:-1])
    hard = sum(
        upsilon(alpha) * math.exp(-n * g * g / 10)
        for g, n in zip(gaps, pulls, strict=True)
        if g <= math.exp(-level)
    )
    assert mean + hard <= bounds.lsa_regret_bound(gaps, budget, alpha=alpha)
    assert bounds.lsa_regret_bound(gaps, budget, alpha=alpha) == pytest.approx(
        upsilon(alpha) * sum(math.exp(-n * g * g / 10) for g, n in zip(gaps, pulls, strict=True))
    )


def lowest_index(arms, means, rounds, alpha, rng, choose):
    """Return the highest level that the indices of all arms have exceeded together."""
    pulls, totals, best = [0] * arms, [0.0] * arms, -math.inf
    for t in range(rounds):
        arm = t if t < arms else choose(pulls, totals)
        pulls[arm] += 1
        totals[arm] += rng.random() < means[arm]
        if t >= arms - 1:
            best = max(best, min(index(n, s, alpha) for n, s in zip(pulls, totals, strict=True)))
    return best


def index(n, s, alpha):
    return alpha * (s - n / 2) ** 2 / n + 0.5 * math.log(n)


@pytest.mark.parametrize(
    ("means", "rounds", "runs"),
    [([0.4, 0.9], 800, 20), ([0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95], 1200, 10)],
    ids=["two arms", "ten arms"],
)
def test_lsa_explores_as_lemma_3_says(means, rounds, runs):
    arms, alpha, k = len(means), 1.35, 0.1
    level = bounds.exploration_level(np.abs(np.array(means) - 0.5), rounds, alpha=alpha)

    def lsa(pulls, totals):
        return min(range(arms), key=lambda arm: index(pulls[arm], totals[arm], alpha))

    rng = np.random.default_rng(0)
    short = [lowest_index(arms, means, rounds, alpha, rng, lsa) <= level - k for _ in range(runs)]
    # Never, where 0.05 is allowed; a policy that stays with one arm is always short.
    assert np.mean(short) <= bounds.exploration_failure(k, alpha=alpha)
    stays = lowest_index(arms, means, rounds, alpha, rng, lambda pulls, totals: 0)
    assert stays <= level - k


def test_remark_2_follows():
    # LSA(1/20) <= Upsilon e^(1/10) P_16(gaps, T / 128160): the form of the lower bound.
    gaps = np.array([0.01, 0.1, 0.25, 0.4])
    for spare in (1.5, 40, 3000):
        budget = 801 * 4 * spare
        bound = bounds.lsa_regret_bound(gaps, budget, alpha=1 / 20)
        level = bounds.exploration_level(gaps, budget, alpha=1 / 20)
        raised = np.maximum(gaps, math.exp(-level))
        factor = upsilon(1 / 20) * math.exp(1 / 10)
        first = factor * sampling_allocation.optimal_value(raised, budget / 801, c=1 / 10)
        second = factor * sampling_allocation.optimal_value(raised, budget / 128160, c=16)
        assert bound <= first * (1 + 1e-9)
        assert first == pytest.approx(second, rel=1e-9)
        assert second <= factor * sampling_allocation.optimal_value(gaps, budget / 128160, c=16) * (
            1 + 1e-9
        )


@pytest.mark.compiled
def test_the_regret_of_lsa_stays_below_theorem_1():
    problem = Problem(means=[0.1, 0.3, 0.8], threshold=0.5)
    curves = simulate(
        problem, {"LSA": LSA()}, horizon=4000, replications=200, checkpoints=[200, 1000, 4000]
    )
    for c, budget in enumerate(curves.checkpoints):
        assert curves.mean("LSA", "aggregate_regret")[c] <= bounds.lsa_regret_bound(
            problem.gaps, budget
        )


@pytest.mark.compiled
def test_the_oracle_stays_below_twice_its_optimal_value():
    problem = Problem(means=[0.2, 0.35, 0.6, 0.8], threshold=0.5)
    curves = simulate(
        problem, {"O'": KnownGaps()}, horizon=400, replications=1000, checkpoints=[50, 100, 400]
    )
    mean, error = (
        curves.mean("O'", "aggregate_regret"),
        curves.std_error("O'", "aggregate_regret"),
    )
    for c, budget in enumerate(curves.checkpoints):
        # O' spends whole pulls: equation (8) allows for K of them.
        bound = 2 * sampling_allocation.optimal_value(problem.gaps, budget - problem.arms)
        assert mean[c] <= bound + 5 * error[c]


def test_the_maximal_inequality_is_hoeffdings():
    assert bounds.maximal_inequality([50, 200], 200, failure=0.1) == pytest.approx(
        [200 / 50 * math.sqrt(math.log(20) / 400), math.sqrt(math.log(20) / 400)]
    )


@pytest.mark.parametrize("failure", [0.3, 0.05, 1e-4])
def test_lemma_19_is_narrower_than_the_maximal_inequality_early_and_wider_late(failure):
    horizon = 10_000
    a = 2 * math.log(bounds.confidence_failure(1, 1) * math.exp(1 / 2) / failure)
    assert bounds.confidence_failure(a, 1) == pytest.approx(failure)
    t = [1, 10, 100, horizon // 2, horizon]
    ours = bounds.confidence_sequence(t, horizon, a=a, b=1)
    ratio = ours / bounds.maximal_inequality(t, horizon, failure=failure)
    assert (np.diff(ratio) > 0).all()
    assert ratio[0] < 0.2
    assert ratio[-1] > 2  # "if constant factors are ignored"


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
        (lambda: bounds.exploration_failure(-1), "k must be at least 0, got -1"),
        (lambda: bounds.explored_regret_bound([0.1], 100, 0.1), "k must be at least 0.135"),
        (lambda: bounds.maximal_inequality([1], 5, failure=1), r"failure must lie in \(0, 1\)"),
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
