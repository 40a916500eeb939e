import pytest

from keyhole.thresholding import RoundRobin
from tests.thresholding.cases import drive

pytestmark = pytest.mark.interpreted


def test_uniform_pulls_in_turn():
    learner = RoundRobin().learner(arms=3, threshold=0.5)
    assert drive(learner, lambda arm, n: 1.0, 8) == [0, 1, 2, 0, 1, 2, 0, 1]


def test_a_single_arm_is_pulled_in_every_round():
    learner = RoundRobin().learner(arms=1, threshold=0.5)
    assert drive(learner, lambda arm, n: 1.0, 5) == [0] * 5


def test_asking_twice_does_not_skip_an_arm():
    learner = RoundRobin().learner(arms=2, threshold=0.5)
    assert [learner.ask(), learner.ask()] == [0, 0]
    learner.tell(1)
    assert learner.ask() == 1
