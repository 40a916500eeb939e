"""Policies that fail at what they are told: nothing of it is half written, and others take over."""

import pickle

import pytest

from keyhole.policy import float_array
from keyhole.stochastic import UCB1, Policy
from keyhole.study import LearningError, Study, check_database
from tests.study.studies import check_rebuilt_states_agree
from tests.study.test_by_round import Plumber, Shift, Words
from tests.study.test_group_commit import served


class Careless(Policy):
    """Writes beyond its array when it is told of a reward above 0.9."""

    pending = ("ignore",)

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, t):
        return t % p.arms

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        if reward > 0.9:
            s.pulls[arm + 50] += 1


MESSAGE = (
    r"Careless\(\) fails at event {}: a kernel of Careless\(\) reads or writes beyond an array"
)


def begun(path, **given):
    return Study.create(path, "s", Careless(), ["x", "y"], durability="process_crash", **given)


def opened(path):
    return Study.open(path, "s", policies=[Careless], durability="process_crash")


def test_feedback_at_which_the_policy_fails_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("keyhole.study.state.MAX_BATCH_SIZE", 3)
    path = tmp_path / "s.db"
    with begun(path) as study:
        ids = [study.ask().id for _ in range(5)]
        study.tell(ids[0], 0.5)
        found = served(
            study,
            lambda: study.tell(ids[1], 0.25),
            lambda: study.tell(ids[2], 1.0),
            lambda: study.tell(ids[3], 0.5),
        )
        assert [type(one.exception()) for one in found] == [type(None), LearningError, type(None)]
        assert [one.id for one in study.pending] == [ids[2], ids[4]]
        study.tell(ids[2], 0.5)
        study.tell(ids[2], 0.5)
        assert [row.decision for row in study.log()[5:]] == [ids[0], ids[1], ids[3], ids[2]]
        check_rebuilt_states_agree(study)
    assert check_database(path, policies=[Careless]).is_whole


def test_where_the_policy_fails_at_the_log_another_takes_over(tmp_path):
    path, out = tmp_path / "s.db", tmp_path / "s.jsonl"
    with begun(path) as study:
        study.tell(study.ask().id, 0.5)
    with opened(path) as study:  # there is a snapshot from before
        first, second = study.ask(), study.ask()
        study.tell(first.id, 1.0)
        study.tell(second.id, 0.5)
    for _ in range(2):
        with opened(path) as study:
            for call in (study.ask, study.ask):
                with pytest.raises(LearningError, match=MESSAGE.format(5)):
                    call()
            assert study.history().num_rows == 6
            study.export(out)
    (found,) = check_database(path, policies=[Careless]).studies
    assert found.whole == found.events == 6
    assert "fails at event 5" in found.damage
    with pytest.raises(LearningError, match=MESSAGE.format(5)):
        Study.restore(tmp_path / "again.db", out, policies=[Careless])
    with opened(path) as study:
        study.change_policy(UCB1())
        assert repr(study.policy) == "UCB1()"
        study.tell(study.ask().id, 1.0)
        check_rebuilt_states_agree(study)
        study.export(out)
    assert check_database(path, policies=[Careless]).is_whole
    with Study.restore(tmp_path / "again.db", out, policies=[Careless]) as study:
        assert study.history().num_rows == 9


def test_of_several_told_at_once_the_one_is_named_at_which_the_policy_fails(tmp_path):
    with begun(tmp_path / "s.db") as study:
        ids = [study.ask().id for _ in range(3)]
        for id, reward in zip(ids, (0.5, 1.0, 0.5), strict=True):
            study.tell(id, reward)
    with opened(tmp_path / "s.db") as study, pytest.raises(LearningError, match=MESSAGE.format(5)):
        study.ask()


def test_another_takes_over_when_so_much_was_told_that_no_state_can_be_made(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    with begun(path) as study:
        ids = [study.ask().id for _ in range(4)]
        for id in ids[:3]:
            study.tell(id, 1.0)
    monkeypatch.setattr("keyhole.study.state.MAX_BATCH_SIZE", 2)
    with opened(path) as study:
        for call in (study.ask, lambda: study.tell(ids[3], 0.5), lambda: study.pending):
            with pytest.raises(LearningError, match=MESSAGE.format(5)):
                call()
        with pytest.raises(ValueError, match="policy must be of the setting"):
            study.change_policy(Plumber())
        study.change_policy(UCB1())
        assert [one.id for one in study.pending] == [ids[3]]
        study.tell(ids[3], 0.5)
        check_rebuilt_states_agree(study)


@pytest.mark.interpreted
def test_feedback_that_a_round_refuses_is_not_written(tmp_path):
    class Refuses(Shift):
        def add_feedback(self, context, decision, feedback):
            super().add_feedback(context, decision, feedback)
            if feedback["leaks"] > 4:
                raise ValueError("leaks must be at most 4 in a round")

        def end(self, facts, state, feedback_count):
            if self.leaks == 4:
                raise OverflowError("too many leaks")
            return super().end(facts, state, feedback_count)

    class Strict(Words):
        round_class = Refuses

    class Careful(Plumber):
        vocabulary_class = Strict

    path = tmp_path / "s.db"
    with Study.create(
        path, "s", Careful(), ["a", "b"], seen=1, durability="process_crash"
    ) as study:
        first, second = study.ask(pressure=1), study.ask(pressure=1)
        with pytest.raises(ValueError, match="leaks must be at most 4 in a round"):
            study.tell(first.id, 5)
        study.tell(first.id, 1)
        assert [one.id for one in study.pending] == [second.id]
        assert len(study.log()) == 3
        check_rebuilt_states_agree(study, {"pressure": 1})
        study.tell(second.id, 3)
        for _ in range(2):
            with pytest.raises(LearningError, match=r"Careful\(\) fails at event 4: OverflowError"):
                study.ask(pressure=1)


def test_a_study_whose_state_cannot_be_kept_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "s.db"
    study = begun(path)
    study.tell(study.ask().id, 0.5)

    def fail(_):
        raise TypeError("no JSON")

    monkeypatch.setattr("keyhole.study.group_commit.make_snapshot", fail)
    with pytest.warns(RuntimeWarning, match=r"no snapshot was written, .*TypeError\('no JSON'\)"):
        study.close()
    study.close()
    with pytest.raises(RuntimeError, match="the study was closed"):
        study.ask()
    assert study._writer.store._db is None


def test_an_error_of_learning_can_be_sent_elsewhere():
    error = LearningError(UCB1(), 7, IndexError("too far"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
