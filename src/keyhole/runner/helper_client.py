"""A helper at work, as its runner sees it."""

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

_HERE: Final = Path(__file__).parent
_BOOT: Final = "import sys; sys.path.insert(0, sys.argv[1]); from helper.server import main; main()"
_PATIENCE: Final = 15.0  # seconds for a helper to end what it runs, and to go
_OVERDUE: Final = 30.0  # seconds after the limit when a helper is taken to have been stopped
_LONGEST: Final = 1e6  # seconds: a timeout that every system takes


class RefusedError(OSError):
    """A mechanism that does not work here, and why."""


class Helper:
    """A process that runs commands, one at a time, with one of the mechanisms."""

    def __init__(self, mechanism: str) -> None:
        self._owner = os.getpid()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = self._started(theirs.fileno(), mechanism)
        words = self.answer()
        if words is None or words[0]["refused"]:
            self.end()
            raise RefusedError(0, "its helper has ended" if words is None else words[0]["refused"])
        self.exact: bool = words[0]["exact"]

    def _started(self, channel: int, mechanism: str) -> subprocess.Popen[bytes]:
        words = [str(_HERE), str(channel), str(self._owner), mechanism]
        try:
            return subprocess.Popen(
                # (alone: no packages, nothing of the environment, so that it is soon there)
                [sys.executable, "-I", "-S", "-c", _BOOT, *words],
                pass_fds=[channel],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for those who want something to be run
            )
        except OSError:
            self._channel.close()
            raise

    def ask(self, words: dict[str, Any], passed: Sequence[int]) -> None:
        """Ask for a run, with so many open files."""
        with suppress(BrokenPipeError, ConnectionResetError):  # then there is no answer either
            self._channel.sendall(encode_frame(words))
            if passed:
                socket.send_fds(self._channel, [b"!"], passed)

    def answer(self, limit: float = math.inf) -> tuple[dict[str, Any], bytes] | None:
        """Wait for an answer; None if the helper has ended, or does not keep the limit."""
        end = limit + _OVERDUE
        try:
            self._channel.settimeout(end if end < _LONGEST else None)
            answer = read_frame(self._channel.recv)
            self._channel.settimeout(None)
        except OSError:
            return None
        return answer

    def end(self) -> None:
        """End the helper, and what it runs; wake who waits for an answer in another thread."""
        if os.getpid() != self._owner:  # a fork's end of the channel is not the only one
            self._channel.close()
            return
        with suppress(OSError):  # it may have ended already
            self._channel.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()
