"""When the log is written into the file."""

import os
import sqlite3
from contextlib import closing

import pytest

from keyhole.study.storage import Row, open_file, open_store, queued_file

pytestmark = pytest.mark.skipif(not queued_file.has_queues(), reason="SQLite decides it there")
PAGE = 4120


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(open_file, "_LONG", 40 * PAGE)
    monkeypatch.setattr(open_file, "_COMMITS", 10)
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


@pytest.mark.parametrize("survives", ["crash", "power cut"])
def test_a_log_stays_short(path, survives):
    with closing(open_store(path, survives=survives)) as store:
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
            with closing(open_store(path, survives="crash")) as store:
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
