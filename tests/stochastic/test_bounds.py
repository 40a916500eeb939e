import numpy as np
import pytest

from keyhole import simulate
from keyhole.stochastic import KLUCB, MOSS, UCB1, Problem
from keyhole.stochastic.bounds import (
    bernoulli_kl,
    hoeffding_ucb_bound,
    lai_robbins_constant,
    moss_bound,
    ucb1_bound,
)


def test_divergences_computed_by_hand():
    assert bernoulli_kl(0.5, 0.25) == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))
    assert bernoulli_kl(0.0, 0.5) == pytest.approx(np.log(2))
    assert bernoulli_kl(0.3, 0.3) == 0.0
    assert bernoulli_kl(0.3, 0.0) == np.inf


def test_bounds_computed_by_hand():
    assert hoeffding_ucb_bound([0.5, 0.75, 0.75], 100) == pytest.approx(8 * np.log(100) / 0.25)
    assert ucb1_bound([0.2, 0.7], 10) == pytest.approx(
        8 * np.log(10) / 0.5 + (1 + np.pi**2 / 3) * 0.5
    )
    assert lai_robbins_constant([0.2, 1.0]) == 0.0


def test_means_that_differ_by_rounding_are_equal():
    alike = [0.1 + 0.2, 0.3]
    assert alike[0] != alike[1]
    assert (
        lai_robbins_constant(alike)
        == hoeffding_ucb_bound(alike, 1000)
        == ucb1_bound(alike, 1000)
        == 0.0
    )
    assert Problem(alike).gaps.tolist() == [0.0, 0.0]
    curves = simulate(Problem(alike), [UCB1()], horizon=20, replications=1)
    assert curves.mean("UCB1()", "best_share")[-1] == 1.0


def test_the_divergence_of_nearly_equal_means_keeps_its_digits():
    # kl(p, p + d) is d^2 / (2 p (1 - p)) up to terms of the order d^3.
    for d in (1e-5, 1e-8, 1e-11):
        assert bernoulli_kl(0.3, 0.3 + d) == pytest.approx(d * d / 0.42, rel=1e-3)
        assert bernoulli_kl(0.3 + d, 0.3) == pytest.approx(d * d / 0.42, rel=1e-3)


@pytest.mark.slow
def test_regret_stays_below_the_bounds():
    problem, horizon = Problem([0.3, 0.5, 0.8]), 2000
    curves = simulate(problem, [UCB1(), MOSS()], horizon=horizon, replications=200)
    assert curves.mean("UCB1()", "regret")[-1] < ucb1_bound(problem.means, horizon)
    assert curves.mean("MOSS()", "regret")[-1] < moss_bound(3, horizon)


@pytest.mark.slow
def test_kl_ucb_comes_near_the_constant_of_lai_and_robbins():
    problem = Problem([0.3, 0.6])
    curves = simulate(
        problem, [KLUCB()], horizon=100_000, replications=200, checkpoints=[1000, 100_000]
    )
    early, late = curves.mean("KLUCB(c=0)", "regret")
    slope = (late - early) / np.log(100)
    assert 0.8 < slope / lai_robbins_constant(problem.means) < 1.3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_ucb_bound([0.5, 1.5], 10), r"means\[1\] must lie in \[0, 1\], got 1\.5"),
        (lambda: ucb1_bound([0.5], 0), "horizon must be at least 1, got 0"),
        (lambda: moss_bound(0, 10), "arms must be at least 1, got 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
