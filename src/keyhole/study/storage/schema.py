"""The tables as steps that lead to them, and what is asked of them, in words of either database.

Version n is what the first n steps make. A step that was released is never changed: the next is
added below it. A database of an older version is walked up when it is opened, in one transaction.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from keyhole.study.storage.migration import Execute, add_digests

Step = tuple[str | Callable[[Execute], None], ...]

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
    # Version 3: each event has a checksum, chained to the one before. The table is made anew, so
    # that whoever still has the older version open can add no event without one.
    (
        "DROP INDEX {schema}event_decision",
        "DROP INDEX {schema}event_key",
        "ALTER TABLE {schema}event RENAME TO event_2",
        "CREATE TABLE {schema}event (study {integer} NOT NULL, seq {integer} NOT NULL,"
        " kind {integer} NOT NULL, decision TEXT, key TEXT, at {float} NOT NULL,"
        " body {bytes} NOT NULL, digest {bytes} NOT NULL, PRIMARY KEY (study, seq)){clustered}",
        "ALTER TABLE {schema}study ADD COLUMN digest {bytes}",
        "ALTER TABLE {schema}snapshot ADD COLUMN digest {bytes}",
        "CREATE TABLE {schema}tail (study {integer} PRIMARY KEY, seq {integer} NOT NULL)",
        add_digests,
        "DROP TABLE {schema}event_2",
        "CREATE INDEX event_decision ON {schema}event (study, decision) WHERE decision IS NOT NULL",
        "CREATE UNIQUE INDEX event_key ON {schema}event (study, key) WHERE key IS NOT NULL",
    ),
]

_EVENT: Final = (
    "SELECT seq, kind, decision, key, at, body, digest FROM {schema}event WHERE study = {value}"
)
# An event looked up on its own, with the digest of the one before.
_CHAINED: Final = (
    "SELECT e.seq, e.kind, e.decision, e.key, e.at, e.body, e.digest, b.digest"
    " FROM {schema}event AS e LEFT JOIN {schema}event AS b"
    " ON b.study = e.study AND b.seq = e.seq - 1 WHERE e.study = {value}"
)
STUDIES: Final = "SELECT name, at FROM {schema}study ORDER BY id"
CREATE: Final = (
    "INSERT INTO {schema}study (name, at, head, digest) VALUES ({value}, {value}, {value}, {value})"
    " ON CONFLICT (name) DO NOTHING"
)
FIND: Final = "SELECT id, name, at, head, digest FROM {schema}study WHERE name = {value}"
STUDY: Final = "SELECT id, name, at, head, digest FROM {schema}study WHERE id = {value}"
IDENTITY: Final = "SELECT digest FROM {schema}study WHERE id = {value}"
SINCE: Final = _EVENT + " AND seq >= {value} ORDER BY seq"
SLICE: Final = _EVENT + " AND seq >= {value} ORDER BY seq LIMIT {value}"
OF: Final = _CHAINED + " AND e.decision = {value} ORDER BY e.seq"
KEYED: Final = _CHAINED + " AND e.key = {value}"
TAIL: Final = "SELECT seq FROM {schema}tail WHERE study = {value}"
LAST: Final = "SELECT max(seq) FROM {schema}event WHERE study = {value}"
# A snapshot is of the events that it was made of: those whose digest it has.
SNAPSHOT: Final = (
    "SELECT s.seq, s.body FROM {schema}snapshot AS s JOIN {schema}event AS e"
    " ON e.study = s.study AND e.seq = s.seq AND e.digest = s.digest WHERE s.study = {value}"
)
KEEP: Final = (
    "INSERT INTO {schema}snapshot AS old (study, seq, body, digest)"
    " SELECT study, seq, {value}, digest FROM {schema}event WHERE study = {value} AND seq = {value}"
    " ON CONFLICT (study) DO UPDATE SET seq = excluded.seq, body = excluded.body,"
    " digest = excluded.digest WHERE excluded.seq >= old.seq"
)


def check_version(where: str, found: int) -> None:
    """Refuse a database of a version that this package does not know."""
    if found > len(STEPS):
        raise ValueError(
            f"storage must have a schema of version at most {len(STEPS)}, got {found}: {where} was "
            "written by a newer Keyhole, which opens it; nothing was changed"
        )


def migrate(execute: Callable[..., Any], found: int, words: Mapping[str, str]) -> None:
    """Take the steps that a database of version `found` lacks."""

    def spoken(statement: str, *values: Any) -> Any:
        return execute(statement.format_map(words), *values)

    for step in STEPS[found:]:
        for statement in step:
            if callable(statement):
                statement(spoken)
            else:
                spoken(statement)


def format_version(words: Mapping[str, str]) -> dict[str, str]:
    """Return what is asked, by its text here, in the words of a database."""
    asked = (text for name, text in globals().items() if name.isupper() and isinstance(text, str))
    return {text: text.format_map(words) for text in asked}
