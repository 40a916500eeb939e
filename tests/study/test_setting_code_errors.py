"""Errors in a vocabulary's code are told from damage, before anything is written."""

import pytest

from keyhole.study import SettingCodeError, Study, check_database
from keyhole.thresholding import LSA
from keyhole.thresholding.learner import StudyVocabulary
from tests.study.studies import ARMS, Clock

pytestmark = pytest.mark.interpreted


class ForgetsDecision(StudyVocabulary):
    def format_feedback(self, context, feedback):
        return {"reward": feedback["reward"]}


class Misspells(StudyVocabulary):
    def format_feedback(self, context, decision, feedback):
        return {"reward": feedback["rewards"]}


class FormatsAnother(StudyVocabulary):
    def format_feedback(self, context, decision, feedback):
        return {"reward": 1.0 - feedback["reward"]}


class ParsesText(StudyVocabulary):
    def parse_feedback(self, context, decision, reward):
        return {"reward": "much"}


class DefaultsWithOtherValues(StudyVocabulary):
    def default_feedback(self, context, decision):
        return self.nothing


class DefaultsToText(StudyVocabulary):
    def default_feedback(self, context, decision):
        return {"reward": "none"}


class FormatsNoDecision(StudyVocabulary):
    def format_decision(self, context):
        return {}


class SwapsArms(StudyVocabulary):
    def parse_decision(self, words):
        return {}, {"arm": 2}


def policy_of(vocabulary):
    """Return a policy that speaks in the words of a vocabulary, which a test may change."""
    return type("Worded", (LSA,), {"vocabulary_class": type("Own", (vocabulary,), {})})()


def study_of(path, policy, **given):
    return Study.create(path, "s", policy, ARMS, threshold=0.5, durability="process_crash", **given)


@pytest.mark.parametrize(
    ("vocabulary", "why"),
    [
        (ForgetsDecision, "TypeError.*takes 3 positional arguments but 4 were given"),
        (Misspells, r"KeyError\('rewards'\)"),
        (FormatsAnother, "cannot be read back: its feedback is invalid.* {'reward': 0.0}"),
        (ParsesText, "error.*required argument is not a float"),
    ],
)
def test_feedback_that_cannot_be_read_back_is_not_written(tmp_path, vocabulary, why):
    policy = policy_of(vocabulary)
    with study_of(tmp_path / "s.db", policy) as study:
        decision = study.ask()
        message = r"the vocabulary of setting 'thresholding' failed \(tests.*Own\): .*"
        with pytest.raises(SettingCodeError, match=message + why):
            study.tell(decision.id, 1)
        assert [one.id for one in study.pending] == [decision.id]
        assert len(study.log()) == 1
        policy.vocabulary_class.format_feedback = StudyVocabulary.format_feedback
        policy.vocabulary_class.parse_feedback = StudyVocabulary.parse_feedback
        study.tell(decision.id, 1)  # once it is mended
        assert len(study.log()) == 2
    assert check_database(tmp_path / "s.db", policies=[type(policy)]).is_whole


@pytest.mark.parametrize(
    ("vocabulary", "why"),
    [
        (FormatsNoDecision, "TypeError.*takes 2 positional arguments but 3 were given"),
        (SwapsArms, "cannot be read back: its decision is not allowed, {'arm': 'a'}"),
    ],
)
def test_a_decision_that_cannot_be_read_back_is_not_written(tmp_path, vocabulary, why):
    with study_of(tmp_path / "s.db", policy_of(vocabulary)) as study:
        with pytest.raises(SettingCodeError, match=why):
            study.ask()
        assert study.log() == []


@pytest.mark.parametrize(
    ("vocabulary", "why"),
    [
        (DefaultsWithOtherValues, r"\): AttributeError.*has no attribute 'nothing'"),
        (DefaultsToText, "default_feedback is {'reward': 'none'}, which cannot be told: reward "),
    ],
)
def test_a_mistake_in_what_an_expired_decision_is_told_is_named(tmp_path, vocabulary, why):
    given = {"timeout": 1, "on_timeout": "no_reward", "clock": (clock := Clock())}
    policy = policy_of(StudyVocabulary)
    with study_of(tmp_path / "s.db", policy, **given) as study:
        study.ask()
        policy.vocabulary_class.default_feedback = vocabulary.default_feedback
        clock.now += 2
        with pytest.raises(SettingCodeError, match=why):
            study.ask()
        assert len(study.log()) == 1


def test_a_vocabulary_that_was_broken_later_is_no_damage(tmp_path):
    """Whoever is told of damage cuts off what is whole."""
    policy = policy_of(StudyVocabulary)
    with study_of(tmp_path / "s.db", policy) as study:
        study.tell(study.ask().id, 1)
    policy.vocabulary_class.format_feedback = ForgetsDecision.format_feedback
    with Study.open(tmp_path / "s.db", "s", policies=[type(policy)]) as study:
        study._replica._load_snapshot = study._writer._load_snapshot = lambda: (
            None
        )  # as without a snapshot
        for look in (study.ask, study.recommend, study.history, lambda: study.export(tmp_path)):
            with pytest.raises(SettingCodeError, match="the vocabulary of setting 'thresholding'"):
                look()
    with pytest.raises(SettingCodeError, match="the vocabulary of setting 'thresholding'"):
        check_database(tmp_path / "s.db", policies=[type(policy)])
