"""Backups are consistent copies that go on as the original would."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from keyhole.files import folder_lock
from keyhole.study import Study, backup
from keyhole.study.storage import StoreError, open_store, sqlite_connection
from keyhole.study.storage.sqlite import Sqlite
from tests.study.studies import check_rebuilt_states_agree, labels


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "copies" / "copy.db"


@pytest.fixture(autouse=True)
def _folder(copy):
    copy.parent.mkdir()


def test_a_backup_has_the_same_state_and_the_same_next_decisions(address, copy):
    with labels(address) as study, labels(address, "other", arms=("x", "y")) as other:
        for reward in (1, 0, 1):
            study.tell(study.ask(key=f"key {reward}" if reward else None).id, reward)
        study.ask()
        other.ask()
        study._writer.save_snapshot()
        assert backup(address, copy) == ["labels", "other"]
        with Study.open(copy, "labels") as again, Study.open(copy, "other") as second:
            assert again.log() == study.log()
            assert second.log() == other.log()
            assert again.recommend() == study.recommend()
            assert again._writer.store.snapshot(again._writer.study_number)[0] == len(study.log())
            assert [again.ask().arm for _ in range(5)] == [study.ask().arm for _ in range(5)]
            check_rebuilt_states_agree(again)
    assert sorted(file.name for file in copy.parent.iterdir()) == ["copy.db", "copy.db-queue"]


def test_a_backup_is_taken_while_others_write(address, copy):
    stop = threading.Event()

    def work():
        while not stop.is_set():
            study.tell(study.ask().id, 1)

    with labels(address) as study:
        with ThreadPoolExecutor(2) as pool:
            at_work = [pool.submit(work) for _ in range(2)]
            try:
                sizes = []
                for n in range(3):
                    backup(address, copy.with_name(f"{n}.db"))
                    with Study.open(copy.with_name(f"{n}.db"), "labels") as again:
                        sizes.append(len(again.log()))
                        check_rebuilt_states_agree(again)
            finally:
                stop.set()
            for thread in at_work:
                thread.result(60)
        assert sizes == sorted(sizes)
        check_rebuilt_states_agree(study)


def test_a_backup_takes_the_place_of_nothing(address, copy):
    labels(address).close()
    copy.write_text("mine")
    with pytest.raises(ValueError, match=r"path must be new, got .* which exists"):
        backup(address, copy)
    assert copy.read_text() == "mine"
    with pytest.raises(ValueError, match="path must be in an existing folder"):
        backup(address, copy.parent / "nowhere" / "copy.db")


def test_a_file_that_comes_meanwhile_stays(tmp_path, copy, monkeypatch):
    labels(tmp_path / "s.db").close()
    make = Sqlite._copy_to_sqlite

    def make_slowly(self, path):
        make(self, path)
        copy.write_text("mine")

    monkeypatch.setattr(Sqlite, "_copy_to_sqlite", make_slowly)
    with pytest.raises(ValueError, match=r"path must be new, got .* which exists"):
        backup(tmp_path / "s.db", copy)
    assert copy.read_text() == "mine"
    assert [file.name for file in copy.parent.iterdir()] == ["copy.db"]


def test_the_name_of_a_backup_outlives_a_power_cut(tmp_path, copy, monkeypatch):
    labels(tmp_path / "s.db").close()
    flushed = []
    monkeypatch.setattr(
        sys.modules["keyhole.study.storage.store_factory"],
        "flush_folder",
        lambda folder: flushed.append((folder, copy.exists())),
    )
    backup(tmp_path / "s.db", copy)
    assert flushed == [(copy.parent, True)]


def test_there_is_no_backup_of_nothing(tmp_path, copy):
    with pytest.raises(ValueError, match="storage must be an existing file"):
        backup(tmp_path / "s.db", copy)
    (tmp_path / "s.db").write_bytes(b"name,reward" * 100)
    with pytest.raises(ValueError, match="storage must be an SQLite database"):
        backup(tmp_path / "s.db", copy)
    assert not list(copy.parent.iterdir())


def test_a_backup_that_fails_leaves_nothing(tmp_path, copy, monkeypatch):
    labels(tmp_path / "s.db").close()

    def full(path, how):
        db = sqlite_connection.Connection(Path(path), "mode=rwc")
        db.execute("PRAGMA max_page_count = 2")
        return db

    with closing(open_store(tmp_path / "s.db")) as store:
        monkeypatch.setattr(sqlite_connection, "connect", full)
        with pytest.raises(StoreError, match="make room on the disk"):
            store.copy(copy)
        monkeypatch.undo()
        monkeypatch.setattr(os, "rename", full)
    monkeypatch.setattr("keyhole.study.storage.sqlite.Sqlite._copy_to_sqlite", full)
    with pytest.raises(TypeError):
        backup(tmp_path / "s.db", copy.with_name("other.db"))
    assert [file.name for file in copy.parent.iterdir()] == ["copy.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="no folder is held")
def test_what_a_killed_backup_left_is_removed_by_the_next_one(tmp_path, copy):
    labels(tmp_path / "s.db").close()
    killed, living = (copy.with_name(f".copy.db.{digit * 32}") for digit in "12")
    for folder in (killed, living):
        folder.mkdir()
        (folder / "copy.db").write_text("half")
    others = [copy.with_name(name) for name in (".copy.db.note", f".other.db.{'1' * 32}")]
    for other in others:
        other.mkdir()
    with folder_lock(living):
        backup(tmp_path / "s.db", copy)
    assert {file.name for file in copy.parent.iterdir()} == {
        file.name for file in (copy, living, *others)
    }
