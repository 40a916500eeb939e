"""The conformance test passes what keeps the contract, and catches what breaks it."""

import math

import numpy as np
import pytest

from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, float_array, scratch_array
from keyhole.draws.streams import uniform
from keyhole.testing import (
    PROBLEM_CHECKS,
    SETTING_CHECKS,
    CheckContext,
    SettingCase,
    check_policy,
    check_problem,
    check_setting,
    parametrize_with_checks,
)
from keyhole.testing.interpreter_agreement import interpreted_and_compiled_agree
from keyhole.testing.policy_checks import engine_and_learner_agree, saving_changes_nothing
from keyhole.thresholding import LSA, Policy, Problem
from tests.conformance import COMPILED, INTERPRETED
from tests.toys import LEVELS, PATROLS, RUNS, TOYS, ArmsOnly, Toy

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("only_interpreted")]

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


TRIALS = [CheckContext(*TOYS[kind], horizon=60, seed=1) for kind in TOYS]


@parametrize_with_checks(TRIALS, INTERPRETED)
def test_toy_settings_conform(check, subject):
    check(subject)


@pytest.mark.slow
@pytest.mark.compiled
@parametrize_with_checks(TRIALS, COMPILED)
def test_toy_settings_conform_compiled(check, subject):
    check(subject)


@parametrize_with_checks(TRIALS, PROBLEM_CHECKS)
def test_toy_problems_conform(check, subject):
    check(subject)


@parametrize_with_checks(
    [
        SettingCase(LEVELS, {"arms": 3, "levels": 6}, {"level": 0}),
        SettingCase(PATROLS, {"arms": 3, "resource": 1.0}),
        SettingCase(RUNS, {"arms": 3}),
    ],
    SETTING_CHECKS,
)
def test_toy_vocabularies_conform(check, subject):
    check(subject)


class Random(Policy):
    """Pulls arms at random, and tallies."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, rng):
        return int(uniform(rng) * p.arms)

    def update(p, s, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


def test_a_randomised_policy_conforms():
    check_policy(Random(), PROBLEM)


class Divides(Random):
    """Forgets that an arm may not have been pulled."""

    class State(Random.State):
        means = float_array("arms")

    def update(p, s, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        for i in range(p.arms):
            s.means[i] = s.totals[i] / s.pulls[i]


def test_a_state_that_becomes_nan_is_caught():
    with pytest.raises(AssertionError, match=r"Divides\(\): means became NaN in round 1"):
        check_policy(Divides(), PROBLEM)


def test_an_engine_that_differs_from_the_learner_is_caught(monkeypatch):
    play = CheckContext.simulate_metrics
    monkeypatch.setattr(
        CheckContext, "simulate_metrics", lambda *asked, **how: play(*asked, **how) + 1.0
    )
    with pytest.raises(AssertionError, match="engine and learner differ in replication 0"):
        engine_and_learner_agree(CheckContext(LSA(), PROBLEM, horizon=20))


class Unsaved(Random):
    """Counts in an array that is not saved."""

    class State(Random.State):
        count = scratch_array()

    def select(p, s):
        return int(s.count[0]) % p.arms

    def update(p, s):
        s.count[0] += 1.0


def test_a_policy_that_saving_changes_is_caught():
    words = "saving and loading changed its decisions: arrays of `scratch_array` are not saved"
    with pytest.raises(AssertionError, match=words):
        saving_changes_nothing(CheckContext(Unsaved(), PROBLEM, horizon=20))


class OnlyThree(Random):
    """Works for three arms, and no others."""

    def select(p, t):
        return t % 3


def test_a_policy_that_wants_a_certain_number_of_arms_is_caught():
    with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
        check_policy(OnlyThree(), PROBLEM)


class Ending(Problem):
    """Ends after sixty rounds, however many arms."""

    rounds = 60

    def resized(self, arms):
        return Ending(np.resize(self.means, arms), self.threshold)


def test_a_problem_that_ends_is_resized_to_one_that_does():
    check_policy(LSA(), Ending(means=[0.2, 0.45, 0.7], threshold=0.5), horizon=60)


class Forgetful(LSA):
    """Prints differently every time."""

    def __repr__(self):
        return f"Forgetful at {id(self)}"


def test_a_policy_that_does_not_print_its_parameters_is_caught():
    with pytest.raises(AssertionError, match="equal policies print differently"):
        check_policy(Forgetful(), PROBLEM)


class Idle(Policy):
    """Always pulls the first arm, and remembers nothing."""

    def select(p):
        return 0

    def update(p):
        pass

    def recommend(p, labels):
        for arm in range(p.arms):
            labels[arm] = 1


def test_a_policy_that_does_nothing_is_caught():
    with pytest.raises(AssertionError, match=r"Idle\(\): 100 rounds, one decision, and nothing"):
        check_policy(Idle(), PROBLEM)


def test_a_check_that_is_known_to_fail_must():
    check_policy(Idle(), PROBLEM, failing={"acts_at_all": "a baseline"})
    with pytest.raises(
        AssertionError, match=r"acts_at_all was expected to fail \(a guess\), but passes"
    ):
        check_policy(LSA(), PROBLEM, failing={"acts_at_all": "a guess"})
    with pytest.raises(ValueError, match=r"failing must be .*mean 'acts_at_all'\?"):
        check_policy(LSA(), PROBLEM, failing={"acts_at_al": "a slip"})


@parametrize_with_checks(
    [CheckContext(Idle(), PROBLEM, failing={"acts_at_all": "a baseline"})], INTERPRETED
)
def test_known_failures_are_expected_with_their_reason(check, subject):
    check(subject)


def test_a_known_failure_of_no_check_is_refused():
    with pytest.raises(ValueError, match=r"failing of Idle\(\) must be one of"):
        parametrize_with_checks([CheckContext(Idle(), PROBLEM, failing={"acts": "a slip"})])


def test_a_problem_that_leaves_something_unsaid_is_caught():
    policy, problem = TOYS["context"]
    lacking = Toy(problem.environment, {"arms": 3, "levels": 6})
    with pytest.raises(AssertionError, match=r"truth\(\) lacks speed"):
        check_problem(lacking, policy)
    crooked = Toy(problem.environment, {"arms": 3, "levels": 6, "speed": [0.5, 0.5]})
    with pytest.raises(AssertionError, match=r"speed has the shape \(2,\), not \(3,\)"):
        check_problem(crooked, policy)


def test_a_guard_that_lets_anything_pass_is_caught():
    careless = Setting("x", ArmsOnly, {"arm": Field("int64")}, {}, lambda p, arm: True)
    with pytest.raises(AssertionError, match="the guard lets arm = -1 pass"):
        check_setting(careless, {"arms": 3})


def test_words_that_mean_two_things_are_caught():
    twice = Setting("x", ArmsOnly, {"arm": Field("int64")}, {"arm": Field("int64")}, lambda p: True)
    with pytest.raises(AssertionError, match="x: arm means two things"):
        check_setting(twice, {"arms": 3})


class TwoTypes(Random):
    """Has a variable that is an integer in one branch and a float in the other."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")
        sign = float_array()

    def update(p, s, t, arm, reward):
        zero = 0
        if t > 50:
            zero = 0.5
        s.sign[0] = math.copysign(1.0, -zero)


def test_a_policy_that_python_runs_otherwise_is_caught():
    with pytest.raises(AssertionError) as found:
        interpreted_and_compiled_agree(CheckContext(TwoTypes(), PROBLEM))
    assert str(found.value) == (
        "TwoTypes(): interpreted and compiled kernels differ in round 1 of a learner: "
        "the state, sign[0], is -1.0 compiled, and 1.0 interpreted"
    )


class Following(Random):
    """Uses what has no equal in Python."""

    def update(p, arm, reward):
        math.nextafter(reward, 1.0)


def test_a_policy_that_cannot_be_interpreted_is_not_compared():
    with pytest.warns(UserWarning, match=r"not compared .* Following\.update .* math\.nextafter"):
        interpreted_and_compiled_agree(CheckContext(Following(), PROBLEM))
