"""Connections to SQLite files; nothing else in the process opens these files.

A process that closes a file drops all of its POSIX locks on it, those of SQLite too, whoever opened
it. So a database, its `-wal` and its `-shm` are opened by SQLite alone, which knows of all its
connections: to read a header as well.
"""

import ctypes
import os
import sqlite3
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from keyhole.study.storage import schema
from keyhole.study.storage.file_identity import check_place, file_identity

PATIENCE: Final = 30.0  # seconds, with somebody who holds the file and has not queued
APPLICATION: Final = int.from_bytes(b"Keyh")  # SQLite files say in their header whose they are

_READ: Final = "mode=ro"
READ_FILE_ALONE: Final = "mode=ro&immutable=1"  # no lock, no log, and no file made beside it
# Of a damaged file; what SQLite says of one may quote bytes that are no text.
_UNREADABLE: Final = (sqlite3.Error, UnicodeDecodeError)

_open: "weakref.WeakSet[Connection]" = weakref.WeakSet()
_of_the_parent: set[tuple[int, int]] = set()
_given_up: dict[tuple[int, int], str] = {}


class Connection(sqlite3.Connection):
    """A connection that a fork knows of, from before it is there until it is closed."""

    def __init__(self, path: Path, *args: Any, **kwargs: Any) -> None:
        self.path, self.is_given_up = path, False
        self.file: tuple[int, int] | None = None  # which it has open, once that is known
        _open.add(self)
        super().__init__(*args, **kwargs)
        with suppress(FileNotFoundError):
            self.file = file_identity(path)

    def close(self) -> None:
        """Close it, if that does no harm."""
        if self.is_given_up:
            return
        super().close()
        _open.discard(self)


def connect(path: Path, how: str) -> Connection:
    """Connect to a file, with the parameters of an SQLite address.

    Raises
    ------
    OSError
        In a fork that inherited a connection to the same file; where the file was emptied.
    """
    with suppress(FileNotFoundError):
        if why := _given_up.get(file_identity(path)):
            raise OSError(why)
        if file_identity(path) in _of_the_parent:
            raise OSError(
                "this process was forked in the midst of a call of a study in the same file, and "
                "cannot use the file: fork elsewhere, or start a new program (`spawn`)"
            )
        if how != READ_FILE_ALONE and _is_emptied(path):
            raise OSError(
                "the file is empty, and the -wal beside it is not: while a copy is being put "
                "there, try again; else put a whole copy there, and remove -wal and -shm"
            )
    return Connection(
        path,
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )


def set_up(db: Connection, *, flush: bool, checkpoints: bool) -> None:
    """Say whether commits are flushed, and whether SQLite makes checkpoints by itself."""
    db.execute(f"PRAGMA synchronous = {'FULL' if flush else 'NORMAL'}")
    db.execute("PRAGMA fullfsync = ON")  # a Mac flushes to the disk only when asked so
    if not checkpoints:
        db.execute("PRAGMA wal_autocheckpoint = 0")


def _is_emptied(path: Path) -> bool:
    """Return whether a copy is just being put there: SQLite would remove the log of an empty file.

    It would then be gone for those who have the file open, and with it what they committed.
    """
    log = Path(f"{path}-wal")
    return not path.stat().st_size and log.exists() and log.stat().st_size > 0


def flush_log(db: sqlite3.Connection) -> None:
    """Flush what commits have left to the system, by one more that changes nothing."""
    with suppress(sqlite3.Error):
        (before,) = db.execute("PRAGMA synchronous").fetchone()
        db.execute("PRAGMA synchronous = FULL")
        try:
            db.execute(f"PRAGMA user_version = {read_number(db, 'user_version')}")
        finally:
            db.execute(f"PRAGMA synchronous = {before}")


def checkpoint(db: sqlite3.Connection) -> int | None:
    """Write the log into the file; return the size that it has then, None where that is not known.

    Some of the log remains where others read it; where it fails, the next time does it.
    """
    with suppress(sqlite3.Error):
        blocked, pages, written = db.execute("PRAGMA wal_checkpoint").fetchone()
        if not blocked and pages == written:
            return _size(db)
    return None


def _size(db: sqlite3.Connection) -> int:
    """Return the size in bytes of a database, all of its log included."""
    return read_number(db, "page_count") * read_number(db, "page_size")


def has_room(db: Connection) -> bool:
    """Return whether a connection that is to be closed can write all of the log into the file.

    Where that cannot be known, SQLite does not write either: it cannot read, or the file is gone.
    """
    with suppress(*_UNREADABLE, FileNotFoundError):
        db.execute("PRAGMA busy_timeout = 0")
        growth = _size(db) - os.stat(db.path).st_size
        disk = os.statvfs(db.path.parent)
        return growth <= disk.f_bavail * disk.f_frsize
    return True


def state(path: Path) -> tuple[int, int, int, bool]:
    """Return what changes when a file is written to, or has a log beside it."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, Path(f"{path}-wal").exists()


def may_be_frozen(path: Path) -> bool:
    """Return whether nobody has a file open that we can read and beside which we cannot write."""
    ids = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    is_shut = os.access(path, os.R_OK, **ids) and not os.access(path.parent, os.W_OK, **ids)
    return is_shut and not Path(f"{path}-wal").exists()


def check_file(path: Path) -> None:
    """Refuse what is no store of ours before anything is written.

    Raises
    ------
    ValueError
        If it is none.
    """
    if not path.parent.is_dir():
        raise ValueError(f"storage must lie in a folder that is there, got {path}")
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"storage must be a file, got {path}")
    check_place(path)
    if not path.stat().st_size:
        return
    with closing(connect(path, READ_FILE_ALONE)) as db:
        try:
            check_header(path, db)
        except sqlite3.DatabaseError as error:
            # Of a file that is being written to, this sees half: who connects in earnest sees all.
            if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
                raise ValueError(
                    f"storage must be an SQLite database, got {path}, which is none"
                ) from None
    # What was written last may be in the log alone.
    if Path(f"{path}-wal").exists():
        with suppress(sqlite3.Error), closing(connect(path, _READ)) as db:
            check_header(path, db)


def find_version(path: Path, db: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 where there is none."""
    has_tables = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    return check_header(path, db) if has_tables else 0


def check_header(path: Path, db: sqlite3.Connection) -> int:
    """Return the version of a database of ours.

    Raises
    ------
    ValueError
        If the database is another application's, or of a newer version.
    """
    if read_number(db, "application_id") != APPLICATION:
        raise ValueError(
            f"storage must be a database of Keyhole, got {path}, which is another application's"
        )
    version = read_number(db, "user_version")
    schema.check_version(str(path), version)
    return version


def read_number(db: sqlite3.Connection, name: str) -> int:
    """Return a number of the header."""
    number: int = db.execute(f"PRAGMA {name}").fetchone()[0]
    return number


def disable(db: Connection) -> None:
    """Let a connection do nothing any more, although it must not be closed."""
    db.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)


def give_up(path: Path, why: str, *, is_as_before: bool) -> None:
    """Never use a file again in this process, since its log is no longer beside it.

    To close the last connection would write the log into what may be another database by now; and
    new connections would share the memory of the old ones. Only if the file is as it was, what the
    log has is written to it.
    """
    file = file_identity(path)
    for db in list(_open):
        if db.path != path or db.is_given_up:
            continue
        if is_as_before:
            with suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
                db.execute("PRAGMA wal_checkpoint")
        abandon(db)
    _given_up[file] = why


def close_unwritten(db: Connection) -> None:
    """Close a connection, and leave file and log as they are.

    The last to close a database writes the log into it, and removes the log. But whoever can only
    read cannot: and while he has it open, nobody else is the last. Where that fails, nobody ever
    closes it.
    """
    if db.is_given_up:
        return
    try:
        with closing(connect(db.path, _READ)) as reader:
            reader.execute("PRAGMA busy_timeout = 0")
            reader.execute("SELECT 1 FROM sqlite_master").fetchone()  # now he has it open
            db.close()
    except (*_UNREADABLE, OSError):
        abandon(db)


def abandon(db: Connection) -> None:
    """Never close a connection, since that would write to a file or remove a log of others."""
    if db.is_given_up:
        return
    with suppress(sqlite3.Error):  # it holds nobody up
        if db.in_transaction:
            db.execute("ROLLBACK")
    db.is_given_up = True
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))  # no end of the program may close it


def _after_fork() -> None:
    """In a child, never use nor close what is still open: it is the parent's."""
    for db in list(_open):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))  # no end of the program may close it
        with suppress(OSError):
            _of_the_parent.add(db.file or file_identity(db.path))
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
