"""Jobs with a limit that is enforced from outside: a process that is ended when it takes long."""

import json
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

from keyhole.data import worker_process
from keyhole.data.csv_rows import shorten_message
from keyhole.data.worker_process import LENGTH
from keyhole.runner import LEAST_MEMORY, CommandResult, Runner
from keyhole.validate import Range, check_integer, check_number

_SECONDS: Final = Range(gt=0, le=threading.TIMEOUT_MAX)
_FOR_EVER: Final = 1e9  # seconds that a process may live: some thirty years


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
    memory : int, optional
        Bytes that the process, and all that it has started, may use.

    Notes
    -----
    The process is a run of a `keyhole.runner.Runner`, so what is ended with a job, and how, is said
    there; it needs Linux or macOS.

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
        memory: int | None = None,
    ) -> None:
        for name, function in (("job", job), ("prepare", prepare)):
            if function is not None:
                _check_importable(name, function)
        self._jobs = _framed("job", (job, prepare))
        self._prepare_limit = check_number("prepare_limit", prepare_limit, _SECONDS)
        self._memory = None if memory is None else check_integer("memory", memory, LEAST_MEMORY)
        self._process: _Process | None = None
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
            If the job fails, takes too much memory, or its process ends by itself; it says after
            how many seconds.
        RuntimeError
            If no process can be prepared.
        TypeError, ValueError
            If the argument cannot be pickled, or the limit is not allowed.
        """
        allowed = check_number("limit", limit, _SECONDS)
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
        process = self._process or self._start()
        began = time.perf_counter()
        process.send(frame)
        answer = process.answer(allowed)
        if answer is None:
            self.close()
            return None
        if "ended" in answer:
            self.close()
            raise JobError(answer["ended"], time.perf_counter() - began)
        if answer["left"]:
            self.close()
        if answer["seconds"] > allowed:
            return None
        if answer["failure"]:
            raise JobError(
                f"the job failed: {shorten_message(answer['failure'])}", answer["seconds"]
            )
        return answer["result"], answer["seconds"]

    def _start(self) -> "_Process":
        """Start a process, and wait until it is prepared."""
        process = self._process = _Process(self._memory)
        process.send(_framed("path", sys.path))
        process.send(self._jobs)
        answer = process.answer(self._prepare_limit)
        if answer is None:
            reason = f" within {self._prepare_limit:g} s"
        else:
            reason = f": {shorten_message(answer.get('ended', '') or answer['failure'])}"
        if answer is None or answer.get("ended") or answer["failure"]:
            raise RuntimeError(f"the job's process could not be prepared{reason}")
        return process

    def close(self) -> None:
        """End the process, and all that it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def __enter__(self) -> Self:
        """Return the worker."""
        return self

    def __exit__(self, *_: object) -> None:
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
        raise TypeError(f"{message}: {shorten_message(str(error))}") from None


class _Process:
    """A process that does jobs: a run of a runner, without an end of its own."""

    def __init__(self, memory: int | None) -> None:
        self._runner = Runner()
        self._channel, self._theirs = socket.socketpair()
        self._memory = memory
        self._ended: CommandResult | None = None
        self._heard = bytearray()
        self._thread = threading.Thread(target=self._be, daemon=True)
        self._thread.start()

    def _be(self) -> None:
        """Run the process; its end, whichever, closes the channel."""
        with self._theirs:
            self._ended = self._runner.run(
                [sys.executable, "-P", worker_process.__file__],
                limit=_FOR_EVER,
                memory=self._memory,
                output=0,
                passed=[self._theirs.fileno(), 2],
            )

    def send(self, frame: bytes) -> None:
        """Send a command."""
        with suppress(OSError):  # its end is what is heard next
            self._channel.settimeout(None)
            self._channel.sendall(len(frame).to_bytes(LENGTH, "big") + frame)

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """Return what the process says, or that it has ended; None if it says nothing in time."""
        end = time.perf_counter() + seconds
        while b"\n" not in self._heard:
            left = end - time.perf_counter()
            if left <= 0:
                return None
            self._channel.settimeout(left)
            try:
                part = self._channel.recv(1 << 20)
            except TimeoutError:
                return None
            except OSError:
                part = b""
            if not part:
                return {"ended": self._how_it_ended()}
            self._heard += part
        line, _, rest = self._heard.partition(b"\n")
        self._heard = bytearray(rest)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or not answer.keys() & {"ended", "failure"}:
            raise RuntimeError(
                f"the job's process must answer in JSON, got {shorten_message(str(line))}"
            )
        return answer

    def _how_it_ended(self) -> str:
        self._thread.join()
        run = self._ended
        if run is not None and run.outcome == "out of memory":
            return f"the job took more memory than the {self._memory} bytes that it may"
        if run is None or run.outcome == "lost":
            how = "lost" if run is None else run.reason
        elif run.signal is not None:
            how = f"signal {signal.Signals(run.signal).name}"
        else:
            how = f"exit status {run.code}"
        return f"the job's process ended by itself: {how}"

    def end(self) -> None:
        """End it, and all that it has started."""
        self._runner.close()
        self._thread.join()
        self._channel.close()
