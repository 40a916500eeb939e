import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.stochastic.policy_base import ln_of_2_over_delta
from keyhole.threshold import (
    KaplanMeierUCB,
    ModifiedKaplanMeierEstimator,
    Problem,
)
from keyhole.threshold.bounds import estimate_width
from tests.threshold.cases import FIVE


def test_a_censored_sequence_worked_through_by_hand():
    # One arm, four levels. Samples 3, 4, 0, 2, 1 at thresholds 2, 4, 3, 1, 3: what is seen is the
    # smaller of the two, 2, 4, 0, 1, 1.
    #   level 1: known of all five; reached in all but the third: 4 / 5
    #   level 2: thresholds of at least 2: pulls 1, 2, 3, 5; reached by pulls 1, 2: 2 / 4
    #   level 3: pulls 2, 3, 5; reached by pull 2: 1 / 3
    #   level 4: pull 2 alone, which reached it: 1 / 1
    estimate = ModifiedKaplanMeierEstimator([2, 4, 3, 1, 3], [2, 4, 0, 1, 1], levels=4)
    assert estimate.support.tolist() == [5, 4, 3, 1]
    assert estimate.reached.tolist() == [4, 2, 1, 1]
    assert estimate.survival.tolist() == [4 / 5, 2 / 4, 1 / 3, 1.0]


@pytest.mark.interpreted
def test_a_learner_counts_the_same():
    learner = KaplanMeierUCB().learner(arms=1, levels=4, feedback="censored", horizon=100)
    for threshold, seen in zip([2, 4, 3, 1, 3], [2, 4, 0, 1, 1], strict=True):
        learner.ask(threshold=threshold)
        if seen == threshold:
            learner.tell(censored=True)
        else:
            learner.tell(seen)
    assert learner.state["tried"][0].tolist() == [5, 4, 3, 1]
    assert learner.state["reached"][0].tolist() == [4, 2, 1, 1]
    survival, support = learner.estimates()
    assert survival[0].tolist() == [4 / 5, 2 / 4, 1 / 3, 1.0]
    assert support[0].tolist() == [5, 4, 3, 1]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=40),
)
def test_values_beyond_the_threshold_change_nothing(pulls):
    thresholds = [c for c, _ in pulls]
    full = ModifiedKaplanMeierEstimator(thresholds, [x for _, x in pulls], 6)
    cut = ModifiedKaplanMeierEstimator(thresholds, [min(c, x) for c, x in pulls], 6)
    assert full.survival.tolist() == cut.survival.tolist()
    for j in range(1, 7):
        known = [x >= j for c, x in pulls if c >= j]
        assert full.support[j - 1] == len(known)
        assert full.reached[j - 1] == sum(known)


@pytest.mark.parametrize("runs", [300, pytest.param(4000, marks=pytest.mark.slow)])
def test_lemma_4_covers_at_fixed_thresholds(runs):
    rng = np.random.default_rng(5)
    survival, n = np.array([0.8, 0.5, 0.3]), 60
    thresholds = rng.integers(1, 4, n)
    samples = (rng.random((runs, n, 1)) < survival).sum(axis=2)
    for delta in (0.5, 0.9):
        misses = np.zeros(3)
        for row in samples:
            estimate = ModifiedKaplanMeierEstimator(thresholds, np.minimum(row, thresholds), 3)
            misses += np.abs(estimate.survival - survival) >= estimate_width(
                estimate.support, delta
            )
        error = math.sqrt(delta * (1 - delta) / runs)
        assert (misses / runs <= delta + 5 * error).all()


@pytest.mark.interpreted
def test_lemma_4_covers_what_a_policy_estimates():
    problem = Problem(FIVE, feedback="censored", order="iid")
    curves = simulate(
        problem, [KaplanMeierUCB()], horizon=400, replications=20, checkpoints=[50, 400]
    )
    assert (curves.mean("KaplanMeierUCB()", "lemma_4_misses") <= 0.05).all()
    assert ln_of_2_over_delta(10) == pytest.approx(math.log(400))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ModifiedKaplanMeierEstimator([1, 4], [0, 0], 3),
            r"thresholds\[1\] must lie in \[1, 3\]",
        ),
        (
            lambda: ModifiedKaplanMeierEstimator([1], [4], 3),
            r"values\[0\] must lie in \[0, 3\], got 4",
        ),
        (
            lambda: ModifiedKaplanMeierEstimator([1], [0.5], 3),
            r"values\[0\] must be a whole number",
        ),
        (
            lambda: ModifiedKaplanMeierEstimator([1, 2], [0], 3),
            "values must have one entry for each",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
