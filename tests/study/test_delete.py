from contextlib import closing

import pytest

from keyhole.study import StoreError, Study, UnknownDecisionError, UnknownStudyError, list_studies
from tests.study.studies import Clock, check_rebuilt_states_agree, labels

pytestmark = pytest.mark.interpreted


def test_a_study_is_deleted_with_all_its_rows_and_others_stay(address, raw):
    with labels(address) as study, labels(address, "others") as others:
        study.tell(study.ask(key="k"), 1)
        others.ask(key="k")
    Study.delete(address, "labels")
    assert list_studies(address) == ["others"]
    with pytest.raises(UnknownStudyError):
        Study.open(address, "labels")
    with pytest.raises(UnknownStudyError):
        Study.delete(address, "labels")
    prefix = "keyhole." if address.startswith("postgresql") else ""
    for table in ("event", "tail", "snapshot"):
        with closing(raw.execute(f"SELECT DISTINCT study FROM {prefix}{table}")) as rows:
            assert len(rows.fetchall()) <= 1
    with Study.open(address, "others") as others:
        assert others.ask(key="k") in others.pending
        check_rebuilt_states_agree(others)


@pytest.mark.parametrize("begins_again", [False, True])
@pytest.mark.parametrize("events", [0, 2])
def test_who_has_a_deleted_study_open_is_refused_from_then_on(address, events, begins_again):
    """Also where a new one of the same name and policy has taken its place."""
    clock = Clock()
    with labels(address, clock=clock) as study:
        decision = study.ask()
        study.tell(decision, 1)
        assert study.means()["a"]["reward"].told == 1
        Study.delete(address, "labels")
        if begins_again:
            clock.now += 0.5
            with labels(address, clock=clock) as again:
                for _ in range(events):
                    again.ask()
        for call in (study.ask, study.recommend, study.means, study.log, study.ask):
            with pytest.raises(StoreError, match=r"if it was deleted.* open the study again"):
                call()
    if begins_again:
        with Study.open(address, "labels") as again:
            assert again.pending_count == events
            with pytest.raises(UnknownDecisionError):
                again.tell(decision, 1)
            check_rebuilt_states_agree(again)


def test_a_study_at_work_is_deleted_between_two_transactions(address):
    with labels(address) as study, labels(address, "others") as others:
        others.ask()
        Study.delete(address, "labels")
        with pytest.raises(StoreError):
            study.ask()
        others.tell(others.ask(), 1)
        check_rebuilt_states_agree(others)


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(ValueError, match="storage must be an existing file"):
        Study.delete(tmp_path / "s.db", "labels")
    assert not list(tmp_path.iterdir())
