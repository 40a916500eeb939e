"""Pool of daemon threads, which can be abandoned."""

from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Final

_POLL_SECONDS: Final = 0.1
Task = Callable[[], None]


class DaemonThreadPool:
    """Daemon threads that run a fixed set of tasks, and start at once.

    A process waits for the threads of `concurrent.futures` when it ends, and machine code cannot be
    interrupted: a compiled function in an endless loop would keep the process alive for ever.
    """

    def __init__(self, tasks: Iterable[Task], size: int) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._results: SimpleQueue[BaseException | None] = SimpleQueue()
        self._stopped = Event()
        for task in tasks:
            self._tasks.put(task)
        self._unfinished_count = self._tasks.qsize()
        self._threads: list[Thread] = []
        for _ in range(min(size, self._unfinished_count)):
            thread = Thread(target=self._run_tasks, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more threads
                if not self._threads:
                    raise
                break
            self._threads.append(thread)

    def _run_tasks(self) -> None:
        while not self._stopped.is_set():
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            # Every task must put a result, or `wait_for_next` would never return True.
            try:
                task()
            except BaseException as error:
                self._results.put(error)
            else:
                self._results.put(None)

    def wait_for_next(self, seconds: float) -> bool:
        """Wait until the next task ends, at most `seconds`; return whether all tasks have ended.

        An error of the task is raised.
        """
        try:
            error = self._results.get(timeout=seconds)
        except Empty:
            return False
        self._unfinished_count -= 1
        if error is not None:
            raise error
        return self._unfinished_count == 0

    def shut_down(self, seconds: float) -> bool:
        """Start no further task, and wait for those that run; return whether all threads ended.

        A further Ctrl-C ends the wait.
        """
        self._stopped.set()
        deadline = monotonic() + seconds
        try:
            # The waits are short, since a Ctrl-C that comes just when a wait begins is noticed only
            # by the next wait.
            for thread in self._threads:
                while thread.is_alive() and monotonic() < deadline:
                    thread.join(_POLL_SECONDS)
        except KeyboardInterrupt:
            return False  # after a Ctrl-C, Python 3.11 counts a thread that still runs as ended
        return not any(thread.is_alive() for thread in self._threads)
