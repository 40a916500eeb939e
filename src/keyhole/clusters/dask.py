"""A cluster under a scheduler of Dask."""

import hashlib
import logging
import os
import pickle
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from math import inf
from multiprocessing import resource_tracker
from time import monotonic
from typing import Any, Final

from distributed import Client, KilledWorker, LocalCluster
from distributed.comm import get_address_host_port, parse_address
from distributed.comm.registry import get_backend

from keyhole.clusters.cluster import Cluster, ClusterLostError, dead_workers_error
from keyhole.interrupts import delay_interrupts
from keyhole.validation import short_repr

_TIMEOUT: Final = 10.0
"""Seconds in which a scheduler must answer."""
_CLOSE_SECONDS: Final = 5.0
_COUNT_SECONDS: Final = 0.5  # between requests for the number of threads
_LOGGERS: Final = ("distributed", "distributed.batched", "distributed.client")

# A terminal sends Ctrl-C to the whole process group. Workers ignore it, since the client ends them.
_IGNORE_INTERRUPTS: Final = (
    "import signal; signal.signal(signal.SIGINT, lambda *_: None); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])"
)


def connect_or_start(on: str, address: str | None, workers: int | None) -> Cluster:
    """Connect to the scheduler at an address, or start `workers` processes on this machine."""
    for name in _LOGGERS:  # Dask also raises the errors that it logs
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address is None:
        with _block_interrupts():
            local = _start_local(workers or os.cpu_count() or 1)
            return Dask(on, Client(local, set_as_default=False), local)
    try:
        return Dask(on, _connect(address))
    except OSError as error:
        raise ClusterLostError(f"there is no scheduler of Dask at {address}: {error}") from error


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C while processes start, and in these processes, which inherit the mask."""
    resource_tracker.ensure_running()  # comes first, since its start unblocks Ctrl-C
    with delay_interrupts():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start_local(workers: int) -> LocalCluster:
    """Start worker processes, which import the main script."""
    try:
        # Port 0 is any free port: several clusters may run on this machine. Other machines cannot
        # reach 127.0.0.1.
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, preload=[_IGNORE_INTERRUPTS],
        )  # fmt: skip
    except RuntimeError as error:
        raise RuntimeError(
            f"no workers of Dask could be started: {error} (workers import the main script: start "
            "the cluster under `if __name__ == '__main__':`)"
        ) from error


def _connect(address: str) -> Client:
    """Return a client of the scheduler at an address; raise an error if none answers in time."""
    try:
        scheme, _ = parse_address(address)
        get_backend(scheme)
        host_and_port = get_address_host_port(address)
    except ValueError as error:
        raise ValueError(
            f"the address of Dask must be one such as tcp://HOST:PORT, got {short_repr(address)}: "
            f"{error}"
        ) from error
    # A closed port is refused at once. A client would try for a while to connect to it.
    if scheme in ("tcp", "tls", "ws", "wss"):
        socket.create_connection(host_and_port, _TIMEOUT).close()
    client_future: Future[Client] = Future()

    def make_client() -> None:
        try:
            client_future.set_result(Client(address, timeout=_TIMEOUT, set_as_default=False))
        except BaseException as error:
            client_future.set_exception(error)

    # The client is made in a thread, since it waits without end for a program that accepts the
    # connection and says nothing.
    threading.Thread(target=make_client, daemon=True).start()
    try:
        return client_future.result(_TIMEOUT)
    except Exception as error:
        raise ConnectionError("the program there does not answer as a scheduler does") from error


def _call_pickled(pickled_function: bytes, /, *args: Any, **kwargs: Any) -> Any:
    import pickle

    result = pickle.loads(pickled_function)(*args, **kwargs)
    pickle.dumps(result)  # raises if it cannot be pickled; Dask itself would retry for ever
    return result


# Dask pickles a function of __main__ by value. So a worker without Keyhole can call the function,
# which raises an ImportError. Pickled by name, it could not be unpickled, and Dask would end the
# worker.
_call_pickled.__module__ = "__main__"


class Dask(Cluster):
    """The cluster of a Dask client; `local` is the cluster that was started for it, if any."""

    def __init__(self, name: str, client: Client, local: LocalCluster | None = None) -> None:
        # Of two pure tasks with equal arguments, Dask would run only one.
        super().__init__(client.get_executor(pure=False))
        self.name = name
        self._client = client
        self._local = local
        self._count_time = -inf
        self._is_lost = False
        self.capacity()

    def capacity(self) -> int:
        """Return the number of threads of all workers, counted at most half a second ago."""
        if monotonic() - self._count_time > _COUNT_SECONDS:
            try:
                # Without the timeout, `sync` would wait for ever if the scheduler is gone.
                count_threads = self._client.scheduler.ncores
                thread_counts = self._client.sync(count_threads, callback_timeout=_TIMEOUT)
                self._capacity = sum(thread_counts.values())
            except Exception as error:  # any error means that the scheduler did not answer
                raise self.lost_error(CancelledError()) from error
            self._count_time = monotonic()
        return self._capacity

    def lost_error(self, error: BaseException) -> ClusterLostError:
        """Return the error of a scheduler that is lost."""
        self._is_lost = True
        return super().lost_error(error)

    def share(self, data: bytes) -> Any:
        """Submit a task that returns the bytes; Dask repeats it if its worker is lost."""
        # The key follows from the content, so that the scheduler keeps one copy for several clients
        # and calls.
        key = f"keyhole-shared-{hashlib.sha256(data).hexdigest()}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(bytes, data, key=key)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task."""
        return super().submit(_call_pickled, pickle.dumps(fn), *args, **kwargs)

    def cancel(self, futures: Iterable[Future[Any]]) -> None:
        """Cancel tasks, unless the scheduler is lost and would not answer."""
        if not self._is_lost:
            super().cancel(futures)

    def result(self, future: Future[Any]) -> Any:
        """Return the result of a task that has ended, or raise its error."""
        try:
            return super().result(future)
        except KilledWorker as error:
            raise dead_workers_error(error.allowed_failures + 1) from error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel all tasks and disconnect; end processes that were started for this client."""
        self._count_time = -inf  # `capacity` must ask the scheduler again
        for resource in (self._client, self._local):
            if resource is not None:
                with suppress(CancelledError, OSError, TimeoutError):
                    resource.close(timeout=_CLOSE_SECONDS)
