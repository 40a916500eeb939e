"""The main process of a run: from the fork to the command."""

import math
import os
import resource
import signal
import time
from dataclasses import dataclass
from typing import Any, Final, NoReturn

_SLACK: Final = 1 / 8  # of the memory limit, see `_limit`
_MORE: Final = 1 << 25
_GUARDED: Final = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD")


@dataclass(frozen=True)
class Main:
    """The main process: its number, when the command began, and why it did not."""

    pid: int
    began: float
    problem: str


def start(ask: dict[str, Any], output: int) -> Main:
    """Start a command; return when it runs, or does not."""
    heard, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(ask, output, said)
    os.close(said)
    with os.fdopen(heard, "rb") as words:  # ends when the command has taken the child's place
        began, _, problem = words.read().decode(errors="replace").partition("!")
    return Main(pid, float(began or time.monotonic()), problem)


def _become(ask: dict[str, Any], output: int, said: int) -> NoReturn:
    what = ask["folder"]
    try:
        os.setsid()
        for name in _GUARDED:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if ask["folder"] is not None:
            os.chdir(ask["folder"])
        what = ask["command"][0]
        if ask["cores"] is not None:
            os.sched_setaffinity(0, ask["cores"])
        _limit(ask["memory"], ask["cpu"])
        environment = os.environ if ask["environment"] is None else ask["environment"]
        # The time is taken here: an init may be woken late, when the command has long begun.
        os.write(said, b"%.9f" % time.monotonic())
        os.execvpe(ask["command"][0], ask["command"], environment)
    except OSError as error:
        os.write(said, f"!{os.strerror(error.errno or 0)}: {what}".encode())
    finally:
        os._exit(127)


def _limit(memory: int | None, cpu: float | None) -> None:
    """Set what the kernel itself sees to, process by process; the init sees to their sum.

    A little above the limits, so that whoever goes beyond them is seen to, and is no mere failure.
    It is writable memory that is limited: address space without memory in it costs nothing.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        _lower(resource.RLIMIT_DATA, memory + int(memory * _SLACK) + _MORE)
    if cpu is not None:
        _lower(resource.RLIMIT_CPU, math.ceil(cpu) + 1)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or value < hard:
        resource.setrlimit(kind, (value, value))
