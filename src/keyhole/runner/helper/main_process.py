"""The main process of a run: from the fork to the command."""

import fcntl
import math
import os
import resource
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from .linux_syscalls import set_dumpable

_FIRST_TO_GO: Final = "500"  # of 1000, see proc(5)
_FOR_EVER: Final = 1e9  # seconds: more CPU time than the kernel is told of
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
        began, _, problem = os.fsdecode(words.read()).partition("!")
    return Main(pid, float(began or time.monotonic()), problem)


def _become(ask: dict[str, Any], output: int, said: int) -> NoReturn:
    what = ask["folder"]
    try:
        os.setsid()
        set_dumpable(True)
        for name in _GUARDED:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        null = os.open(os.devnull, os.O_RDONLY)
        said = _arrange([null, output, output, *ask["passed"]], said)
        if ask["folder"] is not None:
            os.chdir(ask["folder"])
        what = ask["command"][0]
        if ask["cores"] is not None:
            os.sched_setaffinity(0, ask["cores"])
        _limit(ask["cpu"])
        environment = os.environ if ask["environment"] is None else ask["environment"]
        # The time is taken here: an init may be woken late, when the command has long begun.
        os.write(said, b"%.9f" % time.monotonic())
        os.execvpe(ask["command"][0], ask["command"], environment)
    except Exception as error:  # whatever it is, the command has not begun, and not failed
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else error
        os.write(said, os.fsencode(f"!{why}: {what}"))
    finally:
        os._exit(127)


def _arrange(files: list[int], other: int) -> int:
    """Give files the descriptors 0, 1, ...; return a new one of another file."""
    above = len(files)
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, above) for file in (*files, other)]
    for number, copy in enumerate(copies[:-1]):
        os.dup2(copy, number)
    return copies[-1]


def _limit(cpu: float | None) -> None:
    """Set what the kernel sees to: no dumps of memory, and CPU time process by process.

    That is a little above the limit of all together, which the init sees to where it can.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cpu is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        seconds = math.ceil(min(cpu, _FOR_EVER)) + 1
        if hard == resource.RLIM_INFINITY or seconds < hard:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    # Should the machine run out of memory, the kernel is to end this rather than who runs it.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(_FIRST_TO_GO)
