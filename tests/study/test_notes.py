"""What the log keeps of a telling that no policy learns: that a run failed, and did not earn 0."""

import pytest

from keyhole.resource import RCUCB, Power
from keyhole.study import DifferentFeedbackError, Study
from tests.study.studies import check_rebuilt_states_agree, fingerprint, state_of

pytestmark = pytest.mark.interpreted

FACTS = {"limits": [1.0, 10.0], "cost": Power(slope=0.01), "penalty": Power(slope=0.01)}


@pytest.fixture
def runs(address):
    with Study.create(address, "runs", RCUCB(), ["a", "b"], scale=(0, 2), **FACTS) as study:
        yield study


def told(study):
    """Return in words what was told, one after the other."""
    words = ("reward", "consumption", "exceeded", "failed")
    rows = [row for row in study.history().to_pylist() if row["event"].startswith("told")]
    return [{n: row[n] for n in words if row.get(n) is not None} for row in rows]


def test_a_run_that_failed_is_not_one_that_earned_the_least(runs):
    runs.tell(runs.ask().id, consumption=0.5, failed=True)
    runs.tell(runs.ask().id, reward=0, consumption=0.5)
    assert told(runs) == [
        {"consumption": 0.5, "failed": True},
        {"reward": 0.0, "consumption": 0.5},
    ]


def test_how_much_a_run_that_failed_consumed_must_be_told(runs):
    words = r"tell needs consumption=\.\.\. and failed=True for a run that failed by itself"
    with pytest.raises(TypeError, match=words):
        runs.tell(runs.ask().id, failed=True)
    with pytest.raises(TypeError, match="failed must be True or False, got 'no'"):
        runs.tell(runs.ask().id, consumption=0.5, failed="no")


def test_a_policy_learns_the_least_reward_from_a_run_that_failed(runs, address):
    with Study.create(address, "other", RCUCB(), ["a", "b"], scale=(0, 2), **FACTS) as other:
        for _ in range(4):
            runs.tell(runs.ask().id, consumption=0.5, failed=True)
            other.tell(other.ask().id, reward=0, consumption=0.5)
        assert fingerprint(state_of(runs))["mind"] == fingerprint(state_of(other))["mind"]
    check_rebuilt_states_agree(runs)


def test_a_failure_is_told_once(runs):
    id = runs.ask().id
    runs.tell(id, consumption=0.5, failed=True)
    runs.tell(id, consumption=0.5, failed=True)
    with pytest.raises(DifferentFeedbackError, match=r"was told .*'failed': True.* before"):
        runs.tell(id, reward=0, consumption=0.5)
    assert len(runs.log()) == 2


def test_a_failure_told_late_is_one(runs):
    id = runs.ask().id
    runs.expire(id)
    runs.tell(id, consumption=0.5, failed=True)
    assert told(runs) == [{"consumption": 0.5, "failed": True}]
    check_rebuilt_states_agree(runs)


def test_a_failure_is_exported_and_restored(runs, tmp_path):
    runs.tell(runs.ask().id, consumption=0.5, failed=True)
    runs.export(tmp_path / "log.jsonl")
    assert '"failed": true' in (tmp_path / "log.jsonl").read_text()
    with Study.restore(tmp_path / "other.db", tmp_path / "log.jsonl") as other:
        assert other.log() == runs.log()
        assert other.replay(RCUCB()).agreed == 1
