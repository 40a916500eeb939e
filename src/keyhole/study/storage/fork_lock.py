"""A shared-exclusive lock between database operations and forks of the process.

SQLite keeps a table of its locks in the process, and a fork inherits the table but not the locks: a
child of a process with an open connection writes without any. So nothing is open across a fork. A
fork has this lock alone, closes what is open, and both sides connect anew when they next need to;
operations share it, from the moment they connect until their transaction has ended.

So does whatever else takes locks that a child would inherit locked, and wait for: of modules that
are being imported, of pyarrow, which imports pandas when it is first used, of the compiler.
"""

# A hook that is registered while a fork waits is called after the fork, but not before it: these
# would release a lock that nobody has acquired. Pandas imports them, which pyarrow imports late.
import concurrent.futures.thread  # noqa: F401
import contextlib
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from threading import Condition, RLock, get_ident
from time import monotonic
from types import FrameType
from typing import Final, NamedTuple, Protocol

# A fork also waits for kernels that are being compiled, but last of all, or an operation that needs
# one would wait for the fork: what is registered first is called last.
import keyhole.kernels.compiler_lock  # noqa: F401

PATIENCE: Final = 35.0  # seconds, for operations at work: a little more than SQLite's own
_LOOK_AGAIN: Final = 1.0  # seconds, if whoever should have called was interrupted


class Forkable(Protocol):
    """An owner of a connection, as a fork sees it."""

    def before_fork(self) -> None:
        """Close the connection; only called while no operation is at work on it."""

    def after_fork(self, mine: bool) -> None:
        """In the child, give up what is the parent's.

        `mine` says that the thread that forked is in the midst of an operation.
        """


class _Call:
    """The owner of an operation that is nobody's."""


class _Fork(NamedTuple):
    """A fork that is under way: the frame that called for it, and the instruction that did.

    A thread whose function is `os.fork` itself has no frame; nor does Ctrl-C come in it.
    """

    caller: FrameType | None
    instruction: int
    is_alone: bool = False  # nobody else is waited for any more

    def is_over(self, thread: int) -> bool:
        if self.caller is None:
            return False
        return self.caller.f_lasti != self.instruction or _has_ended(thread, self.caller)


class ForkLock:
    """A lock that operations share, and that a fork has alone.

    A fork never waits for its own thread, whose operation may have called a user's clock or been
    interrupted by a signal handler, and for others no longer than `PATIENCE`. What is still open
    then is the parent's: its child does without (`Forkable.after_fork`).

    Ctrl-C may end any of the three hooks of a fork, also before its first step, and Python goes on
    with the fork. So nothing is held between them that only they could give back: a fork is noted
    with the call that it is, and is over when its thread is at another one.
    """

    def __init__(self) -> None:
        # Reentrant: a signal handler may fork while its thread holds it. It is held by itself and
        # not through the condition, whose `__enter__` is Python: Ctrl-C within that would leave the
        # lock held for ever.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        # By owner its thread, and the frame that ends with its operation, if one does.
        self._at_work: weakref.WeakKeyDictionary[object, tuple[int, FrameType | None]] = (
            weakref.WeakKeyDictionary()
        )
        self._forks: dict[int, _Fork] = {}  # by thread
        self._owners: weakref.WeakSet[Forkable] = weakref.WeakSet()

    def add(self, owner: Forkable) -> None:
        """Let forks know of the owner of a connection."""
        with self._lock:
            self._owners.add(owner)

    def acquire(self, owner: object, frame: FrameType | None = None) -> bool:
        """Begin an operation, after a fork that is under way; return False if it was begun.

        It ends with `release`, or at the latest with a `frame` of this thread.
        """
        me = get_ident()
        with self._lock:
            while not self._may_begin(me):
                self._changed.wait(_LOOK_AGAIN)
            is_new = owner not in self._at_work or _has_ended(*self._at_work[owner])
            if is_new:
                self._at_work[owner] = me, frame
            return is_new

    def _may_begin(self, me: int) -> bool:
        """Return whether no fork keeps a thread from an operation.

        Who is at work already must go on, or the fork would wait for it in vain.
        """
        forking = self._threads_forking()
        if not forking or self._others_are_alone(me):
            return not forking
        return me in forking or me in self._threads_at_work()

    def _threads_forking(self) -> list[int]:
        """Return which threads fork just now."""
        for thread, fork in list(self._forks.items()):
            if fork.is_over(thread):
                self._forks.pop(thread, None)
        return list(self._forks)

    def _others_are_alone(self, me: int) -> bool:
        """Return whether another thread is about to fork, and waits for nobody."""
        return any(self._forks[t].is_alone for t in self._threads_forking() if t != me)

    def _threads_at_work(self) -> list[int]:
        """Return whose operations are under way; those that Ctrl-C ended unnoticed are not."""
        for owner, (thread, frame) in list(self._at_work.items()):
            if _has_ended(thread, frame):
                self._at_work.pop(owner, None)
        return [thread for thread, _ in self._at_work.values()]

    def release(self, owner: object) -> None:
        """End an operation; where none was begun, do nothing."""
        with self._lock:
            if self._at_work.pop(owner, None) is not None and self._forks:
                self._changed.notify_all()

    @contextmanager
    def shared(self, owner: object | None = None) -> Iterator[None]:
        """Hold the lock for an operation, or a part of one; of nobody's where it has no owner.

        Within it nothing may be waited for that a thread may hold which waits for this lock.
        """
        owner = _Call() if owner is None else owner
        # Ctrl-C may come after the lock is taken and before anything could give it back.
        is_new = self.acquire(owner, _find_caller())
        try:
            yield
        finally:
            if is_new:
                self.release(owner)

    def before_fork(self) -> None:
        """Wait for the operations of other threads, and let nobody begin; close what is open."""
        caller, me = sys._getframe().f_back, get_ident()
        with self._lock:
            self._forks[me] = _Fork(caller, caller.f_lasti if caller is not None else 0)
            until = monotonic() + PATIENCE
            while self._others_at_work() and (left := until - monotonic()) > 0:
                self._changed.wait(min(left, _LOOK_AGAIN))  # an owner that is gone tells nobody
            while self._others_are_alone(me):
                self._changed.wait(_LOOK_AGAIN)
            self._forks[me] = self._forks[me]._replace(is_alone=True)
            for owner in list(self._owners):
                if owner not in self._at_work:
                    owner.before_fork()

    def _others_at_work(self) -> bool:
        return any(thread != get_ident() for thread in self._threads_at_work())

    def after_fork_in_parent(self) -> None:
        """Let operations begin."""
        with self._lock:
            self._forks.pop(get_ident(), None)
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Begin anew: the threads that held the lock are not here."""
        mine = {owner for owner, (thread, _) in self._at_work.items() if thread == get_ident()}
        owners = list(self._owners)
        self.__init__()  # type: ignore[misc]
        for owner in owners:
            owner.after_fork(owner in mine)


def _find_caller() -> FrameType | None:
    """Return the frame of the function that uses a context manager, however many there are."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        frame.f_code.co_flags & CO_GENERATOR or frame.f_code.co_filename == contextlib.__file__
    ):
        frame = frame.f_back
    return frame


def _has_ended(thread: int, frame: FrameType | None) -> bool:
    """Return whether a frame is no longer among those of its thread."""
    # What runs meanwhile may change the frames that are being looked at, but not three times.
    return frame is not None and not any(_is_running(thread, frame) for _ in range(3))


def _is_running(thread: int, frame: FrameType) -> bool:
    found = sys._getframe() if thread == get_ident() else sys._current_frames().get(thread)
    while found is not None and found is not frame:
        found = found.f_back
    return found is not None


FORK_LOCK: Final = ForkLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=FORK_LOCK.before_fork,
        after_in_parent=FORK_LOCK.after_fork_in_parent,
        after_in_child=FORK_LOCK.after_fork_in_child,
    )
