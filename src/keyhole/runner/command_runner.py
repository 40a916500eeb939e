"""Run commands under limits, by a helper process that kills all their processes."""

import math
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from keyhole.runner.helper.framing import encode_frame, read_frame
from keyhole.validation import Range, check_choice, check_integer, check_number, short_repr

KILL_MECHANISMS: Final = {
    "namespace": "no process of a run outlives the run or the runner",
    "subreaper": (
        "no process of a run outlives the run or the runner, unless a process of the run finds and "
        "kills the supervisors"
    ),
    "group": "a process outlives its run if it leaves the run's process group",
}
"""Ways to kill all processes of a run, the best first, and what each guarantees."""

MEMORY_RANGE: Final = Range(ge=1 << 25)
"""Allowed memory limits in bytes. A run is forked from Python, which needs memory until exec."""
RUN_OUTCOMES: Final = ("ok", "failed", "out of time", "out of memory", "could not start", "lost")

_FOLDER: Final = Path(__file__).parent
_BOOTSTRAP: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from helper.server import main; main()"
)
_SHUTDOWN_SECONDS: Final = 15.0  # seconds that a helper may take to kill its run and to exit
_ANSWER_SECONDS: Final = 30.0  # seconds within which a helper must answer after limit and grace
_LONGEST_TIMEOUT: Final = 1e6  # seconds: longer socket timeouts overflow on some systems


@dataclass(frozen=True)
class CommandResult:
    """The result of one command, including all processes that it started.

    Attributes
    ----------
    outcome : str
        One of "ok" (exit code 0), "failed" (another code, or a signal), "out of time" (wall or
        CPU), "out of memory", "could not start", and "lost" (the processes that supervise runs
        failed or were ended). A run that is "ok" or "failed" has kept all its limits.
    seconds, cpu : float
        Wall and CPU time in seconds.
    memory : int
        Peak memory in bytes.
    code, signal : int or None
        The exit code of the main process, or the signal that ended it, even if it ended within the
        grace (see `CommandRunner.run`). Both are None if the main process was still alive when the
        run was killed, if the command did not start, or if the run was lost.
    output : bytes
        The first and the last bytes of standard output and standard error.
    left : int
        How many other processes were alive when the main process ended or, at a limit, when the
        run was killed.
    reason : str
        Why the run could not start, why it was lost, why its supervisor had to be killed, or
        why not all of its processes could be killed; else "".
    slept : bool
        Whether the machine was suspended during the run: the times of the run are then useless.
    """

    outcome: str
    seconds: float
    cpu: float = 0.0
    memory: int = 0
    code: int | None = None
    signal: int | None = None
    output: bytes = b""
    left: int = 0
    reason: str = ""
    slept: bool = False


class UnusableMechanismError(OSError):
    """A mechanism that kills processes does not work on this system; the message says why."""


class Helper:
    """A child process that runs commands, one at a time, and kills their processes."""

    def __init__(self, mechanism: str) -> None:
        self._owner_pid = os.getpid()
        self._channel, helper_end = socket.socketpair()
        with helper_end:
            self._process = self._start_process(helper_end.fileno(), mechanism)
        answer, _ = self.read_answer() or ({"refused": "its helper has ended"}, b"")
        if answer["refused"]:
            self.stop()
            raise UnusableMechanismError(0, answer["refused"])
        self.has_exact_cpu: bool = answer["exact"]

    def _start_process(self, channel: int, mechanism: str) -> subprocess.Popen[bytes]:
        arguments = [str(_FOLDER), str(channel), str(self._owner_pid), mechanism]
        try:
            return subprocess.Popen(
                # -I and -S leave out installed packages and PYTHON* variables: the helper starts in
                # 0.06 s of CPU time, and the inits that it forks stay small.
                [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, *arguments],
                pass_fds=[channel],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must reach the runner only, which stops the helper
            )
        except OSError:
            self._channel.close()
            raise

    def send_request(self, request: dict[str, Any], passed: Sequence[int]) -> None:
        """Request a run, with the descriptors of open files that the command gets."""
        self._channel.settimeout(None)
        with suppress(BrokenPipeError, ConnectionResetError):  # `read_answer` returns None then
            self._channel.sendall(encode_frame(request))
            if passed:
                socket.send_fds(self._channel, [b"!"], passed)  # descriptors need a byte of data

    def read_answer(self, limit: float = math.inf) -> tuple[dict[str, Any], bytes] | None:
        """Wait for the answer; return None if the helper ends, or does not answer in time.

        `limit` is the time in seconds that the run may take, with its grace.
        """
        timeout = limit + _ANSWER_SECONDS
        try:
            self._channel.settimeout(timeout if timeout < _LONGEST_TIMEOUT else None)
            return read_frame(self._channel.recv)
        except OSError:
            return None

    def stop(self) -> None:
        """Stop the helper and its run; wake any thread that waits for an answer."""
        # A fork of the runner's process has a copy of the channel. If the fork shut the channel
        # down, the helper of the original process would stop.
        if os.getpid() != self._owner_pid:
            self._channel.close()
            return
        with suppress(OSError):  # the helper may have ended already
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()


class CommandRunner:
    r"""A runner runs commands, one at a time, and kills all processes of a run at its limit.

    Parameters
    ----------
    mechanism : str, optional
        How processes are killed, one of `KILL_MECHANISMS`; by default the best that works here.

    Attributes
    ----------
    closed : bool
        Whether `close` was called; a closed runner runs nothing.

    Notes
    -----
    Needs Linux or macOS; `description` says which mechanism is used and what it guarantees. Each
    runner has its own child process, the helper; use one runner per thread to run several commands
    at a time. When the runner's process ends, even by SIGKILL, the helper kills the run.

    Examples
    --------
    >>> with CommandRunner() as runner:
    ...     run = runner.run(["echo", "hello"], limit=60)
    >>> run.outcome, run.code, run.output
    ('ok', 0, b'hello\n')
    """

    def __init__(self, mechanism: str | None = None) -> None:
        if os.name != "posix":
            raise OSError("a runner needs Linux or macOS")
        self._lock = threading.Lock()
        self.closed = False
        names = list(KILL_MECHANISMS)
        if mechanism is not None:
            names = [check_choice("mechanism", mechanism, KILL_MECHANISMS)]
        refusals = []
        for name in names:
            try:
                helper = Helper(name)
                break
            except UnusableMechanismError as error:
                refusals.append(f"{name} ({error.strerror})")
        else:
            raise OSError(f"none of these mechanisms works here: {', '.join(refusals)}")
        self.mechanism = name
        self._helper: Helper | None = helper
        self.description = _describe_guarantees(self.mechanism, helper.has_exact_cpu, refusals)

    def run(
        self,
        command: Sequence[str | os.PathLike[str]],
        limit: float,
        *,
        memory: int | None = None,
        cpu: float | None = None,
        folder: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        output: int = 65_536,
        cores: Iterable[int] | None = None,
        passed: Sequence[int] = (),
        grace: float = 0.0,
    ) -> CommandResult:
        """Run a command; return when it and all processes that it has started have ended.

        The command's standard input is empty. Calls from several threads wait for one another.

        Parameters
        ----------
        command : sequence of str
            A program, looked up as a shell does, and its arguments.
        limit, cpu : float
            Limits on the wall time, and on the CPU time of all its processes together, in seconds.
        memory : int, optional
            Limit on the memory of all its processes together, in bytes, at least 2**25.
        folder : path, optional
            Its working directory; by default the working directory of this process.
        environment : mapping, optional
            All its environment variables; by default those that this process had when the helper
            was started.
        output : int, default 65_536
            How many bytes of its output are kept: half from the start, half from the end.
        cores : iterable of int, optional
            The numbers of the processors that it may use.
        passed : sequence of int, optional
            File descriptors of this process; the command has them as 3, 4, ...
        grace : float, default 0
            Seconds to print a result. At the limit of wall or CPU time the command's process group
            gets SIGTERM, and after these seconds all processes are killed; the outcome is "out of
            time" even if they end within these seconds.
        """
        descriptors = [check_integer("passed", file, Range(ge=0)) for file in passed]
        if folder is None:
            folder = "."
        if memory is not None:
            memory = check_integer("memory", memory, MEMORY_RANGE)
        if cpu is not None:
            cpu = check_number("cpu", cpu, Range(gt=0))
        request = {
            "command": _check_command(command),
            "limit": check_number("limit", limit, Range(gt=0)),
            "memory": memory,
            "cpu": cpu,
            "folder": str(Path(_check_text("folder", folder)).absolute()),
            "environment": _check_environment(environment),
            "output": check_integer("output", output, Range(ge=0, le=1 << 30)),
            "cores": _check_cores(cores),
            "passed": len(descriptors),
            "grace": check_number("grace", grace, Range(ge=0)),
        }
        with self._lock:
            if self.closed:
                raise ValueError("the runner must be open, got a closed runner")
            start = time.monotonic()
            answer, output_bytes = self._request_run(request, descriptors)
        # If no supervisor has measured the run, the answer has no seconds.
        fields = {"seconds": time.monotonic() - start} | answer
        return CommandResult(**fields, output=output_bytes)

    def _request_run(
        self, request: dict[str, Any], passed: Sequence[int]
    ) -> tuple[dict[str, Any], bytes]:
        """Return the fields of a result, and the output; stop a helper that does not answer."""
        try:
            helper = self._helper = self._helper or Helper(self.mechanism)
        except OSError as error:
            return {"outcome": "lost", "reason": f"no helper: {error.strerror}"}, b""
        answer = None
        try:
            if not self.closed:  # `close` does not stop a helper that is still being started
                helper.send_request(request, passed)
                answer = helper.read_answer(request["limit"] + request["grace"])
        finally:
            # A helper that has not answered is stopped, also after a KeyboardInterrupt. Otherwise
            # its late answer would be taken for the answer to the next request.
            if answer is None or self.closed:
                self._helper = None
                helper.stop()
        if answer is None:
            reason = "the runner was closed" if self.closed else "the runner's helper ended or hung"
            return {"outcome": "lost", "reason": reason}, b""
        return answer

    def close(self) -> None:
        """Kill the current run and stop the helper; may be called from any thread."""
        self.closed = True
        if (helper := self._helper) is not None:
            helper.stop()

    def __enter__(self) -> Self:
        """Return the runner."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the runner."""
        self.close()


def _describe_guarantees(mechanism: str, has_exact_cpu: bool, refusals: list[str]) -> str:
    """Return one sentence on what the runner guarantees on this system."""
    cpu = "exact" if has_exact_cpu else "sampled for programs that do not wait for their children"
    text = f"{mechanism}: {KILL_MECHANISMS[mechanism]}; CPU time is {cpu}"
    if refusals:
        text += f"; not available: {', '.join(refusals)}"
    return text


def _check_command(command: object) -> list[str]:
    if isinstance(command, str | bytes) or not isinstance(command, Sequence) or not command:
        raise TypeError(f"command must be a list of at least one word, got {short_repr(command)}")
    return [_check_text(f"command[{i}]", word) for i, word in enumerate(command)]


def _check_environment(environment: object) -> dict[str, str] | None:
    if environment is None:
        return None
    if not isinstance(environment, Mapping):
        raise TypeError(f"environment must be a mapping, got {short_repr(environment)}")
    variables = {}
    for name, value in environment.items():
        text = _check_text("environment", name)
        if not text or "=" in text:
            raise ValueError(f"environment must have names without '=', got {short_repr(text)}")
        variables[text] = _check_text(f"environment[{text!r}]", value)
    return variables


def _check_text(name: str, value: object) -> str:
    """Return a value as text that can be passed to exec."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a text, got {short_repr(value)}")
    text = os.fsdecode(value)
    if "\0" in text:
        raise ValueError(f"{name} must have no null characters, got {short_repr(text)}")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(
            f"{name} must be a text that can be encoded, got {short_repr(text)}"
        ) from None
    return text


def _check_cores(cores: Iterable[object] | None) -> list[int] | None:
    if cores is None:
        return None
    if not hasattr(os, "sched_getaffinity"):
        raise ValueError("cores must be None on this system, which cannot pin a run to processors")
    allowed = os.sched_getaffinity(0)
    numbers = [check_integer("cores", core) for core in cores]
    for core in numbers:
        if core not in allowed:
            listing = ", ".join(map(str, sorted(allowed)))
            raise ValueError(f"cores must be among {listing}; got {core}")
    if not numbers:
        raise ValueError("cores must have at least one entry, got none")
    return numbers
