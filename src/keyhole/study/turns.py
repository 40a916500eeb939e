"""Who may write next: one at a time, and whoever waits is served together.

All that wait in a process are one group: the study's lock in the database is taken, what others
wrote is taken into account, everybody's wish is granted or refused, all that follows is written
and made durable at once; only then anybody is answered.
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock
from typing import Any, Final

from keyhole.contract.policy import Policy
from keyhole.study.backlog import LearningError
from keyhole.study.events import CHANGED, END_OF_TIME
from keyhole.study.fold import Fold
from keyhole.study.known import Known
from keyhole.study.snapshot import snapshot_of
from keyhole.study.storage import Row, Store, StoreError
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.validate import shown

_GROUP: Final = 256
_SNAPSHOT_EVERY: Final = 10_000

Clock = Callable[[], float]


class Turn:
    """What a wish sees when it is granted: the state, the time, and what is to be written."""

    def __init__(self, fold: Fold, now: float, store: Store, study: int) -> None:
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

    def of(self, decision: str) -> list[Row]:
        """Return all events of a decision."""
        mine = [row for row in self.rows if row.decision == decision]
        return self._store.of(self._study, decision) + mine

    def keyed(self, key: str) -> Row | None:
        """Return the event that was asked for with a key."""
        mine = [row for row in self.rows if row.key == key]
        return mine[0] if mine else self._store.keyed(self._study, key)


def check_clock(clock: object) -> None:
    """Refuse what is no clock."""
    if not callable(clock):
        raise TypeError(f"clock must return the time, as time.time does; got {shown(clock)}")


def checked(now: float) -> float:
    """Return what a clock said, if it can be a time."""
    if not isinstance(now, int | float) or not 0.0 <= now < END_OF_TIME:
        raise ValueError(f"clock must return the seconds since 1970, got {now!r}")
    return now


class _Wish:
    """Something that somebody waits for: until it is granted, or it is theirs to serve all."""

    __slots__ = ("answer", "called", "done", "error", "work")

    def __init__(self, work: Callable[[Turn], Any]) -> None:
        self.called = Lock()
        self.called.acquire()
        self.work = work
        self.answer: Any = None
        self.error: BaseException | None = None
        self.done = False


class Turns(Known):
    """The one writer of a study in a process."""

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
        self._waiting: deque[_Wish] = deque()
        self._leader: _Wish | None = None  # whose thread serves all that wait
        self._queue = Lock()  # of those that wait

    def take(self, work: Callable[[Turn], Any]) -> Any:
        """Return what `work` returns, once all that it wrote is durable."""
        self._check_process()
        wish = _Wish(work)
        try:
            with self._queue:
                self._waiting.append(wish)
                if self._leader is None:
                    self._leader = wish
                    wish.called.release()
            wish.called.acquire()
            if not wish.done:
                with self._lock:
                    self._serve()
        finally:
            if not wish.done:
                self._forsake(wish)
            if self._leader is wish:
                self._pass_on()
        if wish.error is not None:
            raise wish.error
        return wish.answer

    def _pass_on(self) -> None:
        """Let the next that waits serve all."""
        with self._queue:
            self._leader = self._waiting[0] if self._waiting else None
            if self._leader is not None:
                self._leader.called.release()

    def _forsake(self, wish: _Wish) -> None:
        """Grant no wish of a thread that was interrupted: nobody waits for it any more."""
        with self._queue, suppress(ValueError):
            self._waiting.remove(wish)

    def _serve(self) -> None:
        group: list[_Wish] = []
        turn: Turn | None = None
        try:
            self._check_open()
            turn = self._begin()
            with FORK_LOCK.shared(self):  # as where the state is built
                while not turn.is_last and self._called(group, _GROUP):
                    self._grant(group[-1], turn)
            if turn.rows:
                self.store.commit(self.study, turn.rows)
            else:
                self.store.rollback()
            if turn.is_last:
                self._fold = None
        except BaseException as error:
            # What is in memory may be ahead of what is in the database.
            self._fold = None
            with suppress(StoreError):
                self.store.rollback()
            if not isinstance(error, Exception):
                self._refuse(group, StoreError("the thread that wrote for all was interrupted"))
                raise
            while not turn and self._called(group, _GROUP):
                pass  # there was no turn for anybody
            self._refuse(group, error)
        finally:
            for wish in group:
                wish.done = True
                if wish is not self._leader:
                    wish.called.release()
        if self._fold is not None and self._fold.seq - self._kept >= _SNAPSHOT_EVERY:
            self.keep()

    def _called(self, group: list[_Wish], most: int) -> bool:
        """Call the next that waits into a group, if there is one and the group has room."""
        with self._queue:
            if not self._waiting or len(group) == most:
                return False
            group.append(self._waiting.popleft())
            return True

    def _grant(self, wish: _Wish, turn: Turn) -> None:
        begun = len(turn.rows)
        try:
            wish.answer = wish.work(turn)
        except StoreError:  # the lock is lost, and with it all that was not written
            raise
        except Exception as error:
            wish.error = error
            if turn.fold.ahead:  # those before are whole; nobody else may see this state
                turn.is_last = True
                del turn.rows[begun:]

    @staticmethod
    def _refuse(group: list[_Wish], error: Exception) -> None:
        for wish in group:
            wish.answer, wish.error = None, error

    def _begin(self, *, learns: bool = True) -> Turn:
        """Take the lock, and take into account what others have written."""
        fold = self.latest(self.store.begin, learns=learns)
        return Turn(fold, checked(self.clock()), self.store, self.study)

    def _end(self) -> None:
        try:
            self.keep()
        finally:
            super()._end()

    def keep(self) -> None:
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
                snapshot = snapshot_of(fold)
            self.store.keep(self.study, fold.seq, snapshot)
        except StoreError:
            pass
        except LearningError:
            return
        except Exception as error:
            text = f"no snapshot was written, so that the study opens slowly: {error!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return
        self._fold = fold

    def change(self, work: Callable[[Turn], Any]) -> Any:
        """Do as `take`, to change the policy: also where it fails at the log."""
        with suppress(LearningError):
            return self.take(work)
        with self._lock:
            self._check_open()
            try:
                turn = self._begin(learns=False)
                with FORK_LOCK.shared(self):
                    answer = work(turn)
                self.store.commit(self.study, turn.rows)
            except BaseException:
                with suppress(StoreError):
                    self.store.rollback()
                raise
            finally:
                self._fold = None
        return answer
