"""Policies that wrap another policy, their base."""

import copy
import pickle

import numpy as np
import pytest

from keyhole import Learner, simulate
from keyhole.contract.policy import parameter
from keyhole.contract.state_arrays import float_array, int_array
from keyhole.contract.wrapper_policy import WrapperPolicy
from keyhole.testing import check_policy
from keyhole.thresholding import APT, LSA, UCBE, OptKG, Policy, Problem
from tests.toys import Greedy

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("only_interpreted")]

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


class Repeat(WrapperPolicy, Policy):
    """Does what the base says some times over."""

    base: Policy = parameter(default=LSA(), doc="who decides")
    often: int = parameter(default=2, ge=1)

    class State:
        left = int_array()
        chosen = int_array()
        steps = int_array()

    def init(p, s, rng, base_init):
        base_init(p, s, 0, rng)

    def select(p, s, rng, base_select):
        if s.left[0] == 0:
            s.left[0] = p.often
            s.steps[0] += 1
            s.chosen[0] = base_select(p, s, s.steps[0], rng)
        return s.chosen[0]

    def update(p, s, rng, arm, reward, base_update):
        s.left[0] -= 1
        base_update(p, s, s.steps[0], rng, arm, reward)


def played(*policies):
    curves = simulate(PROBLEM, policies, horizon=150, replications=40, checkpoints=[20, 150])
    return [curves.values(label, "aggregate_regret") for label in curves.labels]


@pytest.mark.parametrize("base", [LSA(alpha=0.7), OptKG(a=0.5, b=0.5), UCBE(b=0)], ids=repr)
def test_a_base_decides_as_it_would_alone(base):
    alone, within = played(base, Repeat(base=base, often=1))
    if "horizon" not in base.needs:
        assert np.array_equal(alone, within)
    else:  # run once a budget, either way
        assert np.array_equal(alone[-1], within[-1])


def test_the_policy_around_it_makes_a_difference():
    alone, within = played(LSA(), Repeat(often=7))
    assert not np.array_equal(alone, within)


@pytest.mark.parametrize("policy", [Repeat(), Repeat(base=APT(epsilon=0.1), often=3)], ids=repr)
def test_it_keeps_the_contract(policy):
    check_policy(policy, PROBLEM, horizon=60)


def test_it_has_the_known_quantities_of_its_base():
    policy = Repeat(base=UCBE(b=1))
    assert policy.needs == ("horizon", "hardness")
    assert policy.oracle
    with pytest.raises(TypeError, match="hardness"):
        policy.learner(arms=3, threshold=0.5, horizon=100)


def test_equal_parameters_make_equal_policies():
    policy = Repeat(base=APT(epsilon=0.1), often=3)
    assert repr(policy) == "Repeat(base=APT(epsilon=0.1), often=3)"
    assert policy == Repeat(base=APT(epsilon=0.1), often=3) != Repeat(base=APT(epsilon=0.2))
    assert copy.deepcopy(policy) == pickle.loads(pickle.dumps(policy)) == policy
    table = {"base": {"name": "APT", "epsilon": 0.1}, "often": 3}
    assert policy.parameters() == table
    assert Repeat.from_parameters(table) == policy
    assert Repeat.from_parameters({"base": "LSA"}) == Repeat()


def test_a_learner_with_a_base_is_saved_and_restored(tmp_path):
    learner = Repeat(base=APT(epsilon=0.1)).learner(arms=3, threshold=0.5)
    learner.ask()
    learner.tell(1)
    learner.save(tmp_path / "learner.json")
    again = Learner.load(tmp_path / "learner.json", [Repeat])
    assert repr(again) == repr(learner)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Repeat(base=3), "base must be a policy of the setting 'thresholding', got 3"),
        (lambda: Repeat(base=Greedy()), r"base must be .* got Greedy\(\)"),
        (lambda: Repeat.from_parameters({"base": "LSB"}), "base.name must be one of .*'LSA'"),
        (
            lambda: Repeat.from_parameters({"base": {"name": "LSA", "alpha": 0}}),
            "alpha must be above 0, got 0",
        ),
        (lambda: Repeat(base=Repeat()), "Repeat and its base Repeat both have"),
    ],
)
def test_an_invalid_base_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_names_in_both_policies_are_refused():
    class Doubled(WrapperPolicy, Policy):
        base: Policy = parameter()

        class State:
            pulls = float_array("arms")

        def select(p, s, t, rng, base_select):
            return base_select(p, s, t, rng)

        def update(p, s, t, rng, arm, reward, base_update):
            base_update(p, s, t, rng, arm, reward)

    with pytest.raises(TypeError, match="Doubled and its base LSA both have pulls"):
        Doubled(base=LSA())
