"""The declarations of policies that can stop, and how their state is read."""

import numpy as np
import pytest

from keyhole import simulate
from keyhole.contract.policy import Guarantee, is_done, remaining_arms, settled_arms
from keyhole.policy import float_array, int_array
from keyhole.testing import check_policy
from keyhole.thresholding import LSA, PerArmStopping, Policy, Problem

pytestmark = pytest.mark.interpreted

PROBLEM = Problem([0.2, 0.8], 0.5)


class Hasty(Policy):
    """Settles an arm by its first reward, without any base."""

    verdicts = ("good", "bad")

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        settled = int_array("arms")
        stopped = int_array()

    def select(p, s, t):
        return (t - 1) % p.arms

    def update(p, s, t, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        s.settled[arm] = 1 if reward > 0.5 else 2
        if t == p.arms:
            s.stopped[0] = t

    def guarantee(self):
        return Guarantee("any_wrong_settled", 1.0, "none")

    def wrong_verdicts(self, problem):
        return np.stack([~problem.labels, problem.labels], axis=1)


def test_a_policy_of_ones_own_stops():
    curves = simulate(PROBLEM, [Hasty()], horizon=50, replications=40, details=True)
    assert (curves.values(Hasty(), "rounds_used") == 2).all()
    assert (curves.values(Hasty(), "pulls[1]") == 1).all()
    errors = sum(curves.values(Hasty(), f"errors[{arm}]") for arm in range(2))
    assert np.array_equal(curves.values(Hasty(), "wrong_settled"), errors / 2)
    assert 0 < curves.mean(Hasty(), "any_wrong_settled")[-1] < 1
    assert Hasty.traits()["verdicts"] == "good, bad"


def test_it_keeps_the_contract_to_its_end(only_interpreted):
    check_policy(Hasty(), PROBLEM, horizon=30)


def test_the_state_of_a_learner_is_read():
    learner = Hasty().learner(arms=2, threshold=0.5)
    learner.ask()
    learner.tell(0.0)
    assert settled_arms(learner.policy, learner.state) == {0: "bad"}
    assert remaining_arms(learner.policy, learner.state, 2) == [1]
    assert not is_done(learner.policy, learner.state)
    learner.ask()
    learner.tell(1.0)
    assert is_done(learner.policy, learner.state)
    assert not is_done(LSA(), {})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("verdicts", ["a"], "verdicts must be a tuple of texts"),
        ("verdicts", ("a", "a"), "verdicts must differ, got 'a' twice"),
        ("settled", int_array(), r'declare settled = int_array\("arms"\)'),
        ("stopped", float_array(), r"declare stopped = int_array\(\)"),
    ],
)
def test_a_broken_declaration_is_refused(name, value, message):
    content = {} if name == "verdicts" else {"State": type("State", (Hasty.State,), {name: value})}
    with pytest.raises((TypeError, ValueError), match=message):
        type("Broken", (Hasty,), content or {name: value})


@pytest.mark.parametrize("missing", ["guarantee", "wrong_verdicts"])
def test_a_missing_method_is_named(missing):
    other = type("Mute", (Hasty,), {missing: getattr(Policy, missing)})
    with pytest.raises(TypeError, match=f"Mute has verdicts and must define {missing}"):
        getattr(other(), missing)(*([PROBLEM] * (missing != "guarantee")))


def test_a_wrong_shape_is_named():
    other = type("Flat", (Hasty,), {"wrong_verdicts": lambda self, problem: problem.labels})
    with pytest.raises(ValueError, match=r"must have the shape \(2, 2\), got \(2,\)"):
        simulate(PROBLEM, [other()], horizon=5, replications=1)


def test_an_impossible_verdict_is_refused():
    class Wild(Hasty):
        def update(p, s, t, arm, reward):
            s.settled[arm] = 3

    with pytest.raises(ValueError, match="settled must be 0 or the number of a verdict"):
        simulate(PROBLEM, [Wild()], horizon=5, replications=1)


def test_guarantees_are_said_in_words():
    found = PerArmStopping(delta=0.1).guarantee()
    assert found.most == 0.1
    assert found.text == "expected share of all arms wrong by 0.05 or more: at most 0.1"
