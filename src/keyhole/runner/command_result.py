"""What became of a command."""

from dataclasses import dataclass
from typing import Final

OUTCOMES: Final = ("ok", "failed", "out of time", "out of memory", "could not start", "lost")


@dataclass(frozen=True)
class CommandResult:
    """A command that was run, and what it took, with all that it had started.

    Attributes
    ----------
    outcome : str
        One of "ok" (exit code 0), "failed" (another, or a signal), "out of time" (wall or CPU),
        "out of memory", "could not start", and "lost": what watched over it was ended from outside.
        Whatever is "ok" or "failed" has kept all its limits.
    seconds, cpu : float
        Wall and CPU time.
    memory : int
        Peak, in bytes.
    code, signal : int or None
        What the main process ended with, if by itself.
    output : bytes
        First and last of what came through standard output and standard error.
    left : int
        Processes, the main one apart, that were alive when that ended, or was ended.
    reason : str
        Why it could not start, or was lost, or what could not be done to end it; else "".
    slept : bool
        Whether the machine was asleep meanwhile: such times are not to be trusted.
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
