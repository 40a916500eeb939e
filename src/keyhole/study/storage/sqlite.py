"""One file: SQLite.

SQLite lets those who wait for its lock try again and again, and one of them may wait for ever. So
they queue at a file beside it, `...-queue`, where the system lets them in as they came. It keeps
nothing but the order: who passes by it is held up by SQLite's own lock. Where the system has no
such queue (Windows), whose turn comes next is a matter of luck.
"""

import os
import sqlite3
import weakref
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from keyhole.study.storage import schema
from keyhole.study.storage.store import Record, Store

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_APPLICATION: Final = int.from_bytes(b"Keyh")  # SQLite files say in their header whose they are
_MAGIC: Final = b"SQLite format 3\0"
_VERSION_AT, _APPLICATION_AT, _HEADER = 60, 68, 100  # bytes
_PATIENCE: Final = 30.0  # seconds, with somebody who holds the file and has not queued
_INSERT: Final = (
    "INSERT INTO event (study, seq, kind, decision, key, at, body, digest)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAIL: Final = "REPLACE INTO tail (study, seq) VALUES (?, ?)"
_WORDS: Final = {
    "schema": "",
    "identity": "INTEGER",
    "integer": "INTEGER",
    "float": "REAL",
    "bytes": "BLOB",
    "clustered": " WITHOUT ROWID",
    "value": "?",
}
_LET_WRITE: Final = "this process must be allowed to write to the file and to its folder"
_REPLACE: Final = "put a whole copy of the file in its place"
_ADVICE: Final = {
    "FULL": "make room on the disk",
    "BUSY": f"another program held the file for {_PATIENCE:.0f} seconds",
    "CONSTRAINT": "somebody else has used this number or key: try again",
    "READONLY": _LET_WRITE,
    "CANTOPEN": _LET_WRITE,
    "CORRUPT": _REPLACE,
    "NOTADB": _REPLACE,
    "IOERR": "look at the disk, then open the study again to see what is there",
}
# Of tables that are ours, and of texts in them, this can only be said if they are damaged.
_DAMAGE: Final = ("no such table", "no such column", "Could not decode to UTF-8")

_open: "weakref.WeakSet[Sqlite]" = weakref.WeakSet()
_inherited: list[object] = []  # connections of the parent, which must not even be closed here


class Sqlite(Store):
    """A store in one file.

    With `flush`, a commit returns when the disk has it; without, when the system has.
    """

    words = _WORDS
    failures = (sqlite3.Error, OSError)

    def __init__(self, path: Path, flush: bool = True) -> None:
        super().__init__()
        self.path = Path(os.path.realpath(path))  # one file has one queue
        self.where = str(self.path)
        self._flush = flush
        self._queue: int | None = None
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._try(self._check_file)
        self._try(self._connect, "rwc")
        _open.add(self)

    def _query(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        db = self._connected()
        self._check_place()
        return db.execute(sql, values).fetchall()

    def _change(self, sql: str, values: tuple[object, ...]) -> int:
        db = self._enter()
        changed = db.execute(sql, values).rowcount
        db.execute("COMMIT")
        self._let_in()
        return changed

    def _create(self, study: tuple[object, ...], rows: Sequence[Record]) -> bool:
        made = self._enter().execute(self._sql[schema.CREATE], study)
        if not made.rowcount:
            self._undo()
            return False
        assert made.lastrowid is not None
        self._add(made.lastrowid, rows, len(rows))
        return True

    def _lock(self, study: int, after: int) -> list[Any]:
        return self._enter().execute(self._sql[schema.SINCE], (study, after)).fetchall()

    def _add(self, study: int, rows: Sequence[Record], tail: int) -> None:
        db = self._connected()
        db.executemany(_INSERT, [(study, *row) for row in rows])
        db.execute(_TAIL, (study, tail))
        db.execute("COMMIT")
        self._let_in()

    def _undo(self) -> None:
        if self._db is not None and self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._let_in()

    def _drop(self) -> None:
        self._next = 0
        db, queue, self._db, self._queue = self._db, self._queue, None, None
        if self._process != os.getpid():
            _inherited.append(db)
        elif db is not None:
            with suppress(sqlite3.Error):
                db.close()
        if queue is not None:
            os.close(queue)

    def _is_damage(self, error: Exception) -> bool:
        name = getattr(error, "sqlite_errorname", "")
        return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or (
            isinstance(error, sqlite3.OperationalError) and str(error).startswith(_DAMAGE)
        )

    def _explain(self, error: Exception) -> str:
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR").split("_")[1]
        return f"{error}; {_ADVICE[name]}" if name in _ADVICE else str(error)

    def _enter(self) -> sqlite3.Connection:
        """Begin a transaction, when it is our turn."""
        db = self._connected()
        self._wait()
        db.execute("BEGIN IMMEDIATE")
        self._check_place()
        return db

    def _check_place(self) -> None:
        """Refuse a file that is no longer where it was: what it says is of the past."""
        if self._file != _identity(self.where):
            raise FileNotFoundError("the file was replaced while it was open")

    def _wait(self) -> None:
        """Wait for our turn."""
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_EX)

    def _let_in(self) -> None:
        """Let the next in."""
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _connected(self) -> sqlite3.Connection:
        """Return the connection; after a failure, a new one to what must still be there."""
        return self._db if self._db is not None else self._connect("rw")

    def _connect(self, mode: str) -> sqlite3.Connection:
        """Open the file."""
        if fcntl is not None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._queue = os.open(f"{self.path}-queue", flags, 0o666)
        self._db = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(self._db)
            self._file = _identity(self.where)
        except BaseException:
            self._drop()
            raise
        return self._db

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Bring the file up to date, only where it must be, and say how it is written."""
        if not self._is_ready(db):
            self._wait()
            self._make(db)
            self._let_in()
        db.execute(f"PRAGMA synchronous = {'FULL' if self._flush else 'NORMAL'}")
        db.execute("PRAGMA fullfsync = ON")  # a Mac flushes to the disk only when asked so

    def _is_ready(self, db: sqlite3.Connection) -> bool:
        """Return whether nothing is left to be made; looked at without a lock."""
        is_ours = self._version(db) == len(schema.STEPS)
        return is_ours and db.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def _make(self, db: sqlite3.Connection) -> None:
        """Make the tables, or bring them up to date."""
        db.execute("BEGIN IMMEDIATE")
        version = self._version(db)
        if version < len(schema.STEPS):
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            schema.walk(db.execute, version, self.words)
            db.execute(f"PRAGMA user_version = {len(schema.STEPS)}")
        db.execute("COMMIT")
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise OSError("a log cannot be kept beside it on this file system; use a local disk")

    def _version(self, db: sqlite3.Connection) -> int:
        """Return the version of the schema, 0 where there is none."""
        is_there = db.execute("SELECT 1 FROM sqlite_master").fetchone()
        return self._check_owner(db) if is_there else 0

    def _check_file(self) -> None:
        """Refuse what is no store of ours before anything is written."""
        path = self.path
        if not path.parent.is_dir():
            raise ValueError(f"storage must lie in a folder that is there, got {path}")
        if not path.exists():
            return
        if not path.is_file():
            raise ValueError(f"storage must be a file, got {path}")
        with path.open("rb") as file:
            header = file.read(_HEADER)
        if not header:
            return
        if not header.startswith(_MAGIC):
            raise ValueError(f"storage must be an SQLite database, got {path}, which is none")
        self._check_header(*(_integer(header, at) for at in (_APPLICATION_AT, _VERSION_AT)))
        # What was written last may be in the log alone.
        if Path(f"{path}-wal").exists():
            address = f"{path.as_uri()}?mode=ro"
            with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as db:
                self._check_owner(db)

    def _check_owner(self, db: sqlite3.Connection) -> int:
        """Return the version of an open database, if it is one of ours."""
        names = ("application_id", "user_version")
        application, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        return self._check_header(application, version)

    def _check_header(self, application: int, version: int) -> int:
        """Refuse a database of another application, or of a newer version of this one."""
        if application != _APPLICATION:
            raise ValueError(
                f"storage must be a database of Keyhole, got {self.path}, "
                "which is another application's"
            )
        schema.check_version(self.where, version)
        return version


def _integer(header: bytes, at: int) -> int:
    """Return a number of a file's header."""
    return int.from_bytes(header[at : at + 4])


def _identity(path: str) -> tuple[int, int]:
    """Return what tells a file from one that was put in its place."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _disinherit() -> None:
    """In a fork, let go of what is the parent's: whose turn it is must end with him."""
    for store in list(_open):
        store._drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disinherit)
