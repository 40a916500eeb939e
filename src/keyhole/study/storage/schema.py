"""The tables as steps that lead to them, and what is asked of them, in words of either database.

Version n is what the first n steps make. A step that was released is never changed: the next is
added below it. A database of an older version is walked up when it is opened, in one transaction.
"""

from collections.abc import Callable, Mapping
from typing import Final

Step = tuple[str, ...]

STEPS: Final[list[Step]] = [
    (
        "CREATE TABLE {schema}study (id {identity} PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
        " at {float} NOT NULL, head {bytes} NOT NULL)",
        "CREATE TABLE {schema}event (study {integer} NOT NULL, seq {integer} NOT NULL,"
        " kind {integer} NOT NULL, decision TEXT, key TEXT, at {float} NOT NULL,"
        " body {bytes} NOT NULL, PRIMARY KEY (study, seq)){clustered}",
        "CREATE INDEX event_decision ON {schema}event (study, decision) WHERE decision IS NOT NULL",
        "CREATE UNIQUE INDEX event_key ON {schema}event (study, key) WHERE key IS NOT NULL",
        "CREATE TABLE {schema}snapshot (study {integer} PRIMARY KEY, seq {integer} NOT NULL,"
        " body {bytes} NOT NULL)",
    ),
    # Version 2: behind feedback there may be notes, over which older readers would stumble.
    (),
]

_EVENT: Final = "SELECT seq, kind, decision, key, at, body FROM {schema}event WHERE study = {value}"
STUDIES: Final = "SELECT name, at FROM {schema}study ORDER BY id"
CREATE: Final = (
    "INSERT INTO {schema}study (name, at, head) VALUES ({value}, {value}, {value})"
    " ON CONFLICT (name) DO NOTHING"
)
FIND: Final = "SELECT id, head FROM {schema}study WHERE name = {value}"
SINCE: Final = _EVENT + " AND seq >= {value} ORDER BY seq"
SLICE: Final = _EVENT + " AND seq > {value} ORDER BY seq LIMIT {value}"
OF: Final = _EVENT + " AND decision = {value} ORDER BY seq"
KEYED: Final = _EVENT + " AND key = {value}"
SNAPSHOT: Final = "SELECT seq, body FROM {schema}snapshot WHERE study = {value}"
KEEP: Final = (
    "INSERT INTO {schema}snapshot AS old VALUES ({value}, {value}, {value}) ON CONFLICT (study)"
    " DO UPDATE SET seq = excluded.seq, body = excluded.body WHERE excluded.seq >= old.seq"
)


def check_version(where: str, found: int) -> None:
    """Refuse a database of a version that this package does not know."""
    if found > len(STEPS):
        raise ValueError(
            f"storage must have a schema of version at most {len(STEPS)}, got {found}: {where} was "
            "written by a newer Keyhole, which opens it; nothing was changed"
        )


def walk(execute: Callable[[str], object], found: int, words: Mapping[str, str]) -> None:
    """Take the steps that a database of version `found` lacks."""
    for step in STEPS[found:]:
        for statement in step:
            execute(statement.format_map(words))
