"""Group commit: one transaction writes the asks and tells of all threads that wait.

1. Submit: a method of `Study` submits an operation (a function of `operations`) and its arguments.
2. Queue: the calling thread waits with a request. The thread of the oldest request leads a group.
3. Lock and catch up: the leader takes the writers' lock (`Store.begin`); in SQLite all studies of a
   file share one. It reads the events that other processes have committed, and applies them to the
   state in memory (`CachedState`). At the first call, and after an error, a change of policy or a
   correction, it first makes the state, from a snapshot or from the whole log.
4. Run: the leader runs all operations that wait. Each operation checks its arguments (by the
   setting's `StudyVocabulary`), and appends events (`Transaction`), which change the state
   (`LogState.apply`). An ask lets the policy decide; the policy learns feedback in batches, at the
   latest before its next decision (`State.learn_batch`).
5. Commit: all events are written together, with their digests, and the lock is released
   (`Store.commit`). SQLite (`Sqlite._add_rows`, `Sqlite._commit`) writes them to the `-wal`, and
   flushes it unless `durability` is "process_crash"; now and then it copies the `-wal` into the
   file.
6. Answer: each thread gets the result of its operation, or the error.

Calls that only read use a replica of the state (`ReadOnlyReplica`) and wait for no writer. The
exceptions are `Study.decision` and `Study.find_decision`, which wait as writers do.
"""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeVar, TypeVarTuple, cast

from keyhole.study.definition import Definition, Policies
from keyhole.study.events import CHANGES, END_OF_TIME, POLICY_CHANGED, EventError
from keyhole.study.log_state import RebuildNeededError, find_corrections
from keyhole.study.snapshot import make_snapshot, read_snapshot
from keyhole.study.state import LearningError, State
from keyhole.study.storage import Row, Store, StoreError
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.validation import short_repr

_MAX_GROUP_SIZE: Final = 256  # requests
_SNAPSHOT_EVERY: Final = 10_000  # events
_POLL_INTERVAL: Final = 1.0  # seconds after which a waiting thread looks whether it must lead

Clock = Callable[[], float]
_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")
Call = tuple[Callable[..., object], tuple[object, ...]]
"""An operation, and the arguments that it takes after the transaction."""


# Building or using a state loads compiled kernels, which takes locks of LLVM and of cached
# properties. A child that is forked meanwhile would inherit these locks locked for good. So the
# subclasses, `GroupCommit` and `ReadOnlyReplica`, hold FORK_LOCK, which delays forks.
class CachedState:
    """A connection to a study's log, and the state after the events read through it.

    Parameters
    ----------
    study_number : int
        The number of the study in the database.
    definition_bytes : bytes
        The definition with which the study was created.
    policies : iterable of Policy classes, optional
        Classes in which the policy is looked up first.
    """

    store: Store

    def __init__(self, study_number: int, definition_bytes: bytes, policies: Policies = ()) -> None:
        self.study_number = study_number
        self.definition_bytes = definition_bytes
        self.policies = tuple(policies)
        self._state: State | None = None
        self._snapshot_seq = 0  # the number of the last event in the last snapshot
        self._process = os.getpid()
        self._closed = False

    @property
    def has_state(self) -> bool:
        """Whether the policy has learnt the log in this process."""
        return self._state is not None

    def catch_up(self, read: Callable[[int, int], list[Row]], *, learns: bool = True) -> State:
        """Return the state after all events.

        `read` takes the numbers of the study and of an event, and returns the study's later events
        (`Store.begin`, which also takes the lock, or `Store.events_after`). With `learns=False` the
        policy learns nothing, since it fails at the log.
        """
        with self.convert_event_errors():
            state = self._state if learns else None
            if state is None:
                # If the file was replaced, another study may have this number.
                self.store.check_not_replaced(self.study_number)
                with FORK_LOCK.shared(self):
                    state = self._load_snapshot() if learns else None
                    state = state or self._rebuild(learns)
            # The state is kept only once all events are applied: after an error or an interrupt the
            # next call must rebuild it.
            self._state = None
            while True:
                if new_rows := read(self.study_number, state.seq):
                    with FORK_LOCK.shared(self):
                        try:
                            state.apply_all(new_rows)
                        except RebuildNeededError:
                            # Release the lock first, since learning the whole log takes long.
                            self.store.rollback()
                            state = self._rebuild(learns, self._read_change_events())
                            continue
                self._state = state
                return state

    def _load_snapshot(self) -> State | None:
        """Return the state of the last snapshot, or None without a usable snapshot."""
        self.store.check_tail(self.study_number)
        if (snapshot := self.store.snapshot(self.study_number)) is None:
            return None
        seq, data = snapshot
        if (last_event := next(self.store.read(self.study_number, seq - 1, 1), None)) is None:
            return None
        state = read_snapshot(data, last_event, self.policies)
        self._snapshot_seq = 0 if state is None else state.seq
        return state

    def _rebuild(self, learns: bool, changes: Sequence[Row] = ()) -> State:
        """Replay the whole log with the last policy and with all corrections.

        `changes` are the changes of policy and the corrections known so far. If the log has more of
        them, it is replayed once more.
        """
        first_definition = Definition.from_bytes(self.definition_bytes, self.policies)
        while True:
            definition = first_definition
            definition_seq = 0
            for event in changes:
                if event.kind == POLICY_CHANGED:
                    definition = first_definition.read_change(event.body, self.policies, event.seq)
                    definition_seq = event.seq
            state = State(definition, definition_seq, find_corrections(changes), learns=learns)
            try:
                state.apply_all(self.store.read(self.study_number))
            except RebuildNeededError:
                changes = self._read_change_events()
            else:
                return state

    def _read_change_events(self) -> list[Row]:
        """Return the changes of policy and the corrections in the log."""
        return [event for event in self.store.read(self.study_number) if event.kind in CHANGES]

    @contextmanager
    def convert_event_errors(self) -> Iterator[None]:
        """Convert an `EventError` to a `DamagedError`, which names study and database."""
        try:
            yield
        except EventError as error:
            self.store.raise_damaged(self.study_number, error.seq, error.why)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("the study was opened by another process: open it again in this one")

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the study was closed: open it again")


@dataclass(eq=False)
class Transaction:
    """The context of an operation: the state, the time, and the events that are to be committed.

    Attributes
    ----------
    events : list of Row
        The events to commit. All of them were applied to the state, except changes of policy and
        corrections.
    metadata : dict of int to str
        The metadata of decisions, by the numbers of their events.
    ends_group : bool
        Whether the state must be rebuilt before another operation uses it.
    """

    state: State
    now: float
    store: Store
    study_number: int
    events: list[Row] = field(default_factory=list)
    metadata: dict[int, str] = field(default_factory=dict)
    ends_group: bool = False
    _events_by_key: dict[str, Row] = field(default_factory=dict)

    def write(
        self, kind: int, decision: str | None, body: bytes, key: str | None = None,
        metadata: str = "",
    ) -> None:  # fmt: skip
        """Append an event, and apply it to the state."""
        event = Row(self.state.seq + 1, kind, decision, key, self.now, body)
        self.state.apply(event)
        self._append(event)
        if metadata:
            self.metadata[event.seq] = metadata

    def write_past_event(self, event: Row) -> None:
        """Append an imported event; check and apply it as if it were read from the log."""
        self.state.apply_all([event])
        self._append(event)

    def _append(self, event: Row) -> None:
        self.events.append(event)
        if event.key is not None:
            self._events_by_key[event.key] = event

    def write_change(self, kind: int, decision: str | None, body: bytes) -> None:
        """Append a change of policy or a correction, after which the state must be rebuilt."""
        self.state.seq += 1
        self.ends_group = True
        self.events.append(Row(self.state.seq, kind, decision, None, self.now, body))

    def events_of_decision(self, decision: str) -> list[Row]:
        """Return all events of a decision, including the events of this transaction."""
        new_events = [event for event in self.events if event.decision == decision]
        return self.store.events_of_decision(self.study_number, decision) + new_events

    def find_by_key(self, key: str) -> Row | None:
        """Return the event with an idempotency key; None if there is none."""
        return self._events_by_key.get(key) or self.store.find_by_key(self.study_number, key)


def check_clock_is_callable(clock: object) -> None:
    """Refuse a clock that cannot be called."""
    if not callable(clock):
        raise TypeError(f"clock must return the time, as time.time does; got {short_repr(clock)}")


def check_now(now: float) -> float:
    """Return the time that a clock gave; refuse one that no event can have."""
    if not isinstance(now, int | float) or not 0.0 <= now < END_OF_TIME:
        raise ValueError(f"clock must return the seconds since 1970, got {now!r}")
    return now


@dataclass(slots=True, eq=False)
class _Request:
    """A call that waits for its turn: in a group, or by itself (`is_exclusive`).

    `wakeup` is locked while the calling thread has to wait; `_wake` unlocks it.
    """

    operation: Callable[..., object]
    arguments: tuple[object, ...] = ()
    is_exclusive: bool = False
    result: object = None
    error: BaseException | None = None
    is_done: bool = False
    is_withdrawn: bool = False
    wakeup: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.wakeup.acquire()


class _Group:
    """The requests of one commit, and the error that they get unless the commit succeeds."""

    def __init__(self) -> None:
        self.requests: list[_Request] = []
        # Only success replaces this error by None.
        self.error: Exception | None = StoreError("the thread that led the commit was interrupted")


class GroupCommit(CachedState):
    """The single writer of a study within a process.

    A thread may be interrupted (Ctrl-C) between any two instructions, and the other threads must go
    on. So a leader's work ends with idempotent steps (`_leave`), which run twice.
    """

    def __init__(
        self,
        store: Store,
        study_number: int,
        definition_bytes: bytes,
        clock: Clock,
        policies: Policies = (),
    ) -> None:
        # Locks are taken in this order: the leadership here, the `-queue` file or the advisory lock
        # (`Store.begin`), FORK_LOCK. A thread that has FORK_LOCK must not wait for anything that
        # may be held by a thread that waits for FORK_LOCK.
        super().__init__(study_number, definition_bytes, policies)
        self.store = store
        self.clock = clock
        # Methods of a deque are single instructions, so it needs no lock, which an interrupted
        # thread could leave locked.
        self._waiting: deque[_Request] = deque()
        # The dictionary holds the first request of the leading thread; it is empty if no thread
        # leads. A lock would not do: a thread that is interrupted in `acquire` cannot know whether
        # it has the lock. `setdefault` is one instruction.
        self._leader: dict[None, _Request] = {}
        self._group: _Group | None = None

    def submit(
        self, operation: Callable[[Transaction, *_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Run an operation in a transaction; return its result once its events are durable."""
        return cast(_Result, self._wait_for_result(_Request(operation, arguments)))

    def _run_alone(
        self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Run a function when its turn comes, in no group; return its result."""
        return cast(_Result, self._wait_for_result(_Request(function, arguments, True)))

    def submit_many(self, calls: Iterable[Call]) -> list[object]:
        """Run calls as if each were submitted by a thread of its own.

        Return the result of each call, or the `Exception` that it raised.
        """
        requests = [_Request(operation, arguments) for operation, arguments in calls]
        self._wait_for_commit(requests)
        return [request.error or request.result for request in requests]

    def _wait_for_result(self, request: _Request) -> object:
        self._wait_for_commit([request])
        if request.error is not None:
            raise request.error
        return request.result

    def _wait_for_commit(self, requests: list[_Request]) -> None:
        """Queue this thread's requests (step 2); until all are done, lead if nobody else does."""
        self._check_process()
        try:
            try:
                self._waiting.extend(requests)
                for request in requests:
                    while not request.is_done:
                        # If a leader is interrupted before `_wake`, it wakes no successor. So every
                        # waiting thread looks again after each interval.
                        if self._try_to_lead(request, requests[0]):
                            self._run_group(request)
                        else:
                            request.wakeup.acquire(timeout=_POLL_INTERVAL)
            finally:
                self._leave(requests)
        finally:
            self._leave(requests)

    def _oldest_request(self) -> _Request | None:
        requests = self._waiting.copy()
        return next(
            (request for request in requests if not (request.is_withdrawn or request.is_done)), None
        )

    def _try_to_lead(self, request: _Request, first_request: _Request) -> bool:
        """Let this thread lead if it may; return whether it leads.

        It may if its `request` is the oldest of all and no other thread leads. `first_request` is
        the first request of this thread, and stands for the thread.
        """
        if self._oldest_request() is not request:
            return False
        return self._leader.setdefault(None, first_request) is first_request

    def _leave(self, requests: list[_Request]) -> None:
        """Withdraw a thread's requests, done or not; end its leadership; wake the next leader."""
        for request in requests:
            request.is_withdrawn = True
        # This runs twice, in nested `finally`: if the first run is interrupted, the second finishes
        # it. The leadership is given up last, since no other thread may lead while the group is
        # unfinished.
        if requests and self._leader.get(None) is requests[0]:
            self._deliver_results()
            FORK_LOCK.release(self)
            self._leader.pop(None)
        if self._waiting and not self._leader and (next_request := self._oldest_request()):
            _wake(next_request)

    def _run_group(self, request: _Request) -> None:
        """Run an exclusive request by itself, any other in a group with all that wait."""
        group = self._group = _Group()
        try:
            if request.is_exclusive:
                group.requests.append(request)
                request.result = request.operation(*request.arguments)
            else:
                self._run_requests_and_commit(group)
            group.error = None
        except Exception as error:
            group.error = error
        self._deliver_results()
        if self._state is not None and self._state.seq - self._snapshot_seq >= _SNAPSHOT_EVERY:
            # A new group has an error. So if the snapshot is interrupted, `_deliver_results`
            # discards the state, which may then be half changed.
            self._group = _Group()
            self.save_snapshot()
            self._group = None

    def _deliver_results(self) -> None:
        """Hand out results (step 6), or the group's error; idempotent."""
        group = self._group
        if group is None:
            return
        if group.error is not None:
            # The state may hold events that were not committed, so the next call must rebuild it.
            self._state = None
            with suppress(StoreError):
                self.store.rollback()
        for request in group.requests:
            if group.error is not None:
                request.result, request.error = None, group.error
            request.is_done = True
            _wake(request)
        self._group = None

    def _run_requests_and_commit(self, group: _Group) -> None:
        """Run the requests that wait, up to the size of a group, and commit their events."""
        transaction: Transaction | None = None
        try:
            self._check_open()
            transaction = self._begin_transaction()  # step 3: lock and catch up
            # Step 4: run. Operations load kernels: see `CachedState`.
            with FORK_LOCK.shared(self):
                while not transaction.ends_group and (request := self._admit_next_request(group)):
                    self._run_request(request, transaction)
            # Step 5: the whole group has one commit, and so one flush to the disk.
            self.store.commit(self.study_number, transaction.events, transaction.metadata)
            if transaction.ends_group:
                self._state = None
        except Exception:
            while transaction is None and self._admit_next_request(group) is not None:
                pass  # no transaction began, so all requests that wait get the error
            raise

    def _admit_next_request(self, group: _Group) -> _Request | None:
        """Move the next waiting request into the group and return it.

        Return None if no request waits, the group is full, or the next request is exclusive.
        """
        while self._waiting and len(group.requests) < _MAX_GROUP_SIZE:
            request = self._waiting[0]  # only the leader removes requests
            if request.is_withdrawn or request.is_done:
                self._waiting.popleft()
                continue
            if request.is_exclusive:
                break
            group.requests.append(request)
            self._waiting.popleft()
            return request
        return None

    def _run_request(self, request: _Request, transaction: Transaction) -> None:
        earlier_event_count = len(transaction.events)
        try:
            request.result = request.operation(transaction, *request.arguments)
        except StoreError:  # the whole transaction has failed
            raise
        except Exception as error:
            if not self.store.has_lock():  # the store has rolled the transaction back
                message = f"{self.store.where}: the database driver failed ({error!r}): try again"
                raise StoreError(message) from error
            request.error = error
            # Earlier requests are complete and will be committed. The events of this request are
            # dropped, and no other request may see a state to which some of them were applied.
            if transaction.state.is_dirty:
                transaction.ends_group = True
                del transaction.events[earlier_event_count:]

    def _begin_transaction(self, *, learns: bool = True) -> Transaction:
        """Take the writers' lock and apply the events that other processes have committed."""
        state = self.catch_up(self.store.begin, learns=learns)
        return Transaction(state, check_now(self.clock()), self.store, self.study_number)

    def save_snapshot(self) -> None:
        """Write a snapshot of the state if it has new events; a failure only costs time later.

        If the policy fails at feedback that it has yet to learn, the state is discarded, and the
        next caller gets the error.
        """
        state = self._state
        if state is None or state.seq <= self._snapshot_seq or state.is_dirty:
            return
        # `make_snapshot` lets the policy learn its batch. An interrupt would leave the state half
        # changed, so the state is kept again only once the snapshot is written.
        self._state = None
        self._snapshot_seq = state.seq  # a failed write is not tried again at once
        try:
            with FORK_LOCK.shared(self):
                snapshot = make_snapshot(state)
            self.store.save_snapshot(self.study_number, state.seq, snapshot)
        except StoreError:
            pass
        except LearningError:
            return
        except Exception as error:
            text = f"no snapshot was written, so the study will open slowly: {error!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return
        self._state = state

    def submit_change(
        self, operation: Callable[[Transaction, *_Arguments], None], *arguments: *_Arguments
    ) -> None:
        """Run an operation that writes a change of policy or a correction.

        It runs also if the policy fails at the log, since the change may put this right.
        """
        with suppress(LearningError):
            return self.submit(operation, *arguments)
        self._run_alone(self._run_change, operation, arguments)

    def _run_change(self, operation: Callable[..., None], arguments: tuple[object, ...]) -> None:
        self._check_open()
        transaction = self._begin_transaction(learns=False)
        with FORK_LOCK.shared(self):
            operation(transaction, *arguments)
        self.store.commit(self.study_number, transaction.events)
        self._state = None

    def erase_metadata(self, decisions: Sequence[str] | None) -> int:
        """Erase the metadata of decisions, or of all if None; return how many events had any."""
        return self._run_alone(self._erase_metadata, decisions)

    def _erase_metadata(self, decisions: Sequence[str] | None) -> int:
        self._check_open()
        return self.store.erase_metadata(self.study_number, decisions)

    def close(self) -> None:
        """Once all earlier requests are done, write a snapshot and close the connection."""
        if os.getpid() == self._process:
            self._run_alone(self._close)

    def _close(self) -> None:
        if self._closed:
            return
        try:
            self.save_snapshot()
        finally:
            self.store.close()
        self._closed = True


def _wake(request: _Request) -> None:
    """Wake the thread of a request; it may be awake already."""
    with suppress(RuntimeError):
        request.wakeup.release()
