import pytest

from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1
from keyhole.study import (
    DifferentFeedbackError,
    PendingDecisionError,
    Study,
    StudyDoneError,
    UnknownDecisionError,
)
from keyhole.thresholding import PerArmStopping
from tests.study.studies import ARMS, check_rebuilt_states_agree, labels


def test_many_are_as_one_after_the_other(address):
    with labels(address) as study, labels(address, "again") as again:
        decisions = study.ask_many(7)
        assert [decision.arm for decision in decisions] == [again.ask().arm for _ in range(7)]
        assert [decision.round for decision in decisions] == list(range(1, 8))
        assert study.pending == decisions
        tellings = [(decisions[0], 1), (decisions[1].id, {"reward": 0}), [decisions[2], True]]
        assert study.tell_many(tellings) == [None] * 3
        assert len(study.pending) == 4
        assert study.tell_many([]) == []
        check_rebuilt_states_agree(study)


def test_what_is_wrong_is_not_told_and_all_else_is(tmp_path):
    with labels(tmp_path / "s.db") as study:
        first, second, third = study.ask_many(3)
        study.tell(first, 1)
        tellings = [(first, 0), (second, 0), ("nope", 1), (third, {"rewrad": 1}), (third, 2)]
        errors = study.tell_many([*tellings, (third, 1), (second, 0)])
        assert [type(error) for error in errors] == [
            DifferentFeedbackError, type(None), UnknownDecisionError, TypeError, ValueError,
            type(None), type(None),
        ]  # fmt: skip
        assert study.pending == []
        assert len(study.log()) == 6
        check_rebuilt_states_agree(study)


def test_the_same_key_gets_the_same_decisions(address):
    with labels(address) as study:
        decisions = study.ask_many(3, key="batch")
        assert study.ask_many(3, key="batch") == decisions
        assert study.ask_many(4, key="batch")[:3] == decisions
        assert study.find_decision("batch/1") == decisions[1]
        assert study.ask(key="batch/3").round == 4
        check_rebuilt_states_agree(study)


@pytest.mark.interpreted
def test_the_list_ends_with_errors_where_the_policy_waits_or_is_done(tmp_path):
    path = tmp_path / "s.db"
    with Study.create(path, "s", UCB1(), ARMS, pending="wait") as study:
        first, *errors = study.ask_many(3)
        assert study.pending == [first]
        assert [type(error) for error in errors] == [PendingDecisionError] * 2
    policy = PerArmStopping(delta=0.2)
    with Study.create(path, "t", policy, ["a"], threshold=0.1, durability="process_crash") as study:
        while not study.is_done:
            study.tell(study.ask(), 1)
        assert [type(error) for error in study.ask_many(2)] == [StudyDoneError] * 2


@pytest.mark.interpreted
def test_many_in_other_settings(tmp_path):
    with Study.create(tmp_path / "s.db", "s", CSBDT(), ARMS, resource=2.0) as study:
        (decision,) = study.ask_many(1)
        assert study.tell_many([(decision, ["a"])]) == [None]
        assert study.tell_many([(decision, {"losses": ["a"]})]) == [None]
    with Study.create(tmp_path / "s.db", "u", UCB1(), ARMS) as study:
        assert isinstance(study.ask_many(1, threshold=1)[0], TypeError)


@pytest.mark.parametrize("n", [0, -1, 10_001, 1.5, "2", None])
def test_a_number_of_decisions_that_cannot_be_is_refused(tmp_path, n):
    with labels(tmp_path / "s.db") as study:
        with pytest.raises((ValueError, TypeError), match=r"^n must "):
            study.ask_many(n)
        assert study.log() == []


@pytest.mark.parametrize(
    ("tellings", "error"),
    [
        ({"id": 1}, TypeError),
        ([("id",)], TypeError),
        (["id"], TypeError),
        (3, TypeError),
        ([("id", 1)] * 10_001, ValueError),
    ],
)
def test_tellings_that_are_no_pairs_are_refused_whole(tmp_path, tellings, error):
    with labels(tmp_path / "s.db") as study:
        with pytest.raises(error, match=r"^tellings must be"):
            study.tell_many(tellings)
        with pytest.raises(ValueError, match=r"^key must have at most 500 characters"):
            study.ask_many(11, key="k" * 498)
        with pytest.raises(ValueError, match=r"^key must not be empty"):
            study.ask_many(2, key="")
        assert study.log() == []


def test_a_policy_that_fails_fails_all_of_a_call(tmp_path, monkeypatch):
    with labels(tmp_path / "s.db") as study:
        decision = study.ask()
        with monkeypatch.context() as patch:
            patch.setattr("keyhole.study.state.PolicyState._run_kernel", lambda *_: 0)
            with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
                study.ask_many(3)
        assert study.pending == [decision]
        assert len(study.ask_many(3)) == 3
        check_rebuilt_states_agree(study)


@pytest.mark.slow
def test_ten_thousand_at_once(tmp_path):
    with labels(tmp_path / "s.db") as study:
        decisions = study.ask_many(10_000, key="k")
        assert len({decision.id for decision in decisions}) == 10_000
        assert set(study.tell_many([(decision, 1) for decision in decisions])) == {None}
        assert study.pending == []
