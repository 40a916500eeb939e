"""Jobs with a limit that is enforced from outside: a process that is ended when it takes long."""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any, Final, Self

from keyhole.core.validate import Range, number

_CHILD: Final = "from keyhole.data.worker import serve; serve()"


class Worker:
    """A process of its own that does one job after the other.

    A job that is not done within its limit is ended, and every process that it has started with
    it; the next job gets a new process. Starting a process, and `prepare` in it, counts for no
    job.

    Parameters
    ----------
    job : callable
        Does a job, given its argument: a function of a module that can be imported. Arguments and
        results are things that can be pickled.
    prepare : callable, optional
        Called without arguments in every new process; a function of a module likewise.

    Examples
    --------
    >>> import math
    >>> with Worker(math.factorial) as worker:
    ...     result, seconds = worker.run(5, limit=60)
    >>> result, seconds < 60
    (120, True)
    """

    def __init__(
        self, job: Callable[[Any], Any], prepare: Callable[[], None] | None = None
    ) -> None:
        self._job, self._prepare = job, prepare
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[Any] = queue.Queue()

    def run(self, argument: Any, limit: float) -> tuple[Any, float] | None:
        """Do a job.

        Parameters
        ----------
        argument : object
            What the job is given.
        limit : float
            Seconds, above 0.

        Returns
        -------
        tuple of (object, float) or None
            The result, and how many seconds it took; None if it was ended.

        Raises
        ------
        RuntimeError
            If the job fails, or its process ends by itself.
        TypeError, ValueError
            If the limit is not allowed.
        """
        allowed = number("limit", limit, Range(gt=0))
        if self._process is None:
            self._start()
        self._send(argument)
        try:
            answer = self._answers.get(timeout=allowed)
        except queue.Empty:
            self.close()
            return None
        result, seconds, failure = self._checked(answer)
        if failure:
            raise RuntimeError(f"the job failed: {failure}")
        return (result, seconds) if seconds <= allowed else None

    def _start(self) -> None:
        """Start a process, and wait until it is prepared."""
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that what a job starts can be ended with it
        )
        threading.Thread(
            target=_listen, args=(self._process.stdout, self._answers), daemon=True
        ).start()
        self._send((self._job, self._prepare))
        _, _, failure = self._checked(self._answers.get())
        if failure:
            self.close()
            raise RuntimeError(f"the job's process could not be prepared: {failure}")

    def _send(self, message: Any) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its end is what is heard next

    def _checked(self, answer: Any) -> Any:
        """Return an answer; raise an error if there will be none."""
        if answer is None:
            self.close()
            raise RuntimeError("the job's process ended by itself")
        return answer

    def close(self) -> None:
        """End the process, and all that it has started."""
        if self._process is not None:
            _end(self._process.pid)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    _close(pipe)
        self._process = None

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()


def serve() -> None:
    """Do the jobs that come through the standard input, until it is closed: the process's side.

    Notes
    -----
    What a job prints goes to the standard error stream, since answers go to the standard output.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    job, prepare = pickle.load(sys.stdin.buffer)
    _answer(answers, lambda _: None if prepare is None else prepare(), None)
    while True:
        try:
            argument = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _answer(answers, job, argument)


def _answer(answers: IO[bytes], job: Callable[[Any], Any], argument: Any) -> None:
    """Do a job, and write result, seconds and what went wrong."""
    began = time.perf_counter()
    try:
        done: tuple[Any, float, str] = (job(argument), time.perf_counter() - began, "")
    except Exception as error:  # (told to whoever asked for the job, who raises it)
        done = (None, 0.0, f"{type(error).__name__}: {error}")
    pickle.dump(done, answers)
    answers.flush()


def _listen(pipe: IO[bytes], answers: "queue.Queue[Any]") -> None:
    """Hand on what a process answers; None when it has ended."""
    while True:
        try:
            answers.put(pickle.load(pipe))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            answers.put(None)
            return


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        return


def _end(pid: int) -> None:
    """End a process and those that it has started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
