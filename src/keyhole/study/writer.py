"""Who may write next: one at a time, and whoever waits is served together.

All that wait in a process are one group: the study's lock in the database is taken, what others
wrote is taken into account, everybody's wish is granted or refused, all that follows is written
and made durable at once; only then anybody is answered.
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
from keyhole.study.events import CHANGED, END_OF_TIME
from keyhole.study.policy_errors import LearningError
from keyhole.study.snapshot import make_snapshot
from keyhole.study.state import State
from keyhole.study.storage import Row, Store, StoreError
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.validate import short_repr

_GROUP: Final = 256
_SNAPSHOT_EVERY: Final = 10_000
_LOOK_AGAIN: Final = 1.0  # seconds, if whoever should have called was interrupted

Clock = Callable[[], float]


class Transaction:
    """What a wish sees when it is granted: the state, the time, and what is to be written."""

    def __init__(self, fold: State, now: float, store: Store, study: int) -> None:
        self.fold, self.now = fold, now
        self.rows: list[Row] = []
        self.is_last = False  # the state is to be built anew before anything else happens
        self._store, self._study = store, study

    def write(self, kind: int, decision: str | None, body: bytes, key: str | None = None) -> None:
        """Add an event, and take it into account."""
        row = Row(self.fold.seq + 1, kind, decision, key, self.now, body)
        self.fold.apply(row)
        self.rows.append(row)

    def change(self, head: bytes) -> None:
        """Add the event that another policy decides from now on; the state is to be built anew."""
        self.fold.seq += 1
        self.is_last = True
        self.rows.append(Row(self.fold.seq, CHANGED, None, None, self.now, head))

    def events_of_decision(self, decision: str) -> list[Row]:
        """Return all events of a decision."""
        mine = [row for row in self.rows if row.decision == decision]
        return self._store.events_of_decision(self._study, decision) + mine

    def damage_error(self, decision: str, why: str) -> NoReturn:
        """Say of a decision whose events are not what they were where it is."""
        self._store.damaged(self._study, decision, why)

    def find_by_key(self, key: str) -> Row | None:
        """Return the event that was asked for with a key."""
        mine = [row for row in self.rows if row.key == key]
        return mine[0] if mine else self._store.find_by_key(self._study, key)


def check_clock(clock: object) -> None:
    """Refuse what is no clock."""
    if not callable(clock):
        raise TypeError(f"clock must return the time, as time.time does; got {short_repr(clock)}")


def check_time(now: float) -> float:
    """Return what a clock said, if it can be a time."""
    if not isinstance(now, int | float) or not 0.0 <= now < END_OF_TIME:
        raise ValueError(f"clock must return the seconds since 1970, got {now!r}")
    return now


class _Request:
    """Something that somebody waits for: granted in a group with others, or `alone`."""

    __slots__ = ("alone", "answer", "called", "done", "error", "left", "work")

    def __init__(
        self, work: Callable[[Transaction], Any] | None, alone: Callable[[], Any] | None = None
    ) -> None:
        self.called = Lock()
        self.called.acquire()
        self.work, self.alone = work, alone
        self.answer: Any = None
        self.error: BaseException | None = None
        self.done = self.left = False


class _Group:
    """Those that are served together, and what they are told if they get no answer."""

    def __init__(self) -> None:
        self.wishes: list[_Request] = []
        self.error: Exception | None = StoreError("the thread that wrote for all was interrupted")


class GroupCommit(CachedState):
    """The one writer of a study in a process.

    A thread may be interrupted between any two instructions (Ctrl-C), and others must go on. So
    who leads is said by an entry of a dictionary, which a single instruction makes, and not by a
    lock, of which a thread that was interrupted cannot say whether it has it. What a leader has
    begun is ended by steps that do no harm when they are taken twice, and they are tried twice. Who
    waits looks every second whether it should lead.
    """

    def __init__(
        self,
        store: Store,
        study: int,
        head: bytes,
        clock: Clock,
        policies: Iterable[type[Policy]] = (),
    ) -> None:
        super().__init__(study, head, policies)
        self.store, self.clock = store, clock
        self._waiting: deque[_Request] = deque()
        self._leader: dict[
            None, _Request
        ] = {}  # whose thread serves all that wait, if there is one
        self._group: _Group | None = None  # those that it serves

    def submit(self, work: Callable[[Transaction], Any]) -> Any:
        """Return what `work` returns, once all that it wrote is durable."""
        self._check_process()
        return self._wait_for_commit(_Request(work))

    def _wait_for_commit(self, wish: _Request) -> Any:
        """Return the answer of a wish, once it is granted or refused."""
        try:
            try:
                self._waiting.append(wish)
                while not wish.done:
                    if self._becomes_leader(wish):
                        self._run_group(wish)
                    else:
                        wish.called.acquire(timeout=_LOOK_AGAIN)
            finally:
                self._cancel(wish)
        finally:
            self._cancel(wish)
        if wish.error is not None:
            raise wish.error
        return wish.answer

    def _first(self) -> _Request | None:
        """Return who has waited longest."""
        waiting = self._waiting.copy()
        return next((wish for wish in waiting if not (wish.left or wish.done)), None)

    def _becomes_leader(self, wish: _Request) -> bool:
        """Return whether it is for a wish's thread to serve all, from now on."""
        return self._first() is wish and self._leader.setdefault(None, wish) is wish

    def _cancel(self, wish: _Request) -> None:
        """Let others go on without a wish, wherever its thread was interrupted."""
        wish.left = True
        if self._leader.get(None) is wish:
            self._settle()
            FORK_LOCK.release(self)
            self._leader.pop(None)
        if not self._leader and (following := self._first()) is not None:
            _call(following)

    def _run_group(self, wish: _Request) -> None:
        """Grant a wish, with all others that wait."""
        group = self._group = _Group()
        try:
            if wish.alone is None:
                self._complete_all(group)
            else:
                group.wishes.append(wish)
                wish.answer = wish.alone()
            group.error = None
        except Exception as error:
            group.error = error
        self._settle()
        if self._fold is not None and self._fold.seq - self._kept >= _SNAPSHOT_EVERY:
            self._group = _Group()  # of nobody; if it is interrupted the state is given up
            self.save_snapshot()
            self._group = None

    def _settle(self) -> None:
        """Tell a group what came of it; it may be told twice."""
        group = self._group
        if group is None:
            return
        if group.error is not None:
            # What is in memory may be ahead of what is in the database.
            self._fold = None
            with suppress(StoreError):
                self.store.rollback()
        for wish in group.wishes:
            if group.error is not None:
                wish.answer, wish.error = None, group.error
            wish.done = True
            _call(wish)
        self._group = None

    def _complete_all(self, group: _Group) -> None:
        """Grant what the next that wait wish for, and commit it."""
        turn: Transaction | None = None
        try:
            self._check_open()
            turn = self._begin()
            with FORK_LOCK.shared(self):  # as where the state is built
                while not turn.is_last and (wish := self._join(group)) is not None:
                    self._complete(wish, turn)
            if turn.rows:
                self.store.commit(self.study, turn.rows)
            else:
                self.store.rollback()
            if turn.is_last:
                self._fold = None
        except Exception:
            while turn is None and self._join(group) is not None:
                pass  # there was no turn for anybody
            raise

    def _join(self, group: _Group) -> _Request | None:
        """Move the next that waits into a group, if there is one and the group has room."""
        while self._waiting and len(group.wishes) < _GROUP:
            wish = self._waiting[0]  # nobody else removes any
            is_gone = wish.left or wish.done
            if not is_gone and wish.alone is not None:
                break
            if not is_gone:
                group.wishes.append(wish)
            self._waiting.popleft()
            if not is_gone:
                return wish
        return None

    def _complete(self, wish: _Request, turn: Transaction) -> None:
        assert wish.work is not None
        begun = len(turn.rows)
        try:
            wish.answer = wish.work(turn)
        except StoreError:  # the lock is lost, and with it all that was not written
            raise
        except Exception as error:
            if not self.store.has_lock():  # it was given back, whatever the error is
                why = f"the database driver failed ({error!r}): try again"
                raise StoreError(f"{self.store.where}: {why}") from error
            wish.error = error
            if turn.fold.ahead:  # those before are whole; nobody else may see this state
                turn.is_last = True
                del turn.rows[begun:]

    def _begin(self, *, learns: bool = True) -> Transaction:
        """Take the lock, and take into account what others have written."""
        fold = self.catch_up(self.store.begin, learns=learns)
        return Transaction(fold, check_time(self.clock()), self.store, self.study)

    def _end(self) -> None:
        try:
            self.save_snapshot()
        finally:
            super()._end()

    def save_snapshot(self) -> None:
        """Write a snapshot of what has been taken into account, if that can be done.

        It only saves time. Where the policy fails at what it was told, which it learns for this,
        the state is given up; whoever asks next is told so.
        """
        fold = self._fold
        if fold is None or fold.seq <= self._kept or fold.ahead:
            return
        self._fold, self._kept = None, fold.seq
        try:
            with FORK_LOCK.shared(self):
                snapshot = make_snapshot(fold)
            self.store.save_snapshot(self.study, fold.seq, snapshot)
        except StoreError:
            pass
        except LearningError:
            return
        except Exception as error:
            text = f"no snapshot was written, so that the study opens slowly: {error!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return
        self._fold = fold

    def change(self, work: Callable[[Transaction], Any]) -> Any:
        """Do as `take`, to change the policy: also where it fails at the log."""
        with suppress(LearningError):
            return self.submit(work)
        return self._wait_for_commit(_Request(None, lambda: self._change(work)))

    def _change(self, work: Callable[[Transaction], Any]) -> Any:
        self._check_open()
        turn = self._begin(learns=False)
        with FORK_LOCK.shared(self):
            answer = work(turn)
        self.store.commit(self.study, turn.rows)
        self._fold = None
        return answer

    def close(self) -> None:
        """Let go of the database, when it is our turn."""
        if os.getpid() == self._process:
            self._wait_for_commit(_Request(None, self._close))

    def _close(self) -> None:
        if not self._closed:
            self._end()
            self._closed = True


def _call(wish: _Request) -> None:
    """Wake who waits for a wish, who may be awake."""
    with suppress(RuntimeError):
        wish.called.release()
