"""Cache of a study's state in a process: what all events of its log that were read have led to."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Lock
from typing import Any, TypeVar

from keyhole.contract.policy import Policy
from keyhole.study.decision_counts import DecisionCounts
from keyhole.study.definition import Definition
from keyhole.study.events import EventError, read_changed_definition
from keyhole.study.policy_errors import PolicyChangedError
from keyhole.study.snapshot import read_snapshot
from keyhole.study.state import State
from keyhole.study.storage import Row, Store
from keyhole.study.storage.fork_lock import FORK_LOCK

_T = TypeVar("_T")


# Building and using a state loads compiled kernels, under locks (of cached properties, of LLVM)
# that a child would inherit locked. So both hold FORK_LOCK, here and in `writer`.
class CachedState:
    """A connection to a study's log, and the state after the events read through it.

    Parameters
    ----------
    study : int
        The number of the study.
    definition : bytes
        The definition with which it was created.
    policies : iterable of Policy classes, optional
        Classes in which the policy is looked up first.
    """

    store: Store

    def __init__(
        self, study: int, definition: bytes, policies: Iterable[type[Policy]] = ()
    ) -> None:
        self.study, self.definition_bytes, self.policies = study, definition, tuple(policies)
        self._state: State | None = None
        self._snapshot_seq = 0  # the last event in the last snapshot
        self._lock = Lock()  # guards connection and state
        self._process = os.getpid()
        self._closed = False

    @property
    def has_state(self) -> bool:
        """Whether the policy has learnt the log in this process."""
        return self._state is not None

    def catch_up(self, read: Callable[[int, int], list[Row]], *, learns: bool = True) -> State:
        """Apply new events and return the state; `read(study, seq)` returns the events after `seq`.

        With `learns=False` the policy's memory is not built: it fails at the log and is to be
        changed.
        """
        with self.convert_event_errors():
            return self._apply_new_rows(read, learns)

    def _apply_new_rows(self, read: Callable[[int, int], list[Row]], learns: bool) -> State:
        state = self._state if learns else None
        if state is None:
            # A file put in the place of this one may hold another study of this number.
            self.store.check(self.study)
            with FORK_LOCK.shared(self):
                state = (self._load_snapshot() if learns else None) or self._rebuild(
                    self.definition_bytes, 0, learns
                )
        # Detached until all events are applied: after an error or an interrupt the next call
        # rebuilds the state.
        self._state = None
        while True:
            new_rows = read(self.study, state.seq)
            with FORK_LOCK.shared(self):
                try:
                    state.apply_all(new_rows)
                except PolicyChangedError as change:
                    # The new policy learns the whole log, which may take long: release the
                    # study's lock before.
                    self.store.rollback()
                    state = self._rebuild(change.definition, change.seq, learns)
                    continue
            self._state = state
            return state

    def _load_snapshot(self) -> State | None:
        """Return the state of the last snapshot, or None if there is none that can be used."""
        self.store.check_tail(self.study)
        found = self.store.snapshot(self.study)
        last = found and next(self.store.read(self.study, found[0] - 1, 1), None)
        if not found or not last:
            return None
        state = read_snapshot(found, last, self.policies)
        self._snapshot_seq = state.seq if state else 0
        return state

    def _rebuild(self, definition: bytes, since: int, learns: bool) -> State:
        """Replay the whole log with the policy that is in force at its end."""
        first = Definition.from_bytes(self.definition_bytes, self.policies)
        while True:
            state = State(
                read_changed_definition(first, definition, self.policies, since),
                since,
                learns=learns,
            )
            try:
                state.apply_all(self.store.read(self.study))
            except PolicyChangedError as change:
                definition, since = change.definition, change.seq
            else:
                return state

    @contextmanager
    def convert_event_errors(self) -> Iterator[None]:
        """Raise an `EventError` as a `DamagedError` that names study and database."""
        try:
            yield
        except EventError as error:
            self.store.raise_damaged(self.study, error.seq, error.why)

    def close(self) -> None:
        """Close the connection."""
        if os.getpid() != self._process:
            return  # it is the parent's
        with self._lock:
            if not self._closed:
                self._closed = True
                self._end()

    def _end(self) -> None:
        self.store.close()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("the study was opened by another process: open it again in this one")

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the study was closed: open it again")


class ReadOnlyReplica(CachedState):
    """A read-only replica of a study's state: it takes no lock, and holds up no writer.

    `connect` opens the database at the first read.
    """

    def __init__(self, connect: Callable[[], Store], *study: Any) -> None:
        super().__init__(*study)
        self._connect = connect
        self._store: Store | None = None
        self._counts: DecisionCounts | None = None

    @property
    def store(self) -> Store:  # type: ignore[override]
        """The connection."""
        # No `functools.cached_property`, which holds a lock while the connection waits for a fork.
        if self._store is None:
            self._store = self._connect()
        return self._store

    def _end(self) -> None:
        if self._store is not None:
            self._store.close()

    def read(self, work: Callable[[State], _T]) -> _T:
        """Return the result of `work` on the state after all durable events."""
        self._check_process()
        with self._lock:
            self._check_open()
            try:
                with FORK_LOCK.shared(self):
                    return work(self.catch_up(self.store.events_after))
            except BaseException:
                self._state = None  # an interrupt may have left it half changed
                raise

    def count_decisions(self, most: float = inf) -> DecisionCounts | None:
        """Return the counts of all decisions; None if more than `most` events are yet to be read.

        It reads the log alone: the policy neither learns nor is compiled.
        """
        self._check_process()
        with self._lock:
            self._check_open()
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
        self._check_process()
        with self._lock:
            self._check_open()
            self.store.check(self.study)
            return list(self.store.read(self.study))
