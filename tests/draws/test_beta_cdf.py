import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, betaln, gammaln

from keyhole.draws.beta_cdf import beta_cdf, log_beta_weight

SHAPES = (1e-6, 1e-3, 0.1, 0.5, 1.0, 1.5, 7.0, 14.9, 15.1, 120.0, 3e3, 1e4)


@pytest.mark.parametrize("a", SHAPES)
def test_beta_cdf_agrees_with_scipy(a):
    for b in SHAPES:
        for x in (1e-12, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.999, a / (a + b)):
            error = abs(beta_cdf(x, a, b) - betainc(a, b, x))
            allowed = betainc(a, b, x) if x * (a + b + 2) < a + 1 else 1.0
            assert error <= 4e-13 * allowed, (x, b)


@given(
    x=st.floats(1e-12, 1 - 1e-12),
    a=st.floats(-6, 6).map(lambda e: 10**e),
    b=st.floats(-6, 6).map(lambda e: 10**e),
)
@settings(max_examples=500, deadline=None, derandomize=True)
def test_beta_cdf_agrees_with_scipy_anywhere(x, a, b):
    error = abs(beta_cdf(x, a, b) - betainc(a, b, x))
    assert error < 1e-12
    assert error <= 1e-10 * (betainc(a, b, x) if x * (a + b + 2) < a + 1 else 1.0) + 1e-250


@given(
    x=st.floats(0.01, 0.99),
    a=st.floats(-6, 6).map(lambda e: 10**e),
    b=st.floats(-6, 6).map(lambda e: 10**e),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_two_tails_sum_to_one(x, a, b):
    # 1 - x is rounded: that moves the argument by 1e-16, where the distribution may be a thousand
    # times steeper than the uniform one.
    assert beta_cdf(x, a, b) + beta_cdf(1 - x, b, a) == pytest.approx(1, abs=1e-12)


def test_beta_cdf_ends_at_0_and_1():
    assert beta_cdf(0.0, 2.0, 3.0) == 0.0
    assert beta_cdf(1.0, 2.0, 3.0) == 1.0


@pytest.mark.parametrize(("a", "b"), [(1e9, 2e9), (5e11, 5e11)])
def test_beta_cdf_is_near_the_normal_distribution_for_huge_shapes(a, b):
    mean, sd = a / (a + b), math.sqrt(a * b / (a + b)) / (a + b)
    for z in (-3.0, -1.0, 0.5, 2.0):
        normal = 0.5 * math.erfc(-z / math.sqrt(2))
        assert beta_cdf(mean + z * sd, a, b) == pytest.approx(normal, abs=1e-4)


@pytest.mark.parametrize("a", SHAPES)
def test_log_beta_weight_agrees_with_scipy(a):
    for b, x in itertools.product(SHAPES, (1e-9, 0.2, 0.5, 0.9)):
        expected = a * np.log(x) + b * np.log1p(-x) - betaln(a, b)
        terms = (a * np.log(x), b * np.log1p(-x), gammaln(a), gammaln(b), gammaln(a + b))
        rounding = 1e-15 * (1 + sum(map(abs, terms)))  # of the expected value, above all
        assert abs(log_beta_weight(x, a, b) - expected) <= rounding, (b, x)


def test_log_beta_weight_keeps_its_digits_where_the_logarithms_are_large():
    # At the mean, w = theta (1 - theta) f(theta) with f within 1e-7 of the normal density.
    a = b = 5e6
    weight = math.exp(log_beta_weight(0.5, a, b))
    assert weight == pytest.approx(math.sqrt((a + b) / (8 * math.pi)), rel=1e-7)
