"""Rows of the log of a study (a policy that decides for real), each an event, and query results."""

from typing import Any, Final, NamedTuple

LONGEST: Final = 500
"""Characters of a key, or of a study's name: an entry of PostgreSQL's indexes has 2,700 bytes."""


class Row(NamedTuple):
    """An event of a study.

    Attributes
    ----------
    seq
        Its number in the study's log.
    kind
        The kind of event, as numbered in `keyhole.study.events`.
    decision
        The id of its decision.
    key
        The client's idempotency key, unique within a study.
    at
        Seconds since 1970 (UTC). It does not order events.
    body
        The rest, packed.
    """

    seq: int
    kind: int
    decision: str | None
    key: str | None
    at: float
    body: bytes


Record = tuple[Any, ...]
"""The values of a row, then its digest."""


class QueryResult(NamedTuple):
    """Rows, the version of the schema, and the digest of the study's definition (its identity)."""

    version: int
    identity: bytes | None  # None where there is no such study
    rows: list[Record]
