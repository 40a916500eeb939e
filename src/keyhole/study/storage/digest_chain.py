"""Digests of a study's events, each computed over the digest of the one before."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import Struct, error
from typing import Final

from keyhole.study.storage.rows import Record, Row

SIZE: Final = 16
"""Bytes of a digest. It detects damage, not forgery."""

_CREATED: Final = Struct("<dqq")  # when, and the lengths of name and definition
_FIXED: Final = Struct("<qqdqqq")  # number, kind, time, and the lengths of what follows
_ABSENT: Final = -1  # the length of a decision or key that an event does not have


def digest_of_definition(name: str, at: float, definition: bytes) -> bytes:
    """Return the digest with which a study's chain begins."""
    words = name.encode()
    return blake2b(
        _CREATED.pack(at + 0.0, len(words), len(definition)) + words + definition, digest_size=SIZE
    ).digest()


def next_digest(before: bytes, row: Row) -> bytes:
    """Return the digest of an event, given that of the event before.

    Raises
    ------
    ValueError
        If a value has the wrong type, which databases do not always prevent.
    """
    try:
        return _digest(before, *row)
    except (error, AttributeError, TypeError, UnicodeError) as reason:
        raise ValueError(f"a value has the wrong type ({reason})") from reason


def _digest(
    before: bytes,
    seq: int,
    kind: int,
    decision: str | None,
    key: str | None,
    at: float,
    body: bytes,
) -> bytes:
    id = b"" if decision is None else decision.encode()
    words = b"" if key is None else key.encode()
    # The lengths come before the texts: otherwise "ab" and "c" would have the digest of "a" and
    # "bc".
    fixed = _FIXED.pack(
        seq,
        kind,
        at + 0.0,  # databases keep no -0.0
        _ABSENT if decision is None else len(id),
        _ABSENT if key is None else len(words),
        len(body),
    )
    return blake2b(b"".join((before, fixed, id, words, body)), digest_size=SIZE).digest()


def make_digests(before: bytes, rows: Iterable[Row]) -> list[bytes]:
    """Return the digests of consecutive events."""
    found = []
    for row in rows:
        before = next_digest(before, row)
        found.append(before)
    return found


def add_row_digests(before: bytes, rows: Sequence[Row]) -> list[Record]:
    """Return rows with their digests, given the digest of the row before."""
    digests = make_digests(before, rows)
    return [(*row, digest) for row, digest in zip(rows, digests, strict=True)]


def explain_damage(before: object, row: Row, digest: object) -> str:
    """Return why a row is not the one that was written; "" if it is."""
    try:
        is_whole = isinstance(before, bytes) and digest == next_digest(before, row)
    except ValueError as reason:
        return str(reason)
    return "" if is_whole else "its checksum does not fit"
