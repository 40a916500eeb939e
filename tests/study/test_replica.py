"""Looking: no lock is taken, nobody is held up, and all that is durable is seen."""

import sqlite3
import threading
from contextlib import closing

import pytest

from keyhole.study import Study
from keyhole.study.storage import StoreError, open_store
from keyhole.study.storage.postgres import Postgres
from keyhole.study.storage.sqlite import Sqlite
from keyhole.thresholding import APT
from tests.study.studies import check_rebuilt_states_agree, labels

LOOKS = {
    "recommend": lambda study: study.recommend(),
    "arms": lambda study: study.arms,
    "policy": lambda study: repr(study.policy),
    "open": lambda study: study.pending,
    "history": lambda study: study.history().num_rows,
    "log": lambda study: study.log(),
    "replay": lambda study: study.replay(APT(epsilon=0.1)).agreed,
}


def no_lock(*_):
    raise AssertionError("a lock was taken")


@pytest.fixture
def unlocked(monkeypatch):
    """Return a function after which whoever takes a lock of a database fails."""

    def forbid():
        for kind, name in ((Sqlite, "_lock_queue"), (Sqlite, "_begin_write"), (Postgres, "_lock")):
            monkeypatch.setattr(kind, name, no_lock)

    return forbid


def in_time(work):
    """Return what some work gives; a test that would wait for ever fails."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(60)
    assert found, "it waits"
    return found[0]


@pytest.fixture
def told(address):
    with labels(address) as study:
        for reward in (1, 0, 1):
            study.tell(study.ask().id, reward)
        study.ask()
        yield study


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_reading_takes_no_lock(told, unlocked, look):
    unlocked()
    look(told)
    with pytest.raises(AssertionError, match="a lock was taken"):
        told.ask()


def test_a_study_is_opened_and_read_while_another_writes(told, address):
    with closing(open_store(address)) as other:
        other.begin(other.find("labels")[0], 0)

        def look():
            with Study.open(address, "labels") as study:
                return study.recommend()

        assert in_time(look) == told.recommend()


def test_a_transaction_does_not_block_reading_in_the_same_process(told):
    before = told.arms, len(told.log())
    seen = in_time(
        lambda: told._writer.submit(
            lambda transaction: (transaction.write(8, None, b"d"), told.arms, len(told.log()))
        )
    )
    assert seen[1:] == before  # what is not durable is not seen
    assert told.arms == (*before[0], "d")


def test_reading_does_not_block_a_transaction(told):
    assert in_time(lambda: told._replica.query_state(lambda _: told.ask().arm)) in told.arms
    check_rebuilt_states_agree(told)


def test_what_another_has_written_is_seen(told, address):
    with Study.open(address, "labels") as other:
        assert other.arms == ("a", "b", "c")
        told.add_arm("d")
        told.change_policy(APT(epsilon=0.1))
        told.tell(told.pending[0].id, 1)
        told.tell(told.ask().id, 1)
        assert other.arms == ("a", "b", "c", "d")
        assert repr(other.policy) == "APT(epsilon=0.1)"
        assert other.recommend() == told.recommend()
        assert other.pending == []


def test_reading_changes_nothing(told, address):
    with Study.open(address, "labels") as other:
        other.recommend()
    with closing(open_store(address)) as store:
        assert store.snapshot(store.find("labels")[0]) is None


def test_reading_goes_on_after_an_interrupt(told):
    def interrupt(_):
        raise KeyboardInterrupt

    before = told.recommend()
    with pytest.raises(KeyboardInterrupt):
        told._replica.query_state(interrupt)
    assert told._replica._state is None
    assert told.recommend() == before


def test_a_log_that_has_become_shorter_is_not_looked_at(tmp_path):
    with labels(tmp_path / "s.db") as study:
        for _ in range(4):
            study.ask()
        assert len(study.pending) == 4
        with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as db:
            db.execute("DELETE FROM event WHERE seq > 2")
            db.execute("UPDATE tail SET seq = 2")  # as in an older copy
        with pytest.raises(StoreError, match="event 4 of study 1 had been read and is missing"):
            study.recommend()
        for call in (study.log, study.ask):
            with pytest.raises(StoreError, match="open the study again"):
                call()


def test_a_file_that_was_replaced_is_not_looked_at(tmp_path):
    with labels(tmp_path / "s.db") as study, labels(tmp_path / "other.db") as other:
        other.add_arm("d")
        other.close()
        assert study.arms == ("a", "b", "c")
        (tmp_path / "other.db").replace(tmp_path / "s.db")
        with pytest.raises(StoreError, match="the file was replaced"):
            study.recommend()


def test_a_study_that_was_closed_is_not_looked_at(tmp_path):
    with labels(tmp_path / "s.db") as study:
        study.recommend()
    for look in (study.recommend, study.log):
        with pytest.raises(RuntimeError, match="the study was closed"):
            look()
