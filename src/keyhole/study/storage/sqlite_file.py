"""A store in an SQLite file: the connection, to which file it is, transactions, and forks."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from keyhole.study.storage import schema, sqlite_connection
from keyhole.study.storage.errors import FinalStoreError
from keyhole.study.storage.file_identity import file_identity
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.study.storage.open_file import WHY_REPLACED, OpenFile
from keyhole.study.storage.queued_file import QueuedFile, has_queues
from keyhole.study.storage.sqlite_connection import (
    APPLICATION,
    READ_FILE_ALONE,
    Connection,
    abandon,
    check_file,
    checkpoint,
    close_unwritten,
    disable,
    find_version,
    flush_log,
    give_up,
    has_room,
    may_be_frozen,
    read_number,
    set_up,
    state,
)


class SqliteFile(QueuedFile):
    """What a store in one file does with the file: connect, take turns, and let forks happen."""

    def __init__(self, path: Path, flush: bool = True, like: "SqliteFile | None" = None) -> None:
        super().__init__(path)
        self._flush = flush
        self._db: Connection | None = None
        self._frozen: tuple[int, int, int, bool] | None = None
        self._identity: tuple[int, int] | None = None  # of the one file that this is about
        if like is not None:
            self._adopt(like)
            self._identity = like._identity
        FORK_LOCK.add(self)
        try:
            self._try(self._open if like is None else self._look)
        except BaseException:
            self._drop()
            raise

    def _end(self) -> bool:
        """Commit; return whether the file stayed as it was, or what was committed may be gone."""
        db = self._connected()
        db.execute("COMMIT")
        is_kept = self._queue is None or self._is_kept(db, self._queue)
        if not is_kept:
            self._disconnect()
        self._leave()
        return is_kept

    def _is_kept(self, db: Connection, queue: int) -> bool:
        """Refuse a file that was replaced in the turn; return whether it is as it was.

        A commit changes the log alone. Only while the log is written into the file, which so
        happens here and not whenever SQLite likes, a copy cannot be told from what we write. That
        takes as long as two flushes unless the log was flushed before; and what comes in the second
        one, that of the file, has another size.
        """
        file = self._file
        log = file.log_size()
        is_known = log is not None and file.is_known()
        if log is not None and is_known and file.is_long(log, queue):
            if not self._flush:
                flush_log(db)
            if is_known := file.is_known():
                size = checkpoint(db)
                if is_known := size in (None, os.stat(self.path).st_size):
                    file.note_checkpoint(queue)
        return is_known or self._is_current(has_turn=True)

    def _undo(self) -> None:
        self._undo_begun()
        self._leave()

    def _undo_begun(self) -> None:
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _drop(self) -> None:
        self._next = 0
        with FORK_LOCK.shared(self):
            self._close_queue()
            self._disconnect()
        FORK_LOCK.release(self)

    def _disconnect(self) -> None:
        """Close the connection, or leave it open for ever where closing it would do harm.

        The last to close it writes the log into the file, unless only a part would fit, which
        nobody could tell from a copy, or the file is not as it was left: who has the turn next
        finds out why. Who is interrupted before that is known has it still.
        """
        if (db := self._db) is None:
            return
        if self._frozen is None and has_queues():
            try:
                may_write = self._file.fits() and has_room(db)
                if self._file.is_replaced():
                    abandon(db)
                elif not may_write:
                    close_unwritten(db)
            except OSError:
                abandon(db)
        self._db = None
        with suppress(sqlite3.Error):
            db.close()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        """Let go of the file; a fork must not come in between.

        At the end of the interpreter modules may be gone, and the lock with them: SQLite's own
        connection then closes itself.
        """
        is_open = any(getattr(self, name, None) is not None for name in ("_db", "_queue"))
        if is_open and not is_finalizing():
            self._drop()

    def before_fork(self) -> None:
        """Close the connection."""
        self._disconnect()

    def after_fork(self, mine: bool) -> None:
        """In a fork, let go of what is the parent's: whose turn it is must end with him."""
        db, self._db = self._db, None
        if db is not None and mine:  # whoever goes on in the midst of a call gets an error
            disable(db)
        self._close_queue()

    def _enter(self) -> Connection:
        """Begin a transaction, when it is our turn."""
        self._wait()  # for as long as it takes; a fork does not wait for that
        FORK_LOCK.acquire(self)
        db = self._begun()
        self._check_version(read_number(db, "user_version"))
        return db

    def _begun(self, how: str = "") -> Connection:
        """Begin a transaction on the file as it is now, which may be made `how`."""
        while True:
            db = self._connected() if not how else self._db or self._connect(how)
            db.execute("BEGIN IMMEDIATE")
            if self._is_current(has_turn=True):
                return db
            self._undo_begun()
            self._disconnect()

    def _leave(self) -> None:
        """Let the next in, and forks."""
        self._end_turn()
        FORK_LOCK.release(self)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Give a connection to read with."""
        with FORK_LOCK.shared(self):
            db = self._connected()
            # Within a transaction it has just been compared.
            while not (db.in_transaction or self._is_current(has_turn=False)):
                self._disconnect()
                db = self._connected()
            yield db
            if self._frozen is not None and self._frozen != state(self.path):
                self._disconnect()  # without the lock, what was read may be half of a change
                raise sqlite3.OperationalError("the file was written to meanwhile: read it again")

    def _look(self) -> None:
        """Connect, and read nothing."""
        with self._reading():
            pass

    def _is_current(self, *, has_turn: bool) -> bool:
        """Refuse a file that was replaced; return whether the connection is to the file as it is.

        Where the main file is another than before, what SQLite has of it in memory is of the past.
        """
        file = self._file
        try:
            is_known = file.check(has_logs=self._frozen is None)
        except FinalStoreError as error:
            self._refuse(str(error))
        if self._frozen is not None or not has_queues():
            return True
        if is_known and (file.is_recorded or not has_turn):
            return True
        if not file.fits():
            if not (has_turn or self._has_turn_at_once()):
                return True  # it is just being written to, and compared the next time
            try:
                self._check_mixture(file)
            finally:
                if not has_turn:
                    self._end_turn()
            if has_turn:
                self._write_anew(file, self._opened_queue())
                return False
        return file.take(self._queue if has_turn else None)

    def _check_mixture(self, file: OpenFile) -> None:
        """Refuse a file to which the log beside it does not belong; in the turn."""
        if why := file.why_mixed():
            give_up(self.path, why, is_as_before=False)
            self._refuse(f"{self.path}: {why}")

    def _write_anew(self, file: OpenFile, queue: int) -> None:
        """Write a whole file that was not as we left it through its log once more; in the turn.

        SQLite believes that a part of the log is in the file already, which may be another.
        """
        self._undo_begun()
        with closing(sqlite_connection.connect(self.path, "mode=rw")) as db:
            db.execute("VACUUM")
            file.take_anew(queue)

    def _refuse(self, why: str) -> NoReturn:
        """Never use the file again, in whatever connection: it has become another."""
        self._gone.append(why)
        raise FinalStoreError(why)

    def _open(self) -> None:
        """Connect, and make what is not there yet."""
        with FORK_LOCK.shared(self):
            check_file(self.path)
            is_ready = self._is_ready_at("mode=rwc")
        if not is_ready:
            self._wait()
            with FORK_LOCK.shared(self):
                self._make()
                self._leave()

    def _connected(self) -> Connection:
        """Return the connection; after a failure or a fork, a new one to what must be there."""
        if self._db is None:
            with suppress(FileNotFoundError):
                if self._identity not in (None, file_identity(self.path)):
                    self._refuse(f"{self.path}: {WHY_REPLACED}")
            try:
                check_file(self.path)
                is_ready = self._is_ready_at("mode=rw")
            except ValueError as error:
                raise FileNotFoundError(f"the file was replaced: {error}") from None
            if not is_ready:
                self._disconnect()
                raise FileNotFoundError("the file was replaced, by an empty or older one")
        assert self._db is not None
        return self._db

    def _is_ready_at(self, how: str) -> bool:
        """Connect; return whether nothing is left to be made."""
        try:
            return self._is_ready(self._connect(how))
        except sqlite3.OperationalError:
            if not may_be_frozen(self.path):
                raise
            # Who may not write beside the file reads it without a lock, while nobody has it open.
            self._disconnect()
            before = state(self.path)
            version = find_version(self.path, self._connect(READ_FILE_ALONE))
            self._frozen = before
            return version == len(schema.STEPS)

    def _connect(self, how: str) -> Connection:
        """Connect to the file."""
        db = sqlite_connection.connect(self.path, how)
        try:
            self._file = OpenFile(self.path)  # before anything is read
        except BaseException:
            db.close()
            raise
        self._db, self._frozen = db, None
        try:
            set_up(self._db, flush=self._flush, checkpoints=not has_queues())  # see `_is_kept`
        except BaseException:
            self._disconnect()
            raise
        self._identity = self._identity or self._file.identity
        return self._db

    def _is_ready(self, db: Connection) -> bool:
        """Return whether nothing is left to be made; looked at without a lock."""
        is_ours = find_version(self.path, db) == len(schema.STEPS)
        return is_ours and db.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def _make(self) -> None:
        """Make the tables, or bring them up to date."""
        db = self._begun("mode=rw")
        version = find_version(self.path, db)
        if version < len(schema.STEPS):
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            schema.migrate(db.execute, version, self.words)
            db.execute(f"PRAGMA user_version = {len(schema.STEPS)}")
        db.execute("COMMIT")
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise OSError("a log cannot be kept beside it on this file system; use a local disk")
        if self._queue is not None:
            self._file.take(self._queue)
