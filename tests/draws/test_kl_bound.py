import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.draws.mean_bounds import log_1_minus_ucb
from tests.reference.stochastic import divergence


def entropy(mean):
    return -mean * math.log(mean) - (1 - mean) * math.log1p(-mean)


@given(
    pulls=st.integers(1, 10**5),
    mean=st.floats(1e-6, 0.95),
    level=st.floats(0.5, 30),
)
def test_the_divergence_at_the_bound_is_what_is_allowed(pulls, mean, level):
    x = log_1_minus_ucb(float(pulls), mean, entropy(mean), level)
    assert x <= math.log1p(-mean) + 1e-12
    # An error of 1e-13 in q, and rounding in the divergence itself.
    slope = abs(mean * (1 - math.exp(x)) ** -1 * math.exp(x) - (1 - mean)) / math.exp(x)
    allowed = pulls * (slope * 1e-13 + 4e-16)
    assert pulls * divergence(mean, x) == pytest.approx(level, abs=allowed, rel=1e-9)


def test_a_bound_beyond_the_last_number_below_1_is_still_ordered():
    bounds = [log_1_minus_ucb(1.0, mean, entropy(mean), 3.0) for mean in (0.99, 0.999, 0.9999)]
    assert all(-math.expm1(x) == 1.0 for x in bounds)
    assert bounds[0] > bounds[1] > bounds[2]


def test_certain_arms_have_their_bound_in_closed_form():
    assert log_1_minus_ucb(4.0, 0.0, 0.0, 2.0) == -0.5
    assert log_1_minus_ucb(4.0, 1.0, 0.0, 2.0) == -math.inf
