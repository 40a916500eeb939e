"""Start the main process of a run: fork, set limits of the kernel, and execute the command.

They are no core dumps, and CPU time as a second line of defence; other limits are watched
elsewhere.
"""

import fcntl
import math
import os
import resource
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from .linux_syscalls import set_dumpable

_OOM_SCORE: Final = "500"  # of 1000: proc(5), oom_score_adj
_MAX_CPU: Final = 1e9  # seconds: RLIMIT_CPU is set no higher
_RESET_SIGNALS: Final = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD")


@dataclass(frozen=True)
class CommandProcess:
    """The main process: its PID, the time when the command began, or why it did not begin."""

    pid: int
    began: float
    problem: str


def start_command(request: dict[str, Any], output: int) -> CommandProcess:
    """Start a command; return as soon as it runs or has failed to start."""
    # Not a pipe: a command of root could open that in /proc/PID/fd, and write into it.
    read_end, write_end = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _exec_command(request, output, write_end.fileno())
    write_end.close()
    # The write end is closed on exec, so that the socket ends when the command runs: exec reports
    # no success otherwise, and an exit code 127 could be the command's own.
    with read_end, read_end.makefile("rb") as report:
        began, _, problem = os.fsdecode(report.read()).partition("!")
    return CommandProcess(pid, float(began or time.monotonic()), problem)


def _exec_command(request: dict[str, Any], output: int, write_end: int) -> NoReturn:
    what = request["folder"]
    try:
        # A session of its own: signals to the process group of the command must not reach its init.
        os.setsid()
        set_dumpable(True)  # the init is not; the command must be able to read its own /proc
        # Python ignores SIGPIPE and SIGXFSZ, and ignored signals are inherited through exec.
        for name in _RESET_SIGNALS:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        null = os.open(os.devnull, os.O_RDONLY)
        write_end = _move_descriptors([null, output, output, *request["passed"]], write_end)
        if request["folder"] is not None:
            os.chdir(request["folder"])
        what = request["command"][0]
        if request["cores"] is not None:
            os.sched_setaffinity(0, request["cores"])
        _set_limits(request)
        environment = os.environ if request["environment"] is None else request["environment"]
        # The start is taken here, just before exec: on a busy machine the init may run only later,
        # and the time until then would be missing from `seconds`.
        os.write(write_end, b"%.9f" % time.monotonic())
        os.execvpe(request["command"][0], request["command"], environment)
    # An error of any kind: the command has not begun, which is not a failure of it.
    except Exception as error:
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else error
        os.write(write_end, os.fsencode(f"!{why}: {what}"))
    finally:
        os._exit(127)


def _move_descriptors(files: list[int], other: int) -> int:
    """Give files the descriptors 0, 1, ...; return a new descriptor of another file."""
    # All are first copied above the target range: dup2 in place could close one still to be moved.
    above = len(files)
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, above) for file in (*files, other)]
    for number, copy in enumerate(copies[:-1]):
        os.dup2(copy, number)
    return copies[-1]


def _set_limits(request: dict[str, Any]) -> None:
    """Set limits that the kernel enforces: no core dumps, and CPU time of each single process.

    The init enforces the limit of all processes together; this one is a second above that, and
    above what all processors can do in the grace.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request["cpu"] is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        most = request["cpu"] + request["grace"] * (os.cpu_count() or 1)
        seconds = math.ceil(min(most, _MAX_CPU)) + 1
        if hard == resource.RLIM_INFINITY or seconds < hard:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    # If the machine runs out of memory, the kernel should kill the command and not the tuner.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(_OOM_SCORE)
