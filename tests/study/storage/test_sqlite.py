"""The SQLite back end."""

import gc
import os
import resource
import sqlite3
import subprocess
import sys
import weakref
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from keyhole.study.storage import (
    Row,
    StoreError,
    open_store,
    sqlite,
    sqlite_connection,
)
from tests.forks import in_child

ROW = Row(1, 1, None, None, 0.0, b"")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studies.db"


def made(path, *statements):
    """Write a database by hand."""
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def contents(folder):
    """Return all there is in a folder."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def refusal(path):
    """Return with what words a path is refused, and that nothing was touched."""
    before = contents(path.parent)
    with pytest.raises(ValueError, match="storage must") as refused:
        open_store(path)
    assert contents(path.parent) == before
    return str(refused.value)


def test_a_file_that_is_no_database_is_refused(path):
    path.write_bytes(b"name,reward\n" * 100)
    assert "which is not one" in refusal(path)


def test_a_database_of_another_application_is_refused(path):
    made(path, "CREATE TABLE event (study)")
    assert "another application's" in refusal(path)


def test_a_newer_store_is_refused(path):
    open_store(path).close()
    made(path, "PRAGMA user_version = 7")
    (path.parent / "studies.db-queue").unlink()
    assert "of version at most 5, got 7" in refusal(path)


def test_a_store_of_a_version_that_was_not_published_is_refused(path):
    open_store(path).close()
    made(path, "PRAGMA user_version = 2")
    (path.parent / "studies.db-queue").unlink()
    assert "of version 3 or later, got 2" in refusal(path)


def test_a_newer_store_is_refused_when_only_its_log_says_so(path):
    open_store(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 7")
        before = path.read_bytes()
        assert b"\x07" not in before[60:64]
        with pytest.raises(ValueError, match="of version at most 5, got 7"):
            open_store(path)
        assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="storage must be a file, got"):
        open_store(tmp_path)


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(ValueError, match="storage must be in an existing folder"):
        open_store(tmp_path / "nowhere" / "studies.db")


def test_a_damaged_store_is_refused_with_what_to_do(path):
    with closing(open_store(path)) as store:
        store.create("labels", b"\0" * 10_000, 0.0)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    with pytest.raises(StoreError, match="put a whole copy of the file in its place"):
        open_store(path).find("labels")


@contextmanager
def as_a_stranger():
    """Be a user of the system who owns nothing."""
    myself = os.geteuid()
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(myself)


def test_a_path_that_cannot_be_written_is_refused(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o555)
    stranger = as_a_stranger() if os.geteuid() == 0 else nullcontext()  # root may write anywhere
    why = "; this process must be allowed to write to the file and to its folder$"
    with stranger, pytest.raises(StoreError, match=why):
        open_store(folder / "studies.db")


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    open_store(path).close()
    assert path.stat().st_size > 0


def test_a_name_of_any_kind_is_a_path(tmp_path):
    path = tmp_path / "50% of #1? ü.db"
    open_store(path).close()
    assert path.is_file()


def test_a_link_leads_to_the_same_queue(path):
    link = path.with_name("link.db")
    link.symlink_to(path)
    open_store(link).close()
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "link.db",
        "studies.db",
        "studies.db-queue",
    ]


def test_a_store_is_found_from_another_folder(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with closing(open_store(path.name)) as store:
        monkeypatch.chdir("/")
        store._drop_connection()
        assert store.create("labels", b"", 0.0) == 1
    assert path.is_file()


@pytest.mark.parametrize(("survives", "level"), [("power_loss", 2), ("process_crash", 1)])
def test_a_commit_is_flushed_unless_it_need_not_outlive_a_power_cut(path, survives, level):
    with closing(open_store(path, durability=survives)) as store:
        assert store._query("PRAGMA synchronous", ()) == [(level,)]
        assert store._query("PRAGMA journal_mode", ()) == [("wal",)]


def test_a_file_that_was_replaced_is_noticed(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        os.rename(path, path.with_name("elsewhere.db"))
        open_store(path).close()
        with pytest.raises(StoreError, match="the file was replaced while it was open"):
            store.begin(study, 0)


def test_a_file_that_was_removed_is_noticed_and_not_made_anew(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        path.unlink()
        for _ in range(2):
            with pytest.raises(StoreError):
                store.begin(study, 0)
        assert not path.exists()


def test_a_file_that_was_removed_is_not_kept_open(path):
    with closing(open_store(path)) as store:
        store.create("labels", b"", 0.0)
        db = store._db
        path.unlink()
        store.before_fork()
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            db.execute("SELECT 1")


def fill(store, study):
    """Write until it fails; return how many rows were acknowledged, and the failure."""
    written = 0
    while True:
        store.begin(study, written)
        try:
            store.commit(
                study, [ROW._replace(seq=written + i, body=bytes(1000)) for i in (1, 2, 3)]
            )
        except StoreError as error:
            return written, str(error)
        written += 3


def test_a_full_disk_leaves_nothing_half_written(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        store._query("PRAGMA max_page_count = 50", ())
        written, failure = fill(store, study)
        assert failure.endswith("full; make room on the disk")
        assert written > 30
        # The new connection has no such limit: there is room again.
        assert len(list(store.read(study))) == written
        assert store.begin(study, written) == []
        store.commit(study, [ROW._replace(seq=written + 1)])


def test_many_rows_are_written_by_an_sqlite_that_takes_few_values(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        store._db.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)  # as before SQLite 3.32
        store.begin(study, 0)
        store.commit(study, [ROW._replace(seq=seq) for seq in range(1, 301)])
        assert [row.seq for row in store.read(study)] == list(range(1, 301))


@contextmanager
def files_of_at_most(size):
    """Let no file grow beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(not sqlite.has_flock(), reason="the system has no such limits")
@pytest.mark.parametrize("is_changed", [False, True], ids=["as it was", "as after a checkpoint"])
def test_a_full_disk_leaks_nothing_and_holds_nobody_up_when_there_is_room(path, is_changed):
    """Closing a file writes a part of its log into it there, and mending that fails as well."""
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        write(store, study, 1)
        if is_changed:
            os.utime(path, (0, 0))
        opened = []
        with files_of_at_most(60_000):
            for _ in range(5):
                with pytest.raises(StoreError, match="disk"):
                    write(store, study, 2)
                opened.append(len(os.listdir("/dev/fd")))
            assert opened == opened[:1] * 5
            assert in_a_fork(lambda: read_all(path, study)) == "1"
        assert in_a_fork(lambda: read_all(path, study)) == "1"
        write(store, study, 2)
        assert in_a_fork(lambda: read_all(path, study)) == "2"


def write(store, study, seq):
    store.begin(study, seq - 1)
    store.commit(study, [ROW._replace(seq=seq, body=bytes(100_000))])


def read_all(path, study):
    """Open a store and return how many rows it has."""
    with closing(open_store(path)) as store:
        return str(len(list(store.read(study))))


def test_whoever_does_not_queue_is_named_after_a_while(path, monkeypatch):
    monkeypatch.setattr("keyhole.study.storage.sqlite_connection.BUSY_TIMEOUT", 0.01)
    with closing(open_store(path)) as store, closing(sqlite3.connect(path)) as other:
        study = store.create("labels", b"", 0.0)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="database is locked; another program held the file"):
            store.begin(study, 0)
        other.rollback()
        assert store.begin(study, 0) == []
        store.rollback()


def test_a_system_without_queues_will_do(path, monkeypatch):
    monkeypatch.setattr("keyhole.study.storage.sqlite.fcntl", None)
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        store.begin(study, 0)
        store.commit(study, [ROW])
        assert list(store.read(study)) == [ROW]
    assert not path.with_name("studies.db-queue").exists()


def in_a_fork(work):
    """Return what a forked process says of some work."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(into, (work() or "").encode())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


def use(store, study):
    """Use a store that is another process's; return the refusal."""
    try:
        store.begin(study, 0)
    except StoreError as error:
        return str(error)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no forks")
def test_a_fork_must_open_the_store_again(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        store.begin(study, 0)
        assert "opened by another process: open it again" in in_a_fork(lambda: use(store, study))
        store.commit(study, [ROW])
        assert list(store.read(study)) == [ROW]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no forks")
def test_a_fork_can_open_the_store_again(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)

        def work():
            with closing(open_store(path)) as own:
                own.begin(study, 0)
                own.commit(study, [ROW])

        in_a_fork(work)
        assert store.begin(study, 0) == [ROW]
        store.commit(study, [ROW._replace(seq=2)])


def test_a_stopped_reader_lets_the_log_be_cleared(path):
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        store.begin(study, 0)
        store.commit(study, [ROW._replace(seq=seq) for seq in range(1, 10)])
        reader = store.read(study)
        next(reader)
        assert store._query("PRAGMA wal_checkpoint(TRUNCATE)", ())[0][0] == 0
        assert Path(f"{path}-wal").stat().st_size == 0
        reader.close()


def test_an_interrupt_releases_the_lock(path, monkeypatch):
    with closing(open_store(path)) as store, closing(open_store(path)) as other:
        study = store.create("labels", b"", 0.0)

        def interrupted(file, **_):
            raise KeyboardInterrupt

        comparison = "keyhole.study.storage.sqlite.FileWatch.compare_with_accepted"
        with monkeypatch.context() as patch:
            patch.setattr(comparison, interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.begin(study, 0)
        other.begin(study, 0)
        other.commit(study, [ROW])
        assert list(store.read(study)) == [ROW]


def test_a_file_into_which_its_log_is_being_written_is_opened(path):
    with closing(open_store(path)) as store:
        store.create("labels", bytes(100_000), 0.0)
        store._query("PRAGMA wal_checkpoint(TRUNCATE)", ())
        os.truncate(path, path.stat().st_size // 4096 // 2 * 4096)  # the header says more than that
        sqlite_connection.check_file(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_never_closes_a_connection_that_it_inherited(path):
    """It would write the log into the file, and remove it, while the parent uses both."""
    gc.freeze()  # it takes long to look through all that is there without this
    db = sqlite_connection.connect(path, "mode=rwc")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            inherited = weakref.ref(db)
            del db
            gc.collect()
            code = 0 if inherited() is not None else 2
        finally:
            os._exit(code)
    gc.unfreeze()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    db.close()


def test_a_store_that_nobody_closed_ends_with_the_program_in_silence(path):
    code = f"""
import keyhole.validation
from pathlib import Path
from keyhole.study.storage import open_store
store = open_store(Path({str(path)!r}))
store.again = store
keyhole.validation.kept = [store]
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stderr == ""


@pytest.mark.skipif(not sqlite.has_flock(), reason="the system has no such queues")
@pytest.mark.parametrize("others_have_the_lock", [True, False])
def test_a_file_that_is_not_as_it_was_left_is_closed(path, others_have_the_lock):
    """A fork must not inherit a connection; an intact file is rewritten and closed."""
    with closing(open_store(path)) as store:
        study = store.create("labels", b"", 0.0)
        db, queue = store._db, os.open(f"{path}-queue", os.O_RDWR)
        if others_have_the_lock:
            sqlite.fcntl.flock(queue, sqlite.fcntl.LOCK_EX)
        os.utime(path, (0, 0))  # as a checkpoint, which is recorded at the end of the transaction
        store.before_fork()
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            db.execute("SELECT 1")
        sqlite.fcntl.flock(queue, sqlite.fcntl.LOCK_EX | sqlite.fcntl.LOCK_NB)
        os.close(queue)
        store.begin(study, 0)
        store.rollback()


@pytest.mark.skipif(not sqlite.has_flock(), reason="the system has no such queues")
def test_a_file_that_another_program_holds_is_closed_at_once_and_left_alone(path):
    """A fork does not wait for it, and its children are not refused the file."""
    with closing(open_store(path)) as store, closing(sqlite3.connect(path)) as other:
        study = store.create("labels", b"", 0.0)
        other.execute("PRAGMA wal_checkpoint")
        os.utime(path, (0, 0))  # whose time may not have moved on
        other.execute("BEGIN IMMEDIATE")
        db, log = store._db, Path(f"{path}-wal")
        before = log.stat().st_size, log.stat().st_mtime_ns
        store.before_fork()
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            db.execute("SELECT 1")
        assert (log.stat().st_size, log.stat().st_mtime_ns) == before
        other.rollback()
        other.close()
        assert in_a_fork(lambda: read_all(path, study)) == "0"
        write(store, study, 1)


@pytest.mark.skipif(not sqlite.has_flock(), reason="the system has no such queues")
@pytest.mark.parametrize("how", ["as it was left", "changed", "on a full disk"])
def test_the_last_to_close_a_file_writes_its_log_into_it_only_if_that_does_no_harm(
    path, monkeypatch, how
):
    store = open_store(path)
    write(store, store.create("labels", b"", 0.0), 1)
    if how == "changed":
        os.utime(path, (0, 0))
    before = os.stat(path).st_mtime_ns
    with monkeypatch.context() as patch:
        if how == "on a full disk":
            full = SimpleNamespace(f_bavail=0, f_frsize=4096)
            patch.setattr(os, "statvfs", lambda _: full)
        store.close()
    is_written = how == "as it was left"
    assert Path(f"{path}-wal").exists() != is_written
    assert is_written or os.stat(path).st_mtime_ns == before
    assert read_all(path, 1) == "1"


@pytest.mark.skipif(not sqlite.has_flock(), reason="the system has no such queues")
@pytest.mark.parametrize(
    "step", ["sqlite.FileWatch.fits_log", "sqlite_connection._is_empty_with_log"]
)
def test_a_closing_that_is_interrupted_releases_the_lock(path, monkeypatch, step):
    """A fork ignores what is raised before it, and nobody else would release the lock."""
    with closing(open_store(path)) as store:
        store.create("labels", b"", 0.0)

        def interrupted(*_):
            raise KeyboardInterrupt

        os.utime(path, (0, 0))
        with monkeypatch.context() as patch:
            patch.setattr(f"keyhole.study.storage.{step}", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.before_fork()
        with closing(open_store(path)) as other:
            assert other.begin(1, 0) == []
            other.rollback()
        assert store.begin(1, 0) == []
        store.rollback()


def test_a_closing_that_is_interrupted_when_it_is_done_leaves_nothing_closed_behind(
    path, monkeypatch
):
    with closing(open_store(path)) as store:
        study, close = store.create("labels", b"", 0.0), sqlite_connection.Connection.close

        def closed(db):
            close(db)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(sqlite_connection.Connection, "close", closed)
            with pytest.raises(KeyboardInterrupt):
                store.before_fork()
        assert store.begin(study, 0) == []
        store.rollback()


@pytest.mark.skipif(not sqlite.has_flock(), reason="the system has no such queues")
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_fork_takes_no_lock_from_a_thread_that_has_just_got_it(path, is_changed):
    with closing(open_store(path)) as store, open(f"{path}-queue", "rb") as queue:
        store.create("labels", b"", 0.0)
        store._lock_queue()  # it then waits for the fork
        if is_changed:
            os.utime(path, (0, 0))
        store.before_fork()
        with pytest.raises(BlockingIOError):
            sqlite.fcntl.flock(queue, sqlite.fcntl.LOCK_EX | sqlite.fcntl.LOCK_NB)


def test_whether_there_is_room_is_not_asked_of_a_file_whose_errors_are_no_text(tmp_path):
    class Damaged:
        path = tmp_path / "study.db"

        def execute(self, statement):
            raise UnicodeDecodeError("utf-8", b"\xce", 0, 1, "invalid continuation byte")

    assert sqlite_connection.has_disk_space(Damaged())


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such limit")
def test_too_many_open_files_are_named_as_what_they_are(path):
    def open_at_the_limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        with suppress(OSError):
            while True:
                os.dup(0)
        with pytest.raises(StoreError) as refused:
            open_store(path)
        return refused.value

    open_store(path).close()
    said = in_child(open_at_the_limit)
    assert str(path) in said
    assert "Too many open files (ulimit -n)" in said
    assert "must be allowed to write" not in said
