"""Schema migrations, and the SQL shared by SQLite and PostgreSQL.

Version n is the result of the first n steps. A released step is never changed; a new one is
appended. An older database is migrated when it is opened, in one transaction.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from keyhole.study.storage.digest_chain import digest_of_definition, make_digests

Execute = Callable[..., Any]
"""Runs a statement of `schema` with values for its placeholders; returns a cursor."""

_BATCH: Final = 4096  # events that are read together

_READ: Final = (
    "SELECT seq, kind, decision, key, at, body FROM {schema}event_2"
    " WHERE study = {value} AND seq > {value} ORDER BY seq LIMIT {value}"
)
_WRITE: Final = (
    "INSERT INTO {schema}event (study, seq, kind, decision, key, at, body, digest)"
    " VALUES ({value}, {value}, {value}, {value}, {value}, {value}, {value}, {value})"
)


def _add_digests(execute: Execute) -> None:
    """Copy the events of version 2 (`event_2`) to `event`, adding digests."""
    studies = execute("SELECT id, name, at, head FROM {schema}study").fetchall()
    for study, name, at, definition in studies:
        digest = digest_of_definition(name, at, definition)
        execute("UPDATE {schema}study SET digest = {value} WHERE id = {value}", (digest, study))
        # In batches: a log may be larger than memory.
        last = 0
        while rows := execute(_READ, (study, last, _BATCH)).fetchall():
            try:
                digests = make_digests(digest, rows)
            except ValueError as error:
                raise ValueError(f"study {name!r} has a damaged event: {error}") from error
            for row, digest in zip(rows, digests, strict=True):
                execute(_WRITE, (study, *row, digest))
            last = rows[-1][0]
        execute("INSERT INTO {schema}tail VALUES ({value}, {value})", (study, last))
    execute(
        "UPDATE {schema}snapshot SET digest = (SELECT digest FROM {schema}event AS e"
        " WHERE e.study = {schema}snapshot.study AND e.seq = {schema}snapshot.seq)"
    )


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
    # Version 2: notes may follow feedback in a body, which older readers cannot parse.
    (),
    # Version 3: each event has a digest, chained to the one before. The table is created anew, so
    # that a process that still has version 2 open cannot add an event without a digest.
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
        _add_digests,
        "DROP TABLE {schema}event_2",
        "CREATE INDEX event_decision ON {schema}event (study, decision) WHERE decision IS NOT NULL",
        "CREATE UNIQUE INDEX event_key ON {schema}event (study, key) WHERE key IS NOT NULL",
    ),
]

_EVENT: Final = (
    "SELECT seq, kind, decision, key, at, body, digest FROM {schema}event WHERE study = {value}"
)
# An event that is looked up by itself is verified with the digest of the one before.
_CHAINED: Final = (
    "SELECT e.seq, e.kind, e.decision, e.key, e.at, e.body, e.digest, b.digest"
    " FROM {schema}event AS e LEFT JOIN {schema}event AS b"
    " ON b.study = e.study AND b.seq = e.seq - 1 WHERE e.study = {value}"
)
STUDIES: Final = "SELECT name, at FROM {schema}study ORDER BY id"
CREATE_STUDY: Final = (
    "INSERT INTO {schema}study (name, at, head, digest) VALUES ({value}, {value}, {value}, {value})"
    " ON CONFLICT (name) DO NOTHING"
)
FIND_STUDY: Final = "SELECT id, name, at, head, digest FROM {schema}study WHERE name = {value}"
STUDY_BY_ID: Final = "SELECT id, name, at, head, digest FROM {schema}study WHERE id = {value}"
DEFINITION_DIGEST: Final = "SELECT digest FROM {schema}study WHERE id = {value}"
EVENTS_AFTER: Final = _EVENT + " AND seq >= {value} ORDER BY seq"
EVENTS_RANGE: Final = _EVENT + " AND seq >= {value} ORDER BY seq LIMIT {value}"
EVENTS_OF_DECISION: Final = _CHAINED + " AND e.decision = {value} ORDER BY e.seq"
EVENT_BY_KEY: Final = _CHAINED + " AND e.key = {value}"
TAIL_SEQ: Final = "SELECT seq FROM {schema}tail WHERE study = {value}"
LAST_SEQ: Final = "SELECT max(seq) FROM {schema}event WHERE study = {value}"
# A snapshot belongs to this log if it has the digest of its last event, and so of all before.
SNAPSHOT: Final = (
    "SELECT s.seq, s.body FROM {schema}snapshot AS s JOIN {schema}event AS e"
    " ON e.study = s.study AND e.seq = s.seq AND e.digest = s.digest WHERE s.study = {value}"
)
SAVE_SNAPSHOT: Final = (
    "INSERT INTO {schema}snapshot AS old (study, seq, body, digest)"
    " SELECT study, seq, {value}, digest FROM {schema}event WHERE study = {value} AND seq = {value}"
    " ON CONFLICT (study) DO UPDATE SET seq = excluded.seq, body = excluded.body,"
    " digest = excluded.digest WHERE excluded.seq >= old.seq"
)


def check_version(where: str, found: int) -> None:
    """Refuse a database with a newer schema than this package knows."""
    if found > len(STEPS):
        raise ValueError(
            f"storage must have a schema of version at most {len(STEPS)}, got {found}: {where} was "
            "written by a newer Keyhole, which opens it; nothing was changed"
        )


def migrate(execute: Callable[..., Any], found: int, dialect: Mapping[str, str]) -> None:
    """Run the migrations that a database of version `found` lacks."""

    def execute_in_dialect(statement: str, *values: Any) -> Any:
        return execute(statement.format_map(dialect), *values)

    for step in STEPS[found:]:
        for statement in step:
            if callable(statement):
                statement(execute_in_dialect)
            else:
                execute_in_dialect(statement)


def format_queries(dialect: Mapping[str, str]) -> dict[str, str]:
    """Return the queries of this module in a dialect of SQL, by their templates."""
    asked = (text for name, text in globals().items() if name.isupper() and isinstance(text, str))
    return {text: text.format_map(dialect) for text in asked}
