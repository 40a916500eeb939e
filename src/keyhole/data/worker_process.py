"""The process that does a worker's jobs, run as a script: the standard library is all it needs.

Commands are frames (eight bytes of length, then a pickle): the search path, the job with what
prepares for it, then one argument after the other. Answers are lines of JSON.
"""

import json
import os
import pickle
import socket
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

LENGTH: Final = 8
"""Bytes before a frame that say how long it is."""
_CHANNEL: Final = 3  # descriptors that the worker passes on
_MESSAGES: Final = 4


def main() -> None:
    """Do the jobs that come through the channel, until it is closed.

    What a job prints goes to the standard error stream of the one that holds the worker.
    """
    channel = socket.socket(fileno=_CHANNEL)
    channel.set_inheritable(False)
    os.dup2(_MESSAGES, 1)
    os.dup2(_MESSAGES, 2)
    os.close(_MESSAGES)
    with channel.makefile("rb") as commands, channel.makefile("w") as answers:
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


def _companions() -> set[str]:
    """Return what this process has started or left behind; nothing where there is no /proc.

    What is left behind comes to the parent, which starts nothing else.
    """
    try:
        own = os.readlink("/proc/self")  # (its number there; `getpid` may count otherwise)
        above = _stat(own)[1].decode()
    except (OSError, IndexError):
        return set()
    found = {*_children(above), *_children(own)} - {own}
    return {pid for pid in found if _stat(pid)[:1] not in ([], [b"Z"], [b"X"])}


def _children(pid: str) -> list[str]:
    found: list[str] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
    except OSError:  # it has just ended, or the kernel has no such files
        pass
    return found


def _stat(pid: str) -> list[bytes]:
    """Return state and parent of a process, and what follows; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    main()
