"""A pool of daemon threads, on which simulations run and which can be abandoned.

A process waits for the threads of `concurrent.futures` when it ends. Machine code cannot be
interrupted, so a compiled function in an endless loop would keep the process alive for ever.
"""

from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Final

Task = Callable[[], None]

_MOST_THREADS: Final = 1024  # whatever is asked for: no machine gains from more


class DaemonThreadPool:
    """A fixed set of tasks, run by daemon threads that start at once."""

    def __init__(self, tasks: Iterable[Task], size: int) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._results: SimpleQueue[BaseException | None] = SimpleQueue()
        self._stopped = Event()
        for task in tasks:
            self._tasks.put(task)
        self._left = self._tasks.qsize()
        self._threads: list[Thread] = []
        for _ in range(min(size, self._left, _MOST_THREADS)):
            thread = Thread(target=self._work, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more
                if not self._threads:
                    raise
                break
            self._threads.append(thread)

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            try:
                task()
            # Every task must put a result, or `wait_for_task` would wait for ever.
            except BaseException as error:
                self._results.put(error)
            else:
                self._results.put(None)

    def wait_for_task(self, seconds: float) -> bool:
        """Wait for one task to end and raise its error; return whether all tasks have ended."""
        try:
            error = self._results.get(timeout=seconds)
        except Empty:
            return False
        self._left -= 1
        if error is not None:
            raise error
        return self._left == 0

    def abandon(self, seconds: float) -> bool:
        """Begin no further task, and wait for those that run; return whether all threads ended.

        A further Ctrl-C ends the wait.
        """
        self._stopped.set()
        deadline = monotonic() + seconds
        try:
            for thread in self._threads:
                thread.join(max(0.0, deadline - monotonic()))
        except KeyboardInterrupt:
            return False  # Python 3.11 takes a thread for ended when the wait for it is interrupted
        return not any(thread.is_alive() for thread in self._threads)
