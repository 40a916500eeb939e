"""Quantiles without SciPy are those of SciPy."""

import sys

import numpy as np
import pytest
from scipy.special import betaincinv, stdtrit

from keyhole import Curves
from keyhole.metric import Metric
from keyhole.results.estimate import beta_quantile, exact_interval, student_t_quantile, t_factor

CLOSE = {"rel": 1e-9, "abs": 0.0}


@pytest.fixture
def without_scipy(monkeypatch):
    """Return a function after whose call SciPy cannot be imported."""
    return lambda: monkeypatch.setitem(sys.modules, "scipy", None)


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 19, 199, 9_999, 1_000_000])
def test_quantiles_of_students_t(freedom):
    for probability in (0.6, 0.975, 0.99):
        expected = stdtrit(freedom, probability)
        assert student_t_quantile(probability, freedom) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("runs", [1, 2, 20, 200, 5_000])
def test_quantiles_of_the_beta_distribution(runs):
    for count in {1, (runs + 2) // 3, runs}:
        for probability in (1e-6, 0.025, 0.5, 0.975):
            a, b = float(count), float(runs - count + 1)
            expected = betaincinv(a, b, probability)
            assert beta_quantile(probability, a, b) == pytest.approx(expected, **CLOSE)


def test_intervals_do_not_depend_on_scipy(without_scipy):
    counts = [(0, 1), (1, 1), (0, 20), (7, 20), (20, 20), (199, 200)]
    half, exact = t_factor(20), [exact_interval(*one) for one in counts]
    without_scipy()
    assert t_factor(20) == pytest.approx(half, **CLOSE)
    assert t_factor(1) == np.inf
    for one, expected in zip(counts, exact, strict=True):
        assert exact_interval(*one) == pytest.approx(expected, **CLOSE)


def test_plots_do_not_depend_on_scipy(without_scipy):
    draws = np.random.default_rng(1).random((3, 1, 20))
    values = {"A": np.concatenate([draws, draws > 0.5], axis=1)}
    curves = Curves([10, 20, 30], ["regret", Metric("right", drawn="share")], values)

    def drawn():
        for metric in curves.metrics:
            axes = curves.plot(metric)
            yield from (path.vertices for band in axes.collections for path in band.get_paths())

    with_scipy = list(drawn())
    without_scipy()
    for found, expected in zip(drawn(), with_scipy, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert len(with_scipy) >= 2
