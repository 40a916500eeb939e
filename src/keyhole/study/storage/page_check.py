"""A check of all pages and indexes of a database file, which SQLite makes."""

from collections.abc import Callable
from typing import Any, Final

from keyhole.study.storage.errors import DamagedError

_CHECK: Final = "PRAGMA integrity_check(5)"


def find_damage(ask: Callable[[str], list[Any]]) -> str:
    """Return a line on damaged pages and indexes; "" if there are none.

    `ask` returns the rows of a statement.
    """
    try:
        found = [str(text) for (text,) in ask(_CHECK)]
    except DamagedError as error:
        return str(error)
    return "" if found == ["ok"] else " ".join("; ".join(found).split())
