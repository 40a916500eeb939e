"""A file with a log beside it that not all share is refused, before anything is lost."""

import os
import pickle
import sqlite3
from contextlib import closing

import pytest

from keyhole.study import Study, backup
from keyhole.study.storage import StoreError, open_store, sqlite_connection
from keyhole.study.storage.store import FinalStoreError
from tests.study.studies import check_rebuilt_states_agree, labels


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    monkeypatch.setattr(sqlite_connection, "_refused_files", {})


def test_a_file_with_two_names_is_refused(path, tmp_path):
    with labels(path) as study:
        study.ask()
        study.recommend()
        os.link(path, tmp_path / "other.db")
        for call in (study.ask, study.recommend):
            with pytest.raises(StoreError, match=r"has 2 \(hard links\).*remove the other names"):
                call()
        for name in ("s.db", "other.db"):
            with pytest.raises(ValueError, match="storage must be a file with one name"):
                Study.open(tmp_path / name, "labels")
        (tmp_path / "other.db").unlink()
        assert study.ask().arm == "b"
        check_rebuilt_states_agree(study)


def test_a_file_that_is_mounted_on_its_own_is_refused(path, tmp_path, monkeypatch):
    labels(path).close()
    path.rename(tmp_path / "two words.db")
    mounts = tmp_path / "mountinfo"
    folder = str(tmp_path)
    mounts.write_text(f"36 35 98:0 /s.db {folder}/two\\040words.db rw - ext4 /dev/sda rw\n")
    monkeypatch.setattr(sqlite_connection, "_MOUNTS", mounts)
    with pytest.raises(ValueError, match=r"must not be a file that is mounted by itself.*folder"):
        Study.open(tmp_path / "two words.db", "labels")
    mounts.write_text(f"36 35 98:0 / {folder} rw - ext4 /dev/sda rw\n")
    Study.open(tmp_path / "two words.db", "labels").close()
    monkeypatch.setattr(sqlite_connection, "_MOUNTS", tmp_path / "none")
    Study.open(tmp_path / "two words.db", "labels").close()


def logs(path):
    return [path.with_name(path.name + end) for end in ("-wal", "-shm")]


def check_refused(study):
    for call in (study.ask, study.recommend, study.log, study.ask):
        with pytest.raises(StoreError, match="beside it were removed or replaced") as refused:
            call()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("which", [0, 1])
def test_a_log_that_is_removed_loses_nothing(path, which):
    study = labels(path)
    for _ in range(5):
        study.ask()
    study.recommend()
    logs(path)[which].unlink()
    with pytest.raises(FinalStoreError):
        study.ask()
    check_refused(study)
    with pytest.raises(StoreError, match="beside it were removed or replaced"):
        Study.open(path, "labels")
    study.close()
    if which == 0:
        logs(path)[1].unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT count(*) FROM event").fetchone() == (5,)


def test_an_older_copy_over_an_open_file_is_left_as_it_is(path, tmp_path):
    study = labels(path)
    study.ask()
    backup(path, tmp_path / "older.db")
    for _ in range(5):
        study.ask()
    study.recommend()
    older = (tmp_path / "older.db").read_bytes()
    with path.open("r+b") as file:  # as `cp` does
        file.truncate()
        file.write(older)
    for log in logs(path):
        log.unlink()
    check_refused(study)
    study.close()
    assert path.read_bytes() == older


def test_a_file_is_used_before_sqlite_has_made_its_log(path):
    with closing(open_store(path)) as store:
        assert [store.studies() for _ in range(3)] == [[]] * 3


def test_a_study_stays_where_it_is_when_the_process_goes_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    labels("s.db", arms=("x", "y")).close()
    monkeypatch.chdir(tmp_path / "here")
    with labels("s.db") as study:
        monkeypatch.chdir(tmp_path / "there")
        assert study.ask().arm == "a"
        assert study.arms == ("a", "b", "c")
        with pickle.loads(pickle.dumps(study)) as other:
            assert other.ask().arm == "b"
        assert repr(study) == f"Study({str(tmp_path / 'here' / 's.db')!r}, 'labels')"


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="the system has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666])
def test_who_may_write_to_a_file_may_queue_at_it(path, mode):
    labels(path).close()
    path.with_name("s.db-queue").unlink()
    path.chmod(mode)
    before = os.umask(0o022)
    try:
        with Study.open(path, "labels") as study:
            study.ask()
    finally:
        os.umask(before)
    assert path.with_name("s.db-queue").stat().st_mode & 0o777 == mode
