"""A test whether the database file of an open connection, or its log, was replaced.

In write-ahead-log mode SQLite writes to the main file only in a checkpoint, which here happens
within the commit of a process that holds the writers' lock. That process records what `stat` says
of the file, in the `-queue` beside it. If another process finds something else, the file was
replaced, a program was killed during a checkpoint, or another program has made one.
"""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from struct import Struct
from textwrap import shorten
from typing import Final, NamedTuple, Self

from keyhole.study.storage import sqlite_connection
from keyhole.study.storage.sqlite_connection import file_identity
from keyhole.study.storage.store import FinalStoreError, Row, digest_of_definition, explain_damage

WHY_REPLACED = (
    "the file was replaced while it was open: nothing more is written to it; end all programs that "
    "had the old one open, remove the -wal and -shm beside it if they are there, and open the "
    "study again"
)
_LONG: Final = 2000 * 4120  # bytes, of two thousand pages: writing it takes three flushes
_COMMITS: Final = 500  # in which as many are written, or so
_FORMAT: Final = Struct("<8sQqqQq")
_MAGIC: Final = b"keyhole2"
# Behind it: commits of all since the last checkpoint, and the bytes of the log at that time.
_LOG_FORMAT: Final = Struct("<QQ")

WHY_MIXED: Final = (
    "the file and the -wal beside it do not belong together, since one of the two was replaced: "
    "end all programs that use the file, put a whole copy in its place, remove -wal and -shm, and "
    "open the study again"
)


class FileRecord(NamedTuple):
    """The `stat` of a main file, the inode of its log (0 for none), and when it was accepted.

    While `accepted_at` stays, only our own checkpoints have changed the main file, and all
    connections know of them.
    """

    file: int
    changed: int  # nanoseconds
    size: int
    log: int
    accepted_at: int  # nanoseconds, when somebody took the file for the right one by what it holds

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the record of the last transaction; None if there is none."""
        # The `-queue` is no database: opening and closing it drops none of SQLite's locks.
        try:
            with open(f"{path}-queue", "rb", buffering=0) as queue:
                found = queue.read(_FORMAT.size)
        except OSError:
            return None
        if len(found) != _FORMAT.size or not found.startswith(_MAGIC):
            return None
        return cls(*_FORMAT.unpack(found)[1:])

    def write(self, queue: int) -> None:
        """Write the record; the caller holds the writers' lock."""
        os.pwrite(queue, _FORMAT.pack(_MAGIC, *self), 0)

    def has_same_file(self, other: Self) -> bool:
        """Return whether the main file is the same and unchanged."""
        return self[:3] == other[:3]


class OpenFile:
    """The identity and `stat` of a database file, as last seen through a connection.

    SQLite goes on with a log that was removed, or whose file was replaced, and all that it then
    writes is lost. Comparing the three names costs three `stat`, 4 µs in all.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._name, self.identity = path, str(path), file_identity(path)
        self._logs: list[tuple[int, int] | None] | None = None  # identities of -wal and -shm
        self._written: tuple[int, int] | None = None
        self.known: tuple[int, int] | None = None  # time and size when last compared
        self.is_recorded = False  # by this connection
        self._accepted_at = 0  # that of the record it was last compared with

    def check(self, *, has_logs: bool) -> bool:
        """Refuse a file or log that was replaced; return whether the file is as last `known`."""
        found = os.stat(self._name)
        if self.identity != (found.st_dev, found.st_ino):
            raise FinalStoreError(f"{self._path}: {WHY_REPLACED}")
        if found.st_nlink > 1:
            raise OSError(sqlite_connection.explain_hard_links(self._path))
        if not has_logs:
            return True
        logs, written = _log_identities(self._name), (found.st_mtime_ns, found.st_size)
        if self._logs is None:
            self._logs = None if None in logs else logs  # SQLite makes them when it first reads
            sqlite_connection.share_with_group(self._name)
        elif self._logs != logs:
            why = (
                "the -wal and -shm beside it were removed or replaced while it was open: end this "
                "program, and open the study again"
            )
            is_as_before = self._written == written and logs[0] is None
            sqlite_connection.refuse_file(self._path, why, is_as_before=is_as_before)
            raise FinalStoreError(f"{self._path}: {why}")
        self._written = written
        return written == self.known

    def _read_record(self) -> FileRecord:
        """Return the record of the file as it is now."""
        found, log = os.stat(self._name), _log_identities(self._name)[0]
        return FileRecord(
            found.st_ino, found.st_mtime_ns, found.st_size, log[1] if log else 0, self._accepted_at
        )

    def accept(self, queue: int | None) -> bool:
        """Accept the file as it is now as the right one; with the writers' lock, record that.

        Return whether SQLite knows of all changes since it was last `known`: it does of our own
        checkpoints, not of a copy that another process has found intact and accepted.
        """
        is_new, known, accepted_at = self.known is None, self.known, self._accepted_at
        found, recorded = self._read_record(), FileRecord.read(self._path)
        is_recorded = recorded is not None and recorded.has_same_file(found)
        if recorded is not None and is_recorded:
            self._accepted_at = recorded.accepted_at
        elif queue is not None:
            self._accepted_at = time.time_ns()
        self._write_record(found._replace(accepted_at=self._accepted_at), queue)
        return is_new or known == self.known or (is_recorded and accepted_at == self._accepted_at)

    def record(self, queue: int, *, is_rewritten: bool = False) -> None:
        """Record the file after a checkpoint; the caller holds the writers' lock."""
        if is_rewritten:
            self._accepted_at = time.time_ns()
        self._write_record(self._read_record(), queue)

    def _write_record(self, record: FileRecord, queue: int | None) -> None:
        if queue is not None:
            record.write(queue)
            self.is_recorded = True
        self.known = record.changed, record.size

    def log_size(self) -> int | None:
        """Return the size of the write-ahead log in bytes; None if there is none."""
        try:
            return os.stat(f"{self._name}-wal").st_size
        except FileNotFoundError:
            return None

    def is_long(self, log: int, queue: int) -> bool:
        """Return whether a checkpoint is due, given the size of the log; called once a commit."""
        if log < _LONG:
            return False
        # SQLite overwrites the log from its beginning after a checkpoint and never truncates it, so
        # its size is the longest it has been: what counts is growth, or else the number of commits.
        data = os.pread(queue, _LOG_FORMAT.size, _FORMAT.size)
        commits, size = _LOG_FORMAT.unpack(data) if len(data) == _LOG_FORMAT.size else (0, 0)
        has_grown = log > (size if size <= log else 0) + _LONG // 8  # a shorter log is a new one
        is_long = has_grown or commits + 1 >= _COMMITS
        record = (0, log) if is_long else (commits + 1, size)
        os.pwrite(queue, _LOG_FORMAT.pack(*record), _FORMAT.size)
        return is_long

    def is_replaced(self) -> bool:
        """Return whether another file has its name, or the log beside it is another's."""
        try:
            if self.identity != file_identity(self._path):
                return True
        except FileNotFoundError:
            return False
        logs = _log_identities(self._name)
        # Closing the last connection removes the log by its name, which would be another's.
        is_own = self._logs is None or logs == self._logs
        return not is_own and (logs[0] is not None or not self.is_known())

    def is_known(self) -> bool:
        """Return whether the file is as it was when it was last compared."""
        found = os.stat(self._name)
        is_same = self.identity == (found.st_dev, found.st_ino)
        return is_same and self.known == (found.st_mtime_ns, found.st_size)

    def fits(self) -> bool:
        """Return whether the file is as the last transaction left it, or has no log beside it."""
        if not os.path.exists(self._name):
            return True  # the log is of the file that was moved
        recorded = FileRecord.read(self._path)
        is_as_left = recorded is None or recorded.has_same_file(self._read_record())
        return is_as_left or not self.log_size()

    def explain_mixture(self) -> str:
        """Return why the file cannot be used with the log beside it; the caller holds the lock.

        A replacement of the file to which the log belongs is refused unread. Any other file is read
        and verified: half a second for 100,000 events.
        """
        recorded = FileRecord.read(self._path)
        if recorded is None or self.fits():
            return ""
        found = self._read_record()
        if recorded.file != found.file and recorded.log == found.log:
            return WHY_MIXED
        # Closing a connection that can only read writes no log into the file.
        with closing(sqlite_connection.connect(self._path, "mode=ro")) as db:
            damage = shorten(_find_any_damage(db), 100, placeholder="...")
        return f"{WHY_MIXED} (found: {damage})" if damage else ""


def _log_identities(path: str) -> list[tuple[int, int] | None]:
    """Return the identities of `-wal` and `-shm`; None for one that is not there."""
    identities: list[tuple[int, int] | None] = []
    for name in (f"{path}-wal", f"{path}-shm"):
        try:
            status = os.stat(name)
            identities.append((status.st_dev, status.st_ino))
        except FileNotFoundError:
            identities.append(None)
    return identities


def _find_any_damage(db: sqlite3.Connection) -> str:
    """Return a line on the first damage of pages, definitions and events."""
    try:
        if damage := sqlite_connection.find_damage(lambda check: db.execute(check).fetchall()):
            return damage
        studies = db.execute("SELECT id, name, at, head, digest FROM study").fetchall()
        return next(filter(None, (_damage_of(db, *study) for study in studies)), "")
    except (sqlite3.Error, AttributeError, TypeError, ValueError) as error:
        return " ".join(str(error).split())


def _damage_of(
    db: sqlite3.Connection, study: int, name: str, at: float, definition: bytes, digest: bytes
) -> str:
    """Return the first damage of a study, from its definition to its tail."""
    if digest != digest_of_definition(name, at, definition):
        return f"the definition of study {name!r}"
    seq = 0
    rows = db.execute(
        "SELECT seq, kind, decision, key, at, body, digest FROM event WHERE study = ? ORDER BY seq",
        (study,),
    )
    for seq, (*values, after) in enumerate(rows, 1):
        if values[0] != seq or explain_damage(digest, Row._make(values), after):
            return f"event {seq} of study {name!r}"
        digest = after
    tail = db.execute("SELECT seq FROM tail WHERE study = ?", (study,)).fetchone()
    return "" if tail == (seq,) else f"event {seq + 1} of study {name!r}"
