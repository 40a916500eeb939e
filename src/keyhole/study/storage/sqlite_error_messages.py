"""Messages for errors of SQLite: what went wrong, and what to do."""

import errno
import os
import sqlite3
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from keyhole.files import explain_os_error
from keyhole.study.storage.file_identity import has_access
from keyhole.study.storage.sqlite_connection import BUSY_TIMEOUT

_LET_WRITE: Final = "this process must be allowed to write to the file and to its folder"
_NOT_SHARED: Final = (
    "{0} belongs to {1}, and this process may not write to it: {1} or root ends the programs that "
    "use the file, and opens and closes a study once; see 'Write permission' in docs/studies.md"
)
_REPLACE: Final = "put a whole copy of the file in its place"
_ADVICE: Final = {
    "FULL": "make room on the disk",
    "BUSY": f"another program held the file for {BUSY_TIMEOUT:.0f} seconds",
    "CONSTRAINT": "another process has used this number or key: try again",
    "CORRUPT": _REPLACE,
    "NOTADB": _REPLACE,
    "IOERR": "check the disk, then open the study again to see what was written",
}
# The tables exist and all texts are UTF-8, so these errors can only come from damage.
_DAMAGE: Final = ("no such table", "no such column", "Could not decode to UTF-8")


def is_damage(error: Exception) -> bool:
    """Return whether an error means that the file is damaged."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or (
        isinstance(error, sqlite3.OperationalError) and str(error).startswith(_DAMAGE)
    )


def explain_error(error: Exception, path: Path) -> str:
    """Return what went wrong with a database file and what to do about it."""
    if isinstance(error, OSError) and error.strerror:
        reason = explain_os_error(error)
        if error.filename not in (None, path, str(path)):  # the error of a study names the path
            reason += f": {str(error.filename)!r}"
        is_refused = isinstance(error, PermissionError)
        return f"{reason}; {_explain_access(path)}" if is_refused else reason
    name = getattr(error, "sqlite_errorname", "SQLITE_ERROR").split("_")[1]
    if name in ("CANTOPEN", "READONLY"):
        return f"{error}; {_explain_access(path)}"
    return f"{error}; {_ADVICE[name]}" if name in _ADVICE else str(error)


def _explain_access(path: Path) -> str:
    """Return why a file cannot be opened or written, which SQLite does not say."""
    try:
        with ExitStack() as files:
            for _ in range(3):  # as many as SQLite opens
                files.enter_context(open(os.devnull, "rb"))
        if sys.platform != "win32" and os.statvfs(path.parent).f_flag & os.ST_RDONLY:
            return os.strerror(errno.EROFS)
        for beside in (Path(f"{path}{end}") for end in ("-wal", "-shm", "-queue")):
            if has_access(path, os.W_OK) and beside.exists() and not has_access(beside, os.W_OK):
                return _NOT_SHARED.format(beside, _owner(beside))
    except OSError as error:
        return _LET_WRITE if isinstance(error, PermissionError) else explain_os_error(error)
    return _LET_WRITE


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, NotImplementedError):
        return f"user {path.stat().st_uid}"
