"""A test whether the database file of an open connection, or its log, was replaced."""

import os
import time
from pathlib import Path
from typing import Final

from keyhole.study.storage.errors import FinalStoreError
from keyhole.study.storage.file_identity import (
    explain_hard_links,
    file_identity,
    log_identities,
    share_with_group,
)
from keyhole.study.storage.main_file_record import FileRecord, LogRecord, explain_mismatch
from keyhole.study.storage.sqlite_connection import refuse_file

WHY_REPLACED = (
    "the file was replaced while it was open: nothing more is written to it; end all programs that "
    "had the old one open, remove the -wal and -shm beside it if they are there, and open the "
    "study again"
)
_LONG: Final = 2000 * 4120  # bytes, of two thousand pages: writing it takes three flushes
_COMMITS: Final = 500  # in which as many are written, or so


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
            raise OSError(explain_hard_links(self._path))
        if not has_logs:
            return True
        logs, written = log_identities(self._name), (found.st_mtime_ns, found.st_size)
        if self._logs is None:
            self._logs = None if None in logs else logs  # SQLite makes them when it first reads
            share_with_group(self._name)
        elif self._logs != logs:
            why = (
                "the -wal and -shm beside it were removed or replaced while it was open: end this "
                "program, and open the study again"
            )
            is_as_before = self._written == written and logs[0] is None
            refuse_file(self._path, why, is_as_before=is_as_before)
            raise FinalStoreError(f"{self._path}: {why}")
        self._written = written
        return written == self.known

    def record(self) -> FileRecord:
        """Return the record of the file as it is now."""
        found, log = os.stat(self._name), log_identities(self._name)[0]
        return FileRecord(
            found.st_ino, found.st_mtime_ns, found.st_size, log[1] if log else 0, self._accepted_at
        )

    def accept(self, queue: int | None) -> bool:
        """Accept the file as it is now as the right one; with the writers' lock, record that.

        Return whether SQLite knows of all changes since it was last `known`: it does of our own
        checkpoints, not of a copy that another process has found intact and accepted.
        """
        is_new, known, accepted_at = self.known is None, self.known, self._accepted_at
        found, recorded = self.record(), FileRecord.read(self._path)
        is_recorded = recorded is not None and recorded.has_same_file(found)
        if recorded is not None and is_recorded:
            self._accepted_at = recorded.accepted_at
        elif queue is not None:
            self._accepted_at = time.time_ns()
        self._write_record(found._replace(accepted_at=self._accepted_at), queue)
        return is_new or known == self.known or (is_recorded and accepted_at == self._accepted_at)

    def accept_rewritten(self, queue: int) -> None:
        """Record that the whole file was rewritten; the caller holds the writers' lock."""
        self._accepted_at = time.time_ns()
        self._write_record(self.record(), queue)

    def note_checkpoint(self, queue: int) -> None:
        """Record the file after a checkpoint; the caller holds the writers' lock."""
        self._write_record(self.record(), queue)

    def _write_record(self, found: FileRecord, queue: int | None) -> None:
        if queue is not None:
            found.write(queue)
            self.is_recorded = True
        self.known = found.changed, found.size

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
        commits, size = LogRecord.read(queue)
        has_grown = log > (size if size <= log else 0) + _LONG // 8  # a shorter log is a new one
        is_long = has_grown or commits + 1 >= _COMMITS
        LogRecord(*((0, log) if is_long else (commits + 1, size))).write(queue)
        return is_long

    def has_empty_log(self) -> bool:
        """Return whether everything is in the main file."""
        return not self.log_size()

    def is_replaced(self) -> bool:
        """Return whether another file has its name, or the log beside it is another's."""
        try:
            if self.identity != file_identity(self._path):
                return True
        except FileNotFoundError:
            return False
        logs = log_identities(self._name)
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
        is_as_left = recorded is None or recorded.has_same_file(self.record())
        return is_as_left or self.has_empty_log()

    def explain_mixture_now(self) -> str:
        """Return why the file cannot be used with the log beside it; the caller holds the lock."""
        recorded = FileRecord.read(self._path)
        if recorded is None or self.fits():
            return ""
        return explain_mismatch(self._path, recorded, self.record())
