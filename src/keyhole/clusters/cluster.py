"""What the schedulers have in common: work is handed out, and comes back in any order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable


class GoneError(RuntimeError):
    """The cluster does not answer any more: nothing is wrong with the work; try again later."""

    later = True


@dataclass(frozen=True)
class Ended:
    """A task that ended: what it returned, or the error that it ended with."""

    ticket: int
    value: Any = None
    error: BaseException | None = None


@runtime_checkable
class Cluster(Protocol):
    """Workers under somebody's scheduler.

    A task that ends with its worker is begun again on another one, a few times; then it ends with
    an error of its own, which says so.
    """

    @property
    def name(self) -> str:
        """As one types it: ``dask``, ``ray=auto``."""

    def slots(self) -> int:
        """Return how many tasks can be at work at a time just now; 0 while there is no worker."""

    def share(self, data: bytes) -> Any:
        """Return what stands for these bytes among the arguments of `submit`, however often."""

    def forget(self, shared: Any) -> None:
        """Let go of what was shared, once no task needs it."""

    def submit(self, function: Callable[..., Any], *args: Any) -> int:
        """Hand out a task, and return its ticket.

        The function is one of a module that the workers can import. What it raises comes back as
        an error of the same built-in type, with the same words.
        """

    def ended(self, seconds: float) -> list[Ended]:
        """Wait until a task has ended, at most so long; return all that have.

        Raises
        ------
        GoneError
            If the scheduler does not answer.
        """

    def close(self) -> None:
        """Call back what is still at work, and let go; what was started for it is ended."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(self, *_: object) -> None:
        """Close it."""
