"""Commands under limits, ended with all that they have started."""

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

from keyhole.runner.command_result import CommandResult
from keyhole.runner.helper_client import Helper, RefusedError
from keyhole.validate import Range, check_choice, check_integer, check_number, short_repr

MECHANISMS: Final = {
    "namespace": "nothing that a run starts outlives it, or the runner",
    "subreaper": (
        "nothing that a run starts outlives it, or the runner, unless it seeks out and ends what "
        "watches over it"
    ),
    "group": "what a run starts outlives it if it leaves the run's process group",
}
"""Ways of ending all that a run has started, the best first, and what each can do."""

LEAST_MEMORY: Final = Range(ge=1 << 25)
"""Bytes that a run may be limited to: the process that becomes the command takes some of them."""


class Runner:
    r"""Runs commands, one at a time, and ends each at its limit with all that it has started.

    Parameters
    ----------
    mechanism : str, optional
        How that is ended, one of `MECHANISMS`; the best that works here by default.

    Notes
    -----
    Needs Linux or macOS; where little but "group" works, `words` says so. A runner has a process
    beside it, its helper; several runners may be used side by side, each by a thread of its own.
    When a runner's process ends, even by SIGKILL, its helper ends what it runs.

    Examples
    --------
    >>> with Runner() as runner:
    ...     run = runner.run(["echo", "hello"], limit=60)
    >>> run.outcome, run.code, run.output
    ('ok', 0, b'hello\n')
    """

    def __init__(self, mechanism: str | None = None) -> None:
        if os.name != "posix":
            raise OSError("a runner needs Linux or macOS")
        self._lock, self._closed = threading.Lock(), False
        names = (
            MECHANISMS if mechanism is None else [check_choice("mechanism", mechanism, MECHANISMS)]
        )
        refused = []
        self._helper: Helper | None = None
        for name in names:
            try:
                self._helper = helper = Helper(name)
            except RefusedError as error:
                refused.append(f"{name} ({error.strerror})")
            else:
                self.mechanism = name
                break
        else:
            raise OSError(f"mechanism must be one that works here, got {', '.join(refused)}")
        self.words = _words(self.mechanism, helper.exact, refused)

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
    ) -> CommandResult:
        """Run a command; return when it and all that it has started have ended.

        Its standard input is empty. A second thread waits until the first one's run is over.

        Parameters
        ----------
        command : sequence of str
            A program, looked up as a shell does, and its arguments.
        limit, cpu : float
            Seconds of wall time, and of CPU time of all its processes together.
        memory : int, optional
            Bytes, of all its processes together, at least 2**25.
        folder : path, optional
            Where it runs; the present folder by default.
        environment : mapping, optional
            All its variables; by default those that this process had when the runner was made.
        output : int, default 65_536
            How many bytes of what it prints are kept, half of them the first, half the last.
        cores : iterable of int, optional
            The processors it may use.
        passed : sequence of int, optional
            Open files of this process, by their descriptors; to the command they are 3, 4, ...
        """
        files = [check_integer("passed", file, Range(ge=0)) for file in passed]
        ask = {
            "command": _command(command),
            "limit": check_number("limit", limit, Range(gt=0)),
            "memory": None if memory is None else check_integer("memory", memory, LEAST_MEMORY),
            "cpu": None if cpu is None else check_number("cpu", cpu, Range(gt=0)),
            "folder": _text("folder", os.getcwd() if folder is None else folder),
            "environment": _environment(environment),
            "output": check_integer("output", output, Range(ge=0, le=1 << 30)),
            "cores": _cores(cores),
            "passed": len(files),
        }
        with self._lock:
            if self._closed:
                raise ValueError("the runner must be open, got one that is closed")
            began = time.monotonic()
            words, printed = self._asked(ask, files)
        if "lost" in words:
            return CommandResult("lost", time.monotonic() - began, reason=words["lost"])
        return CommandResult(**words, output=printed)

    def _asked(self, ask: dict[str, Any], passed: Sequence[int]) -> tuple[dict[str, Any], bytes]:
        """Return what the helper answers; it is another one next time if this one does not."""
        try:
            helper = self._helper = self._helper or Helper(self.mechanism)
        except OSError as error:
            return {"lost": f"no helper: {error.strerror}"}, b""
        answer = None
        try:
            if not self._closed:  # while the helper was made, there was nobody to be ended
                helper.ask(ask, passed)
                answer = helper.answer(ask["limit"])
        finally:
            # An answer that comes later must not be taken for another run's.
            if answer is None or self._closed:
                self._helper = None
                helper.end()
        if answer is None:
            reason = "the runner was closed" if self._closed else "the runner's helper was ended"
            answer = {"lost": reason}, b""
        return answer

    @property
    def closed(self) -> bool:
        """Whether `close` was called: nothing can be run any more."""
        return self._closed

    def close(self) -> None:
        """End what is being run, and the helper; any thread may ask for it."""
        self._closed = True
        helper = self._helper
        if helper is not None:
            helper.end()

    def __enter__(self) -> Self:
        """Return the runner."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _words(mechanism: str, exact: bool, refused: list[str]) -> str:
    """Return a sentence on what the runner can do here."""
    cpu = "exact" if exact else "sampled where a program waits for none of its children"
    instead = f"; it stands in for {', '.join(refused)}" if refused else ""
    return f"{mechanism}: {MECHANISMS[mechanism]}; CPU time is {cpu}{instead}"


def _command(command: Any) -> list[str]:
    if isinstance(command, str | bytes) or not isinstance(command, Sequence) or not command:
        raise TypeError(f"command must be a list of at least one word, got {short_repr(command)}")
    return [_text(f"command[{i}]", word) for i, word in enumerate(command)]


def _environment(environment: Any) -> dict[str, str] | None:
    if environment is None:
        return None
    if not isinstance(environment, Mapping):
        raise TypeError(f"environment must be a mapping, got {short_repr(environment)}")
    found = {}
    for name, value in environment.items():
        word = _text("environment", name)
        if not word or "=" in word:
            raise ValueError(f"environment must have names without '=', got {short_repr(word)}")
        found[word] = _text(f"environment[{word!r}]", value)
    return found


def _text(name: str, value: Any) -> str:
    """Return what the kernel takes for a text."""
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


def _cores(cores: Any) -> list[int] | None:
    if cores is None:
        return None
    if not hasattr(os, "sched_getaffinity"):
        raise ValueError("cores must be None on this system, which pins nothing to processors")
    allowed = os.sched_getaffinity(0)
    found = [check_integer("cores", core) for core in cores]
    for core in found:
        if core not in allowed:
            known = ", ".join(map(str, sorted(allowed)))
            raise ValueError(f"cores must be among {known}; got {core}")
    if not found:
        raise ValueError("cores must have at least one entry, got none")
    return found
