"""A check that an SQLite index can be trusted at one value.

If an entry of an index is damaged, a search for its former value ends between the last smaller and
the first larger entry. So these two, and the entries found, are compared with the table; SQLite
leaves out entries that differ. Comparing the whole index would take a third of a second for 100,000
events.
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
    """Return the query for the entries of a study and value, and for their two neighbours.

    Each row has the value in the index and the value in the table.
    """
    return " UNION ALL ".join(
        f"SELECT * FROM ({_ENTRIES.format(column=column, which=which.format(column=column))})"
        for which in _WHICH
    )


def are_index_entries_complete(found: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether index and table agree on all entries."""
    return all(index == table for index, table in found)
