import math

import numpy as np
import pytest
from scipy import stats

from keyhole.delayed import (
    Constant,
    Empirical,
    Exponential,
    Geometric,
    HalfNormal,
    Poisson,
    TwoPoint,
    Uniform,
)
from keyhole.draws.streams import stream

DRAWS = 30_000
DISTRIBUTIONS = [
    Constant(7),
    Uniform(3, 12),
    Geometric(0.0),
    Geometric(0.4),
    Geometric(50.0),
    Exponential(0.3),
    Exponential(50.0),
    Poisson(0.0),
    Poisson(3.5),
    Poisson(50.0),
    HalfNormal(0.8),
    HalfNormal(60.0),
    TwoPoint(late=100, probability=0.3, early=2),
    Empirical([0, 0, 1, 5, 5, 40]),
]


def draws(delay):
    rng = stream(3)
    return np.array([delay.draw(rng, delay.numbers) for _ in range(DRAWS)])


@pytest.mark.parametrize("delay", DISTRIBUTIONS, ids=repr)
def test_draws_have_the_moments_and_keep_the_bound(delay):
    found = draws(delay)
    assert (found == np.floor(found)).all()
    assert (found >= 0).all()
    assert (found <= delay.bound).all()
    error = math.sqrt(delay.variance / DRAWS)
    assert abs(found.mean() - delay.mean) <= 5 * error + 1e-12
    deviations = (found - delay.mean) ** 2
    error = deviations.std() / math.sqrt(DRAWS)
    assert abs(deviations.mean() - delay.variance) <= 5 * error + 1e-9


@pytest.mark.parametrize(
    ("delay", "distribution"),
    [
        (Geometric(4.0), stats.geom(1 / 5, loc=-1)),
        (Exponential(6.0), stats.geom(-math.expm1(-1 / 6), loc=-1)),
        (Poisson(3.5), stats.poisson(3.5)),
        (Uniform(2, 9), stats.randint(2, 10)),
    ],
    ids=["geometric", "exponential", "poisson", "uniform"],
)
def test_moments_and_chances_are_those_of_scipy(delay, distribution):
    assert delay.mean == pytest.approx(distribution.mean(), rel=1e-12)
    assert delay.variance == pytest.approx(distribution.var(), rel=1e-12)
    found = draws(delay)
    for k in range(12):
        chance = distribution.pmf(k)
        error = math.sqrt(chance * (1 - chance) / DRAWS)
        assert abs((found == k).mean() - chance) <= 5 * error


def test_the_half_normal_distribution_is_rounded_down():
    delay, whole = HalfNormal(5.0), np.arange(0, 60)
    chances = np.diff(stats.halfnorm(scale=5.0).cdf(np.arange(0, 61)))
    mean = (whole * chances).sum()
    assert delay.mean == pytest.approx(mean, abs=1e-9)
    assert delay.variance == pytest.approx((whole**2 * chances).sum() - mean**2, abs=1e-9)
    assert delay.mean < 5.0 * math.sqrt(2 / math.pi)


def test_empirical_distributions_are_values():
    assert Empirical([1, 2]) == Empirical([1, 2]) != Empirical([2, 1])
    assert hash(Empirical([1, 2])) == hash(Empirical([1, 2]))
    assert repr(Empirical([1, 2])) == "Empirical(2 delays, mean 1.5)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(-1), "rounds must lie in"),
        (lambda: Constant(1.5), "rounds must be a whole number, got 1.5"),
        (lambda: Uniform(5, 3), "high must lie in .5, .*got 3"),
        (lambda: Geometric(-1), "expected must lie in"),
        (lambda: Geometric(math.inf), "expected must"),
        (lambda: Exponential(0), "scale must lie in"),
        (lambda: Poisson(math.nan), "expected must"),
        (lambda: HalfNormal(0), "scale must lie in"),
        (lambda: TwoPoint(late=1, probability=0.5, early=2), "late must lie in"),
        (lambda: TwoPoint(late=3, probability=1.5), r"probability must lie in \[0, 1\], got 1\.5"),
        (lambda: Empirical([]), "samples must have at least one entry"),
        (lambda: Empirical([1, 0.5]), r"samples\[1\] must be a whole number of rounds, got 0\.5"),
        (lambda: Empirical([1, -3]), r"samples\[1\] must lie in"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
