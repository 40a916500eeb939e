"""Coverage of the confidence sequences by who looks after every value."""

import math

import numpy as np
import pytest

from tests.confidence_sequences.miss_counts import ALPHA, count_misses


def martingale(rng, shape):
    """Draw 0/1 or 1/2 values whose spread depends on the past, but not their mean, 1/2."""
    values = (rng.random(shape) < 0.5).astype(float)
    for i in range(1, shape[1]):
        values[:, i] = np.where(values[:, i - 1] == 1.0, 0.5, values[:, i])
    return values


DISTRIBUTIONS = {
    "0/1, mean .5": (lambda rng, shape: rng.random(shape) < 0.5, 0.5),
    "0/1, mean .05": (lambda rng, shape: rng.random(shape) < 0.05, 0.05),
    "0/1, mean .9": (lambda rng, shape: rng.random(shape) < 0.9, 0.9),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    "rare jumps": (lambda rng, shape: np.where(rng.random(shape) < 0.02, 1.0, 0.3), 0.314),
    "mean of three": (lambda rng, shape: rng.binomial(3, 0.1, shape) / 3, 0.1),
    "dependent": (martingale, 0.5),
}


MISSED = {
    "0/1, mean .5": (0.035, 0.011),
    "0/1, mean .05": (0.020, 0.016),
    "0/1, mean .9": (0.033, 0.015),
    "uniform": (0.0, 0.010),
    "rare jumps": (0.0, 0.009),
    "mean of three": (0.0, 0.009),
    "dependent": (0.007, 0.011),
}


def assert_covered(draw, mean, runs, rounds):
    beta, bernstein, fixed = count_misses(draw, mean, runs, rounds)
    most = ALPHA + 5 * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    assert beta <= most
    assert bernstein <= most
    return beta, bernstein, fixed


@pytest.mark.parametrize("distribution", ["0/1, mean .05", "uniform", "rare jumps"])
def test_who_looks_after_every_value_is_not_fooled(distribution):
    assert_covered(*DISTRIBUTIONS[distribution], 1000, 500)


def test_the_interval_of_one_fixed_time_fools_who_looks_all_the_time():
    beta, _, fixed = assert_covered(*DISTRIBUTIONS["0/1, mean .5"], 1000, 1000)
    assert fixed > 0.3
    assert beta > 0.005  # not wider than needed for 0/1 values


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_coverage_in_long_runs(distribution):
    runs, published = 1000, 10_000
    beta, bernstein, _ = assert_covered(*DISTRIBUTIONS[distribution], runs, 10_000)
    # As docs/confidence_sequences.md says of more runs: its shares are rounded by up to 5e-4.
    for share, of_many in zip((beta, bernstein), MISSED[distribution], strict=True):
        most = of_many + 5e-4
        error = math.sqrt(most * (1.0 - most) * (1.0 / runs + 1.0 / published))
        assert abs(share - of_many) < 5.0 * error + 5e-4
