"""Group commit: one transaction writes the requests of all threads that wait.

The leader, one of the threads that wait, takes the study's lock in the database, applies the events
that other processes have committed, runs the requests, commits their events together, and answers.
"""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock
from typing import Any, Final, NoReturn

from keyhole.contract.policy import Policy
from keyhole.study.cached_state import CachedState
from keyhole.study.events import END_OF_TIME, POLICY_CHANGED
from keyhole.study.policy_errors import LearningError
from keyhole.study.snapshot import make_snapshot
from keyhole.study.state import State
from keyhole.study.storage import Row, Store, StoreError
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.validate import short_repr

_MAX_GROUP_SIZE: Final = 256
_SNAPSHOT_EVERY: Final = 10_000
_POLL_INTERVAL: Final = 1.0  # seconds, in case the thread that should wake us was interrupted

Clock = Callable[[], float]


class Transaction:
    """The context of a request: the state, the time, and the events that are to be committed."""

    def __init__(self, state: State, now: float, store: Store, study: int) -> None:
        self.state, self.now = state, now
        self.rows: list[Row] = []
        self.ends_group = False  # the state must be rebuilt before the next request
        self._store, self._study = store, study

    def write(self, kind: int, decision: str | None, body: bytes, key: str | None = None) -> None:
        """Append an event and apply it to the state."""
        row = Row(self.state.seq + 1, kind, decision, key, self.now, body)
        self.state.apply(row)
        self.rows.append(row)

    def write_unasked(self, row: Row) -> None:
        """Append an event of a decision that the policy has not taken; apply it as one read."""
        self.state.apply_all([row])
        self.rows.append(row)

    def change(self, definition: bytes) -> None:
        """Append a change of policy, after which the state must be rebuilt."""
        self.state.seq += 1
        self.ends_group = True
        self.rows.append(Row(self.state.seq, POLICY_CHANGED, None, None, self.now, definition))

    def events_of_decision(self, decision: str) -> list[Row]:
        """Return all events of a decision, those of this transaction included."""
        mine = [row for row in self.rows if row.decision == decision]
        return self._store.events_of_decision(self._study, decision) + mine

    def raise_damaged(self, decision: str, why: str) -> NoReturn:
        """Raise the error that says where a decision's events are damaged."""
        self._store.raise_damaged(self._study, decision, why)

    def find_by_key(self, key: str) -> Row | None:
        """Return the event with an idempotency key; None if there is none."""
        mine = [row for row in self.rows if row.key == key]
        return mine[0] if mine else self._store.find_by_key(self._study, key)


def check_clock(clock: object) -> None:
    """Refuse a clock that cannot be called."""
    if not callable(clock):
        raise TypeError(f"clock must return the time, as time.time does; got {short_repr(clock)}")


def check_time(now: float) -> float:
    """Return the time that a clock gave, checked."""
    if not isinstance(now, int | float) or not 0.0 <= now < END_OF_TIME:
        raise ValueError(f"clock must return the seconds since 1970, got {now!r}")
    return now


class _Request:
    """A call that waits for a commit, in a group with others or by itself (`exclusive`)."""

    __slots__ = ("error", "exclusive", "is_cancelled", "is_done", "result", "wakeup", "work")

    def __init__(
        self, work: Callable[[Transaction], Any] | None, exclusive: Callable[[], Any] | None = None
    ) -> None:
        self.wakeup = Lock()
        self.wakeup.acquire()
        self.work, self.exclusive = work, exclusive
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = self.is_cancelled = False


class _Group:
    """The requests of one commit, and the error that they get if it fails."""

    def __init__(self) -> None:
        self.requests: list[_Request] = []
        self.error: Exception | None = StoreError("the thread that led the commit was interrupted")


class GroupCommit(CachedState):
    """The single writer of a study within a process.

    A thread may be interrupted (Ctrl-C) between any two instructions, and the others must go on.
    What a leader has begun is finished by idempotent steps, which are tried twice.
    """

    def __init__(
        self,
        store: Store,
        study: int,
        definition: bytes,
        clock: Clock,
        policies: Iterable[type[Policy]] = (),
    ) -> None:
        # Locks are taken in this order: the queue of requests here, the `-queue` file or the
        # advisory lock (`Store.begin`), FORK_LOCK. Within FORK_LOCK nothing may be waited for that
        # a thread may hold which waits for FORK_LOCK.
        super().__init__(study, definition, policies)
        self.store, self.clock = store, clock
        # A deque: `append` and `popleft` are single instructions, so no lock is needed, and
        # none can be left held by a thread that is interrupted.
        self._waiting: deque[_Request] = deque()
        # The leader's request, or nothing. It is not a lock: a thread interrupted within
        # `acquire` cannot tell whether it holds it, whereas `setdefault` is one instruction.
        self._leader: dict[None, _Request] = {}
        self._group: _Group | None = None

    def submit(self, work: Callable[[Transaction], Any]) -> Any:
        """Run `work` in a transaction; return its result once its events are durable."""
        self._check_process()
        return self._wait_for_commit(_Request(work))

    def _wait_for_commit(self, request: _Request) -> Any:
        """Return a request's result or raise its error; lead the group if nobody else does."""
        try:
            try:
                self._waiting.append(request)
                while not request.is_done:
                    # The next leader is not woken if the old one is interrupted before `_wake`,
                    # so every waiting thread looks again once per interval.
                    if self._try_to_lead(request):
                        self._run_group(request)
                    else:
                        request.wakeup.acquire(timeout=_POLL_INTERVAL)
            finally:
                self._cancel(request)
        finally:
            self._cancel(request)
        if request.error is not None:
            raise request.error
        return request.result

    def _find_oldest(self) -> _Request | None:
        """Return the request that has waited longest."""
        waiting = self._waiting.copy()
        return next(
            (request for request in waiting if not (request.is_cancelled or request.is_done)), None
        )

    def _try_to_lead(self, request: _Request) -> bool:
        """Return whether the thread of this request is the leader from now on."""
        return self._find_oldest() is request and self._leader.setdefault(None, request) is request

    def _cancel(self, request: _Request) -> None:
        """Withdraw a request, wherever its thread was interrupted, and wake the next leader."""
        request.is_cancelled = True
        # This runs twice, in nested `finally`: an interrupt in the first cancellation leads to the
        # second, which finishes what is left. The leadership is given up last, since nobody else
        # may lead while the group is unfinished.
        if self._leader.get(None) is request:
            self._finish_group()
            FORK_LOCK.release(self)
            self._leader.pop(None)
        if not self._leader and (following := self._find_oldest()) is not None:
            _wake(following)

    def _run_group(self, request: _Request) -> None:
        """Run a request together with all others that wait."""
        group = self._group = _Group()
        try:
            if request.exclusive is None:
                self._complete_all(group)
            else:
                group.requests.append(request)
                request.result = request.exclusive()
            group.error = None
        except Exception as error:
            group.error = error
        self._finish_group()
        if self._state is not None and self._state.seq - self._snapshot_seq >= _SNAPSHOT_EVERY:
            # An empty group with an error: if the snapshot is interrupted, `_finish_group`
            # discards the state, which `make_snapshot` may have left half changed.
            self._group = _Group()
            self.save_snapshot()
            self._group = None

    def _finish_group(self) -> None:
        """Hand out results or the group's error; idempotent."""
        group = self._group
        if group is None:
            return
        if group.error is not None:
            # The state may hold events that were not committed: rebuild it from the log.
            self._state = None
            with suppress(StoreError):
                self.store.rollback()
        for request in group.requests:
            if group.error is not None:
                request.result, request.error = None, group.error
            request.is_done = True
            _wake(request)
        self._group = None

    def _complete_all(self, group: _Group) -> None:
        """Run the requests that wait, up to the size of a group, and commit their events."""
        transaction: Transaction | None = None
        try:
            self._check_open()
            transaction = self._begin_transaction()
            with FORK_LOCK.shared(self):  # requests load kernels: see `cached_state`
                while (
                    not transaction.ends_group and (request := self._join_next(group)) is not None
                ):
                    self._complete(request, transaction)
            # One commit, so one flush to the disk, for the whole group: this is why threads scale.
            if transaction.rows:
                self.store.commit(self.study, transaction.rows)
            else:
                self.store.rollback()
            if transaction.ends_group:
                self._state = None
        except Exception:
            while transaction is None and self._join_next(group) is not None:
                pass  # no transaction began: all that wait get the error
            raise

    def _join_next(self, group: _Group) -> _Request | None:
        """Move the next request that waits into the group; return None if none is left or fits."""
        while self._waiting and len(group.requests) < _MAX_GROUP_SIZE:
            request = self._waiting[0]  # only the leader removes requests
            is_gone = request.is_cancelled or request.is_done
            if not is_gone and request.exclusive is not None:
                break
            if not is_gone:
                group.requests.append(request)
            self._waiting.popleft()
            if not is_gone:
                return request
        return None

    def _complete(self, request: _Request, transaction: Transaction) -> None:
        assert request.work is not None
        begun = len(transaction.rows)
        try:
            request.result = request.work(transaction)
        except StoreError:  # the lock is lost, and the whole transaction with it
            raise
        except Exception as error:
            if not self.store.has_lock():  # the store has rolled back, whatever the error is
                why = f"the database driver failed ({error!r}): try again"
                raise StoreError(f"{self.store.where}: {why}") from error
            request.error = error
            # The requests before this one are complete and will be committed. Its own events
            # are dropped, and no other request may see a state that holds part of them.
            if transaction.state.is_dirty:
                transaction.ends_group = True
                del transaction.rows[begun:]

    def _begin_transaction(self, *, learns: bool = True) -> Transaction:
        """Take the study's lock and apply the events that other processes have committed."""
        state = self.catch_up(self.store.begin, learns=learns)
        return Transaction(state, check_time(self.clock()), self.store, self.study)

    def _end(self) -> None:
        try:
            self.save_snapshot()
        finally:
            super()._end()

    def save_snapshot(self) -> None:
        """Write a snapshot of the state, if there is anything new; a failure only costs time later.

        If the policy fails at its feedback, the state is discarded, and the next caller gets the
        error.
        """
        state = self._state
        if state is None or state.seq <= self._snapshot_seq or state.is_dirty:
            return
        # The state is detached meanwhile: `make_snapshot` lets the policy learn its batch, and an
        # interrupt must not leave a half-updated state behind.
        self._state, self._snapshot_seq = None, state.seq
        try:
            with FORK_LOCK.shared(self):
                snapshot = make_snapshot(state)
            self.store.save_snapshot(self.study, state.seq, snapshot)
        except StoreError:
            pass
        except LearningError:
            return
        except Exception as error:
            text = f"no snapshot was written, so the study will open slowly: {error!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return
        self._state = state

    def change(self, work: Callable[[Transaction], Any]) -> Any:
        """Run `work`, which changes the policy, even where the present policy fails at the log."""
        # The ordinary way keeps the state. If the policy fails at the log, the only way on is to
        # apply the events without building the policy's memory.
        with suppress(LearningError):
            return self.submit(work)
        return self._wait_for_commit(_Request(None, lambda: self._change(work)))

    def _change(self, work: Callable[[Transaction], Any]) -> Any:
        self._check_open()
        transaction = self._begin_transaction(learns=False)
        with FORK_LOCK.shared(self):
            result = work(transaction)
        self.store.commit(self.study, transaction.rows)
        self._state = None
        return result

    def close(self) -> None:
        """Write a snapshot and close the connection, after the requests that came before."""
        if os.getpid() == self._process:
            self._wait_for_commit(_Request(None, self._close))

    def _close(self) -> None:
        if not self._closed:
            self._end()
            self._closed = True


def _wake(request: _Request) -> None:
    """Wake the thread of a request; it may be awake already."""
    with suppress(RuntimeError):
        request.wakeup.release()
