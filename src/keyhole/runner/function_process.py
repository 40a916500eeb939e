"""Child process that calls a Python function, and is killed if a call exceeds its time limit."""

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

from keyhole.runner import function_process_child
from keyhole.runner.command_runner import MEMORY_RANGE, CommandResult, CommandRunner
from keyhole.runner.function_process_child import LENGTH_BYTES, Answer, parse_answer
from keyhole.validation import Range, check_integer, check_number, short_repr

_LIMITS: Final = Range(gt=0, le=threading.TIMEOUT_MAX)
_LIFETIME: Final = 1e9  # seconds that a child may live: some thirty years


class JobError(RuntimeError):
    """A job failed, after `seconds`; the message says how."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class FunctionProcess:
    """A child process that does one job after the other, each under a time limit.

    The child is killed, with every process below it, if a job exceeds its limit, or leaves
    processes running; the next job gets a new child. The time of a job includes neither the start
    of a child nor `prepare`.

    Parameters
    ----------
    job : callable
        A function of one argument that does a job. If it is defined in a module, the child imports
        it; if it is defined in the script itself or in a notebook, it is sent with all that it
        uses. Its argument must be picklable; its result consists of None, bool, int, float, str,
        list, tuple (returned as a list), and dict with str keys.
    prepare : callable, optional
        A function without arguments, which every new child calls first. It is imported or sent as
        `job` is.
    prepare_limit : float, default 300
        Seconds within which a new child must be ready.
    memory : int, optional
        Memory limit in bytes, of the child and all processes that it has started.

    Notes
    -----
    The child is one long run of a `keyhole.runner.CommandRunner`, which needs Linux or macOS, and
    whose guarantees hold for the child. A job can do whatever its user is allowed to do. But it
    cannot run code in this process: results are read as JSON and never unpickled.

    Examples
    --------
    >>> import math
    >>> with FunctionProcess(math.factorial) as process:
    ...     result, seconds = process.run(5, limit=60)
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
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a function, got {short_repr(function)}")
        self._functions = _pickle("job", (job, prepare))
        self._prepare_limit = check_number("prepare_limit", prepare_limit, _LIMITS)
        self._memory = None if memory is None else check_integer("memory", memory, MEMORY_RANGE)
        self._child: _Child | None = None
        self._lock = threading.Lock()

    def run(self, argument: Any, limit: float) -> tuple[Any, float] | None:
        """Do a job with an argument; calls from several threads wait for one another.

        Returns
        -------
        tuple of (object, float) or None
            The result and the seconds that it took; None if the limit was exceeded.

        Raises
        ------
        JobError
            If the job raises, exceeds the memory limit, or ends its process.
        RuntimeError
            If no child can be prepared.
        TypeError, ValueError
            If the argument cannot be pickled, or the limit is not allowed.
        """
        limit = check_number("limit", limit, _LIMITS)
        frame = _pickle("argument", argument)
        with self._lock:
            try:
                return self._run_job(frame, limit)
            except JobError:
                raise
            except BaseException:  # a late answer would be taken for the answer of the next job
                self.close()
                raise

    def _run_job(self, frame: bytes, limit: float) -> tuple[Any, float] | None:
        child = self._child or self._start_child()
        start = time.perf_counter()
        child.send(frame)
        answer = child.read_answer(limit)
        if not isinstance(answer, Answer) or answer.has_processes_left:
            self.close()
        if answer is None:
            return None
        if isinstance(answer, str):  # how the child ended
            raise JobError(answer, time.perf_counter() - start)
        if answer.seconds > limit:
            return None
        if answer.failure:
            raise JobError(f"the job failed: {answer.failure}", answer.seconds)
        return answer.result, answer.seconds

    def _start_child(self) -> "_Child":
        """Start a child, and wait until it is prepared."""
        child = self._child = _Child(self._memory)
        child.send(_pickle("path", sys.path))
        child.send(self._functions)
        answer = child.read_answer(self._prepare_limit)
        if isinstance(answer, Answer) and not answer.failure:
            return child
        failure = answer.failure if isinstance(answer, Answer) else answer
        reason = f" within {self._prepare_limit:g} s" if failure is None else f": {failure}"
        raise RuntimeError(f"the job's process could not be prepared{reason}")

    def close(self) -> None:
        """Kill the child, and all processes that it has started."""
        if (child := self._child) is not None:
            self._child = None
            child.kill()

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the child."""
        self.close()


def _pickle(name: str, value: object) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        message = f"{name} must be something that can be pickled, got {type(error).__name__}"
        raise TypeError(f"{message}: {short_repr(str(error))}") from None


class _Child:
    """A child process that a `CommandRunner` runs in a thread, and a socket to the child."""

    def __init__(self, memory: int | None) -> None:
        self._runner = CommandRunner()
        self._channel, self._child_end = socket.socketpair()
        self._memory = memory
        self._result: CommandResult | None = None
        self._received = bytearray()
        self._thread = threading.Thread(target=self._run_child, daemon=True)
        self._thread.start()

    def _run_child(self) -> None:
        # `read_answer` reads the end of the stream only after every process has closed its copy of
        # `_child_end`. This thread closes its own copy only when `_result` is set.
        with self._child_end:
            self._result = self._runner.run(
                # -P keeps the folder of the script off sys.path: its modules would hide others.
                [sys.executable, "-P", function_process_child.__file__],
                limit=_LIFETIME,
                memory=self._memory,
                output=0,
                passed=[self._child_end.fileno(), 2],  # files that the child inherits
            )

    def send(self, frame: bytes) -> None:
        """Send a frame."""
        with suppress(OSError):  # the child has ended, which `read_answer` reports
            self._channel.settimeout(None)
            self._channel.sendall(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)

    def read_answer(self, seconds: float) -> Answer | str | None:
        """Return the next answer, or a text on how the child ended; None if `seconds` pass."""
        deadline = time.perf_counter() + seconds
        while b"\n" not in self._received:
            seconds_left = deadline - time.perf_counter()
            if seconds_left <= 0:
                return None
            self._channel.settimeout(seconds_left)
            try:
                data = self._channel.recv(1 << 20)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if not data:
                return self._describe_end()
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        answer = parse_answer(line)
        if answer is None:
            text = short_repr(bytes(line))
            raise RuntimeError(f"the job's process must answer in JSON, got {text}")
        return answer

    def _describe_end(self) -> str:
        """Wait for the end of the child; return a text on how it ended."""
        self._thread.join()
        result = self._result
        if result is None:  # `CommandRunner.run` itself raised an error
            ending = "lost"
        elif result.outcome == "out of memory":
            return f"the job took more memory than its limit of {self._memory} bytes"
        elif result.signal is not None:
            ending = f"signal {signal.Signals(result.signal).name}"
        else:
            ending = result.reason if result.outcome == "lost" else f"exit status {result.code}"
        return f"the job's process ended by itself: {ending}"

    def kill(self) -> None:
        """Kill the child, and all processes that it has started."""
        self._runner.close()
        self._thread.join()
        self._channel.close()
