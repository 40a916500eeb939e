"""Supervision of one command: start it, enforce its limits, and kill all its processes."""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from . import process_tree
from .cgroup_accounting import ControlGroup
from .command_process import CommandProcess, start_command
from .framing import encode_frame
from .kill_mechanisms import Mechanism
from .linux_syscalls import set_dumpable
from .output_capture import OutputCapture
from .usage_meter import UsageMeter

_MIN_SLEEP: Final = 0.1  # seconds of suspension that are reported: two clocks drift by less
_MAX_READ_TIME: Final = 0.01  # seconds within which both clocks are read
_NOT_KILLED: Final = "processes of another user could not be ended"


def supervise(
    request: dict[str, Any], helper: int, mechanism: Mechanism, group: ControlGroup | None
) -> None:
    """Do one run in this process; send the answer when all its processes have ended.

    `helper` is a socket; its end means that the run must be killed or that the helper has ended.
    """
    mechanism.enter()
    process_tree.enter_proc()
    set_dumpable(False)  # the run must not write to the memory or descriptors of its init
    asleep_before = _seconds_asleep()
    output = OutputCapture(request["output"])
    meter = UsageMeter(request["cpu"], request["memory"], group)
    children = _Children()
    main = start_command(request, output.writing)
    for descriptor in (output.writing, *request["passed"]):
        os.close(descriptor)
    children.main = main.pid
    end = main.began + request["limit"]
    lost = not _wait_for_end(end, children.has_main_ended, children, helper, output, meter)
    children.collect()
    is_cut_off = not children.has_main_ended()
    if is_cut_off and request["grace"] and not lost:

        def have_all_ended() -> bool:
            return children.has_main_ended() and not mechanism.count_left(main.pid)

        meter.lift_cpu_limit()
        # The main process has not been reaped, so that this is still its group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(main.pid, signal.SIGTERM)
        end = time.monotonic() + request["grace"]
        lost = not _wait_for_end(end, have_all_ended, children, helper, output, meter)
    # Wall time ends here, before the other processes are killed, which is no work of the command.
    seconds = time.monotonic() - main.began
    children.collect()
    # Counted before they are killed; usage after it, when all children have been reaped.
    left = mechanism.count_left(main.pid)
    has_exited = children.has_main_ended()
    all_killed = mechanism.kill(main.pid)
    meter.finish()
    output.drain()
    code = children.status if has_exited and not main.problem else None
    judged = None if is_cut_off else code
    answer: dict[str, Any] = {
        "outcome": "lost" if lost else _judge_outcome(request, main, judged, seconds, meter),
        "seconds": seconds,
        "cpu": meter.cpu,
        "memory": meter.memory,
        "code": code if code is not None and code >= 0 else None,
        "signal": -code if code is not None and code < 0 else None,
        "left": left,
        "reason": main.problem or ("" if all_killed else _NOT_KILLED),
        "slept": _seconds_asleep() - asleep_before > _MIN_SLEEP,
    }
    _send(helper, encode_frame(answer, output.kept_bytes()))


def _wait_for_end(
    end: float,
    is_over: Callable[[], bool],
    children: "_Children",
    helper: int,
    output: OutputCapture,
    meter: UsageMeter,
) -> bool:
    """Wait until the run is over, or for a limit; return False if the helper ends first."""
    poll = select.poll()
    for ready in (children.ready, helper, output.reading):
        poll.register(ready, select.POLLIN)
    while not is_over():
        now = time.monotonic()
        if now >= end or meter.is_over_limit():
            return True
        if now >= meter.next_sample:
            children.collect()
            meter.sample()
            continue
        # Rounded up: rounded down, the loop would spin in the last millisecond.
        found = dict(poll.poll(int((min(end, meter.next_sample) - now) * 1000) + 1))
        if helper in found:
            return False
        if output.reading in found and not output.drain():
            poll.unregister(output.reading)
        if children.ready in found:
            children.collect()
    return True


def _judge_outcome(
    request: dict[str, Any],
    main: CommandProcess,
    code: int | None,
    seconds: float,
    meter: UsageMeter,
) -> str:
    """Return the outcome of a run: `ok` and `failed` imply that all limits were kept."""
    if main.problem:
        return "could not start"
    if request["memory"] is not None and meter.memory > request["memory"]:
        return "out of memory"
    if seconds > request["limit"] or meter.is_over_limit() or code is None:
        return "out of time"
    return "ok" if code == 0 else "failed"


class _Children:
    """Children of this process: the main process, and orphans that it has adopted."""

    def __init__(self) -> None:
        self.main = 0
        self.status: int | None = None
        # SIGCHLD writes to a pipe, so that `poll` wakes up without a race between a check for ended
        # children and the wait. A pidfd would do for the main process, but only on Linux.
        self.ready, wakeup = os.pipe()
        os.set_blocking(self.ready, False)
        os.set_blocking(wakeup, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    def has_main_ended(self) -> bool:
        """Return whether the main process has ended, and was reaped."""
        return self.status is not None

    def collect(self) -> None:
        """Reap all ended children; `status` becomes the exit code of the main one, or -signal."""
        with suppress(BlockingIOError):
            os.read(self.ready, 1 << 16)
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self.main:
                    self.status = os.waitstatus_to_exitcode(found[1])
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
        if after - before < _MAX_READ_TIME:  # otherwise this process was preempted in between
            return all_time - before


def _send(to: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(to, "wb") as file:  # the helper may have ended
        file.write(data)
