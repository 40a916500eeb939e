"""Upper confidence bounds from deviation functions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.stochastic import DeviationUCBPolicy, HoeffdingUCB, KnownVarianceUCB, Problem
from keyhole.stochastic.policy_base import find_width

pytestmark = pytest.mark.interpreted


class Halved(DeviationUCBPolicy):
    """Hoeffding's deviation function, without the width in closed form."""

    def deviation(p, pulls, error):
        return 2.0 * math.exp(-2.0 * pulls * error * error)


@pytest.mark.parametrize("policy", [HoeffdingUCB(), KnownVarianceUCB(variance=0.07)], ids=repr)
@given(pulls=st.integers(1, 10**6), horizon=st.integers(2, 10**9))
def test_the_closed_form_is_the_least_error(policy, pulls, horizon):
    p = SimpleNamespace(**policy.parameters(), horizon=horizon)
    kind = type(policy)
    closed = kind.width(p, float(pulls), kind.deviation)
    assert closed == pytest.approx(find_width(p, float(pulls), kind.deviation), rel=1e-9)


def test_a_width_that_is_searched_for_leads_to_the_same_regret():
    curves = simulate(Problem([0.3, 0.6]), [Halved(), HoeffdingUCB()], horizon=300, replications=8)
    searched, closed = (curves.values(label, "regret") for label in curves.labels)
    assert np.array_equal(searched, closed)


@given(gap=st.floats(0.01, 1), horizon=st.integers(2, 10**6))
def test_after_sufficient_pulls_the_width_is_half_the_gap(gap, horizon):
    policy = HoeffdingUCB()
    n = policy.sufficient_pulls(gap, horizon=horizon)
    p = SimpleNamespace(horizon=horizon)
    assert HoeffdingUCB.width(p, float(n), None) <= gap / 2 * (1 + 1e-9)
    assert n == 1 or HoeffdingUCB.width(p, float(n - 1), None) >= gap / 2 * (1 - 1e-9)
    assert abs(n - math.ceil(2 * math.log(4 * horizon**2) / gap**2)) <= 1


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="gap must be above 0, got 0"):
        HoeffdingUCB().sufficient_pulls(0, horizon=10)
    with pytest.raises(ValueError, match=r"variance must lie in \(0, 0\.25\], got 0\.3"):
        KnownVarianceUCB(variance=0.3)
