"""Executor interface: run a command under a limit, on this machine or on a cluster."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class CommandOutcome(Protocol):
    """The result of a run: see `keyhole.runner.CommandResult`."""

    @property
    def outcome(self) -> str:
        """One of ok, failed, out of time, out of memory, could not start, lost."""

    @property
    def seconds(self) -> float:
        """Wall time in seconds."""

    @property
    def cpu(self) -> float:
        """CPU time in seconds, of all its processes."""

    @property
    def memory(self) -> int:
        """Peak memory in bytes, of all its processes."""

    @property
    def code(self) -> int | None:
        """Its exit code."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it."""

    @property
    def output(self) -> bytes:
        """The first and the last bytes of its output."""

    @property
    def reason(self) -> str:
        """Why it ended with this outcome."""

    @property
    def slept(self) -> bool:
        """Whether the machine was suspended during the run."""


class Executor(Protocol):
    """Runs commands for a tuner, one at a time, such as `keyhole.runner.Runner`."""

    @property
    def description(self) -> str:
        """One sentence on its guarantees."""

    def run(
        self,
        command: Sequence[str],
        limit: float,
        *,
        cpu: float | None,
        memory: int | None,
        folder: Path | None,
        environment: Mapping[str, str] | None,
        cores: Sequence[int] | None,
    ) -> CommandOutcome:
        """Run a command; return when none of its processes is left.

        `limit` is in seconds of wall time, `cpu` in seconds of CPU time.
        """

    def close(self) -> None:
        """Kill the current run, and release resources; called from another thread on Ctrl-C."""


Executors = Callable[[], Executor]
"""A factory that is called once per worker."""
