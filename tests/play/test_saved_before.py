"""Learners that an earlier version saved go on as they would have."""

import json
from pathlib import Path

import pytest

from keyhole import Learner

pytestmark = pytest.mark.interpreted

SAVED = Path(__file__).parents[1] / "saved"
NEXT = json.loads((SAVED / "next.json").read_text())


def bit(n):
    return n * 7919 % 11 % 2


def pull(learner, n):
    arm = learner.ask()
    learner.tell(bit(n))
    return arm


def pull_at_a_threshold(learner, n):
    arm = learner.ask(threshold=1 + n % 3)
    learner.tell(censored=True) if bit(n) else learner.tell(0)
    return arm


def run(learner, n):
    arm, limit = learner.ask()
    learner.tell(exceeded=True) if bit(n) else learner.tell(reward=0.8, consumption=0.3)
    return [arm, limit]


ROUND = {
    "thresholding": pull,
    "stochastic": pull,
    "threshold": pull_at_a_threshold,
    "resource": run,
}


# What they lack has been kept only since: which pulls have brought a reward, and losses in spite of
# an estimate. Without, a reward could be believed twice, and a wrong threshold be kept.
GONE = {"delayed": "memory .* must be given", "semibandit": "its state lacks refuted"}


@pytest.mark.parametrize("setting", ROUND)
def test_a_learner_saved_before_goes_on_as_it_would_have(setting):
    learner = Learner.load(SAVED / "learners" / f"{setting}.json")
    assert learner.rounds_told == 30
    assert [ROUND[setting](learner, n) for n in range(30, 50)] == NEXT[setting]


def test_keys_that_were_saved_as_a_tree_of_pairs_are_understood():
    learner = Learner.load(SAVED / "learners" / "many_arms.json")
    assert learner.state["index"].shape == (30,)
    assert [pull(learner, n) for n in range(80, 100)] == NEXT["many_arms"]


@pytest.mark.parametrize("setting", GONE)
def test_one_that_lacks_what_is_needed_since_is_refused(setting):
    with pytest.raises(ValueError, match=f"does not fit .* as it is now: {GONE[setting]}"):
        Learner.load(SAVED / "learners" / f"{setting}.json")
