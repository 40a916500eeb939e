"""The check of a database file by SQLite itself."""

from collections.abc import Callable
from typing import Any, Final

from keyhole.study.storage.errors import DamagedError

_CHECK: Final = "PRAGMA integrity_check(5)"


def find_damage(ask: Callable[[str], list[Any]]) -> str:
    """Return what is damaged of pages and indexes, in a line; "" if nothing is.

    `ask` returns the rows that a statement finds.
    """
    try:
        found = [str(text) for (text,) in ask(_CHECK)]
    except DamagedError as error:
        return str(error)
    return "" if found == ["ok"] else " ".join("; ".join(found).split())
