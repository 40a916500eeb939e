"""The step of a policy with open decisions: a settled memory, and a copy on which these count."""

import numpy as np
import pytest

from keyhole.contract.compiled_class import policy_component
from keyhole.contract.state_memory import allocate
from keyhole.drivers.pending_step import (
    CHECK,
    DECIDE,
    DECIDE_ON_COPY,
    INIT,
    RECOMMEND,
    ROW_HEADER,
    TELL,
    compiled_pending_step,
)
from keyhole.policy import float_array
from keyhole.stochastic import UCB1, Policy, ThompsonSampling

pytestmark = pytest.mark.interpreted


class Mind:
    """A policy of the classical bandit and its two memories."""

    def __init__(self, policy, arms=4, seed=5):
        side, known = policy_component(type(policy)), policy.numbers() | {"arms": arms}
        layouts = (side.inputs, side.state, *side.records.layouts)
        self.cells, self.plan, parts = allocate(layouts, side.dims, side.sizes(known))
        for name, view in parts[0].items():
            view[...] = known[name]
        self.report = parts[-1]
        self.copy = self.cells.copy()
        self.step = compiled_pending_step(side, policy.setting)
        self.words = np.array([seed, 0, 0, 0], np.uint64)
        self.run(np.zeros(1), 0, 0, INIT)

    def run(self, rows, t, count, what):
        flat = np.ascontiguousarray(rows, np.float64).ravel()
        return self.step(self.cells, self.copy, self.plan, flat, self.words, t, count, what)

    def decide(self, t, opened, what=DECIDE):
        rows = np.array([row(*one)[: ROW_HEADER + 1] for one in opened]) if opened else np.zeros(1)
        assert self.run(rows, t, len(opened), what)
        return self.copy.view(np.int64)[self.plan[3]].item()

    def tell(self, *told):
        self.run(np.array([row(*one) for one in told]), 0, len(told), TELL)


def row(t, arm, reward=0.0):
    cells = np.zeros(ROW_HEADER + 2)
    cells[0], cells[-1] = t, reward
    cells.view(np.int64)[ROW_HEADER] = arm
    return cells


@pytest.mark.parametrize("policy", [UCB1(), ThompsonSampling()], ids=repr)
def test_with_nothing_open_it_decides_as_a_learner(policy):
    mind, learner = Mind(policy), policy.learner(arms=4, seed=5)
    for t in range(1, 100):
        arm = mind.decide(t, [])
        assert arm == learner.ask()
        mind.tell((t, arm, float(arm == 2)))
        learner.tell(float(arm == 2))


def test_open_decisions_count_and_leave_no_trace():
    mind = Mind(UCB1())
    assert mind.decide(1, []) == 0
    settled = mind.cells.copy()
    assert mind.decide(3, [(1, 0), (2, 1)]) == 2
    assert np.array_equal(mind.cells, settled)
    assert mind.decide(4, []) == 0


def test_what_is_new_can_be_imagined_alone():
    mind, opened = Mind(UCB1()), []
    for t in range(1, 30):
        again = mind.decide(t, opened)
        mind.decide(t, opened[:-1])
        assert mind.decide(t, opened[-1:], DECIDE_ON_COPY) == again
        opened.append((t, again))


def test_rows_that_are_told_together_are_told_one_after_the_other():
    together, single = Mind(ThompsonSampling()), Mind(ThompsonSampling())
    told = [(t, t % 4, (t % 3) / 2) for t in range(1, 40)]
    together.tell(*told)
    for one in told:
        single.tell(one)
    assert np.array_equal(together.cells, single.cells)
    assert np.array_equal(together.words[:2], single.words[:2])


def test_imagining_draws_from_a_stream_of_its_own():
    mind = Mind(ThompsonSampling())
    mind.tell(*[(t, t % 4, 0.5) for t in range(1, 9)])
    stream = mind.words[:2].copy()
    mind.run(np.array([row(9, 1)[: ROW_HEADER + 1]] * 3), 10, 3, DECIDE)
    assert mind.words[2] != mind.words[3]  # fractional means are tossed for
    mind.words[:2] = stream
    mind.run(np.zeros(1), 10, 0, DECIDE)
    assert mind.words[2] == mind.words[3]


class Aging(Policy):
    """Remembers of which age and round a decision was that it imagined."""

    pending = ("impute",)

    class State:
        ages = float_array("arms")
        rounds = float_array("arms")

    def select(p):
        return 0

    def recommend(p, best):
        best[0] = 0

    def update(p, s):
        s.ages[0] = -1.0

    def impute(p, s, t, age, arm):
        s.ages[arm] = age
        s.rounds[arm] = t


def test_imagining_is_told_round_and_age():
    mind, opened = Mind(Aging()), row(7, 2)
    opened[1] = 0.25
    mind.run(opened[: ROW_HEADER + 1], 10, 1, DECIDE)
    begin = mind.plan[1]
    assert mind.copy[begin : begin + 8].tolist() == [0, 0, 0.25, 0, 0, 0, 7, 0]


def test_a_decision_that_is_not_allowed_is_told():
    mind = Mind(UCB1())
    mind.cells.view(np.int64)[mind.plan[3]] = 4
    assert not mind.run(np.zeros(1), 1, 0, CHECK)
    mind.cells.view(np.int64)[mind.plan[3]] = 3
    assert mind.run(np.zeros(1), 1, 0, CHECK)


def test_it_recommends_from_what_is_settled():
    mind = Mind(UCB1())
    mind.tell((1, 0, 0.1), (2, 1, 0.9))
    mind.decide(3, [(3, 0)])
    mind.run(np.zeros(1), 3, 0, RECOMMEND)
    assert mind.report["best"] == 1
