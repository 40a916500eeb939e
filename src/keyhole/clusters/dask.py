"""A cluster under Dask's scheduler."""

import hashlib
import logging
import os
import socket
import warnings
from asyncio import CancelledError
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final, Self

from distributed import Client, Future, KilledWorker, LocalCluster
from distributed.comm import CommClosedError, get_address_host_port

from keyhole.clusters.carrying import carry_out, died, ended
from keyhole.clusters.cluster import Ended, GoneError

_PATIENCE: Final = 10.0
"""Seconds in which a scheduler must answer."""
_TALKERS: Final = ("distributed", "distributed.batched", "distributed.client")
_LOST: Final = (CancelledError, CommClosedError, TimeoutError, OSError)

# A terminal sends Ctrl-C to all processes; the one that was typed ends the others.
_DEAF: Final = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


def start(on: str, address: str | None, workers: int | None) -> "Dask":
    """Return the cluster at an address, or one of so many processes of this machine."""
    for name in _TALKERS:  # what a user should know of it comes as an error
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address is None:
        local = _started(workers or os.cpu_count() or 1)
        return Dask(on, Client(local, set_as_default=False), local)
    try:
        _reach(address)
        return Dask(on, Client(address, timeout=_PATIENCE, set_as_default=False))
    except (OSError, ValueError) as error:
        raise GoneError(f"there is no scheduler of Dask at {address}: {error}") from error


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
    if address.partition("://")[0] in (address, "tcp", "tls"):
        with socket.create_connection(get_address_host_port(address), _PATIENCE):
            pass


class Dask:
    """The workers of a client of Dask; `local` is what was started for it."""

    def __init__(self, name: str, client: Client, local: LocalCluster | None = None) -> None:
        self.name = name
        self._client, self._local = client, local
        self._tickets = count()
        self._under_way: dict[int, Future] = {}
        self._done: SimpleQueue[int] = SimpleQueue()

    def slots(self) -> int:
        """Return how many threads all workers have."""
        return sum(self._client.nthreads().values())

    def share(self, data: bytes) -> Future:
        """Return a future of the bytes: a result, since one that is lost is computed again."""
        key = f"keyhole-shared-{hashlib.sha256(data).hexdigest()}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(bytes, data, key=key)

    def submit(self, function: Any, *args: Any) -> int:
        """Hand out a task."""
        ticket = next(self._tickets)
        future = self._client.submit(carry_out, function, *args, pure=False)
        self._under_way[ticket] = future
        future.add_done_callback(lambda _: self._done.put(ticket))
        return ticket

    def ended(self, seconds: float) -> list[Ended]:
        """Wait for a task to end."""
        try:
            tickets = [self._done.get(timeout=seconds)]
            with suppress(Empty):
                while True:
                    tickets.append(self._done.get_nowait())
        except Empty:
            tickets = []
        if self._client.status != "running":
            raise self._gone()
        try:
            return [self._end(ticket) for ticket in tickets]
        except _LOST as error:
            raise self._gone() from error

    def _end(self, ticket: int) -> Ended:
        try:
            return ended(ticket, self._under_way.pop(ticket).result(timeout=_PATIENCE))
        except KilledWorker as error:
            return Ended(ticket, error=died(error.allowed_failures + 1))
        except _LOST:
            raise
        except Exception as error:  # what a worker cannot read, such as a module it has not
            return Ended(ticket, error=RuntimeError(f"a worker of {self.name} failed: {error}"))

    def _gone(self) -> GoneError:
        return GoneError(f"the scheduler of {self.name} does not answer any more")

    def close(self) -> None:
        """Call back what is at work."""
        with suppress(*_LOST):
            self._client.cancel(list(self._under_way.values()), force=True)
        self._under_way.clear()
        for part in (self._client, self._local):
            if part is not None:
                with suppress(*_LOST):
                    part.close(timeout=_PATIENCE)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
