"""Checkpoints: when the log is written into the file."""

import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from keyhole.study.storage import (
    Row,
    StoreError,
    open_store,
    replaced_file_check,
    sqlite,
    sqlite_connection,
)

pytestmark = pytest.mark.skipif(not sqlite.has_flock(), reason="SQLite decides it there")
PAGE = 4120


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(replaced_file_check, "_MIN_LOG_SIZE", 40 * PAGE)
    monkeypatch.setattr(replaced_file_check, "_MAX_COMMITS", 10)
    return tmp_path / "studies.db"


def write(store, study, seq):
    store.begin(study, seq - 1)
    store.commit(study, [Row(seq, 1, None, None, 0.0, bytes(2000))])


def log_pages(path):
    return os.stat(f"{path}-wal").st_size // PAGE


def unwritten(path):
    """Return how many pages of the log are not yet in the file."""
    with closing(sqlite3.connect(path)) as db:
        (_, pages, written) = db.execute("PRAGMA wal_checkpoint").fetchone()
    return pages - written


@pytest.mark.parametrize("survives", ["process_crash", "power_loss"])
def test_a_log_stays_short(path, survives):
    with closing(open_store(path, durability=survives)) as store:
        study, size = store.create("labels", b"", 0.0), path.stat().st_size
        for seq in range(1, 151):
            write(store, study, seq)
        assert 40 <= log_pages(path) < 120
        assert path.stat().st_size > size + 60 * 2000
        assert unwritten(path) == 0


def test_a_log_stays_short_though_each_writes_once(path):
    """And another, who only looks, has the file open all the time."""
    with closing(open_store(path)) as looking:
        study = looking.create("labels", b"", 0.0)
        for seq in range(1, 101):
            with closing(open_store(path, durability="process_crash")) as store:
                write(store, study, seq)
        assert 40 <= log_pages(path) < 120
        assert len(list(looking.read(study))) == 100


def test_a_reader_holds_no_writer_up_and_the_log_is_written_when_it_is_done(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM event").fetchone() == (0,)
            for seq in range(1, 101):
                write(store, study, seq)
            assert log_pages(path) > 150
            reader.execute("COMMIT")
        for seq in range(101, 131):
            write(store, study, seq)
        assert path.stat().st_size > 100 * 2000


def test_two_writers_share_checkpoints_and_keep_their_connections(path, monkeypatch):
    """Beyond the limit, one once took the other's checkpoint for a new file, and made its own."""
    done = Counter()

    def counted(module, name):
        work = getattr(module, name)

        def count(*values, **named):
            done[name] += 1
            return work(*values, **named)

        monkeypatch.setattr(module, name, count)

    with (
        closing(open_store(path)) as one,
        closing(open_store(path, durability="process_crash")) as two,
    ):
        study = one.create("labels", b"", 0.0)
        for seq in range(1, 61):
            write((one, two)[seq % 2], study, seq)
        assert log_pages(path) > 40
        counted(sqlite_connection, "checkpoint")
        counted(sqlite_connection, "connect")
        for seq in range(61, 161):
            write((one, two)[seq % 2], study, seq)
            if seq % 5 == 0:
                assert len(list((two, one)[seq % 2].read(study))) == seq
        assert 100 // 10 <= done["checkpoint"] <= 100 // 10 + 2
        assert done["connect"] == 0
        assert log_pages(path) < 120


def test_a_copy_that_one_has_taken_is_not_mixed_with_what_another_remembers(path, tmp_path):
    """What SQLite has in memory of a file goes on to be true after checkpoints alone."""
    with closing(open_store(path)) as one, closing(open_store(path)) as two:
        study = one.create("labels", b"", 0.0)
        write(one, study, 1)
        one.copy(tmp_path / "copy.db")
        write(one, study, 2)
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        for store in (one, two):
            assert store.begin(study, 2) == []
            store.rollback()
        shutil.copyfile(tmp_path / "copy.db", path)
        for store in (one, two):
            with pytest.raises(StoreError, match="event 2 of study 1 had been read and is missing"):
                store.begin(study, 2)


def test_a_log_that_was_made_anew_may_grow_as_far_as_the_first(path):
    queue = os.open(f"{path}-queue", os.O_RDWR | os.O_CREAT)
    path.touch()
    file, long = replaced_file_check.FileWatch(path), 40 * PAGE
    assert file.count_commit(10 * long, queue)  # where somebody has read for long
    assert not file.count_commit(10 * long, queue)
    assert not file.count_commit(PAGE, queue)
    assert [file.count_commit(size, queue) for size in (long - 1, long, long)] == [
        False,
        True,
        False,
    ]
    os.close(queue)
