"""What a store promises, whatever database is below it.

A study is a log: rows numbered from 1 without gaps. To add to it is to take its lock, read what
others have added, and commit; who waits for the lock gets it in turn. What was committed stays.
What was not is nowhere, but for one case: if the answer to a commit is lost, the log alone knows.

Each row has a checksum, chained to that of the row before. All that is read is compared with it:
a row that was altered, moved or removed is a `DamagedError`.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from keyhole.study.storage import schema
from keyhole.study.storage.digest_chain import add_row_digests, digest_of_definition, explain_damage
from keyhole.study.storage.errors import DamagedError, FinalStoreError, StoreError
from keyhole.study.storage.rows import LONGEST, Found, Record, Row
from keyhole.validate import check_line, check_short_line, short_repr, suggestion

_AT_ONCE: Final = 4096  # rows that are read together: a megabyte or so
_NO_ROWS: Final = 2**62  # the number of no row

_T = TypeVar("_T")


class Store(ABC):
    """One connection to one database, for one thread at a time, in the process that made it."""

    words: ClassVar[Mapping[str, str]]  # of its SQL
    failures: tuple[type[Exception], ...]  # what its driver raises
    where: str  # the address, as errors show it: without a password

    def __init__(self) -> None:
        self._process = os.getpid()
        self._sql = schema.format_version(self.words)  # what is asked
        self._next = 0  # the number after the last one, while the lock is held
        self._starts: dict[int, tuple[str, bytes]] = {}  # names, and digests of definitions
        self._ends: dict[int, tuple[int, bytes]] = {}  # the last rows that were read, and digests
        self._lost: dict[int, str] = {}  # studies that are not used any more, and why
        self._gone: list[str] = []  # why the database is not used any more, if so

    @abstractmethod
    def another(self) -> "Store":
        """Return another connection to the same database, which expects the same of it."""

    def _adopt(self, other: "Store") -> None:
        """Expect the studies that another store has found, and refuse what it refuses."""
        self._starts, self._lost, self._gone = other._starts, other._lost, other._gone

    def studies(self) -> list[tuple[str, float]]:
        """Return the names of all studies and when they were created, oldest first."""
        return self._ask(schema.STUDIES)

    def create(self, name: str, head: bytes, at: float, rows: Sequence[Row] = ()) -> int:
        """Add a study of a new name, with what never changes of it; return its number.

        The rows that it begins with are there as soon as it is.
        """
        self._check_numbers(rows, 1)
        start = digest_of_definition(check_short_line("name", name, LONGEST), at, head)
        if not self._try(self._create, (name, at, head, start), add_row_digests(start, rows)):
            raise ValueError(
                f"name must be new, got {short_repr(name)}: there is such a study already; open "
                "it, or choose another name"
            )
        return self.find(name)[0]

    def find(self, name: str) -> tuple[int, bytes]:
        """Return a study's number and what it was created with."""
        found = self._ask(schema.FIND, check_line("name", name))
        if not found:
            names = [known for known, _ in self.studies()]
            there = suggestion(name, names) or ("" if names else "; there is none yet")
            raise ValueError(f"name must be a study of {self.where}, got {short_repr(name)}{there}")
        return self._check_definition(found[0])

    def _check_definition(self, found: tuple[int, str, float, bytes, bytes]) -> tuple[int, bytes]:
        """Return a study's number and definition, compared with its checksum."""
        study, name, at, head, digest = found
        try:
            expected = digest_of_definition(name, at, head)
        except (AttributeError, TypeError, UnicodeError):
            expected = b""
        if digest != expected:
            raise DamagedError(
                f"the definition of study {short_repr(name)} in {self.where} is damaged; what it "
                "was is not known: put a copy of the database in its place"
            )
        self._starts[study] = name, digest
        return study, head

    def _start(self, study: int) -> tuple[str, bytes]:
        """Return a study's name, and the digest with which its chain begins."""
        if study not in self._starts:
            found = self._ask(schema.STUDY, study)
            if not found:
                raise DamagedError(f"{self.where}: study {study} is missing")
            self._check_definition(found[0])
        return self._starts[study]

    def begin(self, study: int, after: int) -> list[Row]:
        """Wait for the lock of a study in turn, and return its rows after number `after`."""
        self._check_kept(study)
        news = self._joined(study, after, self._try(self._lock, study, after))
        self._next = (news[-1].seq if news else after) + 1
        return news

    def has_lock(self) -> bool:
        """Return whether what `begin` took has not been given back, as any failure does."""
        return self._next > 0

    def events_after(self, study: int, after: int) -> list[Row]:
        """Return the rows of a study after number `after`, without the lock."""
        self._check_kept(study)
        return self._joined(study, after, self._try(self._events_after, study, after))

    def check(self, study: int) -> None:
        """Refuse to go on if a study is not the one that was found, or has lost rows.

        Whoever reads it anew would believe another study, or an older copy.
        """
        self._check_kept(study)
        last, digest = self._ends.get(study, (0, b""))
        found = self._try(self._events_after, study, last or _NO_ROWS)
        self._check_study(study, found)
        if last and (not found.rows or found.rows[0][-1] != digest):
            self._lose(study, last)

    def _check_study(self, study: int, found: Found) -> None:
        """Refuse another study than the one that was found, and a database of another version."""
        if found.version != len(schema.STEPS):
            self.rollback()
        self._check_version(found.version)
        if study in self._starts and found.identity != self._starts[study][1]:
            self._lose(study)

    def _check_version(self, version: int) -> None:
        if version != len(schema.STEPS):
            raise FinalStoreError(
                f"{self.where} has been brought to version {version} of its schema since it was "
                f"opened, and this Keyhole knows {len(schema.STEPS)}: go on with the newer one"
            )

    def _lose(self, study: int, row: int | None = None) -> NoReturn:
        """Never use a study again: the database has become another."""
        self.rollback()
        lost = f"row {row} of study {study} was there and is not"
        if row is None:
            lost = f"study {study} is no longer the {short_repr(self._starts[study][0])} of before"
        lost = (
            f"{self.where}: {lost}; if another database or an older copy was put in place, "
            "open the study again"
        )
        if study in self._starts:
            self._lost[study] = lost
        raise FinalStoreError(lost)

    def _check_kept(self, study: int) -> None:
        """Refuse a study of which it is known that the database has become another."""
        if study in self._lost:
            raise FinalStoreError(self._lost[study])

    def _joined(self, study: int, after: int, what: Found) -> list[Row]:
        """Return rows after number `after`, if those found begin with it."""
        self._check_study(study, what)
        found = what.rows
        if after > 0 and (not found or found[0][0] != after):
            self._lose(study, after)  # or numbers would be given twice
        seen, known = self._ends.get(study, (0, b""))
        if seen == after > 0 and found[0][-1] != known:
            self.damaged(study, after, "it is not the one that was there")
        rows = list(self._checked(study, after, found))
        self._ends[study] = after + len(rows), found[-1][-1] if found else self._start(study)[1]
        return rows

    def _checked(self, study: int, after: int, found: list[Record]) -> Iterator[Row]:
        """Yield rows after number `after`, with which those found begin, as `_compared` does."""
        digest = found[0][-1] if after > 0 else self._start(study)[1]
        for seq, record in enumerate(found[after > 0 :], after + 1):
            if record[0] != seq:
                self.damaged(study, seq, "it is missing")
            yield self._compared(study, record[:-1], digest, record[-1])
            digest = record[-1]

    def _compared(self, study: int, values: Record, before: object, digest: object) -> Row:
        """Return a row, compared with its checksum, given that of the row before."""
        row = Row._make(values)
        if why := explain_damage(before, row, digest):
            self.damaged(study, row.seq, why)
        return row

    def damaged(self, study: int, which: int | str, why: str) -> NoReturn:
        """Give the lock back, and raise the error that says which event or decision is damaged."""
        self.rollback()
        raise DamagedError(
            f"{'event' if isinstance(which, int) else 'decision'} {which} of study "
            f"{short_repr(self._start(study)[0])} in {self.where} is damaged: "
            f"{why}; `keyhole study check` says what is whole, and saves it"
        )

    def commit(self, study: int, rows: Sequence[Row]) -> None:
        """Add rows, all or none, and give the lock back; they are durable when this returns."""
        if not self._next:
            raise RuntimeError("commit needs the lock, which begin takes")
        self._check_numbers(rows, self._next)
        self._next = 0
        last, digest = self._ends[study]
        records = add_row_digests(digest, rows)
        self._try(self._add, study, records, last + len(rows))
        self._ends[study] = last + len(rows), records[-1][-1] if records else digest

    def _check_numbers(self, rows: Sequence[Row], first: int) -> None:
        for seq, row in enumerate(rows, first):
            if row.seq != seq:
                self.rollback()
                raise ValueError(f"seq must be {seq}, got {short_repr(row.seq)}")

    def rollback(self) -> None:
        """Give the lock back with nothing written; where it is not held, do nothing."""
        self._next = 0
        try:
            self._undo()
        except self.failures:
            self._drop()  # which undoes it as well

    def read(self, study: int, after: int = 0, limit: int | None = None) -> Iterator[Row]:
        """Yield rows after number `after`, at most `limit`, without the lock.

        Nothing is held between two rows: a reader may take its time, or stop.
        """
        left, tail = limit, self._tail(study) if limit is None else 0
        while left is None or left > 0:
            size = _AT_ONCE if left is None else min(left, _AT_ONCE)
            found = self._ask(schema.SLICE, study, after, size + (after > 0))
            if found and after > 0 and found[0][0] != after:
                self.damaged(study, after, "it is missing")
            if len(found) <= (after > 0):
                break
            yield from self._checked(study, after, found)
            after = found[-1][0]
            left = None if left is None else left - size
        if after < tail:
            self.damaged(study, after + 1, "it is missing")

    def check_tail(self, study: int) -> int:
        """Return the number of a study's last row, which must be there."""
        tail = self._tail(study)
        if tail > 0 and not self._ask(schema.SLICE, study, tail, 1):
            last = self._ask(schema.LAST, study)[0][0] or 0
            self.damaged(study, last + 1, f"it and all after it are missing, up to {tail}")
        return tail

    def _tail(self, study: int) -> int:
        """Return the number of the last row that was written."""
        found = self._ask(schema.TAIL, study)
        if not found or not isinstance(found[0][0], int):
            raise DamagedError(f"{self.where}: how many events study {study} has is damaged")
        return int(found[0][0])

    def last(self, study: int) -> int:
        """Return the number of the last row that a study has had, whether it is there or not."""
        found = self._ask(schema.LAST, study) + self._ask(schema.TAIL, study)
        return max((row[0] for row in found if isinstance(row[0], int)), default=0)

    def events_of_decision(self, study: int, decision: str) -> list[Row]:
        """Return the rows about a decision."""
        return self._one_by_one(study, self._ask(schema.OF, study, decision))

    def find_by_key(self, study: int, key: str) -> Row | None:
        """Return the row that has a client's key."""
        return next(iter(self._one_by_one(study, self._ask(schema.KEYED, study, key))), None)

    def _one_by_one(self, study: int, found: list[Record]) -> list[Row]:
        """Return rows that were found with the digests of those before them."""
        start = self._start(study)[1]
        return [self._compared(study, r[:-2], start if r[0] == 1 else r[-1], r[-2]) for r in found]

    def snapshot(self, study: int) -> tuple[int, bytes] | None:
        """Return what was last kept, with the number of the last row that is in it."""
        return next(iter(self._ask(schema.SNAPSHOT, study)), None)

    def save_snapshot(self, study: int, seq: int, body: bytes) -> None:
        """Keep a snapshot in the place of an older one; it saves time, and may be lost."""
        self._check_kept(study)
        self._check_study(study, self._try(self._lock, study, _NO_ROWS))
        self._try(self._save_snapshot, body, study, seq)

    def find_page_damage(self) -> str:
        """Return what is damaged of pages and indexes, in a line; "" if nothing is.

        A server looks after its own.
        """
        return ""

    def copy(self, path: Path) -> None:
        """Write all that there is, as it is at one moment, to a new SQLite file."""
        self._try(self._copy, path)

    def close(self) -> None:
        """Let go of the database; what was begun is undone."""
        self._drop()

    def _ask(self, what: str, *values: object) -> list[Any]:
        """Return what is found, without the lock."""
        return self._try(self._query, self._sql[what], values)

    def _try(self, work: Callable[..., _T], *values: Any) -> _T:
        """Do some work; where it fails, undo what was begun."""
        if self._process != os.getpid():
            raise StoreError(
                f"{self.where} was opened by another process, of which this one is a fork: "
                "open it again here"
            )
        if self._gone:
            raise FinalStoreError(self._gone[0])
        try:
            return work(*values)
        except self.failures as error:
            self._drop()
            kind = DamagedError if self._is_damage(error) else StoreError
            why = " ".join(self._explain(error).split())
            raise kind(f"{self.where}: {why}") from error
        except BaseException:
            self.rollback()
            raise

    @abstractmethod
    def _query(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        """Return what is found, without the lock."""

    @abstractmethod
    def _create(self, study: tuple[object, ...], rows: Sequence[Record]) -> bool:
        """Add a study and its rows in one transaction; return whether the name was new."""

    @abstractmethod
    def _lock(self, study: int, after: int) -> Found:
        """Begin a transaction with the lock of a study; return its rows from `after` on."""

    @abstractmethod
    def _events_after(self, study: int, after: int) -> Found:
        """Return the rows of a study from `after` on, without the lock."""

    @abstractmethod
    def _save_snapshot(self, body: bytes, study: int, seq: int) -> None:
        """Put a snapshot in the place of an older one and commit."""

    @abstractmethod
    def _add(self, study: int, rows: Sequence[Record], tail: int) -> None:
        """Insert rows, of which the last has the number `tail`, and commit."""

    @abstractmethod
    def _copy(self, path: Path) -> None:
        """Write all that there is to a new SQLite file."""

    @abstractmethod
    def _undo(self) -> None:
        """Roll back, where there is anything to roll back."""

    @abstractmethod
    def _drop(self) -> None:
        """Let go of the connection, and with it of the lock."""

    def _is_damage(self, error: Exception) -> bool:
        """Return whether the driver says that the database is damaged."""
        return False

    @abstractmethod
    def _explain(self, error: Exception) -> str:
        """Say what went wrong and what to do."""
