"""A cluster under a scheduler of Dask."""

import asyncio
import hashlib
import logging
import os
import signal
import socket
import threading
import warnings
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from concurrent.futures import Future as Result
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from typing import Any, Final, Self

from distributed import Client, Future, KilledWorker, LocalCluster
from distributed.comm import CommClosedError, connect, get_address_host_port, parse_address
from distributed.comm.registry import get_backend
from distributed.security import Security

from keyhole.clusters.cluster import Cluster, ClusterLostError, TaskResult
from keyhole.clusters.serialization import (
    SharedBytes,
    TaskFailure,
    lost_workers_message,
    missing_package_message,
    serialize_task,
    unpack_result,
)
from keyhole.interrupts import delayed_interrupts
from keyhole.validate import short_repr

_TIMEOUT: Final = 10.0
"""Seconds in which a scheduler must answer."""
_CLOSE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.5  # between requests for the number of workers
_SOON: Final = 0.005
_LOGGERS: Final = ("distributed", "distributed.batched", "distributed.client")
_LOST: Final = (CancelledError, CommClosedError, TimeoutError, OSError)

# A terminal sends Ctrl-C to the whole process group. Workers ignore it: the client ends them.
_IGNORE_INTERRUPTS: Final = (
    "import signal; signal.signal(signal.SIGINT, lambda *_: None); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])"
)


def start(on: str, address: str | None, workers: int | None) -> Cluster:
    """Connect to the scheduler at an address, or start so many processes on this machine."""
    for name in _LOGGERS:  # errors are raised, so that logging them would only repeat them
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address is None:
        with _blocked_interrupts():
            local = _start_local(workers or os.cpu_count() or 1)
            return Dask(on, Client(local, set_as_default=False), local)
    try:
        _check_address(address)
        _check_scheduler(address)
        return Dask(on, Client(address, timeout=_TIMEOUT, set_as_default=False))
    except OSError as error:
        raise ClusterLostError(f"there is no scheduler of Dask at {address}: {error}") from error


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Block Ctrl-C while processes start, and in those processes, which inherit the mask."""
    resource_tracker.ensure_running()  # its start would unblock the signal
    with delayed_interrupts():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start_local(workers: int) -> LocalCluster:
    """Start worker processes, which import the main script: it must not start more of them."""
    try:
        # Port 0 is any free one: several clusters may run on this machine. Others cannot reach
        # 127.0.0.1.
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, preload=[_IGNORE_INTERRUPTS],
        )  # fmt: skip
    except RuntimeError as error:
        raise RuntimeError(
            f"no workers of Dask could be started: {error} (what a script does beyond defining "
            "things belongs under `if __name__ == '__main__':`)"
        ) from error


def _check_address(address: str) -> None:
    """Refuse an address at which nothing listens: a closed client would go on trying."""
    try:
        scheme, _ = parse_address(address)
        get_backend(scheme)
        place = get_address_host_port(address)
    except ValueError as error:
        raise ValueError(
            f"the address of Dask must be one such as tcp://HOST:PORT, got {short_repr(address)}: "
            f"{error}"
        ) from error
    if scheme in ("tcp", "tls", "ws", "wss"):
        with socket.create_connection(place, _TIMEOUT):
            pass


def _check_scheduler(address: str) -> None:
    """Refuse an address where another program listens: a `Client` would wait for it without end.

    Dask has a timeout for opening a connection, but none for the handshake; and it takes the first
    bytes of another protocol for the size of a message.
    """
    found: Result[str] = Result()

    def identify() -> None:
        try:
            found.set_result(asyncio.run(asyncio.wait_for(_identify(address), _TIMEOUT)))
        except BaseException as error:
            found.set_exception(error)

    # In another thread, since a notebook already runs an event loop in this one.
    threading.Thread(target=identify, daemon=True).start()
    try:
        kind = found.result()
    except TimeoutError:
        raise TimeoutError(f"the program there gave no answer in {_TIMEOUT:g} s") from None
    except Exception as error:
        if isinstance(error, OSError) and type(error) is not CommClosedError:
            raise
        raise ConnectionError("the program there does not speak the protocol of Dask") from error
    if kind != "Scheduler":
        raise ConnectionError(f"the program there is a {kind} of Dask")


async def _identify(address: str) -> str:
    """Return the type of a Dask server."""
    security = Security().get_connection_args("client")
    comm = await connect(address, timeout=_TIMEOUT, **security)
    try:
        await comm.write({"op": "identity", "reply": True})
        return str((await comm.read())["type"])
    finally:
        comm.abort()


def run_serialized_task(task: bytes, *shared: bytes) -> bytes:
    """Run a pickled task on a worker; return its pickled result."""
    from keyhole.clusters import serialization

    return serialization.run_serialized(task, *shared)


# A function of __main__ is pickled by value. By name, a worker without Keyhole could not unpickle
# it, and Dask would end that worker; so the task itself raises the ImportError.
run_serialized_task.__module__ = "__main__"


class Dask:
    """The cluster of a Dask client; `local` is the cluster that was started for it, if any."""

    def __init__(self, name: str, client: Client, local: LocalCluster | None = None) -> None:
        self.name = name
        self._client, self._local = client, local
        self._tickets = count()
        self._futures: dict[int, Future] = {}
        self._shared: dict[int, Future] = {}
        self._ready: SimpleQueue[int | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, bytes | TaskFailure] | None] = SimpleQueue()
        self._capacity, self._lost = self._count_threads(), False
        self._closed = threading.Event()
        # Both wait for the network. In threads of their own, neither delays `submit`, and a
        # scheduler that is lost is noticed while no task ends.
        for task in (self._poll_capacity, self._fetch_results):
            threading.Thread(target=task, daemon=True).start()

    def capacity(self) -> int:
        """Return how many threads all workers had when they were last counted."""
        self._check()
        return self._capacity

    def _count_threads(self) -> int:
        # Without a timeout, `sync` would wait for ever for a scheduler that is gone.
        workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=_TIMEOUT)
        return sum(workers.values())

    def _poll_capacity(self) -> None:
        """Count the workers' threads regularly; a scheduler that does not answer is lost."""
        while not self._closed.wait(_POLL_SECONDS):
            try:
                self._capacity = self._count_threads()
            except Exception:  # any error means that there was no answer
                self._lost = True
                self._done.put(None)
                return

    def _check(self) -> None:
        if self._closed.is_set():
            raise RuntimeError(f"the cluster {self.name} has been closed")
        if self._is_lost():
            raise ClusterLostError(f"the scheduler of {self.name} does not answer any more")

    def _is_lost(self) -> bool:
        return self._lost or self._client.status != "running"

    def broadcast(self, data: bytes) -> SharedBytes:
        """Submit the bytes as a task: its result, if lost with a worker, is computed again."""
        self._check()
        shared = SharedBytes(next(self._tickets))
        # Keyed by content: the scheduler keeps one copy for several clients and calls.
        key = f"keyhole-shared-{hashlib.sha256(data).hexdigest()}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            self._shared[shared.ticket] = self._client.submit(bytes, data, key=key)
        return shared

    def release(self, shared: SharedBytes) -> None:
        """Release the result."""
        self._shared.pop(shared.ticket).release()

    def submit(self, function: Any, *args: Any) -> int:
        """Submit a task."""
        self._check()
        ticket = next(self._tickets)
        task, shared = serialize_task(function, args)
        given = [self._shared[one] for one in shared]
        # Not pure: Dask would take two tasks with equal arguments for the same one, and run it
        # once.
        self._futures[ticket] = future = self._client.submit(
            run_serialized_task, task, *given, pure=False
        )
        future.add_done_callback(lambda _: self._ready.put(ticket))
        return ticket

    def cancel(self, tickets: Iterable[int]) -> None:
        """Cancel tasks."""
        known = [self._futures.pop(one) for one in list(tickets) if one in self._futures]
        if known and not self._is_lost():  # else nobody would answer
            with suppress(*_LOST):
                self._client.sync(self._cancel, known, callback_timeout=_CLOSE_SECONDS)

    async def _cancel(self, futures: list[Future]) -> None:
        """Cancel tasks, and wait until the scheduler has forgotten them.

        The scheduler registers tasks asynchronously, and ignores the cancellation of a task that it
        does not know yet.
        """
        client, keys = self._client, [one.key for one in futures]

        async def states() -> list[str | None]:
            found = await client.scheduler.get_task_status(keys=keys)
            return [found[key] for key in keys]

        while any(
            state is None and future.status == "pending"
            for state, future in zip(await states(), futures, strict=True)
        ):
            await asyncio.sleep(_SOON)
        await client.cancel(futures, asynchronous=True, force=True)
        while any(await states()):
            await asyncio.sleep(_SOON)

    def as_completed(self, seconds: float) -> list[TaskResult]:
        """Wait for a task to end."""
        came = []
        with suppress(Empty):
            came.append(self._done.get(timeout=seconds))
            while True:
                came.append(self._done.get_nowait())
        # None in the queue is no result: it wakes this call, so that this check can raise.
        self._check()
        return [unpack_result(*one) for one in came if one and self._futures.pop(one[0], None)]

    def _fetch_results(self) -> None:
        """Fetch results one after the other, over a network that may be slow.

        A result that is lost with its worker is computed again meanwhile.
        """
        while (ticket := self._ready.get()) is not None:
            if (future := self._futures.get(ticket)) is None:  # it was cancelled
                continue
            try:
                self._done.put((ticket, self._value(future)))
            except _LOST:
                # `cancel` has removed the ticket of a cancelled task, whose error means nothing.
                if ticket in self._futures:
                    self._lost = True
                    self._done.put(None)

    def _value(self, future: Future) -> bytes | TaskFailure:
        try:
            return bytes(future.result())
        except KilledWorker as error:
            return lost_workers_message(error.allowed_failures + 1)
        except _LOST:
            raise
        except ImportError:
            return missing_package_message("Dask")
        except Exception as error:
            return TaskFailure("RuntimeError", f"a worker of {self.name} failed: {error}")

    def close(self) -> None:
        """Cancel all tasks and disconnect."""
        if self._closed.is_set():
            return
        self._closed.set()
        # This ends the thread of `_fetch_results`.
        self._ready.put(None)
        self.cancel(self._futures)
        for part in (self._client, self._local):
            if part is not None:
                with suppress(*_LOST):
                    part.close(timeout=_CLOSE_SECONDS)

    def __repr__(self) -> str:
        """Return its name and capacity."""
        return f"Dask({self.name}: capacity {self._capacity})"

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
