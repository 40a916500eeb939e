import json

import pytest

from keyhole.study import Study, UnknownDecisionError
from keyhole.threshold import KaplanMeierUCB
from tests.study.studies import Clock, labels


def record(study, decision):
    found = study.decision(decision)
    assert found.decision.id == getattr(decision, "id", decision)
    assert json.loads(json.dumps(found.as_json()))["status"] == found.status
    return found


@pytest.mark.interpreted
def test_a_decision_is_pending_and_then_told(address):
    clock = Clock(now=1000.0)
    with labels(address, clock=clock, timeout=60) as study:
        decision = study.ask()
        assert record(study, decision) == record(study, decision.id)
        assert record(study, decision).decision == decision
        assert record(study, decision).status == "pending"
        assert record(study, decision).feedback is None
        clock.now = 1010.0
        study.tell(decision, 1)
        assert record(study, decision).as_json() == {
            **decision.as_json(),
            "status": "told",
            "feedback": {"reward": 1.0},
            "settled_at": "1970-01-01T00:16:50+00:00",
        }
        with pytest.raises(UnknownDecisionError):
            study.decision("nope")


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("rule", "status", "feedback", "late_status"),
    [
        ("forget", "expired", None, "told late"),
        ("no_reward", "expired", {"reward": 0.0}, "told too late"),
        ("ask_again", "to ask again", None, "told"),
    ],
)
def test_a_decision_expires_and_is_told_late(tmp_path, rule, status, feedback, late_status):
    with labels(tmp_path / "s.db", timeout_decisions=5, on_timeout=rule) as study:
        decision = study.ask()
        study.expire(decision)
        assert record(study, decision).status == status
        assert record(study, decision).feedback == feedback
        assert (record(study, decision).settled_at is None) == (rule == "ask_again")
        study.tell(decision, 1)
        assert record(study, decision).status == late_status
        assert record(study, decision).feedback == {"reward": 1.0}


@pytest.mark.interpreted
def test_a_decision_to_ask_again_of_a_retired_arm_has_expired(tmp_path):
    with labels(tmp_path / "s.db", timeout_decisions=5, on_timeout="ask_again") as study:
        decision = study.ask()
        study.expire(decision)
        study.retire(decision.arm)
        assert record(study, decision).status == "expired"


@pytest.mark.interpreted
def test_a_decision_handed_out_again_is_pending(tmp_path):
    with labels(tmp_path / "s.db", timeout_decisions=5, on_timeout="ask_again") as study:
        decision = study.ask()
        study.expire(decision)
        assert study.ask().id == decision.id
        assert record(study, decision).status == "pending"


@pytest.mark.interpreted
def test_the_pending_are_counted_and_the_oldest_listed(tmp_path):
    with labels(tmp_path / "s.db") as study:
        assert (study.pending_count, study.oldest_pending(3)) == (0, [])
        decisions = study.ask_many(5)
        assert study.pending_count == 5
        assert study.oldest_pending(3) == decisions[:3]
        assert study.oldest_pending(9) == decisions
        assert study.oldest_pending(0) == []
        for limit in (-1, 1.5, None):
            with pytest.raises((TypeError, ValueError), match="limit must"):
                study.oldest_pending(limit)


@pytest.mark.interpreted
def test_a_record_is_in_the_words_of_the_setting(tmp_path):
    path = tmp_path / "s.db"
    with Study.create(
        path, "s", KaplanMeierUCB(), ["a"], levels=3, feedback="censored", horizon=9
    ) as study:
        decision = study.ask(threshold=2)
        study.tell(decision, censored=True)
        assert record(study, decision).feedback == {"censored": True}
        assert record(study, decision).decision.threshold == 2
