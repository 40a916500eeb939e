"""A cluster under Dask's scheduler."""

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
    Failure,
    Shared,
    lost_workers_message,
    missing_package_message,
    serialize_task,
    unpack_result,
)
from keyhole.interrupts import delayed_interrupts
from keyhole.validate import short_repr

_PATIENCE: Final = 10.0
"""Seconds in which a scheduler must answer."""
_TO_CLOSE: Final = 5.0
_EVERY: Final = 0.5  # seconds between looks at the workers
_SOON: Final = 0.005
_TALKERS: Final = ("distributed", "distributed.batched", "distributed.client")
_LOST: Final = (CancelledError, CommClosedError, TimeoutError, OSError)

# A terminal sends Ctrl-C to all processes; the one that was typed ends the others.
_DEAF: Final = (
    "import signal; signal.signal(signal.SIGINT, lambda *_: None); "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])"
)


def start(on: str, address: str | None, workers: int | None) -> Cluster:
    """Return the cluster at an address, or one of so many processes of this machine."""
    for name in _TALKERS:  # what a user should know of it comes as an error
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address is None:
        with _undisturbed():
            local = _started(workers or os.cpu_count() or 1)
            return Dask(on, Client(local, set_as_default=False), local)
    try:
        _reach(address)
        _check_scheduler(address)
        return Dask(on, Client(address, timeout=_PATIENCE, set_as_default=False))
    except OSError as error:
        raise ClusterLostError(f"there is no scheduler of Dask at {address}: {error}") from error


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait until processes have been started, and spare them."""
    resource_tracker.ensure_running()  # it would take signals again as it starts
    with delayed_interrupts():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _started(workers: int) -> LocalCluster:
    """Start processes, which import the script that is run: it must not start more of them."""
    try:
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, preload=[_DEAF],
        )  # fmt: skip
    except RuntimeError as error:
        raise RuntimeError(
            f"no workers of Dask could be started: {error} (what a script does beyond defining "
            "things belongs under `if __name__ == '__main__':`)"
        ) from error


def _reach(address: str) -> None:
    """Refuse an address at which nobody listens: a client would go on trying as it is let go."""
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
        with socket.create_connection(place, _PATIENCE):
            pass


def _check_scheduler(address: str) -> None:
    """Refuse an address at which something else listens: a `Client` would wait for it without end.

    Dask limits the time in which a connection opens, but not the one in which the other side says
    who it is; and it takes the first bytes of another protocol for the size of a message.
    """
    found: Result[str] = Result()

    def identify() -> None:
        try:
            found.set_result(asyncio.run(asyncio.wait_for(_identify(address), _PATIENCE)))
        except BaseException as error:
            found.set_exception(error)

    # A thread of its own: a notebook has an event loop in this one.
    threading.Thread(target=identify, daemon=True).start()
    try:
        kind = found.result()
    except TimeoutError:
        raise TimeoutError(f"what listens there gave no answer in {_PATIENCE:g} s") from None
    except Exception as error:
        if isinstance(error, OSError) and type(error) is not CommClosedError:
            raise
        raise ConnectionError("what listens there does not speak the protocol of Dask") from error
    if kind != "Scheduler":
        raise ConnectionError(f"what listens there is a {kind} of Dask")


async def _identify(address: str) -> str:
    """Ask a server of Dask what it is."""
    security = Security().get_connection_args("client")
    comm = await connect(address, timeout=_PATIENCE, **security)
    try:
        await comm.write({"op": "identity", "reply": True})
        return str((await comm.read())["type"])
    finally:
        comm.abort()


def run_serialized_task(task: bytes, *shared: bytes) -> bytes:
    """Return what a packed task returns, pickled."""
    from keyhole.clusters import serialization

    return serialization.run_serialized(task, *shared)


# It travels as text: a worker that cannot import what a task names would be ended by Dask.
run_serialized_task.__module__ = "__main__"


class Dask:
    """The workers of a client of Dask; `local` is what was started for it."""

    def __init__(self, name: str, client: Client, local: LocalCluster | None = None) -> None:
        self.name = name
        self._client, self._local = client, local
        self._tickets = count()
        self._under_way: dict[int, Future] = {}
        self._shared: dict[int, Future] = {}
        self._ready: SimpleQueue[int | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, bytes | Failure] | None] = SimpleQueue()
        self._slots, self._lost = self._nthreads(), False
        self._closed = threading.Event()
        for task in (self._look, self._bring):
            threading.Thread(target=task, daemon=True).start()

    def capacity(self) -> int:
        """Return how many threads all workers have, as of some moments ago."""
        self._check()
        return self._slots

    def _nthreads(self) -> int:
        workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=_PATIENCE)
        return sum(workers.values())

    def _look(self) -> None:
        """Look at the workers now and then; a scheduler that does not answer is gone."""
        while not self._closed.wait(_EVERY):
            try:
                self._slots = self._nthreads()
            except Exception:  # however it is that there is no answer
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

    def broadcast(self, data: bytes) -> Shared:
        """Have the bytes as a result, since one that is lost is computed again."""
        self._check()
        shared = Shared(next(self._tickets))
        key = f"keyhole-shared-{hashlib.sha256(data).hexdigest()}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            self._shared[shared.ticket] = self._client.submit(bytes, data, key=key)
        return shared

    def release(self, shared: Shared) -> None:
        """Release the result."""
        self._shared.pop(shared.ticket).release()

    def submit(self, function: Any, *args: Any) -> int:
        """Hand out a task."""
        self._check()
        ticket = next(self._tickets)
        task, shared = serialize_task(function, args)
        given = [self._shared[one] for one in shared]
        self._under_way[ticket] = future = self._client.submit(
            run_serialized_task, task, *given, pure=False
        )
        future.add_done_callback(lambda _: self._ready.put(ticket))
        return ticket

    def cancel(self, tickets: Iterable[int]) -> None:
        """Cancel tasks."""
        known = [self._under_way.pop(one) for one in list(tickets) if one in self._under_way]
        if known and not self._is_lost():  # else nobody would answer
            with suppress(*_LOST):
                self._client.sync(self._cancel, known, callback_timeout=_TO_CLOSE)

    async def _cancel(self, futures: list[Future]) -> None:
        """Cancel tasks, and wait until the scheduler has forgotten them.

        It takes tasks in beside other work, and a cancellation that overtakes one has no effect.
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
        self._check()
        return [unpack_result(*one) for one in came if one and self._under_way.pop(one[0], None)]

    def _bring(self) -> None:
        """Fetch what tasks returned, one after the other, however long a slow line takes.

        A result that is lost with its worker is computed again meanwhile.
        """
        while (ticket := self._ready.get()) is not None:
            if (future := self._under_way.get(ticket)) is None:  # it was recalled
                continue
            try:
                self._done.put((ticket, self._value(future)))
            except _LOST:
                if ticket in self._under_way:
                    self._lost = True
                    self._done.put(None)

    def _value(self, future: Future) -> bytes | Failure:
        try:
            return bytes(future.result())
        except KilledWorker as error:
            return lost_workers_message(error.allowed_failures + 1)
        except _LOST:
            raise
        except ImportError:
            return missing_package_message("Dask")
        except Exception as error:
            return Failure("RuntimeError", f"a worker of {self.name} failed: {error}")

    def close(self) -> None:
        """Recall what is at work."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._ready.put(None)
        self.cancel(self._under_way)
        for part in (self._client, self._local):
            if part is not None:
                with suppress(*_LOST):
                    part.close(timeout=_TO_CLOSE)

    def __repr__(self) -> str:
        """Return its name, and how large it is."""
        return f"Dask({self.name}: {self._slots} slots)"

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
