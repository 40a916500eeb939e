"""The init of a run: starts the command, sees to its limits, ends it with all it has started."""

import os
import select
import signal
import time
from contextlib import suppress
from typing import Any, Final

from .cgroup import Group
from .framing import encode_frame
from .linux_syscalls import set_dumpable
from .main_process import Main, start
from .output_capture import Output
from .termination import Mechanism
from .usage_meter import Meter

_ASLEEP: Final = 0.1  # seconds that two clocks may drift apart without the machine having slept
_AT_ONCE: Final = 0.01  # seconds within which they are read
_LEFT: Final = "processes of another user could not be ended"


def supervise(ask: dict[str, Any], helper: int, mechanism: Mechanism, group: Group | None) -> None:
    """Do one run in this process; answer when all that it has started has ended.

    `helper` is a socket to it, which comes to its end when the run is to end, or it has ended.
    """
    mechanism.enter()
    set_dumpable(False)  # a run that could write to this process would answer for it
    slept = _slept()
    output, meter = Output(ask["output"]), Meter(ask["cpu"], ask["memory"], group)
    children = _Children()
    main = start(ask, output.writing)
    for ours_no_more in (output.writing, *ask["passed"]):
        os.close(ours_no_more)
    children.main = main.pid
    lost = not _watch(ask, main, children, helper, output, meter)
    seconds = time.monotonic() - main.began
    children.collect()
    left = mechanism.left(main.pid)
    by_itself = children.status is not None
    all_ended = mechanism.end(main.pid)
    meter.finish()
    output.take()
    code = children.status if by_itself and not main.problem else None
    words: dict[str, Any] = {
        "outcome": "lost" if lost else _outcome(ask, main, code, seconds, meter),
        "seconds": seconds,
        "cpu": meter.cpu,
        "memory": meter.memory,
        "code": code if code is not None and code >= 0 else None,
        "signal": -code if code is not None and code < 0 else None,
        "left": left,
        "reason": main.problem or ("" if all_ended else _LEFT),
        "slept": _slept() - slept > _ASLEEP,
    }
    _write(helper, encode_frame(words, output.kept()))


def _watch(
    ask: dict[str, Any],
    main: Main,
    children: "_Children",
    helper: int,
    output: Output,
    meter: Meter,
) -> bool:
    """Wait until the main process ends or a limit is passed; False if it is to end."""
    poll = select.poll()
    for ready in (children.ready, helper, output.reading):
        poll.register(ready, select.POLLIN)
    end = main.began + ask["limit"]
    while children.status is None:
        now = time.monotonic()
        if now >= end or meter.too_much():
            return True
        if now >= meter.next:
            children.collect()
            meter.look()
            continue
        # Rounded up, so that nothing is asked for over and over in the last millisecond.
        found = dict(poll.poll(int((min(end, meter.next) - now) * 1000) + 1))
        if helper in found:
            return False
        if output.reading in found and not output.take():
            poll.unregister(output.reading)
        if children.ready in found:
            children.collect()
    return True


def _outcome(
    ask: dict[str, Any], main: Main, code: int | None, seconds: float, meter: Meter
) -> str:
    """Return what became of a run: one that is `ok` has kept all limits."""
    if main.problem:
        return "could not start"
    if ask["memory"] is not None and meter.memory > ask["memory"]:
        return "out of memory"
    if seconds > ask["limit"] or meter.too_much() or code is None:
        return "out of time"
    return "ok" if code == 0 else "failed"


class _Children:
    """The children of this process: the main one, and orphans that were given to it."""

    def __init__(self) -> None:
        self.main = 0
        self.status: int | None = None
        # (A pidfd would be told of the main process alone, but is not everywhere.)
        self.ready, said = os.pipe()
        os.set_blocking(self.ready, False)
        os.set_blocking(said, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(said, warn_on_full_buffer=False)

    def collect(self) -> None:
        """Wait for all that have ended; the main one's exit code becomes `status`, or -signal."""
        with suppress(BlockingIOError):
            os.read(self.ready, 1 << 16)
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self.main:
                    self.status = os.waitstatus_to_exitcode(found[1])
        except ChildProcessError:
            return


def _slept() -> float:
    """Return seconds that the machine has been asleep for."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    while True:
        before = time.clock_gettime(time.CLOCK_MONOTONIC)
        all_time = time.clock_gettime(time.CLOCK_BOOTTIME)
        after = time.clock_gettime(time.CLOCK_MONOTONIC)
        if after - before < _AT_ONCE:  # (else this process was kept waiting in between)
            return all_time - before


def _write(to: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(to, "wb") as file:  # the helper may have gone
        file.write(data)
