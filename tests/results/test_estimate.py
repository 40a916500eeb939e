import math

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from keyhole.results.estimate import (
    Estimate,
    exact_interval,
    format_estimate,
    format_p_value,
    mean_estimate,
    paired_difference,
    share_estimate,
    t_factor,
)


def test_a_mean_has_students_interval_and_p_value():
    values = np.random.default_rng(1).normal(3.0, 1.0, size=12)
    test = ttest_1samp(values, 2.5)
    number, known = mean_estimate(values), test.confidence_interval(0.95)
    assert (number.low, number.high) == pytest.approx((known.low, known.high))
    assert number.p_value(-math.inf, 2.5) == pytest.approx(test.pvalue)
    assert number.p_value(2.5, math.inf) == 1.0


def test_paired_samples_without_spread_and_single_ones():
    same = np.ones(5)
    assert paired_difference(same, same).p_value == 1.0
    assert paired_difference(same + 1, same).p_value == 0.0
    assert str(paired_difference(same + 1, same)) == "1 in every run"
    alone = paired_difference(np.array([3.0]), np.array([1.0]))
    assert (alone.difference, alone.low, alone.p_value) == (2.0, -np.inf, 1.0)


@pytest.mark.parametrize(
    ("count", "runs"), [(0, 1), (1, 1), (0, 30), (7, 30), (30, 30), (999, 1000)]
)
def test_the_interval_of_a_share_is_exact(count, runs):
    known = binomtest(count, runs).proportion_ci(0.95, method="exact")
    assert exact_interval(count, runs) == pytest.approx((known.low, known.high), abs=1e-12)


def test_one_replication_has_no_interval():
    alone = mean_estimate(np.array([12.3]))
    assert (alone.low, alone.high, alone.error) == (-math.inf, math.inf, math.inf)
    assert str(alone) == "12.3 (one replication: no interval)"
    assert alone.plus_minus() == "12.3 ± n/a"
    assert alone.p_value(100.0, 200.0) == 1.0
    assert "no interval" in str(paired_difference(np.array([3.0]), np.array([1.0])))


def test_what_differs_by_rounding_alone_is_equal():
    values = np.array([2775.6, 2775.6 + 5e-13, 2775.6 - 5e-13])
    assert mean_estimate(values).error == 0.0
    assert (
        str(mean_estimate(values)) == mean_estimate(values).plus_minus() == "2,775.6 in every run"
    )
    assert paired_difference(values, np.full(3, 2775.6)).equal
    assert str(paired_difference(values, np.full(3, 2775.6))) == "0, equal in every run"


def test_the_p_value_of_a_share_agrees_with_its_interval():
    for count in range(21):
        share = share_estimate(np.arange(20.0) < count)
        for low in (0.1, 0.31, 0.5, 0.84):
            assert (share.p_value(low, 1.0) < 0.05) == (share.high < low)
            assert (share.p_value(0.0, low) < 0.05) == (share.low > low)
    never = share_estimate(np.zeros(100))
    assert (never.low, never.high) == pytest.approx((0.0, 1 - 0.025**0.01))


@pytest.mark.parametrize(
    ("value", "reach", "text"),
    [
        (2776.0, 2e-13, "2,776"),
        (2775.61491, 0.0316, "2,775.615"),
        (215_312.4, 8_123.0, "215,300"),
        (0.5151, 0.0229, "0.515"),
        (0.0004, 0.00391, "0.0004"),
        (-0.001, 0.9, "0.00"),
        (0.0, 0.0, "0"),
        (12.345678, math.inf, "12.3457"),
        (2.060759551, 0.0, "2.06076"),
        (1_234_567.5, 0.0, "1,234,568"),
        (100_000.0, 0.0, "100,000"),
        (1.5e-9, 2e-10, "1.5e-09"),
        (3e20, 1e19, "3e+20"),
        (math.nan, 1.0, "n/a"),
    ],
)
def test_digits_follow_the_interval(value, reach, text):
    assert format_estimate(value, reach) == text


def test_a_p_value_of_nothing_is_a_small_one():
    assert format_p_value(0.0) == "p < 1e-300"
    assert (format_p_value(0.05), format_p_value(2.3e-7)) == ("p = 0.05", "p = 2e-07")


def test_the_reach_of_student_is_near_the_normal_one_for_many():
    assert t_factor(10**6) == pytest.approx(1.96, abs=1e-3)
    assert Estimate(1.0, 0.1, 5).half_width == pytest.approx(0.27764, abs=1e-5)
