"""The class `Cluster`, an executor with a capacity, and functions that connect to a cluster."""

import os
import socket
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager
from importlib import import_module
from time import sleep
from typing import Any, Final, cast

from keyhole.extras import require_extra
from keyhole.validation import Range, check_integer, check_line, short_repr

_END_STATES: Final = ("closing", "closed", "failed")  # of a Dask worker


class ClusterLostError(RuntimeError):
    """The scheduler does not answer any more; the same call may succeed later."""

    later = True  # as in errors of studies


class Cluster(Executor):
    """An executor of `concurrent.futures`, with what simulations and tunes need beside `submit`.

    A task must be a function that workers can import. A task may run several times, since
    schedulers repeat it if its worker dies. Closing a cluster that `connect` returned cancels its
    tasks, and ends the processes that `connect` started. A cluster of Ray to which this process
    was connected before is left as it is.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Runs the tasks.
    capacity : int, optional
        The number of tasks that the executor runs at a time. By default, it is the number of
        workers of an executor of the standard library, and the number of this machine's
        processors for any other executor.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from keyhole import simulate
    >>> from keyhole.thresholding import LSA, Problem
    >>> problem = Problem(means=[0.2, 0.7], threshold=0.5)
    >>> with ThreadPoolExecutor(2) as pool:
    ...     simulate(problem, [LSA()], horizon=60, replications=100, on=pool).labels
    ('LSA(alpha=1.35)',)
    """

    def __init__(self, executor: Executor, capacity: int | None = None) -> None:
        self._executor = executor
        self._capacity = capacity or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        self.name = type(executor).__name__
        """The address as it is typed (``dask``, ``ray=auto``), or the type of the executor."""

    def capacity(self) -> int:
        """Return how many tasks can run at the same time now; 0 while there is no worker.

        Raises
        ------
        ClusterLostError
            If the scheduler does not answer.
        """
        return self._capacity

    def share(self, data: bytes) -> Any:
        """Return bytes as an argument of tasks; Dask and Ray send the bytes to a worker once."""
        return data

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task."""
        try:
            return self._executor.submit(fn, *args, **kwargs)
        except BrokenExecutor as error:
            raise self.lost_error(error) from error

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """Cancel tasks; those that have not begun will never begin."""
        for future in futures:
            future.cancel()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the executor."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)

    def completed(self, futures: Collection[Future[Any]], seconds: float) -> set[Future[Any]]:
        """Wait at most `seconds` until a task has ended; return the tasks that have ended."""
        self.capacity()  # raises an error if the scheduler is lost
        if not futures:
            sleep(seconds)
        return wait(futures, timeout=seconds, return_when=FIRST_COMPLETED).done

    def result(self, future: Future[Any]) -> Any:
        """Return the result of a task that has ended, or raise its error."""
        try:
            return future.result()
        except (BrokenExecutor, CancelledError) as error:
            raise self.lost_error(error) from error
        except ModuleNotFoundError as error:
            package = error.name or error
            raise ImportError(
                f"the workers of {self.name} cannot import {package}: it must be installed there"
            ) from error

    def lost_error(self, error: BaseException) -> ClusterLostError:
        """Return the error of an executor that is lost; `error` is the executor's own."""
        text = f"{self.name} does not answer any more: {error}"
        return ClusterLostError(text.removesuffix(": "))


def dead_workers_error(count: int) -> RuntimeError:
    """Return the error of a task at which `count` workers died, one after another."""
    return RuntimeError(
        f"{count} workers died at the same task: each may have run out of memory; see what they "
        "have logged"
    )


def check_versions(worker_versions: Mapping[str, str], client_versions: Mapping[str, str]) -> None:
    """Refuse a worker if a version, such as that of a package, differs from its client's."""
    for name, version in worker_versions.items():
        if client_versions.get(name) != version:
            raise ValueError(
                f"the worker on {socket.gethostname()} has {name} {version}, and this client has "
                f"{name} {client_versions.get(name)}: install the same version on both"
            )


def make_wanted_check() -> Callable[[], bool]:
    """Return a function that says whether the client still wants the task of this thread.

    Dask cannot end a task that has begun. So the task itself must ask whether it was cancelled or
    its client is gone. Ray itself ends a task in both cases.
    """
    try:
        # In a task of Dask the package is loaded. Elsewhere it may not be installed.
        worker = sys.modules["distributed"].get_worker()
    except (KeyError, ValueError):  # not in a task of Dask
        return lambda: True
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return not (task is None or task.state == "cancelled" or worker.status.name in _END_STATES)

    return is_wanted


THREADS: Final = "threads"
_SCHEDULERS: Final = {"dask": "keyhole.clusters.dask", "ray": "keyhole.clusters.ray"}
_ADDRESS_FORMS: Final = " or ".join(f"{scheduler}[=ADDRESS]" for scheduler in _SCHEDULERS)
_ALLOWED_WORKERS: Final = Range(ge=1, le=1024)


def check_cluster_address(
    on: str | Executor, workers: int | None, *, name: str = "threads"
) -> None:
    """Refuse an invalid address, and refuse `workers` for a cluster that is running already.

    `name` is the name that errors give to the number `workers`.
    """
    if workers is not None:
        check_integer(name, workers, _ALLOWED_WORKERS)
    if not isinstance(on, str | Executor):
        raise TypeError(
            f"on must be a text, or an executor of concurrent.futures, got {short_repr(on)}"
        )
    address: object = None
    if isinstance(on, Cluster):
        address = on.name
    elif not isinstance(on, Executor) and _parse_cluster_address(on)[1]:
        address = on
    if address is not None and workers is not None:
        raise ValueError(f"{name} must be left out: {address} has workers of its own")


def _parse_cluster_address(on: str, local: tuple[str, ...] = (THREADS,)) -> tuple[str, str | None]:
    """Return the scheduler (or an entry of `local`), and the address (or None)."""
    scheduler, sign, address = check_line("on", on).partition("=")
    if scheduler not in (*local, *_SCHEDULERS) or (sign and (scheduler == THREADS or not address)):
        raise ValueError(f"on must be {', '.join([*local, _ADDRESS_FORMS])}, got {short_repr(on)}")
    return scheduler, address or None


def connect(on: str, *, workers: int | None = None) -> Cluster:
    """Connect to a running cluster, or start one on this machine.

    Parameters
    ----------
    on : str
        ``dask=ADDRESS`` or ``ray=ADDRESS`` for a running cluster. ``dask`` or ``ray`` starts a
        cluster on this machine, which ends when it is closed.
    workers : int, optional
        The number of processes to start, at most 1,024; by default one for each processor.

    Raises
    ------
    ImportError
        If Dask or Ray is not installed: install ``keyhole[dask]`` or ``keyhole[ray]``.
    ClusterLostError
        If the address does not answer.

    Examples
    --------
    >>> from keyhole.clusters import connect
    >>> connect("slurm")
    Traceback (most recent call last):
    ...
    ValueError: on must be dask[=ADDRESS] or ray[=ADDRESS], got 'slurm'
    """
    scheduler, address = _parse_cluster_address(on, local=())
    check_cluster_address(on, workers, name="workers")
    require_extra(scheduler, f"on = {on!r}")
    module = import_module(_SCHEDULERS[scheduler])
    return cast(Cluster, module.connect_or_start(on, address, workers))


@contextmanager
def cluster_connection(on: str | Executor, workers: int | None) -> Iterator[Cluster | None]:
    """Yield the cluster that `on` describes; None for threads of this process.

    A cluster of Dask or Ray that is started here has `workers` processes. At the end of the block
    the cluster is closed, unless `on` is an executor.
    """
    check_cluster_address(on, workers)
    if isinstance(on, Executor):
        yield on if isinstance(on, Cluster) else Cluster(on, workers)
    elif on == THREADS:
        yield None
    else:
        with connect(on, workers=workers) as cluster:
            yield cluster
