import copy
import json
import math
import pickle
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole import parameter
from keyhole.delayed import QPMD
from keyhole.resource import FixedLimit
from keyhole.semibandit import MPTS
from keyhole.stochastic import KLUCB, UCB1
from keyhole.thresholding import LSA, UCBE, IndexPolicy, Policy, RoundRobin

pytestmark = pytest.mark.interpreted


class Two(IndexPolicy):
    """Has a whole and a real parameter, one of them without a default."""

    length: int = parameter(ge=1)
    weight: float = parameter(default=0.5, gt=0, le=1)

    def index(p, pulls, total):
        return -pulls


def test_parameters_are_given_by_place_or_name():
    assert Two(3) == Two(length=3, weight=0.5) == Two(3, 0.5)
    assert UCBE(4) == UCBE(b=4.0)


def test_a_policy_prints_as_the_call_that_makes_it():
    assert repr(Two(3, 0.25)) == "Two(length=3, weight=0.25)"
    assert repr(LSA(alpha=2)) == "LSA(alpha=2)"
    assert repr(UCBE(-1)) == "UCBE(b=-1)"


@given(alpha=st.floats(1e-300, 1e300, exclude_min=True))
def test_parameters_survive_json_toml_and_repr(alpha):
    policy = LSA(alpha=alpha)
    values = policy.parameters()
    assert LSA.from_parameters(json.loads(json.dumps(values))) == policy
    assert LSA.from_parameters(tomllib.loads(f"alpha = {values['alpha']!r}")) == policy
    assert eval(repr(policy), {"LSA": LSA}) == policy
    assert hash(LSA(alpha=alpha)) == hash(policy)


def pickled(policy):
    return pickle.loads(pickle.dumps(policy))


@pytest.mark.parametrize("policy", [LSA(alpha=3), MPTS(m=2), FixedLimit(base=KLUCB(), limit=1)])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_policies_can_be_copied_whether_or_not_their_parameters_have_defaults(policy, copied):
    assert copied(policy) == policy
    assert type(copied(policy)) is type(policy)


def test_a_policy_cannot_be_changed():
    with pytest.raises(AttributeError):
        LSA().alpha = 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LSA(alpha=0), "alpha must be above 0, got 0"),
        (lambda: LSA(alpha=-1.5), "alpha must be above 0, got -1.5"),
        (lambda: LSA(alpha=math.nan), "alpha must be above 0, got nan"),
        (lambda: LSA(alpha="x"), "alpha must be a number, got 'x'"),
        (lambda: Two(0), "length must be at least 1, got 0"),
        (lambda: Two(1.0), "length must be a whole number, got 1.0"),
        (lambda: Two(1, 1.5), r"weight must lie in \(0, 1\], got 1.5"),
        (
            lambda: LSA.from_parameters({"alhpa": 1}),
            r"parameter of LSA must be one of alpha; got 'alhpa' \(did you mean 'alpha'\?\)",
        ),
        (lambda: Two.from_parameters({"weight": 1}), "Two needs the parameter 'length'"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_needs_must_be_facts_of_the_setting():
    with pytest.raises(ValueError, match=r"Odd.needs must be one of .*got 'horizn'"):

        class Odd(Policy):
            needs = ("horizn",)


def test_the_state_is_made_of_arrays():
    with pytest.raises(
        TypeError,
        match=r"State.pulls must be made with float_array, .* or scratch_array, got 3",
    ):

        class Odd(Policy):
            class State:
                pulls = 3

            def select(p):
                return 0

            def update(p):
                pass


def test_missing_and_wrong_facts_are_named():
    with pytest.raises(TypeError, match=r"horizon \(the budget: rounds in all\) must be given"):
        UCBE(0).learner(arms=2, threshold=0.5, hardness=3.0)
    with pytest.raises(ValueError, match="hardness must be above 0, got 0"):
        UCBE(0).learner(arms=2, threshold=0.5, hardness=0, horizon=10)


def test_a_misspelt_parameter_is_refused_with_the_nearest_name():
    for make in (LSA, lambda **values: LSA.from_parameters(values)):
        with pytest.raises(TypeError, match=r"of LSA must .* alpha; got 'alfa' \(did you mean 'al"):
            make(alfa=2)
    with pytest.raises(TypeError, match="RoundRobin has no parameters, got 'alpha'"):
        RoundRobin(alpha=2)
    with pytest.raises(
        TypeError, match=r"of QPMD must .* base; got 'bse' \(did you mean 'base'\?\)"
    ):
        QPMD(bse=UCB1())


def test_a_refused_decision_is_shown():
    class Astray(LSA):
        def select(p):
            return 7

    with pytest.raises(ValueError, match=r"does not allow \(arm 7\), in round 1"):
        Astray().learner(arms=3, threshold=0.5).ask()
