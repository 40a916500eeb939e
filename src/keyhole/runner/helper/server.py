"""Main loop of the helper: fork an init for each run, and forward its answer to the runner."""

import math
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn

from .cgroup_accounting import ControlGroup
from .framing import encode_frame, is_frame, read_frame
from .kill_mechanisms import KILL_MECHANISMS, Mechanism
from .supervision import read_reaped_cpu, supervise

_POLL_MILLISECONDS: Final = 500  # between two checks whether the runner is still the parent
_ANSWER_SECONDS: Final = 10.0  # seconds after limit and grace in which an init can still answer
_KILL_SECONDS: Final = 5.0  # an init that takes longer to kill its run is killed itself


def main() -> None:
    """Serve the runner that has started this process.

    `sys.argv` has, from 2 on, the descriptor of the socket, the PID of the runner's process, and
    the name of the mechanism.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # not the runner's mask
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    channel = socket.socket(fileno=int(sys.argv[2]))
    channel.set_inheritable(False)
    runner = _RunnerConnection(channel, int(sys.argv[3]))
    try:
        mechanism = KILL_MECHANISMS[sys.argv[4]]()
    except OSError as error:
        with suppress(OSError):  # the runner may have ended meanwhile
            channel.sendall(encode_frame({"refused": error.strerror or str(error)}))
        return
    group = None
    read_cpu = read_reaped_cpu
    with suppress(OSError):
        group = ControlGroup()
        read_cpu = group.read_cpu
    try:
        # With a control group, the CPU time of a run is exact.
        channel.sendall(encode_frame({"refused": None, "exact": group is not None}))
        while runner.wait_for_request():
            request = read_frame(channel.recv)
            if request is None:
                break
            answer = _run_command(_receive_files(request[0], channel), runner, mechanism, read_cpu)
            if answer is None:
                break
            channel.sendall(answer)
    except OSError:  # the runner has closed the socket
        pass
    finally:
        if group is not None:
            group.leave()


def _receive_files(request: dict[str, Any], channel: socket.socket) -> dict[str, Any]:
    """Receive the files that follow a request; return the request with their descriptors.

    In the request, "passed" is the number of files; in the result, it is their descriptors.
    """
    files: list[int] = []
    if request["passed"]:
        _, files, _, _ = socket.recv_fds(channel, 1, request["passed"])
    for file in files:
        os.set_inheritable(file, False)
    return request | {"passed": files}


def _run_command(
    request: dict[str, Any],
    runner: "_RunnerConnection",
    mechanism: Mechanism,
    read_cpu: Callable[[], float],
) -> bytes | None:
    """Run a command; return the answer as a frame, or None if the runner has ended."""
    # This is a socket and not a pipe: any process of the same user can open a pipe in /proc/PID/fd.
    # So the run could write an answer in the place of its init.
    helper_end, init_end = socket.socketpair()
    cpu_before = read_cpu()
    with helper_end:
        with init_end:
            try:
                init_pid = mechanism.fork()
            except OSError as error:
                _close_files(request["passed"])
                reason = f"no process could be forked: {os.strerror(error.errno or 0)}"
                return encode_frame({"outcome": "lost", "reason": reason})
            if init_pid == 0:
                # If the init kept this descriptor open, it would not notice that the helper ended.
                helper_end.close()
                _run_init(request, init_end.fileno(), mechanism, read_cpu)
        _close_files(request["passed"])
        seconds = request["limit"] + request["grace"] + _ANSWER_SECONDS
        answer = runner.read_init_answer(helper_end.fileno(), seconds)
        if runner.has_runner_ended:
            _stop_init(helper_end, init_pid)
        elif answer is None:
            os.kill(init_pid, signal.SIGKILL)
    mechanism.reap(init_pid)
    if runner.has_runner_ended:
        return None
    if answer is None:
        reason = "the supervisor of the run did not answer in time"
        cpu = read_cpu() - cpu_before
        return encode_frame({"outcome": "out of time", "reason": reason, "cpu": cpu})
    if not is_frame(answer):
        reason = "the supervisor of the run was killed"
        return encode_frame({"outcome": "lost", "reason": reason})
    return answer


def _close_files(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _run_init(
    request: dict[str, Any], channel: int, mechanism: Mechanism, read_cpu: Callable[[], float]
) -> NoReturn:
    # An init must never return into the loop of the helper: it exits whatever happens.
    status = 1
    try:
        supervise(request, channel, mechanism, read_cpu)
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _stop_init(channel: socket.socket, init_pid: int) -> None:
    """Tell an init to kill its run and to end; kill the init if it does not end in time."""
    with suppress(OSError):  # the init may have ended
        channel.shutdown(socket.SHUT_WR)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    end = time.monotonic() + _KILL_SECONDS
    while (seconds_left := end - time.monotonic()) > 0:
        if poll.poll(seconds_left * 1000) and not channel.recv(1 << 16):
            return
    os.kill(init_pid, signal.SIGKILL)


class _RunnerConnection:
    """Connection to the runner; it notices when the runner's process has ended."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self.has_runner_ended = False
        self._pid = pid
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)
        self._channel_fd = channel.fileno()
        # It is not enough to wait until the channel is closed: a fork of the runner's process may
        # have a copy of the runner's socket, which stays open after the runner's process has ended.
        # A pidfd shows at once that the runner's process has ended. On macOS, which has no pidfd,
        # `_wait_until_readable` checks every half second.
        with suppress(AttributeError, OSError):
            self._poll.register(os.pidfd_open(pid), select.POLLIN)

    def wait_for_request(self) -> bool:
        """Wait for a request; return False if the runner has ended."""
        return self._wait_until_readable(math.inf) == self._channel_fd

    def read_init_answer(self, source: int, seconds: float) -> bytes | None:
        """Read the answer of an init from the descriptor `source` until the stream ends; return it.

        Return None if the runner ends first, or if the seconds have passed.
        """
        answer = bytearray()
        end = time.monotonic() + seconds
        self._poll.register(source, select.POLLIN)
        try:
            while (ready := self._wait_until_readable(end)) == source:
                data = os.read(source, 1 << 16)
                if not data:
                    return bytes(answer)
                answer += data
            # The runner sends nothing during a run. So if its channel is readable, the runner has
            # ended or was closed.
            self.has_runner_ended = ready is not None or self.has_runner_ended
            return None
        finally:
            self._poll.unregister(source)

    def _wait_until_readable(self, end: float) -> int | None:
        """Return a readable descriptor; None at the time `end`, or if the runner has ended."""
        while time.monotonic() < end:
            if os.getppid() != self._pid:
                self.has_runner_ended = True
                return None
            if events := self._poll.poll(_POLL_MILLISECONDS):
                return events[0][0]
        return None
