"""The timeout rule: decisions whose feedback does not come."""

from datetime import timedelta

import pytest

from keyhole.study import DifferentFeedbackError, Study
from keyhole.threshold import KaplanMeierUCB
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studies.db"


def kinds(study):
    return study.history()["event"].to_pylist()


@pytest.mark.parametrize("timeout", [10, 10.0, "10s", timedelta(seconds=10)])
def test_after_the_time_a_decision_is_forgotten(path, clock, timeout):
    with labels(path, timeout=timeout, clock=clock) as study:
        first = study.ask()
        clock.now += 10
        assert study.ask().arm == "b"  # not yet
        clock.now += 0.1
        assert study.ask().arm == "a"
        assert first not in study.pending
        assert kinds(study) == ["asked", "asked", "expired", "asked"]
        check_rebuilt_states_agree(study)


def test_a_timeout_that_is_no_duration_says_how_it_is_written(path):
    with pytest.raises(ValueError, match=r"^timeout must be like 90s, .* got '7 days'$"):
        labels(path, timeout="7 days")


def test_after_so_many_decisions_one_is_forgotten(path):
    with labels(path, timeout_decisions=2) as study:
        first = study.ask()
        assert [study.ask().arm for _ in range(4)] == ["b", "c", "a", "b"]
        assert first not in study.pending
        check_rebuilt_states_agree(study)


def test_whichever_comes_first(path, clock):
    with labels(path, timeout=10, timeout_decisions=2, clock=clock) as study:
        study.ask()
        clock.now += 11
        study.ask()
        assert len(study.pending) == 1
        study.ask()
        study.ask()
        study.ask()
        assert len(study.pending) == 3
        check_rebuilt_states_agree(study)


def test_late_feedback_counts_where_the_decision_was_forgotten(path, clock):
    with labels(path, timeout=10, clock=clock) as study:
        first = study.ask()
        clock.now += 11
        study.ask()
        study.tell(first.id, 0)
        study.tell(first.id, 0)
        with pytest.raises(DifferentFeedbackError, match=r"was told {'reward': 0.0} before"):
            study.tell(first.id, 1)
        assert kinds(study) == ["asked", "expired", "asked", "told late"]
        assert study.recommend()["a"] is False
        check_rebuilt_states_agree(study)


def test_a_decision_is_handed_out_once_more(path, clock):
    with labels(path, timeout=10, on_timeout="ask_again", clock=clock) as study:
        first = study.ask()
        clock.now += 11
        second = study.ask()
        assert second.id == first.id
        assert second.at > first.at
        assert second.until == second.at + timedelta(seconds=10)
        assert study.ask().id != first.id
        check_rebuilt_states_agree(study)
        clock.now += 11
        assert {study.ask().id for _ in range(2)} == {d.id for d in study.pending}
        study.tell(first.id, 1)
        check_rebuilt_states_agree(study)
        assert kinds(study)[:4] == ["asked", "expired", "asked again", "asked"]


def test_a_decision_that_waits_to_be_handed_out_again_may_be_told(path):
    with labels(path, on_timeout="ask_again") as study:
        first = study.ask()
        study.expire(first.id)
        study.expire(first.id)
        assert [d.id for d in study.pending] == [first.id]
        study.tell(first.id, 1)
        assert study.ask().id != first.id
        check_rebuilt_states_agree(study)


def test_again_by_number_of_decisions_counts_from_the_last_time(path):
    with labels(path, timeout_decisions=2, on_timeout="ask_again") as study:
        first = study.ask()
        others = [study.ask() for _ in range(2)]
        again = study.ask()
        assert again.id == first.id
        after = [study.ask().id for _ in range(3)]
        assert first.id not in after
        assert first.id not in {d.id for d in others}
        check_rebuilt_states_agree(study)


def test_again_counts_from_the_last_time_where_all_others_are_settled(path):
    with labels(path, timeout_decisions=2, on_timeout="ask_again") as study:
        first = study.ask()
        others = [study.ask() for _ in range(2)]
        assert study.ask().id == first.id
        for other in others:
            study.tell(other.id, 1)
        assert first.id not in {study.ask().id for _ in range(2)}
        assert study.ask().id == first.id
        check_rebuilt_states_agree(study)


def test_a_key_gives_what_was_handed_out_again(path, clock):
    with labels(path, timeout=10, on_timeout="ask_again", clock=clock) as study:
        first = study.ask(key="k")
        clock.now += 11
        second = study.ask(key="l")
        assert second.id == first.id
        assert study.ask(key="k") == second
        assert study.ask(key="l") == second
        assert len(study.log()) == 3


@pytest.mark.interpreted
def test_only_the_same_question_gets_a_decision_again(path, clock):
    with Study.create(
        path, "s", KaplanMeierUCB(), ["a", "b"], levels=3, feedback="uncensored",
        horizon=50, timeout=10, on_timeout="ask_again", clock=clock,
    ) as study:  # fmt: skip
        first = study.ask(threshold=2)
        study.expire(first.id)
        assert study.ask(threshold=2).id == first.id


def test_nothing_came_is_a_reward_of_0(path, clock):
    with labels(path, timeout=10, on_timeout="no_reward", clock=clock) as study:
        first = study.ask()
        clock.now += 11
        study.ask()
        assert study.recommend()["a"] is False
        study.tell(first.id, 1)
        study.tell(first.id, 1)
        with pytest.raises(DifferentFeedbackError):
            study.tell(first.id, 0)
        assert study.recommend()["a"] is False  # kept, not counted
        assert kinds(study) == ["asked", "expired", "asked", "told too late"]
        check_rebuilt_states_agree(study)


def test_a_reward_after_its_time_counts_no_more_if_nobody_asked_meanwhile(path, clock):
    with labels(path, timeout=10, on_timeout="no_reward", clock=clock) as study:
        early, late, last = study.ask(), study.ask(), study.ask()
        clock.now += 5
        study.tell(early.id, 1)
        clock.now += 6
        study.tell(late.id, 1)
        assert kinds(study)[3:] == ["told", "expired", "expired", "told too late"]
        assert study.pending == []
        assert [study.means()[one.arm]["reward"].mean for one in (early, late, last)] == [1, 0, 0]
        check_rebuilt_states_agree(study)


@pytest.mark.parametrize("after", ["forget", "no_reward"])
def test_a_decision_is_given_up_once(path, after):
    with labels(path, on_timeout=after) as study:
        first = study.ask()
        study.expire(first.id)
        with pytest.raises(ValueError, match=f"id must be of a pending decision; {first.id} is se"):
            study.expire(first.id)
        study.tell(first.id, 1)
        with pytest.raises(ValueError, match="is settled"):
            study.expire(first.id)
        check_rebuilt_states_agree(study)


def test_a_policy_that_waits_goes_on_when_a_decision_has_expired(path, clock):
    with labels(path, pending="wait", timeout=10, clock=clock) as study:
        study.ask()
        clock.now += 11
        assert study.ask().arm == "a"
        check_rebuilt_states_agree(study)


def test_the_clock_does_not_order_events(path, clock):
    with labels(path, timeout=10, clock=clock) as study:
        first = study.ask()
        clock.now -= 500
        second = study.ask()
        study.tell(second.id, 1)
        study.tell(first.id, 0)
        assert [row.at for row in study.log()] == [1000.0, 500.0, 500.0, 500.0]
        assert study.recommend() == {"a": False, "b": True, "c": True}
        check_rebuilt_states_agree(study)


def test_a_clock_that_was_ahead_holds_up_nobody(path, clock):
    with labels(path, timeout=10, clock=clock) as study:
        clock.now = 1e9
        is_dirty = study.ask()
        clock.now = 1000.0
        second = study.ask()
        clock.now += 11
        study.ask()
        assert is_dirty in study.pending
        assert second not in study.pending
        check_rebuilt_states_agree(study)


def test_reading_expires_nothing(path, clock):
    with labels(path, timeout=10, clock=clock) as study:
        study.ask()
        clock.now += 100
        assert len(study.pending) == 1
        study.recommend()
        assert len(study.log()) == 1


def test_an_old_open_decision_is_told_as_if_it_were_new(path, clock):
    with labels(path, timeout=10, clock=clock) as study:
        first = study.ask()
        clock.now += 100
        study.tell(first.id, 0)
        assert kinds(study) == ["asked", "told"]
        assert state_of(study).feedback_count == 1
