"""The helper: a small process that forks an init for each run, and sees to it that it ends."""

import math
import os
import select
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from typing import Any, Final, NoReturn

from .cgroup import Group
from .framing import encode_frame, is_frame, read_frame
from .supervision import supervise
from .termination import MECHANISMS, Mechanism
from .usage_meter import waited_for

_GLANCE: Final = 500  # milliseconds between two looks at who is the parent
_OVERDUE: Final = 10.0  # seconds after the limit when an init is taken to have been stopped
_PATIENCE: Final = 5.0  # seconds for an init to end all that is below it, before it is killed


def main() -> None:
    """Serve the runner that has started this process: socket, runner's number, mechanism."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # whatever the runner's process does with them
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    channel = socket.socket(fileno=int(sys.argv[2]))
    channel.set_inheritable(False)
    runner = _Runner(channel, int(sys.argv[3]))
    try:
        mechanism = MECHANISMS[sys.argv[4]]()
    except OSError as error:
        channel.sendall(encode_frame({"refused": error.strerror or str(error)}))
        return
    group = None
    with suppress(OSError):
        group = Group()
    channel.sendall(encode_frame({"refused": None, "exact": group is not None}))
    try:
        while runner.asks():
            ask = read_frame(channel.recv)
            if ask is None:
                break
            answer = _run(_with_files(ask[0], channel), runner, mechanism, group)
            if answer is None:
                break
            channel.sendall(answer)
    except OSError:  # the runner does not hear any more
        pass
    finally:
        if group is not None:
            group.leave()


def _with_files(ask: dict[str, Any], channel: socket.socket) -> dict[str, Any]:
    """Return a request, with open files in place of their number."""
    files: list[int] = []
    if ask["passed"]:
        _, files, _, _ = socket.recv_fds(channel, 1, ask["passed"])
    for file in files:
        os.set_inheritable(file, False)
    return ask | {"passed": files}


def _run(
    ask: dict[str, Any], runner: "_Runner", mechanism: Mechanism, group: Group | None
) -> bytes | None:
    """Do a run; return its answer as a frame, None if nobody waits for it any more."""
    # (No pipe: whoever finds one in /proc may open it, and answer in the init's place.)
    ours, theirs = socket.socketpair()
    began, cpu = time.monotonic(), _cpu(group)
    with ours:
        with theirs:
            try:
                init = mechanism.fork()
            except OSError as error:
                _close(ask["passed"])
                return encode_frame({"lost": f"no process for it: {os.strerror(error.errno or 0)}"})
            if init == 0:
                ours.close()
                _run_init(ask, theirs.fileno(), mechanism, group)
        _close(ask["passed"])
        answer = bytearray()
        complete = runner.hears(ours.fileno(), answer, ask["limit"] + _OVERDUE)
        if runner.gone:
            _wait_for_end(ours, init)
        elif not complete:
            os.kill(init, signal.SIGKILL)
    mechanism.clean(init)
    if runner.gone:
        return None
    if not complete:
        seconds, reason = time.monotonic() - began, "what watched over the run has been stopped"
        words = {"outcome": "out of time", "seconds": seconds, "cpu": _cpu(group) - cpu}
        return encode_frame(words | {"reason": reason})
    if not is_frame(answer):
        return encode_frame({"lost": "what watched over the run has been ended"})
    return bytes(answer)


def _cpu(group: Group | None) -> float:
    return waited_for() if group is None else group.used()


def _close(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _run_init(
    ask: dict[str, Any], helper: int, mechanism: Mechanism, group: Group | None
) -> NoReturn:
    status = 1
    try:
        supervise(ask, helper, mechanism, group)
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _wait_for_end(ours: socket.socket, init: int) -> None:
    """Let an init end its run, and wait until it has ended; kill it should it not."""
    with suppress(OSError):  # it may have gone
        ours.shutdown(socket.SHUT_WR)
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    end = time.monotonic() + _PATIENCE
    while (left := end - time.monotonic()) > 0:
        if poll.poll(left * 1000) and not ours.recv(1 << 16):
            return
    os.kill(init, signal.SIGKILL)


class _Runner:
    """Whoever wants something to be run: the process above, at the other end of the channel."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self.gone = False
        self._pid = pid
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._channel = channel.fileno()
        # A child of the runner may have its end of the channel, which then stays open after it.
        with suppress(AttributeError, OSError):
            self._poll.register(os.pidfd_open(pid), select.POLLIN)

    def asks(self) -> bool:
        """Wait for a request; return False if the runner has gone."""
        return self._wait(math.inf) == self._channel

    def hears(self, heard: int, answer: bytearray, seconds: float) -> bool:
        """Take an answer from an init; return False if the runner goes, or time, before its end."""
        end = time.monotonic() + seconds
        self._poll.register(heard, select.POLLIN)
        try:
            while (ready := self._wait(end)) == heard:
                data = os.read(heard, 1 << 16)
                if not data:
                    return True
                answer += data
            self.gone = ready is not None or self.gone  # it says nothing meanwhile, unless it goes
            return False
        finally:
            self._poll.unregister(heard)

    def _wait(self, end: float) -> int | None:
        """Return what can be read; None if that is nothing, or the runner has gone."""
        while time.monotonic() < end:
            if os.getppid() != self._pid:
                self.gone = True
                return None
            if found := self._poll.poll(_GLANCE):
                return found[0][0]
        return None
