"""What a process knows of a study: the state after all events that it has read.

Where the state is built or used, forks wait: kernels are loaded on the way, under locks (of cached
properties, of LLVM) that would stay locked in a child.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from keyhole.contract.policy import Policy
from keyhole.study.definition import Definition
from keyhole.study.event_checks import EventError, read_successor
from keyhole.study.policy_errors import PolicyChangedError
from keyhole.study.snapshot import read_snapshot
from keyhole.study.state import State
from keyhole.study.storage import Row, Store
from keyhole.study.storage.fork_lock import FORK_LOCK

_T = TypeVar("_T")


class CachedState:
    """A study's log, through a connection of one's own, and the state after what was read of it.

    Parameters
    ----------
    study : int
        The number of the study.
    head : bytes
        What it was created with.
    policies : iterable of Policy classes, optional
        Among which to look for the policy first.
    """

    store: Store

    def __init__(self, study: int, head: bytes, policies: Iterable[type[Policy]] = ()) -> None:
        self.study, self.head, self.policies = study, head, tuple(policies)
        self._fold: State | None = None
        self._kept = 0  # events that are in the last snapshot
        self._lock = Lock()  # of the connection and the state
        self._process = os.getpid()
        self._closed = False

    def catch_up(self, read: Callable[[int, int], list[Row]], *, learns: bool = True) -> State:
        """Return the state after all events; `read` returns those of a study after a number.

        The policy `learns` what was told, unless it fails at it and is to be changed.
        """
        with self.naming_damage():
            return self._latest(read, learns)

    def _latest(self, read: Callable[[int, int], list[Row]], learns: bool) -> State:
        fold = self._fold if learns else None
        if fold is None:
            self.store.check(self.study)  # nothing else may be read as this study
            with FORK_LOCK.shared(self):
                fold = (self._loaded() if learns else None) or self._anew(self.head, 0, learns)
        self._fold = None  # what is not taken in whole is not known
        while True:
            news = read(self.study, fold.seq)
            with FORK_LOCK.shared(self):
                try:
                    fold.apply_all(news)
                except PolicyChangedError as change:
                    self.store.rollback()
                    fold = self._anew(change.head, change.seq, learns)
                    continue
            self._fold = fold
            return fold

    def _loaded(self) -> State | None:
        """Return the state of the last snapshot, if there is one that can be used."""
        self.store.check_tail(self.study)
        found = self.store.snapshot(self.study)
        last = found and next(self.store.read(self.study, found[0] - 1, 1), None)
        if not found or not last:
            return None
        fold = read_snapshot(found, last, self.policies)
        self._kept = fold.seq if fold else 0
        return fold

    def _anew(self, head: bytes, since: int, learns: bool) -> State:
        """Return the state after all events, learnt by the policy that there is in the end."""
        first = Definition.from_bytes(self.head, self.policies)
        while True:
            fold = State(read_successor(first, head, self.policies, since), since, learns=learns)
            try:
                fold.apply_all(self.store.read(self.study))
            except PolicyChangedError as change:
                head, since = change.head, change.seq
            else:
                return fold

    @contextmanager
    def naming_damage(self) -> Iterator[None]:
        """Say of an event that no study can have written where it is."""
        try:
            yield
        except EventError as error:
            self.store.damaged(self.study, error.seq, error.why)

    def close(self) -> None:
        """Let go of the database."""
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
            raise RuntimeError("a study is of the process that opened it: open it here again")

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the study was closed: open it again")


class ReadOnlyReplica(CachedState):
    """What those see who only look: they take no lock, and hold nobody up who decides or tells.

    The database is opened by `connect`, when it is first looked at.
    """

    def __init__(self, connect: Callable[[], Store], *study: Any) -> None:
        super().__init__(*study)
        self._connect = connect
        self._connected: Store | None = None

    @property
    def store(self) -> Store:  # type: ignore[override]
        """Where the log is; a cached property would hold a lock while it waits for a fork."""
        if self._connected is None:
            self._connected = self._connect()
        return self._connected

    def _end(self) -> None:
        if self._connected is not None:
            self._connected.close()

    def read(self, work: Callable[[State], _T]) -> _T:
        """Return what `work` makes of the state after all that is durable."""
        self._check_process()
        with self._lock:
            self._check_open()
            try:
                with FORK_LOCK.shared(self):
                    return work(self.catch_up(self.store.events_after))
            except BaseException:
                self._fold = None  # it may have been interrupted anywhere
                raise

    def rows(self) -> list[Row]:
        """Return the whole log."""
        self._check_process()
        with self._lock:
            self._check_open()
            self.store.check(self.study)
            return list(self.store.read(self.study))
