"""Every arm is tried soon, whatever the others did, how many limits there are, and in any order."""

import numpy as np
import pytest

from keyhole.resource import HazardThompson, HazardUCB, Power
from keyhole.study import Study

pytestmark = pytest.mark.interpreted

POLICIES = (HazardUCB(), HazardUCB(alpha=0), HazardThompson())
ONE, TEN = [1.0], np.geomspace(0.001, 1.0, 10).tolist()
DURATIONS = {
    "a slow arm that always succeeds first": [0.3, 0.01],
    "arms that are alike": [0.2] * 6,
    "twelve arms, the last the fastest": [0.2] + [0.25] * 10 + [0.005],
    "arms of which none ever succeeds": [9.0] * 5,
    "one that succeeds among many that never do": [9.0] * 7 + [0.4],
}


def facts(limits):
    return {"limits": limits, "cost": Power(slope=1.0), "penalty": Power(slope=1.0)}


def arms_run(policy, durations, limits, rounds):
    """Return the arms that a policy runs, and the one that it recommends."""
    learner = policy.learner(arms=len(durations), seed=1, **facts(limits))
    found = []
    for _ in range(rounds):
        arm, limit = learner.ask()
        found.append(arm)
        if durations[arm] <= limit:
            learner.tell(reward=1.0, consumption=durations[arm])
        else:
            learner.tell(exceeded=True)
    return found, learner.recommend()[0]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("limits", [ONE, TEN], ids=["one limit", "ten limits"])
@pytest.mark.parametrize("durations", DURATIONS.values(), ids=DURATIONS)
@pytest.mark.parametrize("reverse", [False, True], ids=["as written", "reversed"])
def test_every_arm_is_run_within_twice_as_many_rounds_as_there_are_arms(
    policy, limits, durations, reverse
):
    durations = durations[::-1] if reverse else durations
    found, _ = arms_run(policy, durations, limits, 2 * len(durations))
    assert set(found) == set(range(len(durations)))


@pytest.mark.parametrize("policy", [HazardUCB(), HazardThompson()], ids=repr)
@pytest.mark.parametrize("limits", [ONE, TEN], ids=["one limit", "ten limits"])
def test_what_is_recommended_does_not_depend_on_the_order_of_arms(policy, limits):
    durations = DURATIONS["twelve arms, the last the fastest"]
    for order in (durations, durations[::-1]):
        assert order[arms_run(policy, order, limits, 60)[1]] == 0.005


def test_no_more_than_half_of_the_rounds_go_to_arms_that_were_never_run():
    found, _ = arms_run(HazardUCB(), [0.01] + [9.0] * 40, ONE, 40)
    assert len(set(found)) <= 21


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_an_arm_whose_first_run_is_pending_is_not_run_first_once_more(policy, tmp_path):
    arms = [f"arm {n}" for n in range(6)]
    with Study.create(tmp_path / "s.db", "s", policy, arms, seed=3, **facts(ONE)) as study:
        assert {study.ask().arm for _ in range(12)} == set(arms)


def test_an_arm_that_is_added_is_run_within_two_rounds(tmp_path):
    with Study.create(tmp_path / "s.db", "s", HazardUCB(), ["good"], **facts(ONE)) as study:
        for _ in range(50):
            study.tell(study.ask().id, reward=1.0, consumption=0.1)
        study.add_arm("new")
        assert "new" in {study.ask().arm for _ in range(2)}


def test_an_arm_that_was_never_run_is_not_recommended():
    learner = HazardUCB().learner(arms=3, **facts(ONE))
    learner.ask()
    learner.tell(exceeded=True)
    assert learner.recommend() == (0, 1.0)
