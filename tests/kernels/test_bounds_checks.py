"""Checks of indices in compiled kernels."""

import numpy as np
import pytest

from keyhole import simulate
from keyhole.contract.state_arrays import float_array
from keyhole.testing import check_policy
from keyhole.thresholding import Policy, Problem

PROBLEM = Problem(means=[0.2, 0.7], threshold=0.5)


class Beyond(Policy):
    """Count one cell after the last."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        spare = float_array(64)

    def select(p, s, t):
        return 0

    def update(p, s, arm, reward):
        s.pulls[beyond(p.arms)] += 1


def beyond(arms):
    return arms + 1


class Within(Beyond):
    """The same within bounds."""

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward


def play(policy, **options):
    return simulate(PROBLEM, {"it": policy}, horizon=20, replications=4, **options)


def test_an_index_out_of_bounds_is_detected_on_request():
    with pytest.raises(
        IndexError, match=r"a kernel of Beyond\(\) or of its environment reads or writes"
    ):
        play(Beyond(), checked=True)


def test_the_conformance_test_detects_it_first():
    with pytest.raises(AssertionError, match="beyond an array in round 1"):
        check_policy(Beyond(), PROBLEM)


def test_checks_change_no_result():
    plain, checked = play(Within()), play(Within(), checked=True)
    for metric in plain.metrics:
        assert np.array_equal(plain.values("it", metric), checked.values("it", metric))
