"""A read-only replica of a study's state, which takes no lock of the study."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from keyhole.study.arm_means import DecisionCounts
from keyhole.study.definition import Definition
from keyhole.study.group_commit import CachedState
from keyhole.study.log_state import RebuildNeededError, find_corrections
from keyhole.study.state import State
from keyhole.study.storage import Row, Store
from keyhole.study.storage.fork_lock import FORK_LOCK

_Result = TypeVar("_Result")


class ReadOnlyReplica(CachedState):
    """A read-only replica of a study's state, which holds up no writer.

    `connect` opens the database at the first read. The other arguments are those of `CachedState`.
    """

    def __init__(self, connect: Callable[[], Store], *state_arguments: Any) -> None:
        super().__init__(*state_arguments)
        self._connect = connect
        self._lock = Lock()  # guards the connection and the state from other threads
        self._store: Store | None = None
        self._counts: DecisionCounts | None = None

    @property
    def store(self) -> Store:  # type: ignore[override]
        """The connection."""
        # In Python 3.11 a `functools.cached_property` would hold a lock while the connection waits
        # for the end of a fork.
        if self._store is None:
            self._store = self._connect()
        return self._store

    def close(self) -> None:
        """Close the connection."""
        if os.getpid() != self._process:
            return  # the connection is the parent's
        with self._lock:
            self._closed = True
            if self._store is not None:
                self._store.close()

    def query_state(self, query: Callable[[State], _Result]) -> _Result:
        """Return the result of `query` on the state after all durable events."""
        with self._hold_lock():
            try:
                with FORK_LOCK.shared(self):
                    return query(self.catch_up(self.store.events_after))
            except BaseException:
                self._state = None  # it may be half changed
                raise

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold the lock; refuse another process and a closed study."""
        self._check_process()
        with self._lock:
            self._check_open()
            yield

    def query_counts(
        self, query: Callable[[DecisionCounts], _Result], max_events: int | None = None
    ) -> _Result | None:
        """Return the result of `query` on the `DecisionCounts` after all durable events.

        If more than `max_events` are yet to be read, none is read and the result is None. The
        policy neither learns nor is compiled.
        """
        with self._hold_lock():
            self.store.check_not_replaced(self.study_number)
            if self._counts is None:
                self._counts = self._make_counts()
            counts = self._counts
            unread_count = self.store.highest_seq(self.study_number) - counts.seq
            if max_events is not None and unread_count > max_events:
                return None
            self._counts = None  # an error may leave the counts half changed
            # If what was counted is changed later in the log, the whole log is counted anew.
            while self._counts is None:
                try:
                    with self.convert_event_errors():
                        for row in self.store.read(self.study_number, counts.seq):
                            counts.apply(row)
                    self._counts = counts
                except RebuildNeededError:
                    counts = self._make_counts(self._read_change_events())
            with FORK_LOCK.shared(self):
                return query(counts)

    def _make_counts(self, changes: Sequence[Row] = ()) -> DecisionCounts:
        """Return the counts before the first event; `changes` has the log's corrections, if any."""
        with FORK_LOCK.shared(self):
            definition = Definition.from_bytes(self.definition_bytes, self.policies)
            return DecisionCounts(definition, self.policies, find_corrections(changes))

    def highest_seq(self) -> int:
        """Return the number of the last event."""
        with self._hold_lock():
            self.store.check_not_replaced(self.study_number)
            return self.store.highest_seq(self.study_number)

    def metadata(self, *bounds: int) -> dict[int, str]:
        """Return the metadata of decisions, by the numbers of their events."""
        with self._hold_lock():
            return self.store.metadata(self.study_number, *bounds)

    def rows(self, after: int = 0, limit: int | None = None) -> list[Row]:
        """Return the log after event number `after`, at most `limit` events."""
        with self._hold_lock():
            self.store.check_not_replaced(self.study_number)
            return list(self.store.read(self.study_number, after, limit))
