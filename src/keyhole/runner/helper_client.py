"""Client of the helper process, which starts commands and kills them at their limits."""

import math
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from keyhole.runner.helper.framing import encode_frame, read_frame

_FOLDER: Final = Path(__file__).parent
_BOOTSTRAP: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from helper.server import main; main()"
)
_SHUTDOWN_SECONDS: Final = 15.0  # seconds that a helper may take to kill its run and to exit
_GRACE_SECONDS: Final = 30.0  # seconds after limit and grace when a helper counts as stopped
_LONGEST_TIMEOUT: Final = 1e6  # seconds: longer socket timeouts overflow on some systems


class RefusedError(OSError):
    """A mechanism that kills processes does not work on this system; the message says why."""


class Helper:
    """The helper: a child process that runs commands, one at a time, and kills their processes."""

    def __init__(self, mechanism: str) -> None:
        self._owner = os.getpid()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = self._start_process(theirs.fileno(), mechanism)
        answer = self.read_answer()
        if answer is None or answer[0]["refused"]:
            self.stop()
            raise RefusedError(
                0, "its helper has ended" if answer is None else answer[0]["refused"]
            )
        self.exact: bool = answer[0]["exact"]

    def _start_process(self, channel: int, mechanism: str) -> subprocess.Popen[bytes]:
        arguments = [str(_FOLDER), str(channel), str(self._owner), mechanism]
        try:
            return subprocess.Popen(
                # -I and -S leave out installed packages and PYTHON* variables: the helper starts in
                # 0.06 s of CPU time, and the inits that it forks stay small.
                [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, *arguments],
                pass_fds=[channel],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C must reach the runner only, which stops the helper
            )
        except OSError:
            self._channel.close()
            raise

    def send_request(self, request: dict[str, Any], passed: Sequence[int]) -> None:
        """Request a run, and pass open files to it."""
        with suppress(BrokenPipeError, ConnectionResetError):  # the missing answer reports it
            self._channel.sendall(encode_frame(request))
            if passed:
                socket.send_fds(self._channel, [b"!"], passed)

    def read_answer(self, limit: float = math.inf) -> tuple[dict[str, Any], bytes] | None:
        """Wait for an answer; return None if the helper has ended or exceeds the limit."""
        end = limit + _GRACE_SECONDS
        try:
            self._channel.settimeout(end if end < _LONGEST_TIMEOUT else None)
            answer = read_frame(self._channel.recv)
            self._channel.settimeout(None)
        except OSError:
            return None
        return answer

    def stop(self) -> None:
        """Stop the helper and its run; wake any thread that waits for an answer."""
        # A fork of this process holds a copy of the channel: shutting that down would stop the
        # helper of the original.
        if os.getpid() != self._owner:
            self._channel.close()
            return
        with suppress(OSError):  # the helper may have ended already
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
