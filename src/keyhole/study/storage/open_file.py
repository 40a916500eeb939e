"""A file that a connection has open: whether it, and the log beside it, are still those."""

import os
from pathlib import Path

from keyhole.study.storage.errors import FinalStoreError
from keyhole.study.storage.place import identity, log_identities, why_names_differ
from keyhole.study.storage.sqlite_connection import give_up


class OpenFile:
    """What was seen of a file since a connection was made to it.

    SQLite goes on with a log that was removed, or replaced with its file, and all that it writes is
    lost. A look at the three names opens nothing and takes 4 µs.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._name, self._file = path, str(path), identity(path)
        self._logs: list[tuple[int, int] | None] | None = None  # those that SQLite opens by itself
        self._written: tuple[int, int] | None = None

    def check(self, *, has_logs: bool) -> None:
        """Refuse a file that is no longer where it was, or has another log: it is of the past."""
        found = os.stat(self._name)
        if self._file != (found.st_dev, found.st_ino):
            raise FileNotFoundError("the file was replaced while it was open")
        if found.st_nlink > 1:
            raise OSError(why_names_differ(self._path))
        if not has_logs:
            return
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
