"""The seam: something that runs a command under a limit, here or elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol


class CommandOutcome(Protocol):
    """How a run ended: see `keyhole.runner.CommandResult`."""

    @property
    def outcome(self) -> str:
        """One of ok, failed, out of time, out of memory, could not start, lost."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def cpu(self) -> float:
        """Seconds of processors, of all that it started."""

    @property
    def memory(self) -> int:
        """The most bytes that it held at a time."""

    @property
    def code(self) -> int | None:
        """Its exit code."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it."""

    @property
    def output(self) -> bytes:
        """The first and the last of what it wrote."""

    @property
    def reason(self) -> str:
        """Why it ended so, in words."""

    @property
    def slept(self) -> bool:
        """Whether the machine was asleep meanwhile."""


class Executor(Protocol):
    """What runs commands for a tuner, one at a time: `keyhole.runner.Runner` does."""

    @property
    def description(self) -> str:
        """One sentence: what it can and cannot do."""

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
        """Run a command; nothing that it started is left when this returns.

        `limit` is in seconds of a clock, `cpu` in those of processors.
        """

    def close(self) -> None:
        """Let go of it; what still runs is ended."""


Executors = Callable[[], Executor]
"""Makes one for each worker."""
