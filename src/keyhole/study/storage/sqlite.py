"""The SQLite back end, which keeps the event logs of studies in one file.

Writers queue at an advisory lock on the file ``...-queue``; `flock` grants it in the order of the
requests. If processes waited for SQLite's own lock instead, they would retry until a timeout, and
a process might never succeed. SQLite's lock still holds off programs that do not queue. Windows
has no `flock`, so the order is a matter of chance there.
"""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn

from keyhole.study.storage import schema, sqlite_connection, store
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.study.storage.replaced_file_check import WHY_REPLACED, FileWatch, LogReplacedError
from keyhole.study.storage.sqlite_connection import Connection, read_pragma
from keyhole.validation import short_repr

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_INSERT: Final = "INSERT INTO event (study, seq, kind, decision, key, at, body, digest) VALUES "
_EVENT_PLACEHOLDERS: Final = "(?, ?, ?, ?, ?, ?, ?, ?)"
# The most rows of a statement: SQLite before 3.32 takes at most 999 values, and a row has 8.
_MAX_ROWS: Final = 124
_INSERT_METADATA: Final = "INSERT INTO metadata (study, seq, body) VALUES (?, ?, ?)"
_NO_LAST_ROW: Final = (-1, b"")  # stands for the last row of a study that was not read
_REPLACE_TAIL: Final = "REPLACE INTO tail (study, seq) VALUES (?, ?)"
# These queries check that an index is intact at a value. If the entry of an event is damaged, a
# search for the value ends between the last smaller and the first larger entry, without finding the
# event. So these two entries, and the entries of the value, are compared with the table. To compare
# the whole index would take a third of a second for 100,000 events.
_ENTRIES: Final = (
    "SELECT i.{column}, e.{column} FROM (SELECT study, seq, {column} FROM event"
    " INDEXED BY event_{column} WHERE {column} IS NOT NULL AND {condition}) AS i"
    " LEFT JOIN event AS e NOT INDEXED ON e.study = i.study AND e.seq = i.seq"
)
_CONDITIONS: Final = (
    "study = ?1 AND {column} = ?2",
    "(study, {column}) < (?1, ?2) ORDER BY study DESC, {column} DESC LIMIT 1",
    "(study, {column}) > (?1, ?2) ORDER BY study, {column} LIMIT 1",
)


def has_flock() -> bool:
    """Return whether the operating system has `flock`."""
    return fcntl is not None


class Sqlite(store.Store):
    """A store in an SQLite file.

    With `flush`, a commit returns once its data are on the disk; without, once the operating system
    has them. A store with a `sibling` connects to the sibling's file, and refuses another file in
    its place.
    """

    dialect = schema.DIALECTS["sqlite"]
    driver_errors = (sqlite3.Error, OSError)

    def __init__(self, path: Path, flush: bool = True, sibling: "Sqlite | None" = None) -> None:
        super().__init__()
        self.path = Path(os.path.realpath(path))  # so that a file has one queue only
        self.where = str(self.path)
        self._flush = flush
        self._queue: int | None = None
        self._db: Connection | None = None
        # If the file is read without locks, its `file_stamp` when it was opened; else None.
        self._immutable_stamp: tuple[int, int, int, bool] | None = None
        # The `file_identity` of the file that was opened first.
        self._identity: tuple[int, int] | None = None
        # SQLite's `data_version` when this store last read all new rows.
        self._data_version: int | None = None
        if sibling is not None:
            self._share_studies(sibling)
            self._identity = sibling._identity
        FORK_LOCK.add(self)
        try:
            if sibling is None:
                self._run(self._connect_or_create)
            else:
                self._run(self._query, "SELECT 1", ())
        except BaseException:
            self._drop_connection()
            raise

    def connect_another(self) -> "Sqlite":
        """Return another connection to this file; refuse a file that replaced it."""
        return Sqlite(self.path, self._flush, self)

    def _query(self, sql: str, values: tuple[object, ...]) -> list[store.Record]:
        with self._open_reader() as db:
            return db.execute(sql, values).fetchall()

    def events_of_decision(self, study: int, decision: str) -> list[store.Row]:
        """Return the events of a decision; refuse an index that may lack some of them."""
        self._refuse_incomplete_index("decision", study, decision)
        return super().events_of_decision(study, decision)

    def find_by_key(self, study: int, key: str) -> store.Row | None:
        """Return the event of an idempotency key, or None; refuse an index that may lack it."""
        event = super().find_by_key(study, key)
        if event is None:
            self._refuse_incomplete_index("key", study, key)
        return event

    def _refuse_incomplete_index(self, column: str, study: int, value: str) -> None:
        """Refuse an index from which a value may be missing."""
        conditions = [condition.format(column=column) for condition in _CONDITIONS]
        selections = [_ENTRIES.format(column=column, condition=text) for text in conditions]
        query = " UNION ALL ".join(f"SELECT * FROM ({selection})" for selection in selections)
        entries = self._run(self._query, query, (study, value))
        if any(in_index != in_table for in_index, in_table in entries):
            self.rollback()
            raise store.DamagedError(
                f"{self.where}: the index of {column}s is damaged where "
                f"{short_repr(value)} belongs; `keyhole study check` says what is "
                "whole, and saves it"
            )

    def _lock(self, study: int, first_seq: int) -> store.LogQueryResult | None:
        db = self._begin_in_turn()
        # SQLite changes `data_version` with each commit of another connection.
        (data_version,) = db.execute("PRAGMA data_version").fetchone()
        last_seq, _ = self._last_rows.get(study, _NO_LAST_ROW)
        if data_version == self._data_version and last_seq == first_seq:
            return None
        result = self._select_events(db, study, first_seq)
        # `_execute_with_lock` asks for no rows, so an empty result does not mean that none are new.
        if result.rows:
            self._data_version = data_version
        return result

    def _events_from(self, study: int, first_seq: int) -> store.LogQueryResult:
        with self._open_reader() as db:
            db.execute("BEGIN")
            try:
                return self._select_events(db, study, first_seq)
            finally:
                db.execute("COMMIT")

    def _select_events(self, db: Connection, study: int, first_seq: int) -> store.LogQueryResult:
        version = read_pragma(db, "user_version")
        digest_row = db.execute(self._sql["definition_digest"], (study,)).fetchone()
        rows = db.execute(self._sql["events_from"], (study, first_seq)).fetchall()
        return store.LogQueryResult(version, digest_row and digest_row[0], rows)

    def _add_rows(
        self, study: int, rows: Sequence[store.Record], metadata: store.MetadataRows
    ) -> None:
        db = self._connect_if_needed()
        # A statement writes many rows: at the end of each statement another thread may take the
        # interpreter's lock, and this thread must then wait.
        for start in range(0, len(rows), _MAX_ROWS):
            batch = rows[start : start + _MAX_ROWS]
            statement = _INSERT + ", ".join([_EVENT_PLACEHOLDERS] * len(batch))
            db.execute(statement, [value for row in batch for value in (study, *row)])
        if metadata:
            db.executemany(_INSERT_METADATA, [(study, *entry) for entry in metadata])
        db.execute(_REPLACE_TAIL, (study, max((row[0] for row in rows), default=0)))
        if not self._commit() and rows:
            # If others have replaced the file during the transaction, the new file lacks the rows.
            seq, *_, digest = rows[-1]
            records = self._query(self._sql["events_range"], (study, seq, 1))
            if not records or records[0][-1] != digest:
                self._refuse_replaced(study, seq)

    def _copy_to_sqlite(self, path: Path) -> None:
        with (
            self._open_reader() as db,
            closing(sqlite_connection.connect(path, sqlite_connection.CREATE)) as copy,
        ):
            try:
                db.backup(copy)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_FULL":
                    raise
                reason = sqlite_connection.explain_sqlite_error(error, self.path)
                raise store.StoreError(f"{path}: {reason}") from error

    def find_page_damage(self) -> str:
        """Return a line on damaged pages and indexes; "" if there are none."""
        try:
            check_rows = self._run(self._query, sqlite_connection.CHECK, ())
        except store.DamagedError as error:
            return str(error)
        return sqlite_connection.format_damage(check_rows)

    def fill(self, read: Callable[[str, Sequence[str]], Iterable[tuple[object, ...]]]) -> None:
        """Fill all tables; `read` takes a table's name and columns, and yields its rows."""
        self._run(self._fill, read)

    def _fill(self, read: Callable[[str, Sequence[str]], Iterable[tuple[object, ...]]]) -> None:
        db = self._begin_write()
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
            placeholders = ", ".join("?" * len(columns))
            statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({placeholders})"
            db.executemany(statement, read(table, columns))
        self._commit()

    def _explain_error(self, error: Exception) -> tuple[type[store.StoreError], str]:
        reason = sqlite_connection.explain_sqlite_error(error, self.path)
        if sqlite_connection.is_damage(error):
            return store.DamagedError, reason
        return store.StoreError, reason

    # Transactions.

    def _commit(self) -> bool:
        """Commit; return False if others have changed the file, so that the commit may be lost."""
        db = self._connect_if_needed()
        db.execute("COMMIT")
        is_unchanged = self._queue is None or self._checkpoint_if_due(db, self._queue)
        if not is_unchanged:
            self._disconnect()
        self._release_locks()
        return is_unchanged

    def _checkpoint_if_due(self, db: Connection, queue: int) -> bool:
        """Make a checkpoint if one is due; return whether nobody else has changed the main file."""
        # SQLite's automatic checkpoints are off (see `_connect`), so a commit changes only the
        # `-wal`. If anything but our checkpoints changes the main file, a copy has taken its place.
        # During a checkpoint, which takes one or two flushes, this is noticed only if the copy has
        # another size.
        file = self._file
        log_size = file.log_size()
        is_unchanged = log_size is not None and file.is_unchanged()
        if log_size is not None and is_unchanged and file.count_commit(log_size, queue):
            if not self._flush:
                sqlite_connection.flush_log(db)
            # `is_unchanged` is found anew after each step that takes long.
            if is_unchanged := file.is_unchanged():
                size = sqlite_connection.checkpoint(db)
                if is_unchanged := size in (None, os.stat(self.path).st_size):
                    file.record(queue)
        return is_unchanged or self._compare_with_file(has_queue_lock=True)

    def _rollback_and_unlock(self) -> None:
        self._rollback_if_open()
        self._release_locks()

    def _rollback_if_open(self) -> None:
        # Rows that the transaction has read may have been refused, so the next must read them anew.
        self._data_version = None
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _drop_connection(self) -> None:
        self._next_seq = 0
        with FORK_LOCK.shared(self):
            self._close_queue()
            self._disconnect()
        FORK_LOCK.release(self)

    def _disconnect(self) -> None:
        """Close the connection, or keep it open for good if closing would do harm."""
        # The last connection to close makes a checkpoint and removes the log. This must not happen
        # in two cases. If the disk has no room for all of the log, the file would have half a
        # checkpoint, and would look like a copy. If the file is not as recorded, the next writer
        # finds out why. `_db` is reset only at the end, so that after an interrupt the next attempt
        # still has the connection.
        if (db := self._db) is None:
            return
        if self._immutable_stamp is None and has_flock():
            try:
                may_checkpoint = self._file.fits_log() and sqlite_connection.has_disk_space(db)
                if self._file.is_replaced():
                    sqlite_connection.keep_connection_open(db)
                elif not may_checkpoint:
                    sqlite_connection.close_without_checkpoint(db)
            except OSError:
                sqlite_connection.keep_connection_open(db)
        self._db = None
        with suppress(sqlite3.Error):
            db.close()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        """Drop the connection, unless the interpreter is ending."""
        # When the interpreter ends, FORK_LOCK and modules may be gone, and a generator would crash
        # Python 3.14. The connection of `sqlite3` closes itself then.
        if is_finalizing():
            return
        # Attributes may be missing if `__init__` failed.
        if getattr(self, "_db", None) is not None or getattr(self, "_queue", None) is not None:
            self._drop_connection()

    def before_fork(self) -> None:
        """Close the connection."""
        self._disconnect()

    def after_fork(self, is_in_operation: bool) -> None:
        """In a forked child, give up the parent's connection and lock."""
        db, self._db = self._db, None
        # The connection is still open only if the fork happened within a call of this store. If the
        # call goes on in the child, it gets an error at its next statement, and the parent keeps
        # its lock.
        if db is not None and is_in_operation:
            db.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
        self._close_queue()

    def _begin_in_turn(self) -> Connection:
        """Take the writers' lock, begin a transaction, and return the connection."""
        # The writers' lock is taken before FORK_LOCK, since the wait for it may be long, and forks
        # wait for all operations that have FORK_LOCK. `_release_locks` releases both.
        self._lock_queue()
        FORK_LOCK.acquire(self)
        return self._begin_immediate()

    def _begin_write(self) -> Connection:
        """Begin a transaction with the writers' lock; refuse a schema of another version."""
        db = self._begin_in_turn()
        self._check_version(read_pragma(db, "user_version"))
        return db

    def _begin_immediate(self, uri_query: str = "") -> Connection:
        """Begin a write transaction on the file as it is now.

        A file that may have no tables yet needs `uri_query`, since `_connect_if_needed` refuses it.
        """
        while True:
            if uri_query and self._db is None:
                self._connect(uri_query)
            db = self._connect_if_needed()
            db.execute("BEGIN IMMEDIATE")
            if self._compare_with_file(has_queue_lock=True):
                return db
            self._rollback_if_open()
            self._disconnect()

    def _release_locks(self) -> None:
        """Release the writers' lock and FORK_LOCK."""
        self._unlock_queue()
        FORK_LOCK.release(self)

    @contextmanager
    def _open_reader(self) -> Iterator[Connection]:
        """Yield a connection to read with."""
        with FORK_LOCK.shared(self):
            if self._immutable_stamp is not None:
                self._disconnect()  # since it has no lock, the pages in its cache may be stale
            db = self._connect_if_needed()
            # If a transaction is open, the file was compared when it began.
            while not (db.in_transaction or self._compare_with_file(has_queue_lock=False)):
                self._disconnect()
                db = self._connect_if_needed()
            stamp = self._immutable_stamp
            try:
                yield db
            finally:
                # If the file was written to meanwhile, half of a transaction may have been read,
                # and may look like damage.
                if stamp is not None and stamp != sqlite_connection.file_stamp(self.path):
                    raise sqlite3.OperationalError("the file was written to meanwhile: try again")

    def _compare_with_file(self, *, has_queue_lock: bool) -> bool:
        """Return whether the connection may go on with the file; refuse a replaced file.

        If others have changed the main file, pages that SQLite has cached are stale. The result is
        then False, and the caller must connect again.
        """
        file = self._file
        try:
            is_unchanged = file.compare_with_accepted(has_logs=self._immutable_stamp is None)
        except store.FinalStoreError as error:
            why = str(error)
            if isinstance(error, LogReplacedError):
                sqlite_connection.refuse_file(self.path, why, may_write_log=error.may_write_log)
            self._refuse_file(why)
        if self._immutable_stamp is not None or not has_flock():
            return True
        if is_unchanged and (file.has_written_record or not has_queue_lock):
            return True
        if not file.fits_log():
            if not (has_queue_lock or self._try_lock_queue()):
                return True  # a writer is at work; the next call compares again
            try:
                if why := file.explain_misfit(sqlite_connection.find_damage):
                    sqlite_connection.refuse_file(self.path, why, may_write_log=False)
                    self._refuse_file(why)
            finally:
                if not has_queue_lock:
                    self._unlock_queue()
            if has_queue_lock:
                self._rewrite_file(file, self._open_queue())
                return False
        return file.accept(self._queue if has_queue_lock else None)

    def _rewrite_file(self, file: FileWatch, queue: int) -> None:
        """Rewrite an intact file that others have changed; the caller holds the writers' lock."""
        # SQLite counts part of the log as written into the file already, but this may be another
        # file now. VACUUM writes every page through the log again.
        self._rollback_if_open()
        with closing(sqlite_connection.connect(self.path, "mode=rw")) as db:
            db.execute("VACUUM")
            file.record(queue, is_rewritten=True)

    def _refuse_file(self, why: str) -> NoReturn:
        """Refuse the file from now on, in every connection, since it was replaced."""
        self._refusals.append(f"{self.path}: {why}")
        raise store.FinalStoreError(self._refusals[-1])

    def _connect_or_create(self) -> None:
        """Connect; create the file and its tables if they do not exist."""
        with FORK_LOCK.shared(self):
            sqlite_connection.check_file(self.path)
            is_ready = self._connect_and_check(sqlite_connection.CREATE)
        if not is_ready:
            self._lock_queue()
            with FORK_LOCK.shared(self):
                self._create_tables()
                self._release_locks()

    def _connect_if_needed(self) -> Connection:
        """Return the connection; after a failure or a fork, a new one to the same file."""
        if self._db is None:
            with suppress(FileNotFoundError):
                if self._identity not in (None, FileWatch(self.path).identity):
                    self._refuse_file(WHY_REPLACED)
            try:
                sqlite_connection.check_file(self.path)
                is_ready = self._connect_and_check("mode=rw")
            except ValueError as error:
                raise FileNotFoundError(f"the file was replaced: {error}") from None
            if not is_ready:
                self._disconnect()
                raise FileNotFoundError("the file was replaced, by an empty or older one")
        assert self._db is not None
        return self._db

    def _connect_and_check(self, uri_query: str) -> bool:
        """Connect; return whether tables and journal mode are up to date."""
        while not sqlite_connection.must_read_immutable(self.path):
            with suppress(BlockingIOError):  # the last writer has just closed the file: try again
                db = self._connect(uri_query)
                version = sqlite_connection.find_schema_version(self.path, db)
                is_wal = db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
                return is_wal and version == len(schema.MIGRATIONS)
        # A user who may not write in the folder cannot create `-wal` and `-shm`. A user who may not
        # write to the file must not create them: they would belong to this reader, and writers
        # could not use them. While no process has the file open, it can be read as immutable,
        # without locks.
        stamp = sqlite_connection.file_stamp(self.path)
        db = self._connect(sqlite_connection.READ_IMMUTABLE)
        version = sqlite_connection.find_schema_version(self.path, db)
        self._immutable_stamp = stamp
        return version == len(schema.MIGRATIONS)

    def _connect(self, uri_query: str) -> Connection:
        """Connect to the file."""
        db = sqlite_connection.connect(self.path, uri_query)
        try:
            self._file = FileWatch(self.path)  # before the first read, to notice a replaced file
        except BaseException:
            db.close()
            raise
        self._db = db
        self._data_version = None
        self._immutable_stamp = None
        level = "FULL" if self._flush else "NORMAL"
        try:
            db.execute(f"PRAGMA synchronous = {level}")
            db.execute("PRAGMA fullfsync = ON")  # without it, a Mac does not flush to the disk
            db.execute("PRAGMA secure_delete = ON")  # erased metadata is overwritten
            if has_flock():  # `_checkpoint_if_due` makes the checkpoints
                db.execute("PRAGMA wal_autocheckpoint = 0")
        except BaseException:
            self._disconnect()
            raise
        self._identity = self._identity or self._file.identity
        return self._db

    def _create_tables(self) -> None:
        """Create the tables or migrate them."""
        db = self._begin_immediate("mode=rw")
        version = sqlite_connection.find_schema_version(self.path, db)
        if version < len(schema.MIGRATIONS):
            db.execute(f"PRAGMA application_id = {sqlite_connection.APPLICATION}")
            schema.migrate(db.execute, version, self.dialect)
            db.execute(f"PRAGMA user_version = {len(schema.MIGRATIONS)}")
        db.execute("COMMIT")
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise OSError(
                "this file system does not support SQLite's write-ahead log; use a local disk"
            )
        if self._queue is not None:
            self._file.accept(self._queue)

    # The queue of writers: `_queue` is the descriptor of the `-queue`, None if it is not open.

    def _lock_queue(self) -> None:
        """Wait for the writers' lock."""
        if has_flock():
            fcntl.flock(self._open_queue(), fcntl.LOCK_EX)

    def _try_lock_queue(self) -> bool:
        """Take the writers' lock if it is free; return whether it was free."""
        try:
            fcntl.flock(self._open_queue(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _open_queue(self) -> int:
        """Return the descriptor of the queue, which is opened if need be."""
        if self._queue is None:
            # An flock belongs to the open file, which a forked child shares. A child that did not
            # know this descriptor would keep the lock after its parent has ended.
            with FORK_LOCK.shared(self):
                self._queue = sqlite_connection.open_queue(self.path)
        return self._queue

    def _unlock_queue(self) -> None:
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _close_queue(self) -> None:
        """Close the queue; this releases its lock unless a forked process still has it open."""
        queue, self._queue = self._queue, None
        if queue is not None:
            os.close(queue)
