"""Jobs with a limit that is enforced from outside: a process that is ended when it takes long."""

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, Final, Self

from keyhole.data import worker_process
from keyhole.data.rows import shortened
from keyhole.data.worker_process import LENGTH, end_below, how_it_ended
from keyhole.validate import Range, number

_SECONDS: Final = Range(gt=0, le=threading.TIMEOUT_MAX)


class JobError(RuntimeError):
    """A job that failed: how, and after how many `seconds`."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class Worker:
    """A process of its own that does one job after the other.

    A job that is not done within its limit is ended, and every process that it has started with
    it; the next job gets a new process. So it does after a job that has left something running,
    which is ended too. Starting a process, and `prepare` in it, counts for no job.

    Parameters
    ----------
    job : callable
        Does a job, given its argument: a function of a module that can be imported. Arguments are
        things that can be pickled; results are made of None, bool, int, float, str, list, tuple
        (which comes back as a list), and dict with text for keys.
    prepare : callable, optional
        Called without arguments in every new process; a function of a module likewise.
    prepare_limit : float, default 300
        Seconds within which a new process must be ready.

    Notes
    -----
    On Linux what a job has started is ended wherever it is, in other sessions too, and likewise
    when the process that holds the worker ends in whatever way. Elsewhere what has left the job's
    process group lives on (on Windows, what is no longer among its descendants). Time is all that
    is limited: a job may use as much memory as there is.

    A job may do whatever its user may. Its result is read as data: nothing that a job's process
    says is run by the one that holds the worker.

    Examples
    --------
    >>> import math
    >>> with Worker(math.factorial) as worker:
    ...     result, seconds = worker.run(5, limit=60)
    >>> result, seconds < 60
    (120, True)
    """

    def __init__(
        self,
        job: Callable[[Any], Any],
        prepare: Callable[[], None] | None = None,
        *,
        prepare_limit: float = 300.0,
    ) -> None:
        for name, function in (("job", job), ("prepare", prepare)):
            if function is not None:
                _check_importable(name, function)
        self._jobs = _framed("job", (job, prepare))
        self._prepare_limit = number("prepare_limit", prepare_limit, _SECONDS)
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._lock = threading.Lock()

    def run(self, argument: Any, limit: float) -> tuple[Any, float] | None:
        """Do a job with an argument; a second thread waits until the first one's is done.

        Returns
        -------
        tuple of (object, float) or None
            The result, and how many seconds it took; None if it was ended.

        Raises
        ------
        JobError
            If the job fails, or its process ends by itself; it says after how many seconds.
        RuntimeError
            If no process can be prepared.
        TypeError, ValueError
            If the argument cannot be pickled, or the limit is not allowed.
        """
        allowed = number("limit", limit, _SECONDS)
        frame = _framed("argument", argument)
        with self._lock:
            try:
                return self._run(frame, allowed)
            except JobError:
                raise
            except BaseException:  # an answer that comes later must not be taken for another's
                self.close()
                raise

    def _run(self, frame: bytes, allowed: float) -> tuple[Any, float] | None:
        if self._process is None:
            self._start()
        began = time.perf_counter()
        self._send(frame)
        answer = self._answer(allowed)
        if answer is None:
            self.close()
            return None
        if "ended" in answer:
            self.close()
            raise JobError(
                f"the job's process ended by itself: {answer['ended']}",
                time.perf_counter() - began,
            )
        if answer["left"]:
            self.close()
        if answer["seconds"] > allowed:
            return None
        if answer["failure"]:
            raise JobError(f"the job failed: {shortened(answer['failure'])}", answer["seconds"])
        return answer["result"], answer["seconds"]

    def _start(self) -> None:
        """Start a process, and wait until it is prepared."""
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", worker_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that what a job starts can be ended with it
        )
        threading.Thread(
            target=_listen, args=(self._process.stdout, self._answers), daemon=True
        ).start()
        self._send(_framed("path", sys.path))
        self._send(self._jobs)
        answer = self._answer(self._prepare_limit)
        if answer is None:
            reason = f" within {self._prepare_limit:g} s"
        else:
            reason = f": {shortened(answer.get('ended', '') or answer['failure'])}"
        if answer is None or answer.get("ended") or answer["failure"]:
            raise RuntimeError(f"the job's process could not be prepared{reason}")

    def _send(self, frame: bytes) -> None:
        pipe = None if self._process is None else self._process.stdin
        if pipe is None:
            return
        with suppress(BrokenPipeError):  # its end is what is heard next
            pipe.write(len(frame).to_bytes(LENGTH, "big") + frame)
            pipe.flush()

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """Return what the process says, or that it has ended; None if it says nothing in time."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is None:
            code = 0 if self._process is None else self._process.wait()
            return {"ended": how_it_ended(code)}
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not answer.keys() & {"ended", "failure"}:
            raise RuntimeError(f"the job's process must answer in JSON, got {shortened(str(line))}")
        return answer

    def close(self) -> None:
        """End the process, and all that it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        _end(process.pid)
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):  # what it had no time to read is of no use now
                process.stdin.close()

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


def _check_importable(name: str, function: object) -> None:
    """Refuse what the new process could not find."""
    if not callable(function):
        raise TypeError(f"{name} must be a function, got {function!r}")
    if getattr(function, "__module__", None) == "__main__":
        word = getattr(function, "__qualname__", repr(function))
        raise ValueError(
            f"{name} must be a function of a module that can be imported, got {word} of the script "
            "itself; move it into a file of its own"
        )


def _framed(name: str, value: object) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        message = f"{name} must be something that can be pickled, got {type(error).__name__}"
        raise TypeError(f"{message}: {shortened(str(error))}") from None


def _listen(pipe: IO[bytes], answers: "queue.Queue[bytes | None]") -> None:
    """Hand on what a process answers; None when it has ended."""
    with pipe:  # whoever reads closes: another thread would wait here for the reading to end
        for line in pipe:
            answers.put(line)
    answers.put(None)


def _end(pid: int) -> None:
    """End a process and those that it has started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True, check=False)
        return
    try:
        if sys.platform == "linux":
            os.kill(pid, signal.SIGSTOP)  # (it would take the end of what is below for its own)
            end_below(pid)
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
