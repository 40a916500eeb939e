"""Rows of a study, and what a database finds of them."""

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
        What happened, in the study's numbering of kinds.
    decision
        The decision that it is about.
    key
        What the client calls its request; no two rows of a study have the same.
    at
        When, in seconds since 1970 (UTC). It orders nothing.
    body
        The rest.
    """

    seq: int
    kind: int
    decision: str | None
    key: str | None
    at: float
    body: bytes


Record = tuple[Any, ...]
"""The values of a row, then its digest."""


class Found(NamedTuple):
    """The version of a database, and of a study in it: the digest of its definition, and rows."""

    version: int
    identity: bytes | None  # None where there is no such study
    rows: list[Record]
