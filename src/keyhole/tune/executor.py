"""Executor interface: run a command that is stopped at a time limit, here or on a cluster."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from keyhole.runner import CommandResult


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
        grace: float = 0.0,
    ) -> CommandResult:
        """Run a command; return when none of its processes is left.

        `limit` is in seconds of wall time, `cpu` in seconds of CPU time. `grace`, the seconds from
        SIGTERM at the limit to SIGKILL, is passed only for a spec that has it.
        """

    def close(self) -> None:
        """Kill the current run, and release resources; called from another thread on Ctrl-C."""


Executors = Callable[[], Executor]
"""A factory that is called once per worker."""
