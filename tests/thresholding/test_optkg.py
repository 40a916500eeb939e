import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc, betaincc, betaln

from keyhole.thresholding import OptKG, Problem
from tests.reference import thresholding as reference
from tests.thresholding.cases import SETUP_1, bernoulli, drive

GRID = 2.0**-30


def log_scores(learner):
    return -learner.state["index"][: learner.facts["arms"]] * GRID


def feed(learner, reward):
    learner.ask()
    learner.tell(reward)


def one_arm(threshold=0.5, a=1.0, b=1.0):
    return OptKG(a=a, b=b).learner(arms=1, threshold=threshold)


@pytest.mark.parametrize("prior", [1.0, 2.5])
def test_the_score_has_a_closed_form_for_one_half_and_a_symmetric_prior(prior):
    learner = one_arm(a=prior, b=prior)
    for pulls in range(1100):  # rounding is repaired after a thousand
        s = learner.state["totals"][0]
        a, b = prior + max(s, pulls - s), prior + min(s, pulls - s)
        expected = -(a + b) * math.log(2) - math.log(a) - betaln(a, b)
        assert log_scores(learner)[0] == pytest.approx(expected, abs=2 * GRID)
        feed(learner, float(pulls % 7 < 3))


@pytest.mark.parametrize("threshold", [0.5, 0.91])
def test_steps_stay_exact_over_thousands_of_pulls(threshold):
    learner = one_arm(threshold, a=0.5, b=2.0)
    reward = bernoulli([threshold], 5, 0)
    for pulls in range(1, 4000):
        feed(learner, reward(0, pulls))
        if pulls % 500 in (1, 499):
            a = 0.5 + learner.state["totals"][0]
            b = 2.0 + pulls - learner.state["totals"][0]
            log_w = a * math.log(threshold) + b * math.log1p(-threshold) - betaln(a, b)
            assert learner.state["above"][0] == pytest.approx(betaincc(a, b, threshold), abs=1e-12)
            assert learner.state["log_weight"][0] == pytest.approx(log_w, abs=1e-10)


def test_scores_do_not_underflow():
    learner = one_arm()
    drive(learner, lambda arm, n: 1.0, 5000)
    a, b = 5001.0, 1.0
    assert learner.state["weight"][0] == 0.0  # 2 ** -5000 is no number
    expected = -(a + b) * math.log(2) - math.log(a) - betaln(a, b)
    assert log_scores(learner)[0] == pytest.approx(expected, rel=1e-12)
    assert learner.recommend().tolist() == [True]


def test_long_lost_scores_are_still_compared():
    # All scores are far below the smallest number, yet the arm with fewer pulls scores higher.
    learner = OptKG().learner(arms=2, threshold=0.5)
    asked = drive(learner, lambda arm, n: 1.0, 3000)
    assert abs(asked.count(0) - asked.count(1)) <= 1


def test_rounding_is_repaired_every_thousand_pulls():
    learner = one_arm(0.4)
    reward = bernoulli([0.45], 1, 0)
    drive(learner, reward, 500)
    learner.state["above"][0] += 1e-6
    learner.state["log_weight"][0] += 1e-6
    for pulls in range(500, 1000):
        s = learner.state["totals"][0]
        exact = betaincc(1 + s, 1 + pulls - s, 0.4)
        assert abs(learner.state["above"][0] - exact) > 5e-7
        feed(learner, reward(0, pulls))
    s = learner.state["totals"][0]
    assert learner.state["above"][0] == pytest.approx(betaincc(1 + s, 1001 - s, 0.4), abs=1e-13)


@given(
    threshold=st.floats(0.02, 0.98),
    a=st.floats(0.05, 20),
    b=st.floats(0.05, 20),
    rewards=st.lists(st.sampled_from([0.0, 1.0]), max_size=60),
)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_scores_agree_with_the_definition(threshold, a, b, rewards):
    learner = one_arm(threshold, a, b)
    drive(learner, lambda arm, n: rewards[n], len(rewards))
    slow = reference.OptKG(threshold, a, b)
    expected = slow.scores([len(rewards)], [sum(rewards)])[0]
    assert math.exp(log_scores(learner)[0]) == pytest.approx(expected, rel=1e-8, abs=1e-15)


@given(rewards=st.lists(st.floats(0, 1), min_size=1, max_size=40), threshold=st.floats(0.05, 0.95))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_rewards_between_0_and_1_count_in_part(rewards, threshold):
    learner = one_arm(threshold, a=0.5, b=1.5)
    drive(learner, lambda arm, n: rewards[n], len(rewards))
    total = sum(rewards)
    below = betainc(0.5 + total, 1.5 + len(rewards) - total, threshold)
    assert learner.state["above"][0] == pytest.approx(1 - below, abs=1e-11)


def test_scores_that_are_equal_tie_whatever_the_order_of_the_rewards():
    orders = ([1.0, 0.0] * 50, [1.0] * 50 + [0.0] * 50, [0.0] * 50 + [1.0] * 50)
    keys = set()
    for rewards in orders:
        learner = one_arm(0.3)
        drive(learner, lambda arm, n, rewards=rewards: rewards[n], 100)
        keys.add(learner.state["index"][0])
    assert len(keys) == 1


def test_scores_that_are_equal_tie_at_different_counts():
    # For a uniform prior, (A, B) = (2, 1) and (3, 2) both score 1/8.
    one, three = one_arm(), one_arm()
    drive(one, lambda arm, n: 1.0, 1)
    drive(three, lambda arm, n: [1.0, 0.0, 1.0][n], 3)
    assert one.state["index"][0] == three.state["index"][0]
    assert log_scores(one)[0] == pytest.approx(math.log(1 / 8), abs=GRID)


def test_even_evidence_is_labelled_above():
    learner = one_arm()
    for _ in range(300):
        assert learner.recommend().tolist() == [True]
        drive(learner, lambda arm, n: float(n % 2), 2)


def test_without_evidence_the_prior_decides():
    learner = OptKG(a=1, b=3).learner(arms=2, threshold=0.5)
    assert learner.recommend().tolist() == [False, False]


def test_arms_are_not_all_pulled_first():
    # Near a threshold of 0.9, a success makes an arm more interesting than one without pulls.
    learner = OptKG().learner(arms=3, threshold=0.9)
    assert drive(learner, lambda arm, n: 1.0, 2) == [0, 0]


def test_a_tree_of_many_arms_decides_as_the_reference():
    problem = Problem(np.resize(SETUP_1, 70), 0.5)
    reward = bernoulli(problem.means, 2, 0)
    asked, _ = reference.play(reference.OptKG(0.5, 1.0, 1.0), reward, 70, 400)
    assert drive(OptKG().learner(arms=70, threshold=0.5), reward, 400) == asked
