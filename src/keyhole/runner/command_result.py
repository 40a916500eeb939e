"""The result of one command: its outcome, and the time and memory that it used."""

from dataclasses import dataclass
from typing import Final

OUTCOMES: Final = ("ok", "failed", "out of time", "out of memory", "could not start", "lost")


@dataclass(frozen=True)
class CommandResult:
    """The result of one command, including all processes that it started.

    Attributes
    ----------
    outcome : str
        One of "ok" (exit code 0), "failed" (another, or a signal), "out of time" (wall or CPU),
        "out of memory", "could not start", and "lost": its supervisor was killed from outside.
        A run that is "ok" or "failed" has kept all its limits.
    seconds, cpu : float
        Wall and CPU time.
    memory : int
        Peak, in bytes.
    code, signal : int or None
        Exit code or signal of the main process, also of one that ended in its grace; None if the
        supervisor killed it.
    output : bytes
        The first and the last bytes of standard output and standard error.
    left : int
        How many other processes were alive when the main process ended.
    reason : str
        Why it could not start, was lost, or could not be killed completely; else "".
    slept : bool
        Whether the machine was suspended during the run, which makes its times useless.
    """

    outcome: str
    seconds: float
    cpu: float = 0.0
    memory: int = 0
    code: int | None = None
    signal: int | None = None
    output: bytes = b""
    left: int = 0
    reason: str = ""
    slept: bool = False
