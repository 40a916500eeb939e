"""Supervision of one command: start it, keep its output, enforce limits, kill its processes.

The kernel itself forbids core dumps, and limits CPU time as a second line of defence.
"""

import fcntl
import math
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from . import process_tree
from .framing import encode_frame
from .kill_mechanisms import Mechanism
from .linux_syscalls import LINUX, set_dumpable

_MIN_SLEEP: Final = 0.1  # seconds; shorter sleep of the machine is not reported: clocks drift less
_MAX_READ_TIME: Final = 0.01  # seconds within which both clocks are read
_NOT_KILLED_REASON: Final = "processes of another user could not be ended"
_CHUNK_BYTES: Final = 1 << 16
_CHUNKS_PER_CALL: Final = 16  # endless output must not delay the check of the limits
_MAXRSS_BYTES: Final = 1024 if LINUX else 1  # the unit of ru_maxrss
_MIN_INTERVAL: Final = 0.003  # seconds from the start to the first sample, and between any two
_MAX_INTERVAL: Final = 0.25  # seconds between two samples
_INTERVAL_GROWTH: Final = 1.5  # factor from one interval to the next
_MAX_SAMPLE_SHARE: Final = 0.05  # the largest share of the time that is spent on samples
_MIN_RISE: Final = 1.05  # factor by which resident memory rises before it is measured exactly
_MAX_FILL_RATE: Final = 4e9  # bytes a second: what two processors or so fill at their fastest
_OOM_SCORE: Final = "500"  # of 1000: proc(5), oom_score_adj
_MAX_CPU: Final = 1e9  # seconds: RLIMIT_CPU is set no higher
_RESET_SIGNALS: Final = ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD")


class OutputCapture:
    """A pipe, and up to `size` bytes of its data: half from the start, half from the end."""

    def __init__(self, size: int) -> None:
        self._first, self._last = bytearray(), bytearray()
        self._half = size // 2
        self._byte_count = 0
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def drain(self) -> bool:
        """Read what the pipe holds; return False at the end of the stream."""
        for _ in range(_CHUNKS_PER_CALL):
            try:
                data = os.read(self.read_end, _CHUNK_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._byte_count += len(data)
            free = self._half - len(self._first)
            self._first += data[:free]
            self._last += data[free:]
            if len(self._last) > self._half:
                del self._last[: len(self._last) - self._half]
        return True

    def join_kept_bytes(self) -> bytes:
        """Return what was kept; a line between start and end says how many bytes are missing."""
        missing_count = self._byte_count - len(self._first) - len(self._last)
        gap_line = b""
        if missing_count and self._half:
            gap_line = b"\n... %d bytes ...\n" % missing_count
        return bytes(self._first + gap_line + self._last)


class UsageMeter:
    """Meter of the CPU seconds and the peak memory, in bytes, of all processes below this one.

    `read_cpu` returns the CPU seconds of the control group or, without one, of reaped processes.
    """

    def __init__(
        self, cpu: float | None, memory: int | None, read_cpu: Callable[[], float]
    ) -> None:
        self.cpu_limit = cpu or math.inf
        self._memory_limit = memory or math.inf
        self.cpu = 0.0
        self.memory = 0
        self._read_cpu = read_cpu
        self._cpu_before = read_cpu()
        self._cpu_by_process: dict[tuple[int, int], float] = {}
        self._resident_when_measured = 0
        self._interval = _MIN_INTERVAL
        self.next_sample = time.monotonic() + _MIN_INTERVAL

    def is_over_limit(self) -> bool:
        """Return whether the CPU or memory limit is exceeded."""
        return self.cpu > self.cpu_limit or self.memory > self._memory_limit

    def sample(self) -> None:
        """Measure all processes below this one, and set the time of the next sample."""
        start = time.monotonic()
        processes = process_tree.list_descendants()
        self._update_cpu(processes)
        self._update_memory([process for process in processes if process.alive])
        now = time.monotonic()
        self._interval = min(self._interval * _INTERVAL_GROWTH, _MAX_INTERVAL)
        # The nearer a limit, the sooner the next sample: all processors may be at work until then.
        cpu_left = (self.cpu_limit - self.cpu) / (os.cpu_count() or 1)
        memory_left = (self._memory_limit - self.memory) / _MAX_FILL_RATE
        wait = max(min(self._interval, cpu_left, memory_left), _MIN_INTERVAL)
        self.next_sample = now + max(wait, (now - start) / _MAX_SAMPLE_SHARE)

    def _update_cpu(self, processes: list[process_tree.Process]) -> None:
        for process in processes:
            self._cpu_by_process[process.pid, process.start_ticks] = process.cpu
        # Both sums are lower bounds, so the larger sum counts. The first sum lacks processes that
        # began and ended between two samples. The second sum lacks processes that ended and were
        # never reaped: the kernel adds a child's usage to its parent when the parent waits for it.
        listed_cpu = sum(process.cpu + process.reaped_cpu for process in processes)
        self._raise_cpu_to(sum(self._cpu_by_process.values()), listed_cpu + read_reaped_cpu())

    def _update_memory(self, processes: list[process_tree.Process]) -> None:
        total = sum(process.resident for process in processes)
        if len(processes) > 1 and total > self.memory:
            # Resident sizes count shared pages in each process. The proportional size is exact, but
            # the kernel reads all page tables to find it: it is read only after a rise.
            if total <= self._resident_when_measured * _MIN_RISE:
                return
            self._resident_when_measured = total
            total = sum(map(process_tree.read_proportional_size, processes))
        self.memory = max(self.memory, total)

    def finish(self) -> None:
        """Complete the totals with the usage of reaped children."""
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.memory = max(self.memory, largest * _MAXRSS_BYTES)
        self._raise_cpu_to(read_reaped_cpu())

    def _raise_cpu_to(self, *sums: float) -> None:
        self.cpu = max(self.cpu, self._read_cpu() - self._cpu_before, *sums)


def read_reaped_cpu() -> float:
    """Return CPU seconds of all reaped children and their reaped descendants."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@dataclass(frozen=True)
class CommandProcess:
    """The main process of a run, with the start of the command, or why it did not start."""

    pid: int
    start: float  # in seconds of the monotonic clock
    problem: str  # "" if the command has started


def start_command(request: dict[str, Any], output: int) -> CommandProcess:
    """Start a command; return as soon as it runs or has failed to start."""
    # This is a socket and not a pipe: if the command runs as root, it could open a pipe in
    # /proc/PID/fd, and write to it.
    read_end, write_end = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _exec_command(request, output, write_end.fileno())
    write_end.close()
    # Exec closes the write end: the stream ends when the command runs. The exit code alone would
    # not show whether exec has failed, since the command itself may exit with 127.
    # The report is "START", "START!PROBLEM" or "!PROBLEM".
    with read_end, read_end.makefile("rb") as report:
        start, _, problem = os.fsdecode(report.read()).partition("!")
    return CommandProcess(pid, float(start or time.monotonic()), problem)


def _exec_command(request: dict[str, Any], output: int, write_end: int) -> NoReturn:
    subject = request["folder"]  # what the message of an error is about
    try:
        # The command gets a session of its own: signals that it sends to its process group must not
        # reach its supervisor (the init).
        os.setsid()
        set_dumpable(True)  # unlike the init: the command must be able to read its own /proc
        # Ignored signals stay ignored through exec. Python ignores SIGPIPE and SIGXFSZ, and the
        # program that uses the runner may ignore the others.
        for name in _RESET_SIGNALS:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        null = os.open(os.devnull, os.O_RDONLY)
        write_end = _move_descriptors([null, output, output, *request["passed"]], write_end)
        os.chdir(request["folder"])
        subject = request["command"][0]
        if request["cores"] is not None:
            os.sched_setaffinity(0, request["cores"])
        _set_limits(request)
        environment = request["environment"]
        if environment is None:
            environment = os.environ
        # The start is measured here, just before exec, and not in the init: on a busy machine the
        # init may run only later, and `seconds` would lack the time until then.
        os.write(write_end, b"%.9f" % time.monotonic())
        os.execvpe(subject, request["command"], environment)
    except Exception as error:  # whatever it is, the command could not start
        reason = str(error)
        if isinstance(error, OSError):
            reason = os.strerror(error.errno or 0)
        os.write(write_end, os.fsencode(f"!{reason}: {subject}"))
    finally:
        os._exit(127)


def _move_descriptors(files: list[int], other_file: int) -> int:
    """Give files the descriptors 0, 1, ...; return a new descriptor of another file."""
    # All are first copied to higher numbers: dup2 could close a file that is still to be moved.
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, len(files)) for file in [*files, other_file]]
    for number, copy in enumerate(copies[:-1]):
        os.dup2(copy, number)
    return copies[-1]


def _set_limits(request: dict[str, Any]) -> None:
    """Set the limits that the kernel enforces, on core dumps and CPU time, and the OOM score.

    The init enforces the CPU limit of all processes together. The kernel's limit, of each single
    process, is higher by a second, and by the CPU time that all processors can use in the grace.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request["cpu"] is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        cpu_seconds = request["cpu"] + request["grace"] * (os.cpu_count() or 1)
        seconds = math.ceil(min(cpu_seconds, _MAX_CPU)) + 1
        if hard == resource.RLIM_INFINITY or seconds < hard:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    # If the machine runs out of memory, the kernel should kill the command and not the runner.
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(_OOM_SCORE)


def supervise(
    request: dict[str, Any], channel: int, mechanism: Mechanism, read_cpu: Callable[[], float]
) -> None:
    """Supervise one run from start to end, as the init of the run; send the answer to the helper.

    `channel` is the descriptor of a socket to the helper. The run is killed when the helper shuts
    the socket down, or ends.
    """
    mechanism.become_init()
    process_tree.enter_proc()
    set_dumpable(False)  # the run must not write to the memory or descriptors of its init
    asleep_before = _seconds_asleep()
    output = OutputCapture(request["output"])
    meter = UsageMeter(request["cpu"], request["memory"], read_cpu)
    children = _Children()
    main = start_command(request, output.write_end)
    for descriptor in (output.write_end, *request["passed"]):
        os.close(descriptor)
    children.main_pid = main.pid
    end = main.start + request["limit"]
    is_lost = _wait_until_over(end, children.has_main_ended, children, channel, output, meter)
    children.reap()
    is_cut_off = not children.has_main_ended()
    if is_cut_off and request["grace"] and not is_lost:

        def have_all_ended() -> bool:
            return children.has_main_ended() and not mechanism.count_left(main.pid)

        meter.cpu_limit = math.inf  # processes that are told to end have no CPU limit
        # The main process has not been reaped: its PID is still the number of its group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(main.pid, signal.SIGTERM)
        end = time.monotonic() + request["grace"]
        is_lost = _wait_until_over(end, have_all_ended, children, channel, output, meter)
    # The time that it takes to kill the other processes does not count.
    seconds = time.monotonic() - main.start
    children.reap()
    # Processes are counted before they are killed. Usage is complete afterwards, when all children
    # have been reaped.
    left_count = mechanism.count_left(main.pid)
    has_exited = children.has_main_ended()
    are_all_killed = mechanism.kill(main.pid)
    meter.finish()
    output.drain()
    code = children.status if has_exited and not main.problem else None
    outcome = "lost"
    if not is_lost:
        outcome = _judge_outcome(request, main, None if is_cut_off else code, seconds, meter)
    answer = {
        "outcome": outcome,
        "seconds": seconds,
        "cpu": meter.cpu,
        "memory": meter.memory,
        "code": code if code is not None and code >= 0 else None,
        "signal": -code if code is not None and code < 0 else None,
        "left": left_count,
        "reason": main.problem or ("" if are_all_killed else _NOT_KILLED_REASON),
        "slept": _seconds_asleep() - asleep_before > _MIN_SLEEP,
    }
    with suppress(BrokenPipeError), os.fdopen(channel, "wb") as file:  # the helper may have ended
        file.write(encode_frame(answer, output.join_kept_bytes()))


def _wait_until_over(
    end: float,
    is_over: Callable[[], bool],
    children: "_Children",
    channel: int,
    output: OutputCapture,
    meter: UsageMeter,
) -> bool:
    """Wait until the run is over or exceeds a limit; return whether the helper ended first."""
    poll = select.poll()
    for descriptor in (children.sigchld_fd, channel, output.read_end):
        poll.register(descriptor, select.POLLIN)
    while not is_over():
        now = time.monotonic()
        if now >= end or meter.is_over_limit():
            return False
        if now >= meter.next_sample:
            children.reap()
            meter.sample()
            continue
        # Rounded up: rounded down, the loop would spin in the last millisecond.
        events = dict(poll.poll(int((min(end, meter.next_sample) - now) * 1000) + 1))
        if channel in events:
            return True
        if output.read_end in events and not output.drain():
            poll.unregister(output.read_end)
        if children.sigchld_fd in events:
            children.reap()
    return False


def _judge_outcome(
    request: dict[str, Any],
    main: CommandProcess,
    code: int | None,
    seconds: float,
    meter: UsageMeter,
) -> str:
    """Return the outcome of a run; `ok` and `failed` imply that all limits were kept.

    `code` is the exit code of the main process, or -signal; None if the run was cut off.
    """
    if main.problem:
        return "could not start"
    if request["memory"] is not None and meter.memory > request["memory"]:
        return "out of memory"
    if seconds > request["limit"] or meter.is_over_limit() or code is None:
        return "out of time"
    return "ok" if code == 0 else "failed"


class _Children:
    """Children of this process: the main process, and the orphans that this process adopts."""

    def __init__(self) -> None:
        self.main_pid = 0
        self.status: int | None = None
        # SIGCHLD writes to a pipe, so that `poll` returns even if a child ends between the last
        # check for ended children and the wait. A pidfd would do this on Linux only, and only for
        # the main process.
        self.sigchld_fd, wakeup = os.pipe()
        os.set_blocking(self.sigchld_fd, False)
        os.set_blocking(wakeup, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    def has_main_ended(self) -> bool:
        """Return whether the main process has ended and been reaped."""
        return self.status is not None

    def reap(self) -> None:
        """Reap all ended children; `status` becomes the exit code of the main one, or -signal."""
        with suppress(BlockingIOError):
            os.read(self.sigchld_fd, 1 << 16)
        try:
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                if child[0] == self.main_pid:
                    self.status = os.waitstatus_to_exitcode(child[1])
        except ChildProcessError:
            return


def _seconds_asleep() -> float:
    """Return for how many seconds the machine has been suspended since it was booted."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    while True:
        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        all_time = time.clock_gettime(time.CLOCK_BOOTTIME)
        after = time.clock_gettime(time.CLOCK_MONOTONIC)
        if after - before < _MAX_READ_TIME:  # otherwise the process was preempted in between
            return all_time - before
