"""Definition 1, and Lemmas 1 and 3."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keyhole.papers.verma2019.threshold_equivalence import (
    allocation_equivalent,
    equivalent_threshold,
)
from keyhole.semibandit import Problem, candidate_thresholds

pytestmark = pytest.mark.interpreted

unit = st.floats(0.02, 1)


@settings(max_examples=50)
@given(threshold=unit, arms=st.integers(1, 12), resource=st.floats(0.1, 14), data=st.data())
def test_lemma_1(threshold, arms, resource, data):
    assume(threshold <= resource)
    quotient = resource / threshold
    assume(abs(quotient - round(quotient)) > 1e-6 or quotient == round(quotient))
    found = equivalent_threshold(threshold, arms, resource)
    assert threshold <= found + 1e-12
    assert np.isclose(candidate_thresholds(arms, resource), found, rtol=1e-12).any()
    means = data.draw(st.lists(st.floats(0, 1), min_size=arms, max_size=arms))
    assert allocation_equivalent(means, [threshold] * arms, [found] * arms, resource)


@settings(max_examples=60)
@given(data=st.data(), arms=st.integers(1, 6), resource=st.floats(0.3, 4))
def test_lemma_3(data, arms, resource):
    entries = {"min_size": arms, "max_size": arms}
    means = data.draw(st.lists(st.floats(0, 1), **entries))
    problem = Problem(means, data.draw(st.lists(unit, **entries)), resource)
    parts = np.array(data.draw(st.lists(st.floats(0, 1), **entries)))
    estimates = problem.thresholds + parts * problem.gamma * (1 - 1e-9)
    assume(np.all(estimates <= 1))
    assert allocation_equivalent(means, problem.thresholds, estimates, resource)


def test_lemma_3_is_about_the_mean_losses_that_gamma_was_made_from():
    thresholds, resource = [0.5, 0.5, 0.9], 1.0
    problem = Problem([0.2, 0.2, 0.9], thresholds, resource)
    estimates = [t + 0.9 * problem.gamma for t in thresholds]
    assert allocation_equivalent(problem.mean_losses, thresholds, estimates, resource)
    assert not allocation_equivalent([0.6, 0.6, 0.5], thresholds, estimates, resource)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: equivalent_threshold(1.5, 3, 2), r"threshold must lie in \(0, 1\], got 1.5"),
        (lambda: equivalent_threshold(0.9, 3, 0.5), "threshold must be at most the resource, 0.5"),
        (lambda: allocation_equivalent([2], [1], [1], 1), r"mean_losses\[0\] must lie in"),
        (lambda: allocation_equivalent([1], [1, 1], [1], 1), "thresholds must have 1 entries"),
        (lambda: allocation_equivalent([1], [1], [0], 1), r"estimates\[0\] must lie in"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
