"""Settings, learners' arguments and their documentation follow from the declared facts."""

import inspect
from collections.abc import Hashable, Sequence

import pytest

from keyhole import Learner, parameter
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.setting import Setting, fact
from keyhole.contract.state_arrays import Field, int_array
from keyhole.delayed import QPMD, DelayedUCB1
from keyhole.resource import RCUCB
from keyhole.threshold import DKWUCB
from keyhole.thresholding import LSA, UCBE

pytestmark = pytest.mark.interpreted


class Facts:
    arms = fact(int, ge=1, doc="number of arms")
    weights = fact(float, "arms", ge=0, doc="how much each counts")
    loud = fact(int, ge=0, le=1, doc="whether it is heard")
    capacity = fact(int, argument=None, default=16, doc="capacity")
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


SETTING = Setting(
    name="hall",
    declarations=Facts,
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    allowed=lambda p, arm: 0 <= arm < p.arms,
    modes=("quiet", "loud"),
    mode="loud",
)


class Policy(Facts, CorePolicy, abstract=True):
    """Base of the policies of this setting."""

    setting = SETTING
    learner_class = Learner


class Deaf(Policy):
    """Hears nothing loud."""

    works_with = ("quiet",)
    step: int = parameter(default=1, ge=1)

    class State:
        seen = int_array()

    def select(p, t):
        return (t * p.step) % p.arms

    def update(p, s, arm):
        s.seen[0] += 1


def test_a_setting_has_the_facts_of_its_class_in_their_order():
    assert list(SETTING.facts) == ["arms", "weights", "loud", "capacity", "horizon"]
    assert SETTING.facts["weights"].field == Field("float64", ("arms",))
    assert list(SETTING.known_quantities(())) == ["arms", "weights", "loud", "capacity"]


def test_a_learner_without_names_of_arms_refuses_them():
    message = "arms must be a number: a Learner has no names of arms; got \\['a', 'b'\\]"
    with pytest.raises(TypeError, match=message):
        Deaf().learner(arms=["a", "b"], weights=[1, 1], feedback="quiet")


def test_a_learner_has_the_signature_that_follows():
    signature = inspect.signature(Deaf().learner)
    assert list(signature.parameters) == [
        "arms",
        "weights",
        "feedback",
        "horizon",
        "seed",
        "interpreted",
    ]
    assert all(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())
    assert signature.parameters["arms"].annotation is int
    assert signature.parameters["horizon"].annotation == int | None
    assert signature.parameters["horizon"].default is None
    assert signature.return_annotation is Learner


def test_a_learner_is_documented_from_the_facts():
    text = inspect.getdoc(Policy.learner)
    assert "arms : int\n    Number of arms; must be at least 1.\n" in text
    assert "weights : sequence of float, shape (arms,)\n" in text
    assert 'feedback : {"quiet", "loud"}\n    Whether it is heard.\n' in text
    assert "horizon : int, optional\n" in text
    assert "capacity" not in text.split("Returns")[0]


def test_names_of_arms_are_documented_where_they_are_taken():
    assert (
        inspect.signature(LSA().learner).parameters["arms"].annotation == int | Sequence[Hashable]
    )
    assert "arms : int or sequence of names\n    Number of arms; must lie" in inspect.getdoc(
        LSA.learner
    )
    assert "Or the names of the arms, distinct hashable\n    values" in inspect.getdoc(LSA.learner)


def test_known_quantities_of_a_learner_are_converted():
    learner = Deaf().learner(arms=2, weights=[1, 2], feedback="quiet")
    assert learner.facts["loud"] == 0
    assert learner.facts["capacity"] == 16
    assert "2 arms, 2 weights, quiet feedback" in repr(learner)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arms": 2, "feedback": "quiet"}, r"weights \(how much each counts\) must be given"),
        ({"arms": 2, "weights": [1, 1]}, r"feedback \(whether it is heard\) must be given"),
        ({"arm": 2}, r"takes arms, weights, .*; got 'arm' \(did you mean 'arms'\?\)"),
        ({"arms": 2, "weights": [1], "feedback": "quiet"}, "weights must have 2 entries, got 1"),
        ({"arms": 2, "weights": [1, 1], "feedback": "loud"}, r"must be 'quiet' for Deaf.*'loud'"),
        ({"arms": 2, "weights": [1, 1], "feedback": "lod"}, r"\(did you mean 'loud'\?\)"),
    ],
)
def test_invalid_arguments_of_a_learner_are_named(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Deaf().learner(**given)


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        (LSA(), ["arms", "threshold", "horizon", "gaps", "hardness", "scale"]),
        (DKWUCB(), ["arms", "levels", "feedback", "horizon"]),
        (QPMD(), ["arms", "feedback", "horizon", "scale"]),
        (RCUCB(), ["arms", "limits", "cost", "penalty", "continuous", "horizon", "scale"]),
    ],
    ids=repr,
)
def test_learners_of_all_settings_have_the_documented_arguments(policy, names):
    taken = list(inspect.signature(policy.learner).parameters)
    assert taken == [*names, "seed", "interpreted"]
    assert policy.learner.__doc__.startswith("Return a learner")


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (LSA, "arms, threshold; needs no horizon (anytime)"),
        (UCBE, "arms, threshold, horizon, hardness; unknown in practice: hardness"),
        (DKWUCB, "arms, levels, feedback, horizon"),
        (QPMD, "arms, feedback, those that its base needs"),
    ],
)
def test_traits_name_known_quantities_as_learner_does(policy, words):
    assert policy.traits()["known quantities"] == words


def test_settings_report_their_own_errors():
    with pytest.raises(TypeError, match=r"horizon \(the budget: rounds in all\) must be given"):
        UCBE(0).learner(arms=2, threshold=0.5, hardness=3.0)
    with pytest.raises(ValueError, match=r"feedback must be 'named' for DelayedUCB1.*'anonymous'"):
        DelayedUCB1().learner(arms=2, feedback="anonymous")


def test_facts_are_keyword_arguments():
    with pytest.raises(TypeError, match=r"takes facts by name \(arms=\.\.\., threshold=.*got 3$"):
        LSA().learner(3, 0.5)
