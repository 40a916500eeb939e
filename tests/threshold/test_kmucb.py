import math
import warnings

import pytest

from keyhole import simulate
from keyhole.threshold import KMUCB, KaplanMeierUCB, Problem
from tests.threshold.cases import FIVE

pytestmark = pytest.mark.interpreted

APART = [[0.9, 0.9, 0.4], [0.5, 0.5, 0.3], [0.5, 0.1, 0.0]]
SURE = [[1.0, 1.0], [0.0, 0.0]]


def test_each_arm_is_pulled_once_at_each_threshold_of_an_epoch():
    learner = KMUCB().learner(arms=3, levels=2, feedback="censored", horizon=100)
    asked = []
    for threshold in (2, 1, 1, 2, 2, 1):
        asked.append((threshold, learner.ask(threshold=threshold)))
        learner.tell(0)
    assert sorted(asked) == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]


def first_epoch(level, levels, gap, horizon):
    """Return the first epoch whose test a gap passes, by looking."""
    k = 1
    while gap < math.sqrt(16 * math.log(horizon * k) / ((levels - level + 1) * k)):
        k += 1
    return k


def test_levels_close_in_the_epochs_computed_by_hand():
    horizon = 4000
    problem = Problem(SURE, feedback="censored", order="cyclic")
    epochs = [first_epoch(level, 2, 1.0, horizon) for level in (1, 2)]
    assert epochs == [104, 219]
    ends = [4 * k for k in epochs]
    checkpoints = sorted({c for end in ends for c in (end - 1, end)})
    curves = simulate(problem, [KMUCB()], horizon=horizon, replications=5, checkpoints=checkpoints)
    assert curves.mean("KMUCB()", "settled_levels").tolist() == [0.0, 1.0, 1.0, 2.0]


def test_a_level_is_kept_once_it_is_settled():
    k = first_epoch(1, 2, 1.0, 4000)
    learner = KMUCB().learner(arms=2, levels=2, feedback="censored", horizon=4000)
    for _ in range(k):
        for threshold in (1, 2, 2, 1):
            arm = learner.ask(threshold=threshold)
            if arm == 0:
                learner.tell(censored=True)
            else:
                learner.tell(0)
    for _ in range(3):
        assert learner.ask(threshold=1) == 0
        learner.tell(censored=True)
        learner.ask(threshold=2)
        learner.tell(0)


def test_an_order_that_is_not_cyclic_is_refused_by_round():
    learner = KMUCB().learner(arms=2, levels=3, feedback="censored", horizon=100)
    for threshold in (2, 3):
        learner.ask(threshold=threshold)
        learner.tell(0)
    with pytest.raises(ValueError, match=r"needs each threshold once .*: not so in round 3$"):
        learner.ask(threshold=2)
    assert learner.ask(threshold=1) in (0, 1)
    problem = Problem(FIVE, feedback="censored", order="iid")
    with pytest.raises(ValueError, match=r"not so in round \d+ of replication \d+"):
        simulate(problem, [KMUCB()], horizon=100, replications=2)


def test_a_level_without_a_unique_best_arm_is_warned_of():
    problem = Problem([[1.0, 0.8], [1.0, 0.2]], feedback="censored", order="cyclic")
    with pytest.warns(UserWarning, match="never gets beyond level 1, at which several arms"):
        curves = simulate(problem, [KMUCB()], horizon=3000, replications=3)
    assert curves.mean("KMUCB()", "settled_levels")[-1] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(problem, [KaplanMeierUCB()], horizon=10, replications=1)


def test_rounds_after_the_last_whole_epoch_go_on():
    problem = Problem(APART, feedback="censored", order="cyclic")
    curves = simulate(problem, [KMUCB()], horizon=1000, replications=2)
    assert curves.checkpoints == (1000,)  # 111 epochs of 9 rounds, and one round
