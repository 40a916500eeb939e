"""The conformance test passes what keeps the contract, and catches what breaks it."""

import pytest

from keyhole.contract.memory import per
from keyhole.draws.streams import uniform
from keyhole.testing import CHECKS, Trial, check_policy
from keyhole.thresholding import LSA, Policy, Problem
from tests.toys import TOYS

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("kind", TOYS)
def test_toy_settings_conform(check, kind):
    policy, problem = TOYS[kind]
    check(Trial(policy, problem, horizon=60, seed=1))


class Random(Policy):
    """Pulls arms at random, and tallies."""

    class State:
        pulls = per("arms")
        totals = per("arms")

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
        means = per("arms")

    def update(p, s, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        for i in range(p.arms):
            s.means[i] = s.totals[i] / s.pulls[i]


def test_a_state_that_becomes_nan_is_caught():
    with pytest.raises(AssertionError, match=r"Divides\(\): means became NaN in round 1"):
        check_policy(Divides(), PROBLEM)


class OnlyThree(Random):
    """Works for three arms, and no others."""

    def select(p, t):
        return t % 3


def test_a_policy_that_wants_a_certain_number_of_arms_is_caught():
    with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
        check_policy(OnlyThree(), PROBLEM)


class Forgetful(LSA):
    """Prints differently every time."""

    def __repr__(self):
        return f"Forgetful at {id(self)}"


def test_a_policy_that_does_not_print_its_parameters_is_caught():
    with pytest.raises(AssertionError, match="equal policies print differently"):
        check_policy(Forgetful(), PROBLEM)
