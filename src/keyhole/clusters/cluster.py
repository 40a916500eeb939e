"""The interface of clusters: submit tasks, and collect their results in any order."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self, runtime_checkable

_POLL_SECONDS: Final = 0.5


class ClusterLostError(RuntimeError):
    """The scheduler does not answer any more; the same call may succeed later."""

    later = True


@dataclass(frozen=True)
class TaskResult:
    """The result of a task that has ended: its value or its error."""

    ticket: int
    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


@runtime_checkable
class Cluster(Protocol):
    """The interface of a cluster of workers under a scheduler.

    A task whose worker dies is retried on another one, a few times; then it ends with an error
    (`keyhole.clusters.serialization.lost_workers_message`).

    One thread may wait for tasks while others submit them. If the scheduler does not answer,
    `as_completed` raises a `ClusterLostError`, and other methods may. After `close`, which may be
    called again, other methods raise a RuntimeError. Processes that were started for a client end
    with it, also if it is killed. Ctrl-C reaches the client only.
    """

    @property
    def name(self) -> str:
        """The address as it is typed: ``dask``, ``ray=auto``."""

    def capacity(self) -> int:
        """Return how many tasks can run at a time just now; 0 while there is no worker."""

    def broadcast(self, data: bytes) -> Any:
        """Send bytes to the cluster once; return a reference for the arguments of `submit`."""

    def release(self, shared: Any) -> None:
        """Release bytes that were broadcast, once no task needs them."""

    def submit(self, function: Callable[..., Any], *args: Any) -> int:
        """Submit a task and return its ticket.

        Workers must be able to import the module of the function. Its exception comes back with the
        same message, as the same built-in type.
        """

    def cancel(self, tickets: Iterable[int]) -> None:
        """Cancel tasks: they have no results, and those that no worker has yet never begin.

        A task that was already sent to a worker may still begin.
        """

    def as_completed(self, seconds: float) -> list[TaskResult]:
        """Wait at most so long until a task has ended; return the results of all that have."""

    def close(self) -> None:
        """Cancel all tasks and disconnect; end processes that were started for this client."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(self, *_: object) -> None:
        """Close it."""


def iterate_results(cluster: Cluster, tickets: Iterable[int]) -> Iterator[Any]:
    """Yield the values of tasks as they end; raise the first error and cancel the other tasks."""
    left = set(tickets)
    try:
        while left:
            for one in cluster.as_completed(_POLL_SECONDS):
                left.remove(one.ticket)
                yield one.result()
    finally:
        cluster.cancel(left)
