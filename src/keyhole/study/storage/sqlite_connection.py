"""Connections to SQLite files; nothing else in the process opens these files.

When a process closes a file, it loses all its POSIX locks on this file, even those that SQLite has
through another descriptor. So only SQLite opens a database, its `-wal` and its `-shm`, even to read
a header. The identity of a file (device, inode) tells whether another file was put in its place.
"""

import ctypes
import errno
import os
import re
import sqlite3
import sys
import weakref
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from stat import S_IFREG, S_ISDIR
from textwrap import shorten
from typing import Final, cast

from keyhole.files import explain_os_error
from keyhole.study.storage import schema
from keyhole.study.storage.replaced_file_check import (
    explain_hard_links,
    file_identity,
    share_with_group,
    try_stat,
)
from keyhole.study.storage.store import Row, digest_of_definition, explain_damage

BUSY_TIMEOUT: Final = 30.0  # seconds, for a program that holds SQLite's lock without queueing
CHECK: Final = "PRAGMA integrity_check(5)"
APPLICATION: Final = int.from_bytes(b"Keyh")  # the application id in the header of our files

_READ_ONLY: Final = "mode=ro"
CREATE: Final = "mode=rwc"
READ_IMMUTABLE: Final = "mode=ro&immutable=1"  # without locks, log and new files beside the file
# The errors from reading a damaged file. SQLite's message may quote bytes that are not UTF-8.
_READ_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
_MOUNTS: Final = Path("/proc/self/mountinfo")  # of Linux
# A byte of a path in `_MOUNTS`, as an octal number.
_OCTAL_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")
_ACCESS_ADVICE: Final = "this process must be allowed to write to the file and to its folder"
_OWNER_ADVICE: Final = (
    "{0} belongs to {1}, and this process may not write to it: {1} or root ends the programs that "
    "use the file, and opens and closes a study once; see 'Write permission' in docs/studies.md"
)
_COPY_ADVICE: Final = "put a whole copy of the file in its place"
_ADVICE: Final = {
    "FULL": "make room on the disk",
    "BUSY": f"another program held the file for {BUSY_TIMEOUT:.0f} seconds",
    "CONSTRAINT": "another process has used this number or key: try again",
    "CORRUPT": _COPY_ADVICE,
    "NOTADB": _COPY_ADVICE,
    "IOERR": "check the disk, then open the study again to see what was written",
}
# Only damage can cause messages that begin so, since all tables exist, and all texts are UTF-8.
_DAMAGE_MESSAGES: Final = ("no such table", "no such column", "Could not decode to UTF-8")

_connections: "weakref.WeakSet[Connection]" = weakref.WeakSet()
# The identities of the files to which the parent had connections when it forked this process.
_inherited_files: set[tuple[int, int]] = set()
# The reasons why this process refuses files, by their identities.
_refused_files: dict[tuple[int, int], str] = {}


def has_access(path: Path, mode: int) -> bool:
    """Return whether this process may read (`os.R_OK`) or write (`os.W_OK`) a file or folder."""
    options = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    return os.access(path, mode, **options)


def check_location(path: Path) -> None:
    """Refuse a file with hard links or mounted by itself: by another path it has another `-wal`."""
    if why := explain_hard_links(path):
        raise ValueError(why)
    if _is_mounted(path):
        raise ValueError(
            f"storage must not be a file that is mounted by itself, got {path}: all users must "
            "share the files beside it; mount its folder"
        )


def _is_mounted(path: Path) -> bool:
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    mount_points = (
        _OCTAL_ESCAPE.sub(lambda code: bytes([int(code[1], 8)]), line.split()[4]) for line in lines
    )
    return os.fsencode(path) in mount_points


def open_queue(path: Path) -> int:
    """Open the `-queue` of a database, with the database's permissions; return its descriptor."""
    # The queue gets the permissions of the database, as `-wal` and `-shm` do from SQLite. With
    # narrower ones, the first writer, perhaps root, would lock out all others who may write to the
    # database. A user who may only read makes no queue, since it would lock writers out for good.
    if not has_access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    queue = os.open(f"{path}-queue", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    status = os.stat(path)
    permissions = status.st_mode & 0o777
    owner = status.st_uid, status.st_gid
    queue_status = os.fstat(queue)
    if queue_status.st_uid == os.geteuid() and queue_status.st_mode & 0o777 != permissions:
        os.fchmod(queue, permissions)
    if os.geteuid() == 0 and (queue_status.st_uid, queue_status.st_gid) != owner:
        os.fchown(queue, *owner)
    share_with_group(path)
    return queue


class Connection(sqlite3.Connection):
    """A connection that is known to the fork hook before it opens and until it is closed."""

    def __init__(self, path: Path, uri_query: str) -> None:
        self.path = path
        self.is_abandoned = False
        self.file: tuple[int, int] | None = None  # device and inode, once the file is open
        _connections.add(self)
        super().__init__(
            f"{path.as_uri()}?{uri_query}",
            uri=True,
            timeout=BUSY_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
        )
        with suppress(FileNotFoundError):
            self.file = file_identity(path)

    def close(self) -> None:
        """Close the connection, unless it was abandoned."""
        if self.is_abandoned:
            return
        super().close()
        _connections.discard(self)


def connect(path: Path, uri_query: str) -> Connection:
    """Connect to a file, with the parameters of an SQLite URI.

    Raises
    ------
    OSError
        If this process was forked with a connection to the same file, if the file is refused
        (`refuse_file`), or if it is empty but its log is not.
    """
    with suppress(FileNotFoundError):
        if why := _refused_files.get(file_identity(path)):
            raise OSError(why)
        if file_identity(path) in _inherited_files:
            raise OSError(
                "this process was forked within a call of a study in the same file, and "
                "cannot use the file: fork elsewhere, or start a new program (`spawn`)"
            )
        if uri_query != READ_IMMUTABLE and _is_empty_with_log(path):
            raise OSError(
                "the file is empty, and the -wal beside it is not: if a copy is being put in its "
                "place, try again; otherwise put a whole copy there, and remove -wal and -shm"
            )
    if uri_query == CREATE and not path.exists():
        # SQLite would make a file to which no group may write, whatever the umask.
        with suppress(AttributeError, OSError):
            os.mknod(path, S_IFREG | 0o666)
    is_reader = not has_access(path, os.W_OK)
    if is_reader and uri_query != READ_IMMUTABLE:
        # Without this, SQLite would make a `-shm` of the reader, which would lock writers out.
        uri_query += "&readonly_shm=1"
    db = Connection(path, uri_query)
    if uri_query != READ_IMMUTABLE and os.name == "posix":
        try:
            _open_log(db, is_reader)
        except BaseException:
            db.close()
            raise
    return db


def _open_log(db: Connection, is_reader: bool) -> None:
    """Let SQLite open the log; if SQLite makes one for a user who may only read, remove it.

    Raises
    ------
    OSError
        If the last writer has just removed the log, or if a reader has made the log.
    """
    # If there is no log, SQLite makes a log, even for a reader. A writer could not write to the
    # reader's log, so the reader removes it.
    log = Path(f"{db.path}-wal")
    status_before = try_stat(log)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except _READ_ERRORS as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY":
            raise  # any other error is raised again by the caller's next statement
    status_after = try_stat(log)
    if status_after and not status_after.st_size:
        if is_reader and status_after.st_uid == os.geteuid():
            for path in (log, Path(f"{db.path}-shm")):
                if (status := try_stat(path)) and status.st_uid == status_after.st_uid:
                    path.unlink(missing_ok=True)
            status_after = None
        elif not is_reader and not has_access(log, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(log))
    is_same = status_before and status_after and os.path.samestat(status_before, status_after)
    # A writer may make a log, but a reader must find one.
    if (status_before or is_reader) and not is_same:
        raise BlockingIOError("the last writer has just closed the file: try again")


def _is_empty_with_log(path: Path) -> bool:
    """Return whether the file is empty and its log is not, as while a copy is put in its place."""
    log = try_stat(f"{path}-wal")
    # SQLite would remove the log of an empty file, and with it commits of other programs.
    return not path.stat().st_size and log is not None and log.st_size > 0


def flush_log(db: sqlite3.Connection) -> None:
    """Flush earlier commits to the disk, by a commit that changes nothing."""
    # With `synchronous = NORMAL` a commit does not flush the log. A commit with FULL flushes all.
    with suppress(sqlite3.Error):
        (level,) = db.execute("PRAGMA synchronous").fetchone()
        db.execute("PRAGMA synchronous = FULL")
        try:
            db.execute(f"PRAGMA user_version = {read_pragma(db, 'user_version')}")
        finally:
            db.execute(f"PRAGMA synchronous = {level}")


def checkpoint(db: sqlite3.Connection) -> int | None:
    """Write the log into the file; return the size that the file then has.

    If there was an error, or readers kept part of the log from being written, the result is None.
    The next checkpoint writes that part.
    """
    with suppress(sqlite3.Error):
        is_blocked, page_count, written_count = db.execute("PRAGMA wal_checkpoint").fetchone()
        if not is_blocked and page_count == written_count:
            return _size_after_checkpoint(db)
    return None


def _size_after_checkpoint(db: sqlite3.Connection) -> int:
    """Return the size in bytes that the file has once all of its log is written into it."""
    return read_pragma(db, "page_count") * read_pragma(db, "page_size")


def has_disk_space(db: Connection) -> bool:
    """Return whether the disk has room to write all of the log into the file."""
    with suppress(*_READ_ERRORS, FileNotFoundError):
        db.execute("PRAGMA busy_timeout = 0")
        growth = _size_after_checkpoint(db) - os.stat(db.path).st_size
        disk = os.statvfs(db.path.parent)
        return growth <= disk.f_bavail * disk.f_frsize
    return True


def file_stamp(path: Path) -> tuple[int, int, int, bool]:
    """Return inode, size, time of change, and whether a log exists; a write changes one of them."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, Path(f"{path}-wal").exists()


def must_read_immutable(path: Path) -> bool:
    """Return whether a file is readable and has no log, and this process may not make a log."""
    is_writable = has_access(path, os.W_OK) and has_access(path.parent, os.W_OK)
    return has_access(path, os.R_OK) and not is_writable and not Path(f"{path}-wal").exists()


def check_file(path: Path) -> None:
    """Refuse a file that is no database of Keyhole, before anything is written.

    Raises
    ------
    ValueError
        With the reason.
    """
    # Not `Path.is_dir`: from Python 3.14 on it is also false if permission is missing.
    try:
        is_folder = S_ISDIR(path.parent.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    if not is_folder:
        raise ValueError(f"storage must be in an existing folder, got {path}")
    if not path.exists():
        return
    if not path.is_file():
        raise ValueError(f"storage must be a file, got {path}")
    check_location(path)
    if not path.stat().st_size:
        return
    with closing(connect(path, READ_IMMUTABLE)) as db:
        try:
            check_header(path, db)
        except sqlite3.DatabaseError as error:
            # Without a lock, this connection may see half of a transaction, so other errors are
            # left to the next connection, which checks again.
            if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
                raise ValueError(
                    f"storage must be an SQLite database, got {path}, which is not one"
                ) from None
    # The last transactions, and so the header, may be only in the log.
    if Path(f"{path}-wal").exists():
        with suppress(sqlite3.Error, OSError), closing(connect(path, _READ_ONLY)) as db:
            check_header(path, db)


def find_schema_version(path: Path, db: sqlite3.Connection) -> int:
    """Return the version of the schema, 0 without tables; refuse as `check_header` does."""
    has_tables = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    return check_header(path, db) if has_tables else 0


def check_header(path: Path, db: sqlite3.Connection) -> int:
    """Return the schema version of a database; refuse a foreign database or an unknown version."""
    if read_pragma(db, "application_id") != APPLICATION:
        raise ValueError(
            f"storage must be a database of Keyhole, got {path}, which is another application's"
        )
    version = read_pragma(db, "user_version")
    schema.check_version(str(path), version)
    return version


def format_damage(check_rows: Iterable[tuple[object, ...]]) -> str:
    """Return the result of `CHECK` as a line; "" if there is no damage."""
    lines = [str(line) for (line,) in check_rows if line != "ok"]
    return " ".join("; ".join(lines).split())


def find_damage(path: Path) -> str:
    """Return a line that describes the first damage of a file; "" if there is none."""
    # When a read-only connection closes, it does not write the log into the file.
    with closing(connect(path, _READ_ONLY)) as db:
        try:
            damage = format_damage(db.execute(CHECK))
            if not damage:
                studies = db.execute("SELECT id, name, at, head, digest FROM study").fetchall()
                damages = (_find_study_damage(db, *study) for study in studies)
                damage = next(filter(None, damages), "")
        except (sqlite3.Error, AttributeError, TypeError, ValueError) as error:
            damage = str(error)
    return shorten(damage, 100, placeholder="...")


def _find_study_damage(
    db: sqlite3.Connection, study: int, name: str, time: float, definition: bytes, digest: bytes
) -> str:
    """Return the first damaged part of a study, from its definition to its tail, or ""."""
    if digest != digest_of_definition(name, time, definition):
        return f"the definition of study {name!r}"
    seq = 0
    records = db.execute(
        "SELECT seq, kind, decision, key, at, body, digest FROM event WHERE study = ? ORDER BY seq",
        (study,),
    )
    for seq, (*values, next_digest) in enumerate(records, 1):
        if values[0] != seq or explain_damage(digest, Row._make(values), next_digest):
            return f"event {seq} of study {name!r}"
        digest = next_digest
    tail = db.execute("SELECT seq FROM tail WHERE study = ?", (study,)).fetchone()
    return "" if tail == (seq,) else f"event {seq + 1} of study {name!r}"


def read_pragma(db: sqlite3.Connection, name: str) -> int:
    """Return a number that a PRAGMA reads, such as one in the header of the file."""
    return cast(int, db.execute(f"PRAGMA {name}").fetchone()[0])


def refuse_file(path: Path, why: str, *, may_write_log: bool) -> None:
    """Refuse a file in this process from now on, since its log was removed or replaced.

    With `may_write_log`, the log that SQLite has open is written into the main file.
    """
    # Connections are left open: to close the last connection would write the log into a file that
    # may be another database now. A new connection would share memory with the old connections,
    # since SQLite keeps one `-shm` mapping for each file. So the file is refused.
    file = file_identity(path)
    for db in list(_connections):
        if db.path != path or db.is_abandoned:
            continue
        if may_write_log:
            with suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
                db.execute("PRAGMA wal_checkpoint")
        keep_connection_open(db)
    _refused_files[file] = why


def close_without_checkpoint(db: Connection) -> None:
    """Close a connection, but leave file and log unchanged."""
    # If the last connection to close is not read-only, it makes a checkpoint and removes the log.
    # So a read-only connection is opened, and closed last.
    if db.is_abandoned:
        return
    try:
        with closing(connect(db.path, _READ_ONLY)) as reader:
            reader.execute("PRAGMA busy_timeout = 0")
            reader.execute("SELECT 1 FROM sqlite_master").fetchone()  # SQLite opens files lazily
            db.close()
    except (*_READ_ERRORS, OSError):
        keep_connection_open(db)


def keep_connection_open(db: Connection) -> None:
    """Leave a connection open for good, since to close it would write to a file or remove a log."""
    if db.is_abandoned:
        return
    with suppress(sqlite3.Error):  # release its lock
        if db.in_transaction:
            db.execute("ROLLBACK")
    db.is_abandoned = True
    # This reference is never dropped, because `sqlite3` closes a connection that is collected, even
    # at the end of the interpreter.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


def is_damage(error: Exception) -> bool:
    """Return whether an error means that the file is damaged."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or (
        isinstance(error, sqlite3.OperationalError) and str(error).startswith(_DAMAGE_MESSAGES)
    )


def explain_sqlite_error(error: Exception, path: Path) -> str:
    """Return what is wrong with a database file, and what to do."""
    if isinstance(error, OSError) and error.strerror:
        reason = explain_os_error(error)
        if error.filename not in (None, path, str(path)):  # the caller's message names the path
            reason += f": {str(error.filename)!r}"
        if isinstance(error, PermissionError):
            reason += f"; {_explain_access(path)}"
        return reason
    name = getattr(error, "sqlite_errorname", "SQLITE_ERROR").split("_")[1]
    if name in ("CANTOPEN", "READONLY"):
        return f"{error}; {_explain_access(path)}"
    return "; ".join(filter(None, [str(error), _ADVICE.get(name)]))


def _explain_access(path: Path) -> str:
    """Return why a file cannot be opened or written, which SQLite does not say."""
    try:
        with ExitStack() as files:
            for _ in range(3):  # fails if the process cannot open as many files as SQLite does
                files.enter_context(open(os.devnull, "rb"))
        if sys.platform != "win32" and os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return os.strerror(errno.EROFS)
        for ending in ("-wal", "-shm", "-queue"):
            file = Path(f"{path}{ending}")
            if has_access(path, os.W_OK) and file.exists() and not has_access(file, os.W_OK):
                return _OWNER_ADVICE.format(file, _owner_name(file))
    except OSError as error:
        if not isinstance(error, PermissionError):
            return explain_os_error(error)
    return _ACCESS_ADVICE


def _owner_name(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, NotImplementedError):
        return f"user {path.stat().st_uid}"


def _after_fork() -> None:
    """In a forked child, never close connections that are open, since they are the parent's."""
    for db in list(_connections):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))  # as in `keep_connection_open`
        with suppress(OSError):
            _inherited_files.add(db.file or file_identity(db.path))
    _connections.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
