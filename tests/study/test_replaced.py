"""Another database in the place of the one that was opened: refused for good, never written."""

import os
import shutil
import sqlite3
from contextlib import closing

import psycopg
import pytest

from keyhole.study import Study
from keyhole.study.storage import StoreError, open_store
from tests.study.studies import check_state_is_fold, labels

LOGS = ("-wal", "-shm")


def put(there, path):
    """Put a database, of which nobody has a connection, in the place of another."""
    for log in LOGS:
        path.with_name(path.name + log).unlink(missing_ok=True)
    there.replace(path)


def contents(path, name):
    with Study.open(path, name) as study:
        return study.log()


def calls(study):
    return (study.ask, study.recommend, study.log, lambda: study.add_arm("z"), study.ask)


def check_refused(study, said):
    """Check that all calls are refused; the first of each connection may have another reason."""
    for call in (study.ask, study.recommend):
        with pytest.raises(StoreError):
            call()
    for call in calls(study):
        with pytest.raises(StoreError, match=said) as refused:
            call()
        assert "\n" not in str(refused.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


@pytest.fixture
def elsewhere(tmp_path):
    return tmp_path / "elsewhere.db"


@pytest.mark.parametrize(
    ("name", "arms"), [("other", ("x", "y")), ("labels", ("x", "y")), ("labels", ("a", "b", "d"))]
)
def test_another_study_with_the_same_number_is_never_written(path, elsewhere, name, arms):
    with labels(path) as study:
        study.tell(study.ask().id, 1)
        study.recommend()
        labels(elsewhere, name, arms=arms).close()
        put(elsewhere, path)
        check_refused(study, "study 1 is no longer the 'labels' of before.*open the study again")
    assert contents(path, name) == []
    with closing(open_store(path)) as store:
        assert store.snapshot(1) is None  # which closing would have written


def test_another_definition_with_name_and_time_of_the_first_is_refused(path, elsewhere):
    with labels(path, clock=lambda: 5.0) as study:
        study.ask()
        labels(elsewhere, clock=lambda: 5.0, seed=1).close()
        put(elsewhere, path)
        check_refused(study, "study 1 is no longer the 'labels' of before")
    assert contents(path, "labels") == []


def test_a_study_that_is_gone_is_refused_though_another_comes(path, elsewhere):
    with labels(path) as study:
        study.ask()
        open_store(elsewhere).close()
        put(elsewhere, path)
        check_refused(study, "study 1 is no longer")
        labels(path).close()  # of the same name
        check_refused(study, "study 1 is no longer")
    assert contents(path, "labels") == []


def test_a_study_that_is_gone_from_a_server_is_refused(database):
    with labels(database) as study:
        study.ask()
        study.recommend()
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("DROP SCHEMA keyhole CASCADE")
        for call in calls(study):
            with pytest.raises(StoreError):
                call()
        with psycopg.connect(database) as db:  # nor are the tables made anew
            assert db.execute("SELECT to_regnamespace('keyhole')").fetchone() == (None,)
        labels(database, "other", arms=("x", "y")).close()
        check_refused(study, "study 1 is no longer the 'labels' of before")
    assert contents(database, "other") == []


def test_another_study_on_a_server_is_refused_by_a_connection_that_stays(database):
    with labels(database) as study:
        study.ask()
        study.recommend()
        labels(database, "other", arms=("x", "y")).close()
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("DELETE FROM keyhole.event")
            db.execute("UPDATE keyhole.tail SET seq = 0")
            db.execute("DELETE FROM keyhole.study WHERE id = 1")
            db.execute("UPDATE keyhole.study SET id = DEFAULT")
            db.execute("ALTER TABLE keyhole.study ALTER id DROP IDENTITY")
            db.execute("UPDATE keyhole.study SET id = 1")
        for call in calls(study):
            with pytest.raises(StoreError, match="study 1 is no longer the 'labels' of before"):
                call()
    assert contents(database, "other") == []


def test_an_older_copy_is_refused_until_it_is_opened(path, elsewhere):
    with labels(path) as study:
        study.ask()
        with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(elsewhere)) as copy:
            db.backup(copy)
        study.ask()
        study.recommend()
        put(elsewhere, path)
        check_refused(study, "row 2 of study 1 was there and is not.*open the study again")
    with Study.open(path, "labels") as again:
        assert again.ask().arm == "b"
        check_state_is_fold(again)


def test_an_older_copy_that_went_another_way_is_refused(path, elsewhere):
    with labels(path) as study:
        study.ask()
        with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(elsewhere)) as copy:
            db.backup(copy)
        study.ask()
        study.recommend()
        with Study.open(elsewhere, "labels") as other:
            for _ in range(5):
                other.ask()
        put(elsewhere, path)
        check_refused(study, "row 2 of study 1 was there and is not")
    assert len(contents(path, "labels")) == 6


def test_a_whole_copy_is_gone_on_with(path, elsewhere):
    with labels(path) as study:
        study.ask()
        study.recommend()
        with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(elsewhere)) as copy:
            db.backup(copy)
        put(elsewhere, path)
        for call in (study.ask, study.recommend):
            with pytest.raises(StoreError, match="the file was replaced while it was open"):
                call()
        assert study.ask().arm == "b"
        assert len(study.open_decisions) == 2
        check_state_is_fold(study)


def drop(study):
    """Let a study connect anew, as after a failure or a fork."""
    for store in (study._turns.store, study._view.store):
        store._drop()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path, _: path.write_bytes(b""), "the file was replaced"),
        (lambda path, _: path.write_bytes(b"name,reward\n" * 100), "the file was replaced"),
        (lambda path, _: path.unlink(), "unable to open database file"),
        (shutil.copyfile, "study 1 is no longer the 'labels' of before"),
    ],
    ids=["emptied", "another kind", "removed", "another database"],
)
def test_a_file_that_was_changed_in_place_is_refused(path, elsewhere, change, said):
    labels(elsewhere, "other", arms=("x", "y")).close()
    with labels(path) as study:
        study.ask()
        study.recommend()
        drop(study)
        found = os.stat(path).st_ino
        change(*((elsewhere, path) if change is shutil.copyfile else (path, None)))
        assert not path.exists() or os.stat(path).st_ino == found
        before = path.read_bytes() if path.exists() else None
        check_refused(study, said)
        assert before is None or path.read_bytes() == before
        assert path.exists() == (before is not None)
