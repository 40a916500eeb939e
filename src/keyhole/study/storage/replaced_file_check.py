"""The check of an open database file: `stat` tells whether the file or its log was replaced.

In write-ahead-log mode SQLite writes to the main file only in a checkpoint. With Keyhole, this
happens only within the commit of a process that holds the writers' lock. This process then writes
the result of `stat` into the `-queue` beside the file. If `stat` later has another result, the file
was replaced, a process was killed during a checkpoint, or another program made a checkpoint.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple, Self

from keyhole.study.storage.store import FinalStoreError

WHY_REPLACED = (
    "the file was replaced while it was open: nothing more is written to it; end all programs that "
    "had the old one open, remove the -wal and -shm beside it if they are there, and open the "
    "study again"
)
# A smaller log needs no checkpoint. Some five hundred commits write a log of this size.
_MIN_LOG_SIZE: Final = 2000 * 4120  # bytes, two thousand pages
_MAX_COMMITS: Final = 500  # between two checkpoints, if the log has at least `_MIN_LOG_SIZE`
# The `-queue` begins with a `FileRecord`: the magic bytes, then its fields.
_FORMAT: Final = Struct("<8sQqqQq")
_MAGIC: Final = b"keyhole2"
# After the record, the `-queue` holds how many commits all processes have made since the last
# checkpoint, and the size of the log at this checkpoint, in bytes.
_LOG_FORMAT: Final = Struct("<QQ")

WHY_MIXED: Final = (
    "the file and the -wal beside it do not belong together, since one of the two was replaced: "
    "end all programs that use the file, put a whole copy in its place, remove -wal and -shm, and "
    "open the study again"
)


def file_identity(path: Path | str) -> tuple[int, int]:
    """Return device and inode of a file; a file that replaces it has others."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def try_stat(path: Path | str) -> os.stat_result | None:
    """Return the result of `stat` for a file; None if there is no file."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def explain_hard_links(path: Path) -> str:
    """Return why a file with hard links is refused; "" if it has none."""
    link_count = os.stat(path).st_nlink
    if link_count <= 1:
        return ""
    return (
        f"storage must be a file with one name, got {path}, which has {link_count} (hard links): "
        "commits would not be seen under another name; remove the other names, or copy the file"
    )


def share_with_group(path: Path | str) -> None:
    """Give the group of a database to the files beside it that this user has made."""
    for name in (f"{path}-wal", f"{path}-shm", f"{path}-queue"):
        with suppress(OSError, AttributeError):  # no such file, not in the group; Windows
            if os.stat(name).st_uid == os.geteuid() != 0:
                os.chown(name, -1, os.stat(path).st_gid, follow_symlinks=False)


class LogReplacedError(FinalStoreError):
    """The log beside a file was removed or replaced while the file was open.

    `may_write_log` says whether the log that SQLite has open may be written into the main file:
    nobody has changed this file, or put another log beside it.
    """

    def __init__(self, why: str, *, may_write_log: bool) -> None:
        super().__init__(why)
        self.may_write_log = may_write_log


class FileRecord(NamedTuple):
    """The result of `stat` for a main file and its log, and when the file was accepted.

    To *accept* a file is to go on with it as it is: it fits the log beside it, or its content was
    found intact. As long as `accepted_at` stays the same, only Keyhole's checkpoints have changed
    the main file, and all connections know of these.
    """

    inode: int
    changed_at: int  # nanoseconds
    size: int  # bytes
    log_inode: int  # 0 if there is no log
    accepted_at: int  # nanoseconds

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return the record in the `-queue`; None if there is none."""
        # The `-queue` is no database, so to open and close it drops none of SQLite's locks.
        try:
            with open(f"{path}-queue", "rb", buffering=0) as queue:
                data = queue.read(_FORMAT.size)
        except OSError:
            return None
        if len(data) != _FORMAT.size or not data.startswith(_MAGIC):
            return None
        return cls(*_FORMAT.unpack(data)[1:])

    def write(self, queue: int) -> None:
        """Write the record; the caller holds the writers' lock."""
        os.pwrite(queue, _FORMAT.pack(_MAGIC, *self), 0)

    def has_unchanged_file(self, record: Self) -> bool:
        """Return whether two records agree on the main file: its inode, time of change and size."""
        return self[:3] == record[:3]


class FileWatch:
    """The identity and `stat` of a database file, as a connection last saw them.

    If the file or its log is removed or replaced, SQLite goes on with the old file or log, and all
    that it then writes is lost. To compare file, `-wal` and `-shm` takes three calls of `stat`,
    4 µs in all.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)
        self._log_names = (f"{path}-wal", f"{path}-shm")
        self.identity = file_identity(path)
        self._logs: list[tuple[int, int] | None] | None = None  # identities of -wal and -shm
        # The file's time of change and size, when it was last seen and when it was last accepted.
        self._last_stamp: tuple[int, int] | None = None
        self._accepted_stamp: tuple[int, int] | None = None
        self.has_written_record = False
        # The `accepted_at` of the last record that this connection wrote or found to be right.
        self._accepted_at = 0

    def compare_with_accepted(self, *, has_logs: bool) -> bool:
        """Return whether the file is as last accepted; refuse a file or log that was replaced."""
        status = os.stat(self._name)
        if self.identity != (status.st_dev, status.st_ino):
            raise FinalStoreError(WHY_REPLACED)
        if status.st_nlink > 1:
            raise OSError(explain_hard_links(self._path))
        if not has_logs:
            return True
        logs = self._log_identities()
        stamp = status.st_mtime_ns, status.st_size
        if self._logs is None:
            self._logs = None if None in logs else logs  # SQLite makes both at its first read
            share_with_group(self._name)
        elif self._logs != logs:
            why = (
                "the -wal and -shm beside it were removed or replaced while it was open: end this "
                "program, and open the study again"
            )
            may_write_log = self._last_stamp == stamp and logs[0] is None
            raise LogReplacedError(why, may_write_log=may_write_log)
        self._last_stamp = stamp
        return stamp == self._accepted_stamp

    def _make_record(self) -> FileRecord:
        """Return a record of the file as it is now."""
        status = os.stat(self._name)
        _, log_inode = self._log_identities()[0] or (0, 0)
        changed_at = status.st_mtime_ns
        return FileRecord(status.st_ino, changed_at, status.st_size, log_inode, self._accepted_at)

    def accept(self, queue: int | None) -> bool:
        """Accept the file as it is now; record it if the caller holds the writers' lock.

        `queue` is the descriptor of the `-queue`, or None if the caller does not hold the lock.

        Returns
        -------
        bool
            Whether this connection may go on, since SQLite knows of all changes to the file since
            this connection last accepted it. SQLite knows of Keyhole's checkpoints, but not of a
            copy that another process has accepted.
        """
        old_stamp, old_accepted_at = self._accepted_stamp, self._accepted_at
        record = self._make_record()
        last_record = FileRecord.read(self._path)
        is_record_right = last_record is not None and last_record.has_unchanged_file(record)
        if last_record is not None and is_record_right:
            self._accepted_at = last_record.accepted_at
        elif queue is not None:
            self._accepted_at = time.time_ns()
        self._write_record(record._replace(accepted_at=self._accepted_at), queue)
        is_unchanged = old_stamp in (None, self._accepted_stamp)
        return is_unchanged or (is_record_right and old_accepted_at == self._accepted_at)

    def record(self, queue: int, *, is_rewritten: bool = False) -> None:
        """Record the file after a checkpoint; the caller holds the writers' lock."""
        if is_rewritten:
            self._accepted_at = time.time_ns()
        self._write_record(self._make_record(), queue)

    def _write_record(self, record: FileRecord, queue: int | None) -> None:
        """Note a record as accepted; write it if there is a `queue`."""
        if queue is not None:
            record.write(queue)
            self.has_written_record = True
        self._accepted_stamp = record.changed_at, record.size

    def _log_identities(self) -> list[tuple[int, int] | None]:
        """Return the identities of `-wal` and `-shm`; None for a missing file."""
        statuses = map(try_stat, self._log_names)
        return [status and (status.st_dev, status.st_ino) for status in statuses]

    def log_size(self) -> int | None:
        """Return the size of the write-ahead log in bytes; None if there is none."""
        status = try_stat(self._log_names[0])
        return status and status.st_size

    def count_commit(self, log_size: int, queue: int) -> bool:
        """Count a commit if the log is large; return whether a checkpoint is due."""
        if log_size < _MIN_LOG_SIZE:
            return False
        # After a checkpoint SQLite overwrites the log from its beginning, and never truncates it.
        # So the size shows growth only beyond the largest size so far, and commits are counted,
        # too.
        data = os.pread(queue, _LOG_FORMAT.size, _FORMAT.size)
        commit_count, last_size = _LOG_FORMAT.unpack(data.ljust(_LOG_FORMAT.size, b"\0"))
        growth: int = log_size - last_size
        if growth < 0:  # the log is new
            growth = log_size
        is_checkpoint_due = growth > _MIN_LOG_SIZE // 8 or commit_count + 1 >= _MAX_COMMITS
        new_values = (0, log_size) if is_checkpoint_due else (commit_count + 1, last_size)
        os.pwrite(queue, _LOG_FORMAT.pack(*new_values), _FORMAT.size)
        return is_checkpoint_due

    def is_replaced(self) -> bool:
        """Return whether another file or another log has taken the place of ours."""
        status = try_stat(self._name)
        if status is None:
            return False
        if self.identity != (status.st_dev, status.st_ino):
            return True
        logs = self._log_identities()
        # The last connection to close removes the log by its name, even if that is another log now.
        has_own_logs = self._logs is None or logs == self._logs
        return not has_own_logs and (logs[0] is not None or not self.is_unchanged())

    def is_unchanged(self) -> bool:
        """Return whether the file is as it was when it was last accepted."""
        status = os.stat(self._name)
        is_same = self.identity == (status.st_dev, status.st_ino)
        return is_same and self._accepted_stamp == (status.st_mtime_ns, status.st_size)

    def fits_log(self) -> bool:
        """Return whether the file is as last recorded, or there is no file, record or log."""
        if not os.path.exists(self._name):
            return True  # the file was moved away, and the log belongs to it
        last_record = FileRecord.read(self._path)
        is_as_left = last_record is None or last_record.has_unchanged_file(self._make_record())
        return is_as_left or not self.log_size()

    def explain_misfit(self, find_damage: Callable[[Path], str]) -> str:
        """Return why the file cannot be used with the log beside it, or "" if it can be.

        The caller holds the writers' lock. If the file was replaced and the log was not, the file
        is refused unread. Any other file is read and verified by `find_damage`, which takes half a
        second for 100,000 events.
        """
        last_record = FileRecord.read(self._path)
        if last_record is None or self.fits_log():
            return ""
        record = self._make_record()
        if last_record.inode != record.inode and last_record.log_inode == record.log_inode:
            return WHY_MIXED
        damage = find_damage(self._path)
        return f"{WHY_MIXED} (found: {damage})" if damage else ""
