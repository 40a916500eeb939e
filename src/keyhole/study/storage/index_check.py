"""Whether an index of a file can be believed where it is asked.

SQLite finds a value in an index by comparing it with those that are there. If an entry was damaged,
whoever looks for what it was is led to its place, and so finds it between the last value before and
the first one after, in whatever it has become. So these two are compared with the table, and those
that are found: SQLite leaves out what the table has otherwise. To compare the whole index would
take a third of a second for 100,000 events.
"""

from collections.abc import Sequence
from typing import Any, Final

_ENTRIES: Final = (
    "SELECT i.{column}, e.{column} FROM (SELECT study, seq, {column} FROM event"
    " INDEXED BY event_{column} WHERE {column} IS NOT NULL AND {which}) AS i"
    " LEFT JOIN event AS e NOT INDEXED ON e.study = i.study AND e.seq = i.seq"
)
_WHICH: Final = (
    "study = ?1 AND {column} = ?2",
    "(study, {column}) < (?1, ?2) ORDER BY study DESC, {column} DESC LIMIT 1",
    "(study, {column}) > (?1, ?2) ORDER BY study, {column} LIMIT 1",
)


def count_entries(column: str) -> str:
    """Return the query for the entries of a study and value, and for those beside them.

    Each has the value as the index has it, and as the table has it.
    """
    return " UNION ALL ".join(
        f"SELECT * FROM ({_ENTRIES.format(column=column, which=which.format(column=column))})"
        for which in _WHICH
    )


def are_index_entries_complete(found: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether the index says of all entries what the table says."""
    return all(index == table for index, table in found)
