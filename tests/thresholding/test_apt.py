from collections import defaultdict
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from keyhole.thresholding import APT
from tests.thresholding.cases import SETUP_1, bernoulli, drive

pytestmark = pytest.mark.interpreted


def test_the_index_orders_as_that_of_the_paper():
    rewards = [1.0, 0.0, 0.5]
    learner = APT(epsilon=0.1).learner(arms=1, threshold=0.25)
    drive(learner, lambda arm, n: rewards[n], 3)
    assert learner.state["index"][0] ** 0.5 == pytest.approx(3**0.5 * (0.25 + 0.1))


def test_without_a_precision_equal_arms_tie_exactly_at_any_counts():
    values = defaultdict(set)
    inputs = SimpleNamespace(epsilon=0.0, threshold=0.5)
    for pulls in range(1, 200):
        for successes in range(pulls + 1):
            squared = Fraction(2 * successes - pulls, 2) ** 2 / pulls
            values[squared].add(APT.index(inputs, float(pulls), float(successes)))
    assert all(len(found) == 1 for found in values.values())


def test_a_huge_precision_means_pulling_equally_often():
    learner = APT(epsilon=1e9).learner(arms=10, threshold=0.5)
    asked = drive(learner, bernoulli(SETUP_1, 0, 0), 100)
    assert np.bincount(asked).tolist() == [10] * 10


def test_without_a_precision_an_arm_on_the_threshold_is_pulled_until_it_leaves_it():
    learner = APT().learner(arms=2, threshold=0.5)
    reward = {0: 0.5, 1: 0.75}
    assert drive(learner, lambda arm, n: reward[arm], 50) == [0, 1] + [0] * 48
