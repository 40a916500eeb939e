"""The step of a policy with pending decisions: main memory, and a copy for imputed feedback."""

import numpy as np
import pytest

from keyhole.contract.kernel_compilation import compiled_policy
from keyhole.contract.state_arrays import allocate
from keyhole.drivers.pending_decision_step import (
    CHECK,
    DECIDE,
    DECIDE_ON_COPY,
    INIT,
    RECOMMEND,
    ROW_HEADER,
    TELL,
    compiled_step,
)
from keyhole.policy import float_array
from keyhole.stochastic import UCB1, Policy, ThompsonSampling

pytestmark = pytest.mark.interpreted


class PolicyWithPending:
    """A policy of the classical bandit and its two memories."""

    def __init__(self, policy, arms=4, seed=5):
        compiled, known = compiled_policy(type(policy)), policy.numbers() | {"arms": arms}
        layouts = (compiled.inputs, compiled.state, *compiled.records.layouts)
        self.cells, self.plan, parts = allocate(layouts, compiled.dims, compiled.sizes(known))
        for name, view in parts[0].items():
            view[...] = known[name]
        self.report = parts[-1]
        self.copy = self.cells.copy()
        self.step = compiled_step(compiled, policy.setting)
        self.words = np.array([seed, 0, 0, 0], np.uint64)
        self.run(np.zeros(1), 0, 0, INIT)

    def run(self, rows, t, count, what):
        flat = np.ascontiguousarray(rows, np.float64).ravel()
        return self.step(self.cells, self.copy, self.plan, flat, self.words, t, count, what)

    def decide(self, t, pending, what=DECIDE):
        rows = (
            np.array([row(*one)[: ROW_HEADER + 1] for one in pending]) if pending else np.zeros(1)
        )
        assert self.run(rows, t, len(pending), what)
        return self.copy.view(np.int64)[self.plan[3]].item()

    def tell(self, *rows):
        self.run(np.array([row(*one) for one in rows]), 0, len(rows), TELL)


def row(t, arm, reward=0.0):
    cells = np.zeros(ROW_HEADER + 2)
    cells[0], cells[-1] = t, reward
    cells.view(np.int64)[ROW_HEADER] = arm
    return cells


@pytest.mark.parametrize("policy", [UCB1(), ThompsonSampling()], ids=repr)
def test_without_pending_decisions_it_decides_as_a_learner(policy):
    policy_state, learner = PolicyWithPending(policy), policy.learner(arms=4, seed=5)
    for t in range(1, 100):
        arm = policy_state.decide(t, [])
        assert arm == learner.ask()
        policy_state.tell((t, arm, float(arm == 2)))
        learner.tell(float(arm == 2))


def test_pending_decisions_affect_the_copy_only():
    policy_state = PolicyWithPending(UCB1())
    assert policy_state.decide(1, []) == 0
    settled = policy_state.cells.copy()
    assert policy_state.decide(3, [(1, 0), (2, 1)]) == 2
    assert np.array_equal(policy_state.cells, settled)
    assert policy_state.decide(4, []) == 0


def test_new_pending_decisions_are_imputed_on_the_same_copy():
    policy_state, pending = PolicyWithPending(UCB1()), []
    for t in range(1, 30):
        again = policy_state.decide(t, pending)
        policy_state.decide(t, pending[:-1])
        assert policy_state.decide(t, pending[-1:], DECIDE_ON_COPY) == again
        pending.append((t, again))


def test_rows_told_together_are_learnt_in_order():
    together, single = PolicyWithPending(ThompsonSampling()), PolicyWithPending(ThompsonSampling())
    rows = [(t, t % 4, (t % 3) / 2) for t in range(1, 40)]
    together.tell(*rows)
    for one in rows:
        single.tell(one)
    assert np.array_equal(together.cells, single.cells)
    assert np.array_equal(together.words[:2], single.words[:2])


def test_imputation_draws_from_a_stream_of_its_own():
    policy_state = PolicyWithPending(ThompsonSampling())
    policy_state.tell(*[(t, t % 4, 0.5) for t in range(1, 9)])
    stream = policy_state.words[:2].copy()
    policy_state.run(np.array([row(9, 1)[: ROW_HEADER + 1]] * 3), 10, 3, DECIDE)
    assert policy_state.words[2] != policy_state.words[3]  # fractional means are rounded at random
    policy_state.words[:2] = stream
    policy_state.run(np.zeros(1), 10, 0, DECIDE)
    assert policy_state.words[2] == policy_state.words[3]


class Aging(Policy):
    """Stores age and round of the decision that it imputes."""

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


def test_imputation_knows_round_and_age():
    policy_state, pending = PolicyWithPending(Aging()), row(7, 2)
    pending[1] = 0.25
    policy_state.run(pending[: ROW_HEADER + 1], 10, 1, DECIDE)
    begin = policy_state.plan[1]
    assert policy_state.copy[begin : begin + 8].tolist() == [0, 0, 0.25, 0, 0, 0, 7, 0]


def test_a_decision_that_is_not_allowed_is_reported():
    policy_state = PolicyWithPending(UCB1())
    policy_state.cells.view(np.int64)[policy_state.plan[3]] = 4
    assert not policy_state.run(np.zeros(1), 1, 0, CHECK)
    policy_state.cells.view(np.int64)[policy_state.plan[3]] = 3
    assert policy_state.run(np.zeros(1), 1, 0, CHECK)


def test_it_recommends_from_the_main_state():
    policy_state = PolicyWithPending(UCB1())
    policy_state.tell((1, 0, 0.1), (2, 1, 0.9))
    policy_state.decide(3, [(3, 0)])
    policy_state.run(np.zeros(1), 3, 0, RECOMMEND)
    assert policy_state.report["best"] == 1
