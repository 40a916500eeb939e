"""Shrinkage of arms towards similar arms."""

import numpy as np
import pytest
from scipy.special import betaln

from keyhole.tune.arm_shrinkage import _log_beta, draw_interval_shares, draw_posterior_means

DRAWS = 4000


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def test_an_arm_without_runs_has_the_distribution_of_the_others():
    totals = column(*[100.0] * 9, 0.0)
    count = 0.8 * totals
    draws = draw_interval_shares(np.random.default_rng(1), count, totals, 0.5, 0.5, DRAWS, 0.0)
    assert draws.shape == (DRAWS, 10, 1)
    # Nine arms with 80 in 100 leave open how much the tenth may differ from them.
    assert draws[:, 9].mean() == pytest.approx(0.8, abs=0.05)
    assert draws[:, 0].mean() == pytest.approx(0.8, abs=0.02)


def test_a_share_of_few_runs_is_shrunk_towards_the_others():
    totals = column(*[100.0] * 9, 2.0)
    count = column(*[80.0] * 9, 0.0)
    draws = draw_interval_shares(np.random.default_rng(2), count, totals, 0.5, 0.5, DRAWS, 0.0)
    assert 0.3 < draws[:, 9].mean() < 0.8


def test_an_arm_without_runs_has_the_mean_of_the_others():
    count = column(*[50.0] * 9, 0.0)
    sums = np.stack([3.0 * count, 9.5 * count])
    draws = draw_posterior_means(np.random.default_rng(3), sums, count, 5.0, 10.0, DRAWS, 1.0)
    assert draws[:, 0].mean() == pytest.approx(3.0, abs=0.1)
    assert draws[:, 9].mean() == pytest.approx(3.0, abs=0.5)


def test_the_logarithm_of_the_beta_function_is_that_of_scipy():
    a, b = np.meshgrid(np.geomspace(1e-9, 1e5, 60), np.geomspace(1e-9, 1e5, 60))
    np.testing.assert_allclose(_log_beta(a, b), betaln(a, b), rtol=1e-12, atol=1e-9)
