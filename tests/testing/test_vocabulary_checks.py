"""The words of all settings keep what studies need of them, and those that do not are caught."""

import numpy as np
import pytest

from keyhole.experiment import setting_registry
from keyhole.policy import Field, Setting, StudyRound, StudyVocabulary
from keyhole.testing import SETTING_CHECKS, SettingCase, check_setting, parametrize_with_checks
from tests.toys import ArmsOnly

pytestmark = pytest.mark.interpreted

GRID = np.array([0.5, 1.0])
COST = np.array([0.0, 0.0, 0.1, 0.0, 1.0])
FACTS = {
    "delayed": {"arms": 3, "named": 1, "memory": 4},
    "resource": {
        "arms": 3,
        "limit_count": 2,
        "limits": GRID,
        "continuous": 0,
        "cost_size": len(COST),
        "cost": COST,
        "penalty_size": len(COST),
        "penalty": COST,
    },
    "semibandit": {"arms": 3, "resource": 1.0},
    "stochastic": {"arms": 3},
    "threshold": {"arms": 3, "levels": 4, "censored": 1},
    "thresholding": {"arms": 3, "threshold": 0.5},
}


def case(name, **facts):
    policy = next(iter(setting_registry.find_setting(name).policies.values()))
    setting = policy.setting
    told = {
        fact: value for fact, value in FACTS[name].items() if fact in setting.known_quantities(())
    }
    context = {"threshold": 2} if name == "threshold" else {}
    decision = {"arm": 2, "limit": 0.5} if name == "resource" else None
    return SettingCase(
        setting, told | facts, context, vocabulary=policy.vocabulary_class, decision=decision
    )


@parametrize_with_checks(
    [*map(case, FACTS), case("delayed", named=0), case("threshold", censored=0)], SETTING_CHECKS
)
def test_our_settings_conform(check, subject):
    check(subject)


def test_every_setting_of_ours_is_checked():
    assert set(FACTS) == set(setting_registry.BUILT_IN)


SETTING = Setting(
    "toy",
    ArmsOnly,
    {"arm": Field("int64")},
    {"reward": Field("float64")},
    lambda p, arm: 0 <= arm < p.arms,
)


class Forgets(StudyVocabulary):
    def parse_decision(self, words):
        return {}, {"arm": 0}


class Halves(StudyVocabulary):
    def format_feedback(self, context, decision, feedback):
        return {"reward": feedback["reward"] / 2 + 0.1}


class SaysMore(StudyVocabulary):
    def parse_feedback(self, context, decision, reward):
        return super().parse_feedback(context, decision, reward) | {"more": 1.0}


class TakesAnything(StudyVocabulary):
    def parse_feedback(self, context, decision, reward=0.0, **words):
        return {"reward": float(reward)}


class TakesNaN(StudyVocabulary):
    def parse_feedback(self, context, decision, reward):
        return {"reward": float(reward)}


class ReadsNamesOnly(StudyVocabulary):
    def parse_feedback(self, context, decision, best):
        if not isinstance(best, str):
            raise TypeError(f"best must be a name, got {best!r}")
        return {"reward": float(self.arms.index(best) == decision["arm"])}

    def format_feedback(self, context, decision, feedback):
        return {"best": self.arms[decision["arm"] - (not feedback["reward"])]}

    def default_feedback(self, context, decision):
        return self.format_feedback(context, decision, {"reward": 1.0})


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (Forgets, "parse_decision reads"),
        (Halves, r"parse_feedback reads \{'reward': 0.1\} as \{'reward': 0.1\}, not as"),
        (SaysMore, "parse_feedback returns more, which is no field of feedback"),
        (ReadsNamesOnly, "default_feedback returns {'best': 0} .*: best must be a name, got 0"),
        (TakesAnything, "parse_feedback takes .*'no such word': 1.0.*, which must be refused"),
        (TakesNaN, "parse_feedback takes {'reward': nan}, which must be refused"),
    ],
)
def test_words_that_do_not_fit_are_caught(vocabulary, message):
    check_setting(SETTING, {"arms": 3}, vocabulary=StudyVocabulary)
    with pytest.raises(AssertionError, match=f"^toy: {message}"):
        check_setting(SETTING, {"arms": 3}, vocabulary=vocabulary)


PAIRS = Setting(
    "pairs",
    ArmsOnly,
    {"arm": Field("int64"), "rival": Field("int64")},
    {"won": Field("int64")},
    lambda p, arm, rival: 0 <= arm < p.arms and 0 <= rival < p.arms and arm != rival,
)


class PairWords(StudyVocabulary):
    arm_fields = ("arm", "rival")

    def format_decision(self, context, decision):
        return {name: self.arms[decision[name]] for name in ("arm", "rival")}

    def parse_decision(self, words):
        return {}, {name: self.arm_number(name, words[name]) for name in ("arm", "rival")}

    def parse_feedback(self, context, decision, winner):
        return {"won": int(self.arm_number("winner", winner) == decision["arm"])}

    def format_feedback(self, context, decision, feedback):
        return {"winner": self.arms[decision["arm" if feedback["won"] else "rival"]]}

    def default_feedback(self, context, decision):
        return {"winner": self.arms[decision["rival"]]}


class NamesOneArm(PairWords):
    arm_fields = ("arm",)


class NamesNoArm(PairWords):
    arm_fields = None


class NothingWins(PairWords):
    default_feedback = StudyVocabulary.default_feedback


class TellsAt(PairWords):
    def parse_feedback(self, context, decision, at):
        return super().parse_feedback(context, decision, at)

    def format_feedback(self, context, decision, feedback):
        return {"at": super().format_feedback(context, decision, feedback)["winner"]}

    def default_feedback(self, context, decision):
        return {"at": self.arms[0]}


def test_words_are_tried_on_decisions_that_are_allowed():
    facts, pair = {"arms": 3}, {"arm": 0, "rival": 2}
    for kind in (PairWords, NamesNoArm):
        check_setting(PAIRS, facts, decision=pair, vocabulary=kind)
    for error, kind, message in (
        (AssertionError, NamesOneArm, "pairs: a decision must name arms by arm alone"),
        (
            AssertionError,
            NothingWins,
            "pairs: default_feedback returns {'reward': 0.0} for a decision",
        ),
        (ValueError, TellsAt, "a vocabulary must not use the word 'at': studies reserve at, "),
    ):
        with pytest.raises(error, match=message):
            check_setting(PAIRS, facts, decision=pair, vocabulary=kind)
    same = {"arm": 1, "rival": 1}
    for arms, given, got in (
        (1, None, "zeros and the last arm"),
        (3, same, "{'arm': 1, 'rival': 1}"),
    ):
        message = f"decision must be a decision that pairs allows, to test its .*; got {got}"
        with pytest.raises(ValueError, match=message):
            check_setting(PAIRS, {"arms": arms}, decision=given, vocabulary=PairWords)


def test_fields_of_arms_are_integers_of_the_decision():
    class Wrong(PairWords):
        arm_fields = ("winner",)

    message = r"a field of .*Wrong.arm_fields must be one of arm, rival; got 'winner'"
    with pytest.raises(ValueError, match=message):
        check_setting(PAIRS, {"arms": 3}, vocabulary=Wrong)


def test_a_round_that_forgets_is_caught():
    class Round(StudyRound):
        begun = 0

        def begin(self, context, decision):
            self.begun += 1

        def add_feedback(self, context, decision, feedback):
            pass

        def to_json(self):
            return [self.begun]

        def restore(self, content):
            pass

    class ByRound(StudyVocabulary):
        round_class = Round

    rounds = Setting(
        "toy", ArmsOnly, {"arm": Field("int64")}, {"reward": Field("float64")},
        lambda p, arm: arm == 0, by_round=True,
    )  # fmt: skip
    with pytest.raises(AssertionError, match=r"a round of \[1\] is restored as \[0\]"):
        check_setting(rounds, {"arms": 3}, vocabulary=ByRound)
    with pytest.raises(TypeError, match="StudyVocabulary must name a round_class, since"):
        check_setting(rounds, {"arms": 3}, vocabulary=StudyVocabulary)
    with pytest.raises(
        TypeError, match="ByRound must have no round_class, since the setting 'toy'"
    ):
        check_setting(SETTING, {"arms": 3}, vocabulary=ByRound)
