"""A read-only replica of a study's state: what all events of its log have led to."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Lock
from typing import Any, TypeVar

from keyhole.study.arm_means import DecisionCounts
from keyhole.study.definition import Definition
from keyhole.study.group_commit import CachedState
from keyhole.study.state import State
from keyhole.study.storage import Row, Store
from keyhole.study.storage.fork_lock import FORK_LOCK

_T = TypeVar("_T")


class ReadOnlyReplica(CachedState):
    """A read-only replica of a study's state: it takes no lock, and holds up no writer.

    `connect` opens the database at the first read.
    """

    def __init__(self, connect: Callable[[], Store], *study: Any) -> None:
        super().__init__(*study)
        self._connect = connect
        self._lock = Lock()  # guards connection and state
        self._store: Store | None = None
        self._counts: DecisionCounts | None = None

    @property
    def store(self) -> Store:  # type: ignore[override]
        """The connection."""
        # No `functools.cached_property`, which holds a lock while the connection waits for a fork.
        if self._store is None:
            self._store = self._connect()
        return self._store

    def close(self) -> None:
        """Close the connection."""
        if os.getpid() != self._process:
            return  # it is the parent's
        with self._lock:
            self._closed = True
            if self._store is not None:
                self._store.close()

    def read(self, work: Callable[[State], _T]) -> _T:
        """Return the result of `work` on the state after all durable events."""
        with self._hold():
            try:
                with FORK_LOCK.shared(self):
                    return work(self.catch_up(self.store.events_after))
            except BaseException:
                self._state = None  # an interrupt may have left it half changed
                raise

    @contextmanager
    def _hold(self) -> Iterator[None]:
        """Hold the lock of the connection, which must be open."""
        self._check_process()
        with self._lock:
            self._check_open()
            yield

    def count_decisions(self, most: float = inf) -> DecisionCounts | None:
        """Return the counts of all decisions; None if more than `most` events are yet to be read.

        It reads the log alone: the policy neither learns nor is compiled.
        """
        with self._hold():
            self.store.check(self.study)
            counts, self._counts = self._counts, None  # an error may leave it half changed
            if counts is None:
                with FORK_LOCK.shared(self):
                    first = Definition.from_bytes(self.definition_bytes, self.policies)
                    counts = DecisionCounts(first, self.policies)
            is_short = self.store.last_seq(self.study) - counts.seq <= most
            with self.convert_event_errors():
                for row in self.store.read(self.study, counts.seq) if is_short else ():
                    counts.add(row)
            self._counts = counts
            return counts if is_short else None

    def rows(self) -> list[Row]:
        """Return the whole log."""
        with self._hold():
            self.store.check(self.study)
            return list(self.store.read(self.study))
