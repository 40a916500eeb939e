"""A cluster under a scheduler of Ray.

A process that uses Ray loses its signal handlers, gets Ray's messages on its terminal, and is
killed when the head node is gone. So Ray runs in a process of its own, `ray_driver`.
"""

import fcntl
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from secrets import token_hex
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Event, Lock, Thread
from time import time
from typing import IO, Any, Final, Self, cast

import ray

from keyhole.clusters.cluster import Cluster, ClusterLostError, TaskResult
from keyhole.clusters.process_termination import kill_session
from keyhole.clusters.ray_driver import HEARTBEAT_SECONDS, START_TICKET, remove_folder
from keyhole.clusters.serialization import RETRIES, SharedBytes, serialize_task, unpack_result

_BOOT: Final = (
    "import sys; sys.argv[0], *sys.path[:] = sys.argv[1:]; "
    "from keyhole.clusters.ray_driver import main; main()"
)
_START_SECONDS: Final = 90.0
_END_SECONDS: Final = 20.0
_MISSED_BEATS: Final = 12  # heartbeats that a driver may miss before it is killed
_MISSED_BEATS_CLOSING: Final = 5
_SHORT_FOLDER: Final = Path("/tmp")  # the path of a socket has at most 107 characters
_PREFIX: Final = "keyhole-ray-"
_LOCK_SECONDS: Final = 60.0  # seconds within which the owner of a new folder has locked it


def start(on: str, address: str | None, workers: int | None) -> Cluster:
    """Connect to the cluster at an address, or start so many processes on this machine.

    Without an address, a cluster that this process has already initialised is used.
    """
    if address is None and ray.is_initialized():
        address = ray.get_runtime_context().gcs_address
    return Ray(on, address, workers)


class Ray:
    """The cluster of a Ray driver process.

    A request to the driver is a tuple: a ticket, its data (bytes of a task or of a shared value,
    None to forget a shared value, a list of tickets to cancel), and for a task the tickets of the
    values shared with it. An answer is a ticket with its outcome, or None with the capacity.
    """

    def __init__(self, name: str, address: str | None, workers: int | None) -> None:
        self.name = name
        self._tickets, self._capacity = count(START_TICKET + 1), 0
        self._submitted = {START_TICKET}
        self._cancellations: dict[int, Event] = {}
        self._request_lock, self._answers = Lock(), SimpleQueue[tuple[int, Any] | None]()
        self._heartbeats, self._closing, self._ended = 0, False, Event()
        self._folder = None if address else _Folder()
        self._driver = _start_driver(self._folder)
        self._listener = Thread(target=self._listen, daemon=True)
        self._threads = [self._listener, Thread(target=self._watch, daemon=True)]
        for thread in self._threads:
            thread.start()
        self._ask(START_TICKET, (address, workers, self._folder and self._folder.path))
        try:
            [begun] = self.as_completed(_START_SECONDS) or [
                TaskResult(START_TICKET, error=self._lost_error())
            ]
            if begun.error is not None:
                raise begun.error
        except BaseException as error:
            self.close()
            if isinstance(error, ConnectionError):
                raise ClusterLostError(str(error)) from None
            raise

    def capacity(self) -> int:
        """Return how many processors all nodes had some seconds ago."""
        self._check()
        return self._capacity

    def _check(self) -> None:
        if self._closing:
            raise RuntimeError(f"the cluster {self.name} has been closed")

    def broadcast(self, data: bytes) -> SharedBytes:
        """Put bytes into Ray's object store."""
        self._check()
        shared = SharedBytes(next(self._tickets))
        self._ask(shared.ticket, data)
        return shared

    def release(self, shared: SharedBytes) -> None:
        """Release bytes in Ray's object store."""
        self._ask(shared.ticket, None)

    def submit(self, function: Any, *args: Any) -> int:
        """Submit a task."""
        self._check()
        ticket, task = next(self._tickets), serialize_task(function, args)
        self._submitted.add(ticket)
        self._ask(ticket, *task)
        return ticket

    def cancel(self, tickets: Iterable[int]) -> None:
        """Cancel tasks, and wait until the driver has done so: queued ones would still begin."""
        known = set(tickets) & self._submitted
        if not known:
            return
        self._submitted -= known
        ticket = next(self._tickets)
        done = self._cancellations[ticket] = Event()
        self._ask(ticket, sorted(known))
        while self._listener.is_alive() and not done.wait(HEARTBEAT_SECONDS):
            pass  # a driver without heartbeat is killed, and the listener ends with it

    def _ask(self, *request: Any) -> None:
        """Send a request to the driver, unless it has ended: `_listen` reports that."""
        # Several threads may ask: their requests must not mix in the pipe.
        with self._request_lock, suppress(OSError, ValueError):
            pickle.dump(request, self._request_pipe)
            self._request_pipe.flush()

    def _listen(self) -> None:
        """Receive the driver's answers, and queue None when it has ended."""
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                ticket, value = pickle.load(self._answer_pipe)
                if ticket is None:
                    self._capacity = value
                    self._heartbeats += 1
                elif ticket in self._cancellations:
                    self._cancellations.pop(ticket).set()
                else:
                    self._answers.put((ticket, value))
        self._answers.put(None)

    def _watch(self) -> None:
        """Kill a driver whose heartbeat stops, so that calls which wait for it end.

        Missed beats are counted, not seconds: this process may itself have been suspended.
        """
        missed = beats = 0
        while not self._ended.wait(HEARTBEAT_SECONDS):
            missed = missed + 1 if beats == self._heartbeats else 0
            beats = self._heartbeats
            # Before its first beat a driver is starting, which `_START_SECONDS` limits.
            is_lost = beats and missed >= _MISSED_BEATS
            if is_lost or (self._closing and missed >= _MISSED_BEATS_CLOSING):
                self._kill()

    def _kill(self) -> None:
        """Kill the driver's session: some of Ray's processes would outlive it."""
        kill_session(self._driver.pid)

    def as_completed(self, seconds: float) -> list[TaskResult]:
        """Wait for a task to end."""
        self._check()
        found: list[TaskResult] = []
        with suppress(Empty):
            came = self._answers.get(timeout=seconds)
            while came is not None:
                if came[0] in self._submitted:  # else it was cancelled
                    self._submitted.remove(came[0])
                    found.append(unpack_result(*came))
                came = self._answers.get_nowait()
            self._answers.put(None)  # for the next call
            if not found:
                raise self._lost_error()
        return found

    def _lost_error(self) -> ClusterLostError:
        return ClusterLostError(f"the head of {self.name} does not answer any more")

    def close(self) -> None:
        """End the driver and its tasks."""
        if self._ended.is_set():
            return
        # The driver ends when its standard input is closed, and is killed if it does not in time.
        self._closing = True
        with suppress(OSError):
            self._request_pipe.close()
        with suppress(TimeoutExpired):
            self._driver.wait(_END_SECONDS)
        self._kill()
        self._driver.wait()
        self._ended.set()
        for thread in self._threads:
            thread.join(_END_SECONDS)
        self._answer_pipe.close()
        if self._folder is not None:
            self._folder.close()

    @property
    def _request_pipe(self) -> IO[bytes]:
        return cast(IO[bytes], self._driver.stdin)

    @property
    def _answer_pipe(self) -> IO[bytes]:
        return cast(IO[bytes], self._driver.stdout)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class _Folder:
    """A folder for Ray's files, locked for as long as its owner or its driver lives."""

    def __init__(self) -> None:
        within = _SHORT_FOLDER if os.access(_SHORT_FOLDER, os.W_OK) else Path(tempfile.gettempdir())
        # What killed processes have left: a lock ends with the last process that holds it.
        for one in within.glob(f"{_PREFIX}*"):
            with suppress(OSError):  # it is another user's, or locked
                if time() - one.stat().st_mtime > _LOCK_SECONDS:
                    os.close(_lock_folder(one))
                    remove_folder(one)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=within)
        self.lock = _lock_folder(self.path)

    def close(self) -> None:
        """Remove it, if its driver has not."""
        remove_folder(self.path)
        os.close(self.lock)


def _lock_folder(path: str | Path) -> int:
    """Lock a folder; return its descriptor."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def _start_driver(folder: _Folder | None) -> Popen[bytes]:
    """Start a driver with this process's `sys.path`, in a session that Ctrl-C does not reach."""
    words = [sys.executable, "-c", _BOOT, sys.argv[0], *sys.path]
    settings = {"RAY_task_oom_retries": str(RETRIES)}  # by default without limit
    # By default Ray would write a token into the home folder, and leave it there.
    if folder and "RAY_AUTH_MODE" not in os.environ:
        settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex()}
    return Popen(
        words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=os.environ | settings,
        # A session of its own: Ctrl-C on the terminal does not reach it, and `_kill` can kill all
        # of it.
        start_new_session=True,
        # The driver inherits the lock: if this process is killed first, no other one removes the
        # folder while the driver still needs it.
        pass_fds=[folder.lock] if folder else [],
    )
