"""A record of what `stat` says of the database file, kept in the `-queue` beside it.

In write-ahead-log mode SQLite writes to the main file only in a checkpoint, which here happens
within the commit of a process that holds the writers' lock. That process records what `stat` says
of the file. If another process finds something else, the file was replaced, a program was killed
during a checkpoint, or another program has made one.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from struct import Struct
from textwrap import shorten
from typing import Final, NamedTuple, Self

from keyhole.study.storage.digest_chain import digest_of_definition, explain_damage
from keyhole.study.storage.page_check import find_damage
from keyhole.study.storage.rows import Row
from keyhole.study.storage.sqlite_connection import connect

_FORMAT: Final = Struct("<8sQqqQq")
_MAGIC: Final = b"keyhole2"
_LOG_FORMAT: Final = Struct("<QQ")  # behind it

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
        try:
            queue = os.open(f"{path}-queue", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # The `-queue` is no database: opening and closing it drops none of SQLite's locks.
            found = os.pread(queue, _FORMAT.size, 0)
        finally:
            os.close(queue)
        if len(found) != _FORMAT.size or not found.startswith(_MAGIC):
            return None
        return cls(*_FORMAT.unpack(found)[1:])

    def write(self, queue: int) -> None:
        """Write the record; the caller holds the writers' lock."""
        os.pwrite(queue, _FORMAT.pack(_MAGIC, *self), 0)

    def has_same_file(self, other: Self) -> bool:
        """Return whether the main file is the same and unchanged."""
        return self[:3] == other[:3]


class LogRecord(NamedTuple):
    """Commits of all processes since the last checkpoint; kept in the `-queue`."""

    commits: int = 0
    size: int = 0  # of the log at that checkpoint, in bytes

    @classmethod
    def read(cls, queue: int) -> Self:
        """Read the record; the caller holds the writers' lock."""
        found = os.pread(queue, _LOG_FORMAT.size, _FORMAT.size)
        return cls(*_LOG_FORMAT.unpack(found)) if len(found) == _LOG_FORMAT.size else cls()

    def write(self, queue: int) -> None:
        """Write the record; the caller holds the writers' lock."""
        os.pwrite(queue, _LOG_FORMAT.pack(*self), _FORMAT.size)


def explain_mismatch(path: Path, recorded: FileRecord, found: FileRecord) -> str:
    """Return why a file that is not as recorded cannot be used; "" if it can.

    A replacement of the file to which the log belongs is refused unread. Any other file is read and
    verified: half a second for 100,000 events.
    """
    if recorded.file != found.file and recorded.log == found.log:
        return WHY_MIXED
    # Closing a connection that can only read writes no log into the file.
    with closing(connect(path, "mode=ro")) as db:
        damage = shorten(_find_any_damage(db), 100, placeholder="...")
    return f"{WHY_MIXED} (found: {damage})" if damage else ""


def _find_any_damage(db: sqlite3.Connection) -> str:
    """Return a line on the first damage of pages, definitions and events."""
    try:
        if damage := find_damage(lambda check: db.execute(check).fetchall()):
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
