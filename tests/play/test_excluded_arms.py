"""A learner leaves arms out of a decision as a study does, and is otherwise as before."""

import random

import pytest

from keyhole import Learner
from keyhole.policy import float_array, int_array
from keyhole.resource import HazardUCB
from keyhole.semibandit import CSBDT
from keyhole.stochastic import KLUCB, UCB1, ImprovedUCB, Policy, ThompsonSampling
from keyhole.study import Study
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import LSA, PerArmStopping
from tests.study.studies import ARMS
from tests.study.test_exclude import LIMITS
from tests.study.test_state import (
    SAMPLES,
    at_some_threshold,
    flipped,
    of_nothing,
    ran,
    same_decision,
    sampled,
)

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize(
    ("policy", "facts", "context", "feedback"),
    [
        (LSA(), {"threshold": 0.5}, of_nothing, flipped),
        (PerArmStopping(), {"threshold": 0.5}, of_nothing, flipped),
        (UCB1(), {}, of_nothing, flipped),
        (KLUCB(), {}, of_nothing, flipped),
        (ThompsonSampling(), {}, of_nothing, flipped),
        (KaplanMeierUCB(), SAMPLES, at_some_threshold, sampled),
        (HazardUCB(), LIMITS, of_nothing, ran),
    ],
    ids=lambda value: type(value).__name__,
)
def test_without_some_arms_a_learner_decides_as_a_study(tmp_path, policy, facts, context, feedback):
    rng = random.Random(3)
    learner = policy.learner(arms=len(ARMS), seed=7, **facts)
    with Study.create(
        tmp_path / "s.db", "s", policy, ARMS, seed=7, durability="process_crash", **facts
    ) as study:
        for number in range(40):
            excluded = rng.sample(range(len(ARMS)), number % len(ARMS))
            words = context(rng)
            decision = study.ask(exclude=[ARMS[arm] for arm in excluded], **words)
            same_decision(decision, learner.ask(exclude=excluded, **words))
            same_decision(decision, learner.ask(**words))
            answer = feedback(rng, decision)
            study.tell(decision, **answer)
            learner.tell(**answer)
        assert learner.rounds == 40


def test_a_decision_without_some_arms_changes_no_array(tmp_path):
    learner = ThompsonSampling().learner(arms=list("abcd"), seed=2)
    for reward in (1, 0, 0.5, 1, 1):
        learner.ask()
        learner.tell(reward)
    before = {name: array.copy() for name, array in learner.state.items()}
    assert learner.ask(exclude=["a", "d", "a"]) in ("b", "c")
    assert all((learner.state[name] == array).all() for name, array in before.items())
    learner.save(tmp_path / "l.json")
    assert Learner.load(tmp_path / "l.json").ask() == learner.ask()


def test_a_decision_that_waits_stays_unless_it_is_excluded():
    learner = UCB1().learner(arms=["a", "b", "c"])
    assert learner.ask(exclude=["a"]) == learner.ask(exclude=["c"]) == learner.ask() == "b"
    with pytest.raises(
        RuntimeError, match=r"^tell must come first: the decision on arm 'b' is wait"
    ):
        learner.ask(exclude=["b"])
    learner.tell(1)
    assert learner.ask(exclude=[]) == "a"


@pytest.mark.parametrize(
    ("policy", "facts", "exclude", "error", "message"),
    [
        (UCB1(), {"arms": 3}, [3], ValueError, r"^an arm of exclude must lie in \[0, 3\), got 3"),
        (UCB1(), {"arms": ["a"]}, ["b"], ValueError, "^an arm of exclude must be one of a; got"),
        (UCB1(), {"arms": 2}, [1, 0], ValueError, "^exclude must leave an arm, and has all 2$"),
        (UCB1(), {"arms": 2}, "a", TypeError, "^exclude must be a sequence of names, got 'a'$"),
        (
            ImprovedUCB(),
            {"arms": 2, "horizon": 9},
            [1],
            TypeError,
            r"^exclude must be empty: ImprovedUCB\(.* relies on its own decisions: it cannot learn",
        ),
    ],
)
def test_what_cannot_be_excluded_is_refused_and_changes_nothing(
    policy, facts, exclude, error, message
):
    learner = policy.learner(**facts)
    with pytest.raises(error, match=message):
        learner.ask(exclude=exclude)
    assert learner.rounds == 0
    learner.ask()


def test_an_allocation_is_of_all_arms():
    with pytest.raises(TypeError, match="exclude"):
        CSBDT().learner(arms=2, resource=1.0).ask(exclude=[1])


def test_who_excludes_all_arms_that_are_not_settled_is_told_so():
    learner = PerArmStopping().learner(arms=2, threshold=0.5)
    while not learner.settled:
        learner.ask(exclude=[1])
        learner.tell(1)
    with pytest.raises(RuntimeError, match=r"^exclude must leave an arm that is not settled"):
        learner.ask(exclude=[1])
    assert learner.ask() == 1


class Sticky(Policy):
    """Pull the last arm again; its number is kept in the state."""

    off_policy = True
    pending = ("ignore",)

    class State:
        last = int_array()
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, s):
        return int(s.last[0]) if s.pulls[int(s.last[0])] > 0 else p.arms - 1

    def update(p, s, arm):
        s.pulls[arm] += 1.0
        s.last[0] = arm


@pytest.mark.compiled
def test_a_policy_that_keeps_the_number_of_an_arm_reads_nothing_beyond_its_arms():
    learner = Sticky().learner(arms=3)
    assert learner.ask() == 2
    learner.tell(1)
    with pytest.raises((IndexError, ValueError), match="Sticky"):
        learner.ask(exclude=[1])
    assert learner.ask() == 2
