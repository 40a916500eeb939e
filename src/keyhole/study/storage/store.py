"""The interface that every database back end implements: append-only event logs under a lock.

A log has a row for each event, numbered from 1 without gaps. A writer takes the study's lock
(`begin`), reads the rows that others have added, and commits. Writers get the lock in the order of
their requests. If the answer to a commit is lost, only the log says whether the rows were written.

The digest of a row depends on the row and on the digest of the row before. Every row that is read
is compared with its digest. A row that was altered, moved or removed is a `DamagedError`.
"""

import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TypeVar, TypeVarTuple

from keyhole.study.errors import StudyExistsError, UnknownStudyError
from keyhole.study.storage import schema
from keyhole.validation import check_line, check_short_line, short_repr, suggestion

MAX_NAME_LENGTH: Final = 500
"""The most characters of a key or a study's name; an index of PostgreSQL takes no long texts."""
_READ_BATCH_SIZE: Final = 4096  # rows that are read together, about a megabyte
_BEYOND_ALL_ROWS: Final = 2**62  # larger than any number of a row, and any count of rows
_DIGEST_SIZE: Final = 16  # bytes; it detects damage, not forgery

_STUDY_HEADER: Final = struct.Struct("<dqq")  # time, and the lengths of name and definition
_EVENT_HEADER: Final = struct.Struct("<qqdqqq")  # number, kind, time, and the lengths of the rest
_ABSENT: Final = -1  # the length of a decision or key that an event does not have

_Values = TypeVarTuple("_Values")
_Result = TypeVar("_Result")


class StoreError(RuntimeError):
    """The database failed; the store connects again at its next use."""

    later = True
    """Whether the same call may succeed later."""


class DamagedError(StoreError):
    """The database does not hold what was written to it; trying again does not help."""

    later = False


class FinalStoreError(StoreError):
    """The database cannot be used as it is: it was replaced, or needs another address."""

    later = False


class Row(NamedTuple):
    """An event of a study.

    Attributes
    ----------
    seq
        The event's number in the study's log.
    kind
        The number of its kind: see `keyhole.study.events`.
    decision
        The id of the decision that the event is about; None if it is about none.
    key
        The client's idempotency key, unique within a study; None without a key.
    at
        The time in seconds since 1970 (UTC). Events are ordered by `seq`, not by time.
    body
        The values of the event, packed as its kind requires.
    """

    seq: int
    kind: int
    decision: str | None
    key: str | None
    at: float
    body: bytes


Record = tuple[Any, ...]
"""A row of a query's result. For an event: the values of its `Row`, then its digest."""
MetadataRows = Sequence[tuple[int, str]]
"""Pairs of a row's number and its metadata as text."""
_Statement = tuple[str, tuple[object, ...]]
"""The name of a query in `schema.toml`, and the values of its placeholders."""
NO_METADATA: Final[Mapping[int, str]] = MappingProxyType({})


class LogQueryResult(NamedTuple):
    """Rows of a study's log, and what shows whether schema and study are the same as before.

    Attributes
    ----------
    version : int
        The version of the database's schema.
    definition_digest : bytes or None
        The digest of the study's definition; None if there is no such study.
    rows : list of Record
        The rows.
    """

    version: int
    definition_digest: bytes | None
    rows: list[Record]


def digest_of_definition(name: str, created_at: float, definition: bytes) -> bytes:
    """Return the digest of a study's definition, from which the digests of its rows follow."""
    name_bytes = name.encode()
    header = _STUDY_HEADER.pack(created_at + 0.0, len(name_bytes), len(definition))
    return blake2b(header + name_bytes + definition, digest_size=_DIGEST_SIZE).digest()


def next_digest(prior_digest: bytes, row: Row) -> bytes:
    """Return the digest of an event, given the digest of the event before it.

    Raises
    ------
    ValueError
        If a value has the wrong type, as SQLite allows.
    """
    try:
        decision, decision_size = _encode_text(row.decision)
        key, key_size = _encode_text(row.key)
        time = row.at + 0.0  # databases keep no -0.0
        # The header has the lengths of the texts. Otherwise "ab" and "c" would have the same digest
        # as "a" and "bc".
        header = _EVENT_HEADER.pack(row.seq, row.kind, time, decision_size, key_size, len(row.body))
        content = b"".join((prior_digest, header, decision, key, row.body))
    except (struct.error, AttributeError, TypeError, UnicodeError) as reason:
        raise ValueError(f"a value has the wrong type ({reason})") from reason
    return blake2b(content, digest_size=_DIGEST_SIZE).digest()


def _encode_text(text: str | None) -> tuple[bytes, int]:
    """Return a text in UTF-8, and its length; for None no bytes, and `_ABSENT` as the length."""
    if text is None:
        return b"", _ABSENT
    data = text.encode()
    return data, len(data)


def add_row_digests(digest: bytes, rows: Iterable[Row]) -> list[Record]:
    """Return rows with their digests, given the digest of the row before the first."""
    records = []
    for row in rows:
        digest = next_digest(digest, row)
        records.append((*row, digest))
    return records


def _pair_with_metadata(rows: Iterable[Row], metadata: Mapping[int, str]) -> MetadataRows:
    return [(row.seq, metadata[row.seq]) for row in rows if row.seq in metadata]


def explain_damage(prior_digest: object, row: Row, digest: object) -> str:
    """Return why a row is not as it was written; "" if it is."""
    try:
        is_whole = isinstance(prior_digest, bytes) and digest == next_digest(prior_digest, row)
    except ValueError as reason:
        return str(reason)
    return "" if is_whole else "its checksum does not fit"


class Store(ABC):
    """A connection to a database, used by one thread at a time of the process that opened it."""

    dialect: ClassVar[Mapping[str, str]]  # types and placeholders of its SQL
    driver_errors: tuple[type[Exception], ...]  # the errors that a failure of the database raises
    where: str  # the address for error messages, without a password

    def __init__(self) -> None:
        self._process = os.getpid()
        self._sql = schema.translate_queries(self.dialect)
        self._next_seq = 0  # the number of the next row while the lock is held, otherwise 0
        # The name of each study and the digest of its definition, by the study's number.
        self._studies: dict[int, tuple[str, bytes]] = {}
        # The number and the digest of the last row that was read or written, by the study's number.
        self._last_rows: dict[int, tuple[int, bytes]] = {}
        self._refusals: list[str] = []  # reasons why the database is refused from now on

    @abstractmethod
    def connect_another(self) -> "Store":
        """Return another connection to the same database."""

    def _share_studies(self, store: "Store") -> None:
        """Share the known studies and the refusals of another store."""
        self._studies = store._studies
        self._refusals = store._refusals

    def studies(self) -> list[tuple[str, float]]:
        """Return the names of all studies and when they were created, oldest first."""
        return self._select("studies")

    def create(
        self,
        name: str,
        definition: bytes,
        time: float,
        rows: Sequence[Row] = (),
        metadata: Mapping[int, str] = NO_METADATA,
    ) -> int:
        """Add a study with its definition and first rows in one transaction; return its number."""
        self._check_row_numbers(rows, 1)
        check_short_line("name", name, MAX_NAME_LENGTH)
        digest = digest_of_definition(name, time, definition)
        study_record = name, time, definition, digest
        records = add_row_digests(digest, rows)
        if not self._run(self._create, study_record, records, _pair_with_metadata(rows, metadata)):
            raise StudyExistsError(
                f"name must be new, got {short_repr(name)}: there is such a study already; open "
                "it, or choose another name"
            )
        return self.find(name)[0]

    def find(self, name: str) -> tuple[int, bytes]:
        """Return a study's number and definition."""
        records = self._select("find_study", check_line("name", name))
        if not records:
            names = [study_name for study_name, _ in self.studies()]
            hint = suggestion(name, names) if names else "; it has no studies yet"
            raise UnknownStudyError(
                f"name must be a study of the database, got {short_repr(name)}{hint}"
            )
        return self._check_definition(records[0])

    def delete(self, study: int) -> None:
        """Delete a study. Programs that have it open get a `FinalStoreError` from then on."""
        self._execute_with_lock(study, *((query, (study,)) for query in schema.DELETIONS))

    def _check_definition(self, record: tuple[int, str, float, bytes, bytes]) -> tuple[int, bytes]:
        """Compare a definition with its digest; return the study's number and the definition."""
        study, name, created_at, definition, digest = record
        try:
            expected_digest = digest_of_definition(name, created_at, definition)
        except (AttributeError, TypeError, UnicodeError):
            expected_digest = b""
        if digest != expected_digest:
            raise DamagedError(
                f"the definition of study {short_repr(name)} in {self.where} is damaged: "
                "put a copy of the database in its place"
            )
        self._studies[study] = name, digest
        return study, definition

    def _name_and_digest(self, study: int) -> tuple[str, bytes]:
        """Return a study's name, and the digest of its definition."""
        if study not in self._studies:
            records = self._select("study_by_id", study)
            if not records:
                raise DamagedError(f"{self.where}: study {study} is missing")
            self._check_definition(records[0])
        return self._studies[study]

    def begin(self, study: int, after: int) -> list[Row]:
        """Wait for the study's lock and take it; return the study's rows after number `after`."""
        result = self._run(self._lock, study, after)
        new_rows = [] if result is None else self._verify_new_rows(study, after, result)
        self._next_seq = (new_rows[-1].seq if new_rows else after) + 1
        return new_rows

    def _execute_with_lock(self, study: int, *statements: _Statement) -> int:
        """Execute and commit statements with a study's lock; refuse a deleted or replaced study.

        Returns
        -------
        int
            The number of rows that the statements have inserted, updated or deleted.
        """
        result = self._run(self._lock, study, _BEYOND_ALL_ROWS)
        assert result is not None  # `_lock` returns None only for the last row that was read
        self._check_study(study, result)
        return self._run(self._execute_and_commit, statements)

    def has_lock(self) -> bool:
        """Return whether the lock that `begin` took is still held; every failure releases it."""
        return self._next_seq > 0

    def events_after(self, study: int, after: int) -> list[Row]:
        """Return the rows of a study after number `after`, without the lock."""
        return self._verify_new_rows(study, after, self._run(self._events_from, study, after))

    def check_not_replaced(self, study: int) -> None:
        """Refuse a study that was replaced by another study, or lacks the last row that was read.

        Call this before the log is read from the beginning, since such a read would not notice the
        replacement.
        """
        last_seq, digest = self._last_rows.get(study, (0, b""))
        # If no row has been read, only the digest of the definition and the version are compared.
        result = self._run(self._events_from, study, last_seq or _BEYOND_ALL_ROWS)
        self._check_study(study, result)
        if last_seq and (not result.rows or result.rows[0][-1] != digest):
            self._refuse_replaced(study, last_seq)

    def _check_study(self, study: int, result: LogQueryResult) -> None:
        """Refuse another study with this number, and another version of the schema."""
        if result.version != len(schema.MIGRATIONS):
            self.rollback()
        self._check_version(result.version)
        if study in self._studies and result.definition_digest != self._studies[study][1]:
            self._refuse_replaced(study)

    def _check_version(self, version: int) -> None:
        if version != len(schema.MIGRATIONS):
            raise FinalStoreError(
                f"{self.where} has been brought to version {version} of its schema since it was "
                f"opened, and this Keyhole knows {len(schema.MIGRATIONS)}: use the newer one"
            )

    def _refuse_replaced(self, study: int, seq: int | None = None) -> NoReturn:
        """Refuse the database from now on: it has been replaced."""
        self.rollback()
        change = f"event {seq} of study {study} had been read and is missing"
        if seq is None:
            change = f"study {study} is no longer {short_repr(self._studies[study][0])}"
        advice = (
            "if it was deleted, or if another database or an older copy has taken its place, open "
            "the study again"
        )
        message = f"{self.where}: {change}; {advice}"
        if study in self._studies:
            self._refusals.append(message)
        raise FinalStoreError(message)

    def _verify_new_rows(self, study: int, after: int, result: LogQueryResult) -> list[Row]:
        """Verify and return the rows after number `after`.

        If `after` is above 0, the result must begin with row `after` itself.
        """
        self._check_study(study, result)
        records = result.rows
        if after > 0 and (not records or records[0][0] != after):
            # This process has read row `after`, but the log lacks it. So the file was replaced by
            # an older copy, and a new row would get the number of a lost row.
            self._refuse_replaced(study, after)
        last_seq, last_digest = self._last_rows.get(study, (0, b""))
        if last_seq == after > 0 and records[0][-1] != last_digest:
            self.raise_damaged(study, after, "it differs from the event that was read before")
        rows = list(self._verify_rows(study, after, records))
        digest = records[-1][-1] if records else self._name_and_digest(study)[1]
        self._last_rows[study] = after + len(rows), digest
        return rows

    def _verify_rows(self, study: int, after: int, records: list[Record]) -> Iterator[Row]:
        """Yield the rows after number `after`, verified.

        If `after` is above 0, the records begin with row `after` itself.
        """
        digest = records[0][-1] if after > 0 else self._name_and_digest(study)[1]
        for seq, record in enumerate(records[min(after, 1) :], after + 1):
            if record[0] != seq:
                self.raise_damaged(study, seq, "it is missing")
            yield self._verify_row(study, Row._make(record[:-1]), digest, record[-1])
            digest = record[-1]

    def _verify_row(self, study: int, row: Row, prior_digest: object, digest: object) -> Row:
        """Return a row; refuse it if its digest does not follow from the prior row's digest."""
        if why := explain_damage(prior_digest, row, digest):
            self.raise_damaged(study, row.seq, why)
        return row

    def raise_damaged(self, study: int, event_or_decision: int | str, why: str) -> NoReturn:
        """Release the lock, and raise an error that names the damaged event or decision."""
        self.rollback()
        noun = "event" if isinstance(event_or_decision, int) else "decision"
        raise DamagedError(
            f"{noun} {event_or_decision} of study {short_repr(self._name_and_digest(study)[0])} in "
            f"{self.where} is damaged: {why}; `keyhole study check` says what is whole, and saves "
            "it"
        )

    def commit(
        self, study: int, rows: Sequence[Row], metadata: Mapping[int, str] = NO_METADATA
    ) -> None:
        """Append rows, all or none, and release the lock. When this returns, they are durable.

        `metadata` has texts by the numbers of rows; texts for other rows are ignored. Without rows
        only the lock is released.
        """
        if not rows:
            self.rollback()
            return
        if not self._next_seq:
            raise RuntimeError("commit needs the lock, which begin takes")
        self._check_row_numbers(rows, self._next_seq)
        # The lock counts as released before the attempt: if the connection breaks during the
        # commit, the rows may or may not be written, and the caller must read the log again.
        self._next_seq = 0
        records = add_row_digests(self._last_rows[study][1], rows)
        self._run(self._add_rows, study, records, _pair_with_metadata(rows, metadata))
        self._last_rows[study] = rows[-1].seq, records[-1][-1]

    def _check_row_numbers(self, rows: Sequence[Row], first_seq: int) -> None:
        for seq, row in enumerate(rows, first_seq):
            if row.seq != seq:
                self.rollback()
                raise ValueError(f"seq must be {seq}, got {short_repr(row.seq)}")

    def rollback(self) -> None:
        """Roll back and release the lock; do nothing if it is not held."""
        self._next_seq = 0
        try:
            self._rollback_and_unlock()
        except self.driver_errors:
            self._drop_connection()  # closing a connection rolls back

    def read(self, study: int, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield the rows after number `after`, at most `limit`, without the lock.

        No cursor or lock is held between two rows, so the caller may take long, or stop.
        """
        # The number of the last row is read first, to notice rows that are missing at the end. Rows
        # that others add meanwhile have higher numbers.
        tail = 0
        if limit is None:
            tail = self._tail_seq(study)
            limit = _BEYOND_ALL_ROWS
        while limit > 0:
            batch_size = min(limit, _READ_BATCH_SIZE)
            # A batch begins with row `after`, whose digest the next row needs; there is no row 0.
            extra_count = min(after, 1)
            # Each batch is read in its own transaction, since a long transaction would keep SQLite
            # from reusing its write-ahead log.
            records = self._select("events_range", study, after, batch_size + extra_count)
            if records and after > 0 and records[0][0] != after:
                self.raise_damaged(study, after, "it is missing")
            if len(records) <= extra_count:
                break
            yield from self._verify_rows(study, after, records)
            after = records[-1][0]
            limit -= batch_size
        if after < tail:
            self.raise_damaged(study, after + 1, "it is missing")

    def check_tail(self, study: int) -> int:
        """Refuse a study that lacks its last rows; return the number of its last row."""
        tail = self._tail_seq(study)
        if tail > 0 and not self._select("events_range", study, tail, 1):
            last = self._select("last_seq", study)[0][0] or 0
            self.raise_damaged(study, last + 1, f"it and all after it are missing, up to {tail}")
        return tail

    def _tail_seq(self, study: int) -> int:
        """Return the number of the last row, which the table `tail` holds."""
        records = self._select("tail_seq", study)
        if not records or not isinstance(records[0][0], int):
            raise DamagedError(f"{self.where}: the number of events of study {study} is damaged")
        return int(records[0][0])

    def highest_seq(self, study: int) -> int:
        """Return the highest number of a row that was written, even if the row is missing."""
        records = self._select("last_seq", study) + self._select("tail_seq", study)
        return max((row[0] for row in records if isinstance(row[0], int)), default=0)

    def events_of_decision(self, study: int, decision: str) -> list[Row]:
        """Return the events of a decision."""
        return self._verify_lookup(study, self._select("events_of_decision", study, decision))

    def find_by_key(self, study: int, key: str) -> Row | None:
        """Return the event that has an idempotency key."""
        records = self._select("event_by_key", study, key)
        return next(iter(self._verify_lookup(study, records)), None)

    def _verify_lookup(self, study: int, records: list[Record]) -> list[Row]:
        """Verify and return rows; a record ends with the digests of its row and the row before."""
        rows = []
        for *values, digest, prior_digest in records:
            if values[0] == 1:
                prior_digest = self._name_and_digest(study)[1]
            rows.append(self._verify_row(study, Row._make(values), prior_digest, digest))
        return rows

    def snapshot(self, study: int) -> tuple[int, bytes] | None:
        """Return the number of the snapshot's last event, and the snapshot; None without one."""
        return next(iter(self._select("snapshot", study)), None)

    def save_snapshot(self, study: int, seq: int, body: bytes) -> None:
        """Replace the study's snapshot, unless it has a later snapshot already."""
        self._execute_with_lock(study, ("save_snapshot", (body, study, seq)))

    def metadata(self, study: int, after: int = 0, until: int = _BEYOND_ALL_ROWS) -> dict[int, str]:
        """Return the metadata of the rows after row `after` up to row `until`, by their numbers."""
        return dict(self._select("metadata", study, after, until))

    def erase_metadata(self, study: int, decisions: Sequence[str] | None) -> int:
        """Erase the metadata of decisions, or of all if None; return how many events had any."""
        if decisions is None:
            return self._execute_with_lock(study, ("erase_metadata", (study,)))
        statements = (("erase_metadata_of", (study, study, id)) for id in decisions)
        return self._execute_with_lock(study, *statements)

    def api_keys(self) -> list[tuple[str, str, str, str, float]]:
        """Return digest, owner, right, pattern of studies and end of each API key."""
        return self._select("api_keys")

    def add_api_key(self, values: tuple[str, str, str, str, float]) -> None:
        """Add an API key, given as `api_keys` returns it."""
        self._run(self._write, "add_api_key", values)

    def end_api_key(self, digest: str, time: float) -> None:
        """Let an API key end at a time."""
        self._run(self._write, "end_api_key", (time, digest))

    def _write(self, query: str, values: tuple[object, ...]) -> None:
        """Execute a query, given by its name, in a transaction that needs no lock of a study."""
        self._begin_write()
        self._execute_and_commit([(query, values)])

    def _execute_and_commit(self, statements: Iterable[_Statement]) -> int:
        """Execute statements and commit; return the number of changed rows."""
        db = self._connect_if_needed()
        count = sum(db.execute(self._sql[query], values).rowcount for query, values in statements)
        self._commit()
        return int(count)

    def find_page_damage(self) -> str:
        """Return a line that describes damaged pages and indexes; "" if there are none."""
        return ""

    def copy(self, path: Path) -> None:
        """Write a consistent copy of the whole database to a new SQLite file."""
        self._run(self._copy_to_sqlite, path)

    def close(self) -> None:
        """Close the connection; an unfinished transaction is rolled back."""
        self._drop_connection()

    def _select(self, query: str, *values: object) -> list[Record]:
        """Return the rows of a query, given by its name, without the lock."""
        return self._run(self._query, self._sql[query], values)

    def _run(self, operation: Callable[[*_Values], _Result], *values: *_Values) -> _Result:
        """Return the result of an operation; if it fails, roll back and explain the error."""
        if self._process != os.getpid():
            raise StoreError(
                f"{self.where} was opened by another process: open it again in this one"
            )
        if self._refusals:
            raise FinalStoreError(self._refusals[0])
        try:
            return operation(*values)
        except self.driver_errors as error:
            self._drop_connection()
            error_class, reason = self._explain_error(error)
            raise error_class(f"{self.where}: {' '.join(reason.split())}") from error
        except BaseException:
            # Interrupts included: if the lock stayed held, no other writer could go on.
            self.rollback()
            raise

    @abstractmethod
    def _query(self, sql: str, values: tuple[object, ...]) -> list[Record]:
        """Return the rows of a query, without the lock."""

    def _create(
        self, study: tuple[object, ...], rows: Sequence[Record], metadata: MetadataRows
    ) -> bool:
        """Add a study and its rows in one transaction; return whether the name was new."""
        db = self._begin_write()
        if not db.execute(self._sql["create_study"], study).rowcount:
            self._rollback_and_unlock()
            return False
        number, *_ = db.execute(self._sql["find_study"], study[:1]).fetchone()
        self._add_rows(number, rows, metadata)
        return True

    @abstractmethod
    def _connect_if_needed(self) -> Any:
        """Return the connection; after a failure, a new one."""

    @abstractmethod
    def _begin_write(self) -> Any:
        """Begin a write transaction that needs no lock of a study; return the connection."""

    @abstractmethod
    def _commit(self) -> object:
        """Commit, and release the lock."""

    @abstractmethod
    def _lock(self, study: int, first_seq: int) -> LogQueryResult | None:
        """Begin a transaction with the lock of a study; return its rows from `first_seq` on.

        The result may be None if row `first_seq` is the last row that this store has read or
        written, and still the last row of the log.
        """

    @abstractmethod
    def _events_from(self, study: int, first_seq: int) -> LogQueryResult:
        """Return the rows of a study from number `first_seq` on, without the lock."""

    @abstractmethod
    def _add_rows(self, study: int, rows: Sequence[Record], metadata: MetadataRows) -> None:
        """Insert rows and metadata, write the number of the last row (0 if none), and commit."""

    @abstractmethod
    def _copy_to_sqlite(self, path: Path) -> None:
        """Write all tables to a new SQLite file."""

    @abstractmethod
    def _rollback_and_unlock(self) -> None:
        """Roll back, if a transaction is open."""

    @abstractmethod
    def _drop_connection(self) -> None:
        """Drop the connection, and with it the lock."""

    @abstractmethod
    def _explain_error(self, error: Exception) -> tuple[type[StoreError], str]:
        """Return the class of the error to raise for an error of the driver, and its message."""
