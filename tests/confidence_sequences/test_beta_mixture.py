import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import betaln
from scipy.stats import beta

from keyhole.confidence_sequences import BetaMixture, beta_mixture_interval, log_beta
from tests.reference.bets import log_mean_wealth


def reference(count, total, alpha):
    """The two means at which ln [B(S + 1, F + 1) / (mu^S (1 - mu)^F)] is ln 1/alpha."""
    failures = count - total

    def excess(mean):
        likelihood = (total and total * math.log(mean)) + (
            failures and failures * math.log1p(-mean)
        )
        return betaln(total + 1, failures + 1) - likelihood + math.log(alpha)

    least, most = 1e-300, 1 - 2**-53
    middle = min(max(total / count, least), most)
    low = brentq(excess, least, middle, xtol=1e-15) if excess(least) > 0 else 0.0
    high = brentq(excess, middle, most, xtol=1e-15) if excess(most) > 0 else 1.0
    return low, high


@settings(max_examples=40)
@given(
    count=st.integers(1, 10**6),
    share=st.sampled_from([0.0, 1e-3, 0.1, 0.5, 0.77, 0.999, 1.0]),
    alpha=st.sampled_from([1e-6, 0.01, 0.05, 0.5, 0.9]),
    is_whole=st.booleans(),
)
def test_the_ends_are_where_the_martingale_reaches_its_level(count, share, alpha, is_whole):
    total = round(share * count) if is_whole else share * count
    found = beta_mixture_interval(count, total, alpha)
    assert found == pytest.approx(reference(count, total, alpha), abs=1e-9)


def test_its_level_is_right_after_ten_million_values():
    low, high = beta_mixture_interval(10**7, 3 * 10**6)
    density = beta(3 * 10**6 + 1, 7 * 10**6 + 1).pdf
    assert density(low) == pytest.approx(0.05, rel=1e-4)
    assert density(high) == pytest.approx(0.05, rel=1e-4)


def test_its_ends_are_right_after_a_million_million_values():
    # The exact ends, computed with 60 digits.
    exact = (0.299997353779997443, 0.300002646228894625)
    half_width = (exact[1] - exact[0]) / 2
    ends = beta_mixture_interval(10**12, 3 * 10**11)
    np.testing.assert_allclose(ends, exact, rtol=0, atol=1e-3 * half_width)


def test_the_ratio_at_the_true_mean_is_a_martingale():
    """Over all outcomes of six 0/1 values its mean is 1, exactly."""
    mean, count = Fraction(3, 10), 6
    total = Fraction(0)
    for successes in range(count + 1):
        failures = count - successes
        ways = math.comb(count, successes)
        ratio = Fraction(1, (count + 1) * ways) / (mean**successes * (1 - mean) ** failures)
        assert log_beta(successes, failures) == pytest.approx(-math.log((count + 1) * ways))
        total += ways * mean**successes * (1 - mean) ** failures * ratio
    assert total == 1


def test_it_is_symmetric_and_shrinks():
    low, high = beta_mixture_interval(100, 30)
    assert beta_mixture_interval(100, 70) == pytest.approx((1 - high, 1 - low))
    widths = [np.diff(beta_mixture_interval(n, n // 2))[0] for n in (10, 100, 1000, 10_000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[1:] == pytest.approx([0.309, 0.111, 0.0384], rel=0.01)


def test_before_the_first_value_it_says_nothing():
    assert beta_mixture_interval(0, 0) == (0.0, 1.0) == BetaMixture().interval


def test_arms_that_never_fail_or_never_succeed():
    assert beta_mixture_interval(9, 9) == pytest.approx((0.005 ** (1 / 9), 1.0))
    assert beta_mixture_interval(9, 0) == pytest.approx((0.0, 1 - 0.005 ** (1 / 9)))


def test_updates_are_the_counts():
    seen = BetaMixture(alpha=0.1)
    for value in (1, 1.0, True, 0):
        seen.update(value)
    assert (seen.count, seen.total) == (4, 3.0)
    assert seen.interval == beta_mixture_interval(4, 3, 0.1)


@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    alpha=st.sampled_from([0.001, 0.05, 0.5]),
)
def test_values_in_between_make_it_no_wider(values, alpha):
    seen = BetaMixture(alpha)
    for value in values:
        seen.update(value)
    low, high = seen.interval
    widest = beta_mixture_interval(len(values), seen.total, alpha)
    assert widest[0] <= low <= seen.total / len(values) <= high <= widest[1]
    # At an end of its own the bets have made 1 / alpha.
    for end, other in zip((low, high), widest, strict=True):
        if end != other and 0 < end < 1:
            wealth = log_mean_wealth(values, end, steps=20)
            assert wealth == pytest.approx(-math.log(alpha), abs=1e-4)


def test_it_is_far_narrower_where_values_vary_little():
    seen = BetaMixture()
    for day in range(100):
        seen.update(0.4 if day % 2 else 0.6)
    assert np.diff(seen.interval)[0] < 0.35 * np.diff(beta_mixture_interval(100, 50.0))[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0), r"count must lie in \[0, 1e\+12\], got -1"),
        ((10**12 + 1, 5), r"count must lie in"),
        ((2.0, 1), r"count must be a whole number, got 2\.0"),
        ((2, 3), r"total must lie in \[0, 2\], got 3"),
        ((2, 1, 0), r"alpha must lie in \(0, 1\), got 0"),
        ((2, 1, 1.0), r"alpha must lie in \(0, 1\), got 1\.0"),
    ],
)
def test_bad_numbers_are_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        beta_mixture_interval(*arguments)


def test_a_refused_value_changes_nothing():
    seen = BetaMixture()
    with pytest.raises(ValueError, match=r"value must lie in .*, got 1\.5"):
        seen.update(1.5)
    assert seen.count == 0
