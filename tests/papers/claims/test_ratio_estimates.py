import math

import numpy as np
import pytest

from keyhole.papers.claims.statistics import judge_ranges, log_deviation_ratio, ratio_of
from keyhole.results.estimate import Estimate


def test_the_interval_of_a_ratio_covers_the_true_ratio():
    # 2,000 experiments of 50 correlated pairs: the delta method is off by less than 1 % here.
    rng = np.random.default_rng(2)
    experiments, covered = 2000, 0
    for _ in range(experiments):
        common = rng.normal(size=50)
        above = 6.0 + common + rng.normal(size=50)
        below = 3.0 + common + 0.5 * rng.normal(size=50)
        ratio = ratio_of(above, below)
        covered += ratio.low < 2.0 < ratio.high
    assert abs(covered / experiments - 0.95) < 0.01 + 5 * math.sqrt(0.95 * 0.05 / experiments)


def test_a_ratio_of_multiples_is_exact():
    values = np.random.default_rng(3).uniform(1, 2, size=30)
    ratio = ratio_of(3.0 * values, values)
    assert (ratio.value, ratio.error) == pytest.approx((3.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("below", [[0.0, 0.0], [-1.0, 1.2], [1.0]])
def test_there_is_no_ratio_to_what_may_be_zero(below):
    assert ratio_of(np.ones(len(below)), np.array(below)) is None


def test_numbers_are_inside_together():
    near, far = Estimate(1.0, 0.1, 100), Estimate(2.0, 0.1, 100)
    assert judge_ranges([(near, 0.5, 1.5), (far, 1.5, 2.5)]) == "holds"
    assert judge_ranges([(near, 0.5, 1.5), (far, 0.5, 1.5)]) == "does not hold"
    assert judge_ranges([(near, 0.9, 1.5), (far, 1.5, 2.5)]) == "undecided"


def test_the_error_of_a_deviation_ratio_is_that_of_the_jackknife():
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=60), rng.exponential(size=60)
    each = [math.log(np.delete(a, i).std(ddof=1) / np.delete(b, i).std(ddof=1)) for i in range(60)]
    found = log_deviation_ratio(a, b)
    assert found.value == pytest.approx(math.log(a.std() / b.std()))
    assert found.error == pytest.approx(math.sqrt(59 * np.var(each)), rel=1e-9)


@pytest.mark.parametrize("distribution", ["normal", "exponential"])
def test_the_interval_of_a_deviation_ratio_covers_for_any_distribution(distribution):
    # 1,000 experiments of 60 pairs that share noise: 5 standard errors and 3 % for heavy tails,
    # where an F test would cover 75 %.
    rng, covered, experiments = np.random.default_rng(10), 0, 1000
    for _ in range(experiments):
        draw = getattr(rng, distribution)
        common = draw(size=60)
        found = log_deviation_ratio(common + draw(size=60), 2.0 * (common + draw(size=60)))
        covered += found.low < -math.log(2.0) < found.high
    assert abs(covered / experiments - 0.95) < 0.03 + 5 * math.sqrt(0.95 * 0.05 / experiments)
