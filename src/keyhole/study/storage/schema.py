"""Schema migrations, and the SQL shared by SQLite and PostgreSQL.

Version n is the result of the first n steps. A released step is never changed; a new one is
appended. An older database is migrated when it is opened, in one transaction.
"""

from collections.abc import Callable, Mapping
from typing import Final

OLDEST: Final = 3
"""The version of 0.2.0; earlier ones were not published."""

STEPS: Final[list[tuple[str, ...]]] = [
    (),  # versions 1 and 2 were not published
    (),
    (
        "CREATE TABLE {schema}study (id {identity} PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
        " at {float} NOT NULL, head {bytes} NOT NULL, digest {bytes})",
        "CREATE TABLE {schema}event (study {integer} NOT NULL, seq {integer} NOT NULL,"
        " kind {integer} NOT NULL, decision TEXT, key TEXT, at {float} NOT NULL,"
        " body {bytes} NOT NULL, digest {bytes} NOT NULL, PRIMARY KEY (study, seq)){clustered}",
        "CREATE INDEX event_decision ON {schema}event (study, decision) WHERE decision IS NOT NULL",
        "CREATE UNIQUE INDEX event_key ON {schema}event (study, key) WHERE key IS NOT NULL",
        "CREATE TABLE {schema}snapshot (study {integer} PRIMARY KEY, seq {integer} NOT NULL,"
        " body {bytes} NOT NULL, digest {bytes})",
        "CREATE TABLE {schema}tail (study {integer} PRIMARY KEY, seq {integer} NOT NULL)",
    ),
    # No part of the chain of digests, so that it can be erased.
    (
        "CREATE TABLE {schema}metadata (study {integer} NOT NULL, seq {integer} NOT NULL,"
        " body TEXT NOT NULL, PRIMARY KEY (study, seq)){clustered}",
    ),
    (  # keys of `keyhole serve`
        "CREATE TABLE {schema}api_key (digest TEXT PRIMARY KEY, who TEXT NOT NULL,"
        " access TEXT NOT NULL, studies TEXT NOT NULL, until {float} NOT NULL)",
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
METADATA: Final = (
    "SELECT seq, body FROM {schema}metadata WHERE study = {value} AND seq > {value}"
    " AND seq <= {value}"
)
ERASE_METADATA: Final = "DELETE FROM {schema}metadata WHERE study = {value}"
ERASE_METADATA_OF: Final = (
    ERASE_METADATA + " AND seq IN (SELECT seq FROM {schema}event WHERE study = {value}"
    " AND decision = {value})"
)
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
DELETE_EVENTS: Final = "DELETE FROM {schema}event WHERE study = {value}"
DELETE_SNAPSHOT: Final = "DELETE FROM {schema}snapshot WHERE study = {value}"
DELETE_TAIL: Final = "DELETE FROM {schema}tail WHERE study = {value}"
DELETE_DEFINITION: Final = "DELETE FROM {schema}study WHERE id = {value}"
DELETIONS: Final = (
    DELETE_EVENTS, ERASE_METADATA, DELETE_SNAPSHOT, DELETE_TAIL, DELETE_DEFINITION
)  # fmt: skip
"""The statements that delete all rows of a study."""

API_KEYS: Final = "SELECT digest, who, access, studies, until FROM {schema}api_key ORDER BY who"
ADD_API_KEY: Final = (
    "INSERT INTO {schema}api_key (digest, who, access, studies, until)"
    " VALUES ({value}, {value}, {value}, {value}, {value})"
)
END_API_KEY: Final = "UPDATE {schema}api_key SET until = {value} WHERE digest = {value}"


def check_version(where: str, version: int) -> None:
    """Refuse a database with another schema than this package knows."""
    if version > len(STEPS):
        raise ValueError(
            f"storage must have a schema of version at most {len(STEPS)}, got {version}: {where} "
            "was written by a newer Keyhole, which opens it; nothing was changed"
        )
    if 0 < version < OLDEST:
        raise ValueError(
            f"storage must have a schema of version {OLDEST} or later, got {version}: {where} was "
            "written by a Keyhole before 0.2.0, which was not published; nothing was changed"
        )


def migrate(execute: Callable[[str], object], version: int, dialect: Mapping[str, str]) -> None:
    """Run the migrations that a database of this version lacks."""
    for step in STEPS[version:]:
        for statement in step:
            execute(statement.format_map(dialect))


def format_queries(dialect: Mapping[str, str]) -> dict[str, str]:
    """Return the queries of this module in a dialect of SQL, by their templates."""
    texts = (text for name, text in globals().items() if name.isupper() and isinstance(text, str))
    return {text: text.format_map(dialect) for text in texts}
