"""What a store promises, whatever database is below it.

A study is a log: rows numbered from 1 without gaps. To add to it is to take its lock, read what
others have added, and commit; who waits for the lock gets it in turn. What was committed stays.
What was not is nowhere, but for one case: if the answer to a commit is lost, the log alone knows.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from keyhole.study.storage import schema
from keyhole.validate import hint, line, shown

_AT_ONCE: Final = 4096  # rows that are read together: a megabyte or so

_T = TypeVar("_T")


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


class StoreError(RuntimeError):
    """A database that failed, with what to do; the store connects anew when it is next used."""

    later = True
    """Whether the same may be tried later on."""


class Store(ABC):
    """One connection to one database, for one thread at a time, in the process that made it."""

    words: ClassVar[Mapping[str, str]]  # of its SQL
    failures: tuple[type[Exception], ...]  # what its driver raises
    where: str  # the address, as errors show it: without a password

    def __init__(self) -> None:
        self._process = os.getpid()
        self._next = 0  # the number after the last one, while the lock is held

    def studies(self) -> list[tuple[str, float]]:
        """Return the names of all studies and when they were created, oldest first."""
        return self._ask(schema.STUDIES)

    def create(self, name: str, head: bytes, at: float, rows: Sequence[Row] = ()) -> int:
        """Add a study of a new name, with what never changes of it; return its number.

        The rows that it begins with are there as soon as it is.
        """
        self._check_numbers(rows, 1)
        if not self._try(self._create, (line("name", name), at, head), rows):
            raise ValueError(f"name must be new, got {shown(name)}: there is such a study already")
        return self.find(name)[0]

    def find(self, name: str) -> tuple[int, bytes]:
        """Return a study's number and what it was created with."""
        found: list[tuple[int, bytes]] = self._ask(schema.FIND, line("name", name))
        if not found:
            names = [known for known, _ in self.studies()]
            there = hint(name, names) or ("" if names else "; there is none yet")
            raise ValueError(f"name must be a study of {self.where}, got {shown(name)}{there}")
        return found[0]

    def begin(self, study: int, after: int) -> list[Row]:
        """Wait for the lock of a study in turn, and return its rows after number `after`."""
        news = self._joined(study, after, self._try(self._lock, study, after))
        self._next = (news[-1].seq if news else after) + 1
        return news

    def since(self, study: int, after: int) -> list[Row]:
        """Return the rows of a study after number `after`, without the lock."""
        return self._joined(study, after, self._ask(schema.SINCE, study, after))

    def _joined(self, study: int, after: int, found: list[Any]) -> list[Row]:
        """Return rows after number `after`, if those found begin with it."""
        if after > 0 and (not found or found[0][0] != after):
            # Numbers would be given twice.
            self.rollback()
            raise StoreError(
                f"{self.where}: row {after} of study {study} was there and is not; if an older "
                "copy of the database was put in place, open the study again"
            )
        return [Row._make(row) for row in found[after > 0 :]]

    def commit(self, study: int, rows: Sequence[Row]) -> None:
        """Add rows, all or none, and give the lock back; they are durable when this returns."""
        if not self._next:
            raise RuntimeError("commit needs the lock, which begin takes")
        self._check_numbers(rows, self._next)
        self._next = 0
        self._try(self._add, study, rows)

    def _check_numbers(self, rows: Sequence[Row], first: int) -> None:
        for seq, row in enumerate(rows, first):
            if row.seq != seq:
                self.rollback()
                raise ValueError(f"seq must be {seq}, got {shown(row.seq)}")

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
        left = limit
        while left is None or left > 0:
            size = _AT_ONCE if left is None else min(left, _AT_ONCE)
            found = self._ask(schema.SLICE, study, after, size)
            if not found:
                return
            yield from map(Row._make, found)
            after = found[-1][0]
            left = None if left is None else left - len(found)

    def of(self, study: int, decision: str) -> list[Row]:
        """Return the rows about a decision."""
        return [Row._make(row) for row in self._ask(schema.OF, study, decision)]

    def keyed(self, study: int, key: str) -> Row | None:
        """Return the row that has a client's key."""
        return next((Row._make(row) for row in self._ask(schema.KEYED, study, key)), None)

    def snapshot(self, study: int) -> tuple[int, bytes] | None:
        """Return what was last kept, with the number of the last row that is in it."""
        found: list[tuple[int, bytes]] = self._ask(schema.SNAPSHOT, study)
        return found[0] if found else None

    def keep(self, study: int, seq: int, body: bytes) -> None:
        """Keep a snapshot in the place of an older one; it saves time, and may be lost."""
        self._try(self._change, self._sql[schema.KEEP], (study, seq, body))

    def close(self) -> None:
        """Let go of the database; what was begun is undone."""
        self._drop()

    @cached_property
    def _sql(self) -> dict[str, str]:
        """What is asked, in the words of this database."""
        asked = (getattr(schema, name) for name in vars(schema) if name.isupper())
        return {text: text.format_map(self.words) for text in asked if isinstance(text, str)}

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
        try:
            return work(*values)
        except self.failures as error:
            self._drop()
            raise StoreError(f"{self.where}: {self._explain(error)}") from error
        except BaseException:
            self.rollback()
            raise

    @abstractmethod
    def _query(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        """Return what is found, without the lock."""

    @abstractmethod
    def _change(self, sql: str, values: tuple[object, ...]) -> int:
        """Change something in a transaction of its own; return how many lines were changed."""

    @abstractmethod
    def _create(self, study: tuple[object, ...], rows: Sequence[Row]) -> bool:
        """Add a study and its rows in one transaction; return whether the name was new."""

    @abstractmethod
    def _lock(self, study: int, after: int) -> list[Any]:
        """Begin a transaction with the lock of a study; return its rows from `after` on."""

    @abstractmethod
    def _add(self, study: int, rows: Sequence[Row]) -> None:
        """Insert rows and commit."""

    @abstractmethod
    def _undo(self) -> None:
        """Roll back, where there is anything to roll back."""

    @abstractmethod
    def _drop(self) -> None:
        """Let go of the connection, and with it of the lock."""

    @abstractmethod
    def _explain(self, error: Exception) -> str:
        """Say what went wrong and what to do."""
