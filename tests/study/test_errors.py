import pickle

import pytest

from keyhole.study import (
    DifferentFeedbackError,
    KeyUsedError,
    Study,
    StudyExistsError,
    UnknownArmError,
    UnknownDecisionError,
    UnknownStudyError,
    operations,
)
from keyhole.threshold import KaplanMeierUCB
from tests.study.studies import labels


def refused(error_class, operation, *arguments, **keywords):
    """Check the class of a refusal, that it survives pickling, and return its text."""
    with pytest.raises(error_class) as refusal:
        operation(*arguments, **keywords)
    assert type(refusal.value) is error_class
    assert isinstance(refusal.value, ValueError)
    again = pickle.loads(pickle.dumps(refusal.value))
    assert type(again) is error_class
    assert str(again) == str(refusal.value)
    return str(refusal.value)


@pytest.mark.interpreted
def test_each_refusal_has_its_class_and_none_names_the_database(address, tmp_path):
    with labels(address) as study:
        decision = study.ask(key="first")
        study.tell(decision, 1)
        unknown = operations.new_id(0.0)
        texts = [
            refused(UnknownStudyError, Study.open, address, "others"),
            refused(StudyExistsError, labels, address),
            refused(UnknownDecisionError, study.tell, unknown, 1),
            refused(UnknownDecisionError, study.tell, 7, 1),
            refused(UnknownDecisionError, study.expire, unknown),
            refused(UnknownDecisionError, study.find_decision, "second"),
            refused(DifferentFeedbackError, study.tell, decision, 0),
            refused(DifferentFeedbackError, study.expire, decision),
            refused(UnknownArmError, study.retire, "zebra"),
        ]
        study.export(tmp_path / "labels.jsonl")
        texts.append(refused(StudyExistsError, Study.restore, address, tmp_path / "labels.jsonl"))
    secret = address.partition("://")[2] or address
    assert not [text for text in texts if secret in text or "studies.db" in text]


@pytest.mark.interpreted
def test_a_key_that_was_used_in_another_context_says_so(tmp_path):
    path = tmp_path / "s.db"
    policy = KaplanMeierUCB()
    with Study.create(
        path, "k", policy, ["a", "b"], levels=3, feedback="censored", horizon=10
    ) as study:
        study.ask(key="k", threshold=1)
        assert "key must be new" in refused(KeyUsedError, study.ask, key="k", threshold=2)
