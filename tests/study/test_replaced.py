"""Another database in the place of the one that was opened: refused for good, never written."""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from keyhole.study import Study, backup
from keyhole.study.storage import StoreError, open_store, replaced_file_check, sqlite_connection
from tests.processes import python
from tests.study.studies import check_rebuilt_states_agree, labels

ROOT = Path(__file__).parents[2]
LOGS = ("-wal", "-shm")


def put(there, path, study):
    """Copy a database over that of a study, which has no connection at the moment."""
    drop(study)
    shutil.copyfile(there, path)


def drop(study):
    """Let a study connect anew, as after a fork."""
    for store in (study._writer.store, study._replica.store):
        store.before_fork()


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
        put(elsewhere, path, study)
        check_refused(study, "study 1 is no longer 'labels'.*open the study again")
    assert contents(path, name) == []
    with closing(open_store(path)) as store:
        assert store.snapshot(1) is None  # which closing would have written


def test_another_definition_with_name_and_time_of_the_first_is_refused(path, elsewhere):
    with labels(path, clock=lambda: 5.0) as study:
        study.ask()
        labels(elsewhere, clock=lambda: 5.0, seed=1).close()
        put(elsewhere, path, study)
        check_refused(study, "study 1 is no longer 'labels'")
    assert contents(path, "labels") == []


def test_a_study_that_is_gone_is_refused_though_another_comes(path, elsewhere):
    with labels(path) as study:
        study.ask()
        open_store(elsewhere).close()
        put(elsewhere, path, study)
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
        check_refused(study, "study 1 is no longer 'labels'")
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
            with pytest.raises(StoreError, match="study 1 is no longer 'labels'"):
                call()
    assert contents(database, "other") == []


def test_an_older_copy_is_refused_until_it_is_opened(path, elsewhere):
    with labels(path) as study:
        study.ask()
        with closing(sqlite3.connect(path)) as db, closing(sqlite3.connect(elsewhere)) as copy:
            db.backup(copy)
        study.ask()
        study.recommend()
        put(elsewhere, path, study)
        check_refused(study, "event 2 of study 1 had been read .* missing.*open the study again")
    with Study.open(path, "labels") as again:
        assert again.ask().arm == "b"
        check_rebuilt_states_agree(again)


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
        put(elsewhere, path, study)
        check_refused(study, "event 2 of study 1 had been read and is missing")
    assert len(contents(path, "labels")) == 6


def test_a_whole_copy_over_a_file_that_nobody_has_open_is_gone_on_with(path, elsewhere):
    with labels(path) as study:
        study.ask()
        study.recommend()
        backup(path, elsewhere)
        put(elsewhere, path, study)
        assert study.ask().arm == "b"
        assert len(study.pending) == 2
        check_rebuilt_states_agree(study)


REPLACED = "the file was replaced while it was open.*remove the -wal and -shm.*open the study again"
MIXED = "the file and the -wal beside it do not belong together.*remove -wal and -shm"


def fill(study):
    """Write more than SQLite keeps in its log, then an event with which it begins it anew."""
    begin = len(study.arms)
    study.add_arms(f"{'x' * 3000} {i}" for i in range(begin, begin + 9))
    study._writer.store.save_snapshot(1, 1, bytes(9_000_000))
    study.ask()


@pytest.mark.parametrize("has_logs", [True, False], ids=["with its logs", "alone"])
def test_another_file_in_the_place_of_an_open_one_is_never_connected_to(path, elsewhere, has_logs):
    """Not even a whole copy: the log beside it may be that of the first."""
    study = labels(path)
    study.recommend()
    backup(path, elsewhere)
    study.ask()
    first = path.with_name("first.db")
    path.rename(first)
    if not has_logs:
        for log in LOGS:
            path.with_name(path.name + log).unlink()
    shutil.copyfile(elsewhere, path)
    before = path.read_bytes()
    for call in (*calls(study), *calls(study)):
        with pytest.raises(StoreError, match=REPLACED) as refused:
            call()
        assert "\n" not in str(refused.value)
    drop(study)  # as a fork does
    for call in calls(study):
        with pytest.raises(StoreError, match=REPLACED):
            call()
    if not has_logs:
        with Study.open(path, "labels") as other:
            assert other.ask().arm == "a"
            study.close()
            assert [d.arm for d in other.pending] == ["a"]
        assert len(contents(path, "labels")) == 1
        return
    path.unlink()
    first.rename(path)  # too late: what was refused once is refused until it is opened
    with pytest.raises(StoreError, match=REPLACED):
        study.ask()
    study.close()
    assert before


def test_a_copy_over_an_open_file_is_noticed_before_anything_is_written(path, elsewhere):
    """SQLite alone goes on, and ends with a file that it calls malformed."""
    study, looking = labels(path), labels(path, "other")
    backup(path, elsewhere)
    fill(study)
    looking.recommend()
    older = elsewhere.read_bytes()
    shutil.copyfile(elsewhere, path)
    for call in (*calls(study), looking.recommend, looking.ask):
        with pytest.raises(StoreError, match=MIXED) as refused:
            call()
        assert "\n" not in str(refused.value)
    study.close()
    looking.close()
    assert path.read_bytes() == older


def test_a_copy_over_an_open_file_whose_log_has_all_that_it_lacks_loses_nothing(path, elsewhere):
    with labels(path) as study:
        backup(path, elsewhere)
        first = [study.ask().id for _ in range(3)]
        shutil.copyfile(elsewhere, path)
        first.append(study.ask().id)
        drop(study)
        assert [decision.id for decision in study.pending] == first
    assert len(contents(path, "labels")) == 4


class Clock:
    """A clock that does something when it is called, within a transaction."""

    def __init__(self):
        self.work = None

    def __call__(self):
        if self.work is not None:
            self.work()
        return 5.0


def test_a_copy_over_the_file_during_a_write_is_found_before_the_call_is_answered(path, elsewhere):
    study = labels(path, clock=(clock := Clock()))
    backup(path, elsewhere)
    fill(study)
    older = elsewhere.read_bytes()
    clock.work = lambda: shutil.copyfile(elsewhere, path)
    # Newer versions of SQLite (such as 3.53) notice it first, in the commit.
    with pytest.raises(StoreError, match=f"{MIXED}|disk I/O error; .* open the study again"):
        study.ask()
    clock.work = None
    for call in calls(study):
        with pytest.raises(StoreError, match=MIXED):
            call()
    study.close()
    assert path.read_bytes() == older


def test_a_copy_over_the_file_during_a_write_whose_log_has_all_it_lacks_loses_nothing(
    path, elsewhere
):
    with labels(path, clock=(clock := Clock())) as study:
        backup(path, elsewhere)
        ids = [study.ask().id for _ in range(3)]
        clock.work = lambda: shutil.copyfile(elsewhere, path)
        ids.append(study.ask().id)
        clock.work = None
        ids.append(study.ask().id)
        assert [decision.id for decision in study.pending] == ids
    assert len(contents(path, "labels")) == 5


def test_a_failure_during_a_write_writes_no_log_into_a_copy(path, elsewhere):
    """The connection is closed, and is the last one."""
    study = labels(path)
    backup(path, elsewhere)
    fill(study)

    def fail(transaction):
        shutil.copyfile(elsewhere, path)
        study._writer.store._drop_connection()
        raise StoreError("as where the disk fails")

    with pytest.raises(StoreError, match="as where the disk fails"):
        study._writer.submit(fail)
    with pytest.raises(StoreError, match=MIXED):
        study.ask()
    study.close()
    assert path.read_bytes() == elsewhere.read_bytes()


def test_a_file_that_is_moved_away_during_a_write_is_found_before_the_call_is_answered(
    path, elsewhere
):
    with labels(path, clock=(clock := Clock())) as study:
        backup(path, elsewhere)
        clock.work = lambda: path.unlink() or elsewhere.rename(path)
        with pytest.raises(StoreError, match=REPLACED):
            study.ask()


def test_a_copy_of_another_size_that_comes_while_the_log_is_written_into_the_file_is_found(
    path, elsewhere, monkeypatch
):
    checkpoint = sqlite_connection.checkpoint

    def copy_after(db):
        size = checkpoint(db)
        shutil.copyfile(elsewhere, path)
        return size

    study = labels(path)
    backup(path, elsewhere)
    fill(study)
    monkeypatch.setattr(replaced_file_check, "_MAX_COMMITS", 1)
    monkeypatch.setattr(sqlite_connection, "checkpoint", copy_after)
    with pytest.raises(StoreError, match="event 11 of study 1 had been read and is missing"):
        study.ask()
    check_refused(study, "event 11 of study 1 had been read and is missing")
    study.close()
    assert contents(path, "labels") == []


def test_the_log_of_a_file_that_was_emptied_is_kept(path, elsewhere):
    """A copy begins with that: SQLite removes a log beside an empty file."""
    kill_a_writer(path)
    whole = path.read_bytes()
    os.truncate(path, 0)
    assert "the file is empty, and the -wal beside it is not" in look(path)
    path.write_bytes(whole)
    assert len(contents(path, "labels")) == 10


KILLED = """
import os, sys
from tests.study.studies import labels
from tests.study.test_replaced import fill
study = labels(sys.argv[1])
fill(study)
os._exit(0)
"""


def kill_a_writer(path):
    """Leave a file with a log beside it, of which nobody knows any more."""
    done = python("-c", KILLED, path, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert path.with_name(f"{path.name}-wal").stat().st_size


LOOK = """
import sys
from keyhole.study import Study, StoreError
try:
    with Study.open(sys.argv[1], "labels") as study:
        print(len(study.log()))
except StoreError as error:
    print(error)
"""


def look(path):
    """Return how many events another process finds, or its error; it ends as programs do."""
    done = python("-c", LOOK, path, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("is_moved", [True, False], ids=["moved", "copied"])
def test_a_file_that_is_put_beside_the_log_of_another_is_refused_and_left_alone(
    path, elsewhere, is_moved
):
    labels(elsewhere).close()
    kill_a_writer(path)
    older = elsewhere.read_bytes()
    shutil.move(elsewhere, path) if is_moved else shutil.copyfile(elsewhere, path)
    assert re.search(MIXED, look(path))
    assert path.read_bytes() == older
    for log in LOGS:
        path.with_name(path.name + log).unlink()
    assert contents(path, "labels") == []


def test_a_file_that_was_moved_with_its_log_is_opened(path, elsewhere):
    kill_a_writer(path)
    for end in ("", *LOGS, "-queue"):
        shutil.copyfile(f"{path}{end}", f"{elsewhere}{end}")
    assert len(contents(elsewhere, "labels")) == len(contents(path, "labels")) == 10


def test_a_log_that_another_program_has_written_into_the_file_does_no_harm(path):
    """Or a process that was killed while it did so."""
    with labels(path) as study:
        study.ask()
        study.recommend()
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA wal_checkpoint").fetchone()[1] > 0
        assert study.recommend() is not None
        assert study.ask().arm == "b"
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        assert study.ask().arm == "c"
        check_rebuilt_states_agree(study)
    assert len(contents(path, "labels")) == 3


def test_the_log_is_written_into_the_file_by_two_writers(path):
    """Each then finds a file that the other has changed, and reads nothing twice."""
    with labels(path) as one, Study.open(path, "labels", durability="process_crash") as two:
        for study in (one, two) * 3:
            fill(study)
            one.recommend()
    assert len(contents(path, "labels")) == 60


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path, _: path.write_bytes(b""), "the file was replaced"),
        (lambda path, _: path.write_bytes(b"name,reward\n" * 100), "the file was replaced"),
        (lambda path, _: path.unlink(), "unable to open database file"),
        (shutil.copyfile, "study 1 is no longer 'labels'"),
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
