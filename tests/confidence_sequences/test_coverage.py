"""Coverage of the confidence sequences by who looks after every value."""

import math

import numpy as np
import pytest

from benchmarks.coverage import ALPHA, DISTRIBUTIONS, missed_shares
from keyhole.confidence_sequences import BetaMixture

# As docs/confidence_sequences.md says of 10,000 runs, of each of the confidence sequences.
MISSED = {
    "0/1, mean .5": (0.0352, 0.0352, 0.0107),
    "0/1, mean .05": (0.0201, 0.0201, 0.0156),
    "0/1, mean .9": (0.0334, 0.0334, 0.0145),
    "skewed (beta .1, .9), mean .1": (0.0010, 0.0344, 0.0105),
    "skewed (beta .1, .1), mean .5": (0.0148, 0.0370, 0.0115),
    "five stars, mean .5": (0.0000, 0.0422, 0.0103),
    "five stars, mean .9": (0.0000, 0.0386, 0.0062),
    "uniform": (0.0000, 0.0405, 0.0102),
    ".3, or 1 with probability .02": (0.0000, 0.0330, 0.0088),
    "mean of three 0/1 values, mean .1": (0.0000, 0.0385, 0.0085),
    "1/2 after each 1, else 0/1": (0.0072, 0.0358, 0.0106),
}


def assert_covered(distribution, runs, rounds):
    """Return the shares of runs that miss, of which at most alpha + 3 standard errors are right."""
    shares = missed_shares(*DISTRIBUTIONS[distribution], runs, rounds)
    assert max(shares[:3]) <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / runs)
    return shares


@pytest.mark.parametrize(
    "distribution", ["0/1, mean .05", "five stars, mean .9", "skewed (beta .1, .9), mean .1"]
)
def test_who_looks_after_every_value_is_not_fooled(distribution):
    assert_covered(distribution, 1000, 500)


def test_the_interval_of_one_fixed_time_fools_who_looks_all_the_time():
    mixture, *_, fixed = assert_covered("0/1, mean .5", 1000, 1000)
    assert fixed > 0.3
    assert mixture > 0.005  # not wider than needed for 0/1 values


def test_bets_are_not_wider_than_needed_for_grades_either():
    wide, narrow, *_ = assert_covered("five stars, mean .5", 1000, 500)
    assert narrow > 0.005
    assert wide < narrow


@pytest.mark.parametrize("distribution", ["five stars, mean .9", "0/1, mean .9"])
def test_a_counted_miss_is_one_of_the_interval_that_is_shown(distribution):
    draw, mean = DISTRIBUTIONS[distribution]
    misses = 0
    for values in np.asarray(draw(np.random.default_rng(1), (20, 12)), float):
        sequence = BetaMixture(ALPHA)
        is_missed = False
        for value in values:
            sequence.update(value)
            low, high = sequence.interval
            is_missed = is_missed or not low <= mean <= high
        misses += is_missed
    assert missed_shares(draw, mean, 20, 12)[1] == misses / 20


@pytest.mark.slow
@pytest.mark.parametrize("distribution", MISSED)
def test_coverage_in_long_runs(distribution):
    runs, published = 1000, 10_000
    shares = assert_covered(distribution, runs, 10_000)
    for share, of_many in zip(shares[:3], MISSED[distribution], strict=True):
        most = of_many + 5e-4
        error = math.sqrt(most * (1.0 - most) * (1.0 / runs + 1.0 / published))
        assert abs(share - of_many) < 5.0 * error + 5e-4
