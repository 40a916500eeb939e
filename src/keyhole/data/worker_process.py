"""The process that does a worker's jobs, run as a script: the standard library is all it needs.

Commands are frames (eight bytes of length, then a pickle): the search path, the job with what
prepares for it, then one argument after the other. Answers are lines of JSON.

On Linux two processes are started, one watching over the other: whatever the jobs start is below
the watching one, in whatever session or group, and whether or not what started it still runs. It
ends all of them when the process that does the jobs ends, and when its own parent does.
"""

import ctypes
import json
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, Final

LENGTH: Final = 8
"""Bytes before a frame that say how long it is."""
_SET_PARENT_DEATH_SIGNAL: Final = 1  # see prctl(2)
_SET_CHILD_SUBREAPER: Final = 36
_GLANCE: Final = 0.5  # seconds between two looks at whether the parent is still there


def main() -> None:
    """Do the jobs that come through the standard input, until it is closed.

    What a job prints goes to the standard error stream, since answers go to the standard output;
    what it starts reads an empty input.
    """
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if sys.platform == "linux":
        _watch(commands, answers)
    _serve(commands, answers)


def _serve(commands: IO[bytes], answers: IO[str]) -> None:
    """Do the jobs: the first answer says whether the process could be prepared."""
    found: dict[str, Callable[[Any], Any]] = {}

    def prepare() -> None:
        sys.path[:] = pickle.loads(_frame(commands))
        found["job"], prepare = pickle.loads(_frame(commands))
        if prepare is not None:
            prepare()

    _answer(answers, prepare)
    while frame := _frame(commands):
        _answer(answers, partial(_do, found["job"], frame))


def _do(job: Callable[[Any], Any], frame: bytes) -> Any:
    return job(pickle.loads(frame))


def _frame(commands: IO[bytes]) -> bytes:
    """Return the next command, nothing if there is none."""
    return commands.read(int.from_bytes(commands.read(LENGTH), "big"))


def _answer(answers: IO[str], do: Callable[[], Any]) -> None:
    """Do something; say what came of it, how long it took, and whether it left things behind."""
    before, began = _companions(), time.perf_counter()
    result, failure = None, ""
    try:
        result = do()
        seconds = time.perf_counter() - began
        text = json.dumps(plain(result))
    except BaseException as error:  # (told to whoever asked for the job, who raises it)
        seconds, text = time.perf_counter() - began, "null"
        failure = traceback.format_exception_only(error)[-1].strip()
    rest = json.dumps(
        {"seconds": seconds, "failure": failure, "left": bool(_companions() - before)}
    )
    answers.write(f'{{"result": {text}, {rest[1:]}\n')
    answers.flush()


def plain(value: object) -> object:
    """Return a result made of types that JSON has, lists for tuples; refuse all others."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {str(name): plain(one) for name, one in value.items()}
    kind_name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    raise TypeError(
        "the result must be made of None, bool, int, float, str, list, tuple, and dict with text "
        f"for keys; got a {kind_name}"
    )


def _companions() -> set[int]:
    """Return what this process has started or left to the watching one; nothing if none watches."""
    if sys.platform != "linux":
        return set()
    found = {*_children(os.getppid()), *_children(os.getpid())} - {os.getpid()}
    return {pid for pid in found if _runs(_stat(str(pid)))}


def _children(pid: int) -> list[int]:
    """Return children of a process: faster than `below`, and asked for twice a job."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except OSError:  # a kernel without these files, or a thread that has just ended
        return below(pid)
    return found


def _watch(commands: IO[bytes], answers: IO[str]) -> None:
    """Return in a child; stay behind to end what is below, and this process with it."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    above = os.getppid()
    awaited = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        return
    commands.close()
    # The death signal of a process comes when the *thread* that has started it ends, which need
    # not be the end of the parent: so the parent is looked at instead.
    while os.getppid() == above:
        told = signal.sigtimedwait(awaited, _GLANCE)
        if told is not None and told.si_signo == signal.SIGTERM:
            break
        for pid, status in _ended_children():
            if pid == child:
                end_below(os.getpid())
                answers.write(json.dumps({"ended": how_it_ended(status)}) + "\n")
                answers.flush()
                os._exit(0)
    end_below(os.getpid())
    os._exit(0)


def _ended_children() -> Iterator[tuple[int, int]]:
    """Yield children of this process that have ended, with what they ended with."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def how_it_ended(code: int) -> str:
    """Return in words what a process ended with, a signal if the code is below 0.

    Examples
    --------
    >>> how_it_ended(3), how_it_ended(-9)
    ('exit status 3', 'signal SIGKILL')
    """
    return f"exit status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def below(pid: int) -> list[int]:
    """Return the processes that one has started, those that these have, and so on (Linux)."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and _runs(stat := _stat(name)):
            children.setdefault(int(stat[1]), []).append(int(name))
    found = children.get(pid, [])
    for one in found:  # the list grows while it is gone through
        found.extend(children.get(one, []))
    return found


def _stat(name: str) -> list[bytes]:
    """Return state and parent of a process, and what follows; nothing if it is gone."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def _runs(stat: list[bytes]) -> bool:
    return bool(stat) and stat[0] not in (b"Z", b"X")  # ended, and not yet asked after


def end_below(pid: int) -> None:
    """End all processes below one (Linux).

    That one goes on, and must start nothing meanwhile.
    """
    stopped: set[int] = set()
    while fresh := set(below(pid)) - stopped:  # a stopped process starts no other
        for one in fresh:
            _signal(one, signal.SIGSTOP)
        stopped |= fresh
    for one in stopped:
        _signal(one, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    main()
