"""A record of the main file as the last transaction left it, kept in the `-queue` beside it.

In write-ahead mode SQLite writes to the main file only when it empties the log into it
(a checkpoint), which happens within a commit of whoever has the turn. So who has the turn records
what `stat` says of the file, and whoever finds something else knows that the file was replaced, or
that a program was killed in the midst of a checkpoint, or that another program has made one.
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
    """What `stat` says of a main file, which log lies beside it (0 for none), and since when.

    As long as `taken` stays, nothing has changed the main file but checkpoints of ours, of which
    all connections know.
    """

    file: int
    changed: int  # nanoseconds
    size: int
    log: int
    taken: int  # nanoseconds, when somebody took the file for the right one by what it holds

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what the last transaction has left; None where that is not known."""
        try:
            queue = os.open(f"{path}-queue", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            found = os.pread(queue, _FORMAT.size, 0)
        finally:
            os.close(queue)
        if len(found) != _FORMAT.size or not found.startswith(_MAGIC):
            return None
        return cls(*_FORMAT.unpack(found)[1:])

    def write(self, queue: int) -> None:
        """Record it, in the turn."""
        os.pwrite(queue, _FORMAT.pack(_MAGIC, *self), 0)

    def has_same_file(self, other: Self) -> bool:
        """Return whether the main file is the same, and as it was."""
        return self[:3] == other[:3]


class LogRecord(NamedTuple):
    """How much was committed since the last checkpoint, by all processes; kept in the `-queue`."""

    commits: int = 0
    size: int = 0  # of the log at that checkpoint, in bytes

    @classmethod
    def read(cls, queue: int) -> Self:
        """Return what is recorded, in the turn."""
        found = os.pread(queue, _LOG_FORMAT.size, _FORMAT.size)
        return cls(*_LOG_FORMAT.unpack(found)) if len(found) == _LOG_FORMAT.size else cls()

    def write(self, queue: int) -> None:
        """Record it, in the turn."""
        os.pwrite(queue, _LOG_FORMAT.pack(*self), _FORMAT.size)


def explain_mixture(path: Path, recorded: FileRecord, found: FileRecord) -> str:
    """Return why a file that is not as it was recorded cannot be used; "" if it can.

    A file in the place of the one to which the log belongs is refused unread. Of others all is
    read: half a second for 100,000 events.
    """
    if recorded.file != found.file and recorded.log == found.log:
        return WHY_MIXED
    # Closing a connection that can only read writes no log into the file.
    with closing(connect(path, "mode=ro")) as db:
        damage = shorten(_find_any_damage(db), 100, placeholder="...")
    return f"{WHY_MIXED} (found: {damage})" if damage else ""


def _find_any_damage(db: sqlite3.Connection) -> str:
    """Return what is damaged of pages, definitions and events, in a line."""
    try:
        if damage := find_damage(lambda check: db.execute(check).fetchall()):
            return damage
        studies = db.execute("SELECT id, name, at, head, digest FROM study").fetchall()
        return next(filter(None, (_damage_of(db, *study) for study in studies)), "")
    except (sqlite3.Error, AttributeError, TypeError, ValueError) as error:
        return " ".join(str(error).split())


def _damage_of(
    db: sqlite3.Connection, study: int, name: str, at: float, head: bytes, digest: bytes
) -> str:
    """Return what is damaged of a study; its log must be whole from its definition to its end."""
    if digest != digest_of_definition(name, at, head):
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
