"""A file that a connection has open: whether it, and the log beside it, are still those."""

import os
import time
from pathlib import Path
from typing import Final

from keyhole.study.storage.errors import FinalStoreError
from keyhole.study.storage.file_identity import explain_other_names, file_identity, log_identities
from keyhole.study.storage.file_record import FileRecord, LogRecord, explain_mixture
from keyhole.study.storage.sqlite_connection import give_up

WHY_REPLACED = (
    "the file was replaced while it was open: nothing more is written to it; end all programs that "
    "had the old one open, remove the -wal and -shm beside it if they are there, and open the "
    "study again"
)
_LONG: Final = 2000 * 4120  # bytes, of two thousand pages: writing it takes three flushes
_COMMITS: Final = 500  # in which as many are written, or so


class OpenFile:
    """What was seen of a file since a connection was made to it.

    SQLite goes on with a log that was removed, or replaced with its file, and all that it writes is
    lost. A look at the three names opens nothing and takes 4 µs.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._name, self.identity = path, str(path), file_identity(path)
        self._logs: list[tuple[int, int] | None] | None = None  # those that SQLite opens by itself
        self._written: tuple[int, int] | None = None
        self.known: tuple[int, int] | None = None  # the file as it was when it was last compared
        self.is_recorded = False  # by this connection, since it was made
        self._taken = 0  # of the record that it was compared with

    def check(self, *, has_logs: bool) -> bool:
        """Refuse a file that is no longer where it was, or has another log: it is of the past.

        Return whether the file is as it was when it was last `known`.
        """
        found = os.stat(self._name)
        if self.identity != (found.st_dev, found.st_ino):
            raise FinalStoreError(f"{self._path}: {WHY_REPLACED}")
        if found.st_nlink > 1:
            raise OSError(explain_other_names(self._path))
        if not has_logs:
            return True
        logs, written = log_identities(self._name), (found.st_mtime_ns, found.st_size)
        if self._logs is None:
            self._logs = None if None in logs else logs  # SQLite makes them when it first reads
        elif self._logs != logs:
            why = (
                "the -wal and -shm beside it were removed or replaced while it was open: end this "
                "program, and open the study again"
            )
            is_as_before = self._written == written and logs[0] is None
            give_up(self._path, why, is_as_before=is_as_before)
            raise FinalStoreError(f"{self._path}: {why}")
        self._written = written
        return written == self.known

    def record(self) -> FileRecord:
        """Return what there is to record of the file now."""
        found, log = os.stat(self._name), log_identities(self._name)[0]
        return FileRecord(
            found.st_ino, found.st_mtime_ns, found.st_size, log[1] if log else 0, self._taken
        )

    def take(self, queue: int | None) -> bool:
        """Take the file for the right one as it is now; with the turn, record that.

        Return whether SQLite knows of all that has changed it since it was last `known`. That is
        so of our checkpoints, and not of a whole copy that another process has found and taken.
        """
        is_new, known, taken = self.known is None, self.known, self._taken
        found, recorded = self.record(), FileRecord.read(self._path)
        is_recorded = recorded is not None and recorded.has_same_file(found)
        if recorded is not None and is_recorded:
            self._taken = recorded.taken
        elif queue is not None:
            self._taken = time.time_ns()
        self._note(found._replace(taken=self._taken), queue)
        return is_new or known == self.known or (is_recorded and taken == self._taken)

    def take_anew(self, queue: int) -> None:
        """Record that all was written anew; in turn."""
        self._taken = time.time_ns()
        self._note(self.record(), queue)

    def note_checkpoint(self, queue: int) -> None:
        """Record the file as a checkpoint of ours has left it; in turn."""
        self._note(self.record(), queue)

    def _note(self, found: FileRecord, queue: int | None) -> None:
        if queue is not None:
            found.write(queue)
            self.is_recorded = True
        self.known = found.changed, found.size

    def log_size(self) -> int | None:
        """Return the size of the log in bytes, None where there is none."""
        try:
            return os.stat(f"{self._name}-wal").st_size
        except FileNotFoundError:
            return None

    def is_long(self, log: int, queue: int) -> bool:
        """Return whether a log of a size is to be written into the file; asked once a commit.

        SQLite writes it from its beginning again, so the size only says how long it has been.
        """
        if log < _LONG:
            return False
        commits, size = LogRecord.read(queue)
        has_grown = log > (size if size <= log else 0) + _LONG // 8  # a shorter log is a new one
        is_long = has_grown or commits + 1 >= _COMMITS
        LogRecord(*((0, log) if is_long else (commits + 1, size))).write(queue)
        return is_long

    def has_empty_log(self) -> bool:
        """Return whether all there is is in the main file."""
        return not self.log_size()

    def is_replaced(self) -> bool:
        """Return whether another file has its name, or the log beside it is another's.

        Then closing the last connection to it would remove a log that is not its own, by its name.
        """
        try:
            if self.identity != file_identity(self._path):
                return True
        except FileNotFoundError:
            return False
        logs = log_identities(self._name)
        is_own = self._logs is None or logs == self._logs
        return not is_own and (logs[0] is not None or not self.is_known())

    def is_known(self) -> bool:
        """Return whether the file is as it was when it was last compared."""
        found = os.stat(self._name)
        is_same = self.identity == (found.st_dev, found.st_ino)
        return is_same and self.known == (found.st_mtime_ns, found.st_size)

    def fits(self) -> bool:
        """Return whether the file is what the last transaction left, or has no log beside it."""
        if not os.path.exists(self._name):
            return True  # the log is of the file that was moved
        recorded = FileRecord.read(self._path)
        is_as_left = recorded is None or recorded.has_same_file(self.record())
        return is_as_left or self.has_empty_log()

    def why_mixed(self) -> str:
        """Return why the file cannot be used with the log beside it; asked in the turn."""
        recorded = FileRecord.read(self._path)
        if recorded is None or self.fits():
            return ""
        return explain_mixture(self._path, recorded, self.record())
