"""The part of a schema migration that SQL cannot express: computing the digests of events."""

from collections.abc import Callable
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


def add_digests(execute: Execute) -> None:
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
            for row, one in zip(rows, digests, strict=True):
                execute(_WRITE, (study, *row, one))
            last, digest = rows[-1][0], digests[-1]
        execute("INSERT INTO {schema}tail VALUES ({value}, {value})", (study, last))
    execute(
        "UPDATE {schema}snapshot SET digest = (SELECT digest FROM {schema}event AS e"
        " WHERE e.study = {schema}snapshot.study AND e.seq = {schema}snapshot.seq)"
    )
