"""Messages for errors of SQLite: what went wrong, and what to do."""

import sqlite3
from typing import Final

from keyhole.study.storage.sqlite_connection import BUSY_TIMEOUT

_LET_WRITE: Final = "this process must be allowed to write to the file and to its folder"
_REPLACE: Final = "put a whole copy of the file in its place"
_ADVICE: Final = {
    "FULL": "make room on the disk",
    "BUSY": f"another program held the file for {BUSY_TIMEOUT:.0f} seconds",
    "CONSTRAINT": "another process has used this number or key: try again",
    "READONLY": _LET_WRITE,
    "CANTOPEN": _LET_WRITE,
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


def explain_error(error: Exception) -> str:
    """Return what went wrong and what to do about it."""
    if isinstance(error, PermissionError):
        return f"{error.strerror}: {error.filename!r}; {_LET_WRITE}"
    name = getattr(error, "sqlite_errorname", "SQLITE_ERROR").split("_")[1]
    return f"{error}; {_ADVICE[name]}" if name in _ADVICE else str(error)
