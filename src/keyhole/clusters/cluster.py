"""What the schedulers have in common: work is handed out, and comes back in any order."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self, runtime_checkable

_WAIT: Final = 0.5


class ClusterLostError(RuntimeError):
    """The cluster does not answer any more: nothing is wrong with the work; try again later."""

    later = True


@dataclass(frozen=True)
class TaskResult:
    """A task that ended: what it returned, or the error that it ended with."""

    ticket: int
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return what it returned, or raise its error."""
        if self.error is not None:
            raise self.error
        return self.value


@runtime_checkable
class Cluster(Protocol):
    """Workers under somebody's scheduler.

    A task that ends with its worker is begun again on another one, a few times; then it ends with
    an error of its own, which says so (`keyhole.clusters.serialization.lost_workers_message`).

    One thread may wait for tasks while others hand them out. Where the scheduler does not answer,
    `as_completed` raises a `ClusterLostError`, and all else may. After `close`, which may be called
    again, all else raises a RuntimeError. A client that is killed leaves nothing at work that was
    started for it, and Ctrl-C is for the client alone.
    """

    @property
    def name(self) -> str:
        """As one types it: ``dask``, ``ray=auto``."""

    def capacity(self) -> int:
        """Return how many tasks can be at work at a time just now; 0 while there is no worker."""

    def broadcast(self, data: bytes) -> Any:
        """Return what stands for these bytes among the arguments of `submit`, however often."""

    def release(self, shared: Any) -> None:
        """Let go of what was shared, once no task needs it."""

    def submit(self, function: Callable[..., Any], *args: Any) -> int:
        """Hand out a task, and return its ticket.

        The function is one of a module that the workers can import. What it raises comes back as
        an error of the same built-in type, with the same words.
        """

    def cancel(self, tickets: Iterable[int]) -> None:
        """Take tasks back: they do not end any more, and what no worker has yet never begins.

        What a worker already has at hand may begin before the worker hears of it.
        """

    def as_completed(self, seconds: float) -> list[TaskResult]:
        """Wait until a task has ended, at most so long; return all that have."""

    def close(self) -> None:
        """Call back what is still at work, and let go; what was started for it is ended."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(self, *_: object) -> None:
        """Close it."""


def results(cluster: Cluster, tickets: Iterable[int]) -> Iterator[Any]:
    """Yield what tasks return, as they end; an error is raised, and the others are recalled."""
    left = set(tickets)
    try:
        while left:
            for one in cluster.as_completed(_WAIT):
                left.remove(one.ticket)
                yield one.result()
    finally:
        cluster.cancel(left)
