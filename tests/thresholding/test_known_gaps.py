import numpy as np
import pytest

from keyhole.thresholding import KnownGaps, Problem
from keyhole.thresholding.sampling_allocation import optimal_allocation
from tests.thresholding.cases import SETUP_1, SETUP_2, SETUP_3, drive, learner_of


@pytest.mark.parametrize("means", [SETUP_1, SETUP_2, SETUP_3], ids=["1", "2", "3"])
@pytest.mark.parametrize("budget", [50, 6000])
def test_its_pulls_are_those_of_the_optimal_allocation(means, budget):
    # At any time the levels T Delta^2 + ln(1 / Delta) of the pulled arms lie within one pull of
    # the lowest, so no arm is more than one pull ahead, nor more than K behind.
    problem = Problem(means, 0.5)
    asked = drive(learner_of(KnownGaps(), problem, budget), lambda arm, n: 1.0, budget)
    pulls = np.bincount(asked, minlength=problem.arms)
    ahead = pulls - optimal_allocation(problem.gaps, budget)
    assert ahead.max() <= 1 + 1e-6
    assert ahead.min() >= -problem.arms


def test_rewards_do_not_matter():
    policy, facts = KnownGaps(), {"arms": 3, "threshold": 0.5, "gaps": [0.3, 0.05, 0.2]}
    ones = drive(policy.learner(**facts), lambda arm, n: 1.0, 200)
    zeros = drive(policy.learner(**facts), lambda arm, n: 0.0, 200)
    assert ones == zeros


def test_easy_arms_come_first():
    learner = KnownGaps().learner(arms=3, threshold=0.5, gaps=[0.1, 0.4, 0.2])
    assert drive(learner, lambda arm, n: 1.0, 1) == [1]


@pytest.mark.parametrize("arms", [3, 40])
def test_an_arm_without_gap_comes_after_all_others(arms):
    gaps = np.full(arms, 1e-3)
    gaps[0] = 0.0
    learner = KnownGaps().learner(arms=arms, threshold=0.5, gaps=gaps)
    asked = drive(learner, lambda arm, n: 1.0, 5 * arms)
    assert set(asked) == set(range(1, arms))


@pytest.mark.parametrize("arms", [3, 40])
def test_arms_that_are_all_without_gap_are_no_error(arms):
    learner = KnownGaps().learner(arms=arms, threshold=0.5, gaps=np.zeros(arms))
    assert drive(learner, lambda arm, n: 1.0, 5) == [0] * 5
