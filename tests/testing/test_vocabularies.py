"""The words of all settings keep what studies need of them, and those that do not are caught."""

import numpy as np
import pytest

from keyhole.experiment import rooms
from keyhole.policy import Field, Setting, StudyRound, StudyVocabulary
from keyhole.testing import SETTING_CHECKS, Vocabulary, check_setting, parametrize_with_checks
from tests.toys import ArmsOnly

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


def case(room, **facts):
    policy = next(iter(rooms.find(room).policies.values()))
    setting = policy.setting
    told = {name: value for name, value in FACTS[room].items() if name in setting.known(())}
    context = {"threshold": 2} if room == "threshold" else {}
    return Vocabulary(setting, told | facts, context, vocabulary=policy.vocabulary_class)


@parametrize_with_checks(
    [*map(case, FACTS), case("delayed", named=0), case("threshold", censored=0)], SETTING_CHECKS
)
def test_our_settings_conform(check, subject):
    check(subject)


def test_every_setting_of_ours_is_checked():
    assert set(FACTS) == set(rooms.OURS)


SETTING = Setting(
    "toy", ArmsOnly, {"arm": Field("int64")}, {"reward": Field("float64")}, lambda p, arm: arm == 0
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


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (Forgets, "parse_decision reads"),
        (Halves, r"parse_feedback reads \{'reward': 0.1\} as \{'reward': 0.1\}, not as"),
        (SaysMore, "parse_feedback returns more, which is no field of feedback"),
        (TakesAnything, "parse_feedback takes .*'no such word': 1.0.*, which must be refused"),
        (TakesNaN, "parse_feedback takes {'reward': nan}, which must be refused"),
    ],
)
def test_words_that_do_not_fit_are_caught(vocabulary, message):
    check_setting(SETTING, {"arms": 3}, vocabulary=StudyVocabulary)
    with pytest.raises(AssertionError, match=f"^toy: {message}"):
        check_setting(SETTING, {"arms": 3}, vocabulary=vocabulary)


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
