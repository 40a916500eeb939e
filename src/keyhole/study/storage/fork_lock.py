"""A shared-exclusive lock: database operations share it, and a fork of the process takes it alone.

SQLite keeps a table of its locks in the process. A forked child inherits the table but not the
locks, so with an open connection it would write without locks. Therefore a fork closes the
connections that no operation is using, and both processes connect again at their next use.

An operation may also take locks that a child would inherit locked for good: import locks, the locks
of pyarrow (which imports pandas at its first use), and those of the compiler.
"""

# The import of `concurrent.futures.thread` registers fork hooks. An import while a fork waits would
# let the hook after the fork run without the hook before it, and release a lock that nobody
# acquired. The import could come late, since pandas imports the module, and pyarrow imports pandas
# at its first use. So the module is imported here.
import concurrent.futures.thread  # noqa: F401
import contextlib
import os
import sys
import weakref
from inspect import CO_GENERATOR
from threading import Condition, RLock, get_ident
from time import monotonic
from types import FrameType
from typing import Final, NamedTuple, Protocol

# A fork also waits for compilations under way, but it must wait for operations first. Otherwise an
# operation that needs a kernel would wait for the fork. `before` hooks run in the reverse order of
# their registration, so this import registers the compiler's hooks before those below.
import keyhole.kernels.compiler_fork_locks  # noqa: F401

FORK_TIMEOUT: Final = 35.0  # seconds; more than BUSY_TIMEOUT, after which an operation fails
_POLL_INTERVAL: Final = 1.0  # seconds between looks, since an interrupted thread notifies nobody


class Forkable(Protocol):
    """The interface through which the fork hooks reach the owner of a connection."""

    def before_fork(self) -> None:
        """Close the connection, which no operation is using."""

    def after_fork(self, is_in_operation: bool) -> None:
        """In the child, give up the parent's connection.

        `is_in_operation` says whether the forking thread was within an operation of this owner.
        """


class _NoOwner:
    """The stand-in for the owner of an operation that has no connection."""


class _Fork(NamedTuple):
    """A fork under way: the frame that called `os.fork`, and the instruction of the call.

    If `os.fork` itself is the function of a thread, there is no such frame, and nothing can
    interrupt the thread between the hooks.
    """

    caller: FrameType | None
    instruction: int
    is_exclusive: bool = False  # whether it waits no longer, and operations must wait for it

    def is_over(self, thread: int) -> bool:
        """Return whether the forking thread has left the instruction of the call."""
        if self.caller is None:
            return False
        return self.caller.f_lasti != self.instruction or _has_ended(thread, self.caller)


# An interrupt (Ctrl-C) may end any of the three fork hooks, even before its first line, and Python
# forks nevertheless. So between the hooks nothing is held that only a hook could release. A fork is
# noted with its calling instruction, and is over once its thread has left this instruction.
class ForkLock:
    """A lock that operations share, and that a fork holds exclusively.

    A fork waits at most `FORK_TIMEOUT` for operations of other threads. It never waits for an
    operation of its own thread, which may fork in a user's clock or a signal handler. Connections
    that are open at the fork remain the parent's, and the child gives them up
    (`Forkable.after_fork`).
    """

    def __init__(self) -> None:
        # The lock is reentrant, since a signal handler may fork while its thread holds the lock. It
        # is acquired by `with self._lock` and not through the condition: an interrupt within the
        # Python code of `Condition.__enter__` would leave it locked for ever.
        self._lock = RLock()
        self._changed = Condition(self._lock)
        # For each owner this holds the thread of its operation, and a frame. When the frame is
        # gone, the operation counts as ended (`_has_ended`), even if an interrupt came before
        # `release`. The references are weak, since a collected owner has no operation.
        self._operations: weakref.WeakKeyDictionary[object, tuple[int, FrameType | None]] = (
            weakref.WeakKeyDictionary()
        )
        self._forks: dict[int, _Fork] = {}  # by thread
        self._owners: weakref.WeakSet[Forkable] = weakref.WeakSet()

    def add(self, owner: Forkable) -> None:
        """Register the owner of a connection."""
        with self._lock:
            self._owners.add(owner)

    def acquire(self, owner: object, frame: FrameType | None = None) -> bool:
        """Begin an operation once no fork prevents it; return False if it had begun before.

        The operation ends with `release`, or at the latest when `frame`, a frame of this thread,
        has returned.
        """
        thread = get_ident()
        with self._lock:
            while self._forks and not self._can_begin(thread):
                self._changed.wait(_POLL_INTERVAL)
            is_new = owner not in self._operations or _has_ended(*self._operations[owner])
            if is_new:
                self._operations[owner] = thread, frame
            return is_new

    def _can_begin(self, thread: int) -> bool:
        """Return whether no fork keeps a thread from beginning an operation now."""
        self._forget_ended_forks()
        if not self._forks:
            return True
        # Once a fork is exclusive, and closes connections, no other thread may begin an operation.
        if self._is_another_fork_exclusive(thread):
            return False
        # While a fork waits, a thread that is within an operation may begin another operation, or
        # the fork and the thread would wait for each other.
        return thread in self._forks or thread in self._find_busy_threads()

    def _forget_ended_forks(self) -> None:
        for thread, fork in list(self._forks.items()):
            if fork.is_over(thread):
                self._forks.pop(thread, None)

    def _is_another_fork_exclusive(self, thread: int) -> bool:
        """Return whether the fork of a thread other than this one is exclusive."""
        self._forget_ended_forks()
        # The list is a copy, since a signal handler may fork meanwhile.
        return any(fork.is_exclusive for key, fork in list(self._forks.items()) if key != thread)

    def _find_busy_threads(self) -> list[int]:
        """Forget operations that have ended; return the threads of the other operations."""
        for owner, (thread, frame) in list(self._operations.items()):
            if _has_ended(thread, frame):
                self._operations.pop(owner, None)
        return [thread for thread, _ in self._operations.values()]

    def release(self, owner: object) -> None:
        """End an operation of an owner, if there is one."""
        with self._lock:
            if self._operations.pop(owner, None) is not None and self._forks:
                self._changed.notify_all()

    def shared(self, owner: object | None = None) -> "_SharedOperation":
        """Return a context that holds the lock for an operation, or for part of an operation.

        An operation without a connection has no `owner`. Code within the context must not wait for
        another lock whose holder may be waiting for this lock.
        """
        return _SharedOperation(self, owner or _NoOwner())

    def before_fork(self) -> None:
        """Wait for operations of other threads, hold off new ones, and close idle connections."""
        caller = sys._getframe().f_back
        instruction = caller.f_lasti if caller is not None else 0
        thread = get_ident()
        with self._lock:
            self._forks[thread] = _Fork(caller, instruction)
            deadline = monotonic() + FORK_TIMEOUT
            while self._is_another_thread_busy() and (seconds_left := deadline - monotonic()) > 0:
                # A collected owner notifies nobody.
                self._changed.wait(min(seconds_left, _POLL_INTERVAL))
            while self._is_another_fork_exclusive(thread):
                self._changed.wait(_POLL_INTERVAL)
            self._forks[thread] = self._forks[thread]._replace(is_exclusive=True)
            for owner in list(self._owners):
                if owner not in self._operations:
                    owner.before_fork()

    def _is_another_thread_busy(self) -> bool:
        return any(thread != get_ident() for thread in self._find_busy_threads())

    def after_fork_in_parent(self) -> None:
        """Let operations begin again."""
        with self._lock:
            self._forks.pop(get_ident(), None)
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Start afresh: `__init__` replaces the locks, which threads of the parent may hold."""
        threads_by_owner = {owner: thread for owner, (thread, _) in self._operations.items()}
        owners = list(self._owners)
        self.__init__()  # type: ignore[misc]
        for owner in owners:
            owner.after_fork(threads_by_owner.get(owner) == get_ident())


# A class is faster than a generator with `contextmanager`, and an ask and a tell enter this context
# eight times.
class _SharedOperation:
    """The context of an operation that shares the lock with others."""

    __slots__ = ("_is_new", "_lock", "_owner")

    def __init__(self, lock: ForkLock, owner: object) -> None:
        self._lock = lock
        self._owner = owner

    def __enter__(self) -> None:
        # If an interrupt comes before `__exit__` can run, the end of the frame ends the operation.
        self._is_new = self._lock.acquire(self._owner, _find_entering_frame())

    def __exit__(self, *_: object) -> None:
        if self._is_new:
            self._lock.release(self._owner)


def _find_entering_frame() -> FrameType | None:
    """Return the frame of the code that entered a context; skip frames of context managers."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (
        frame.f_code.co_flags & CO_GENERATOR or frame.f_code.co_filename == contextlib.__file__
    ):
        frame = frame.f_back
    return frame


def _has_ended(thread: int, frame: FrameType | None) -> bool:
    """Return whether a frame is no longer on its thread's stack."""
    # The other thread may change its frames during the search, so there are three attempts.
    return frame is not None and not any(_is_frame_on_stack(thread, frame) for _ in range(3))


def _is_frame_on_stack(thread: int, frame: FrameType) -> bool:
    stack_frame: FrameType | None = sys._getframe()
    if thread != get_ident():
        stack_frame = sys._current_frames().get(thread)
    while stack_frame is not None and stack_frame is not frame:
        stack_frame = stack_frame.f_back
    return stack_frame is not None


FORK_LOCK: Final = ForkLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=FORK_LOCK.before_fork,
        after_in_parent=FORK_LOCK.after_fork_in_parent,
        after_in_child=FORK_LOCK.after_fork_in_child,
    )
