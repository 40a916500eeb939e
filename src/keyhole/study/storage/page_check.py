"""The check of a database file by SQLite itself."""

from typing import Final

from keyhole.study.storage.errors import DamagedError
from keyhole.study.storage.sqlite import Sqlite
from keyhole.study.storage.store import Store

_CHECK: Final = "PRAGMA integrity_check(5)"


def find_page_damage(store: Store) -> str:
    """Return what is damaged of pages and indexes, in a line; "" if nothing is.

    A server looks after its own.
    """
    if not isinstance(store, Sqlite):
        return ""
    try:
        found = [str(text) for (text,) in store._try(store._query, _CHECK, ())]
    except DamagedError as error:
        return str(error)
    return "" if found == ["ok"] else " ".join("; ".join(found).split())
