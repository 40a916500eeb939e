"""The process beside this one in which Ray is at home, and what its workers run.

It looks into nothing that passes through: functions, what they are given and what they return are
pickled and unpickled by those at the ends.
"""

import os
import pickle
import shutil
import signal
import socket
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import IO, Any, Final

import ray
from ray.exceptions import (
    LocalRayletDiedError,
    ObjectStoreFullError,
    OutOfDiskError,
    OutOfMemoryError,
    WorkerCrashedError,
)

from keyhole.clusters.serialization import (
    AGAIN,
    Failure,
    lost_workers_message,
    missing_package_message,
    run_serialized,
)

START: Final = 0
"""The ticket of the start, asked for with an address and the number of workers."""
EVERY: Final = 1.0
"""Seconds between two signs of life of a driver, and between its looks at the head."""
_PATIENCE: Final = 10.0  # seconds without an answer after which it is taken to be gone
_TO_LEAVE: Final = 4.0
_SOON: Final = 0.05
# HTTP/2: how a client begins, an empty frame of settings, and the head of a frame.
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_NO_SETTINGS: Final = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_FRAME_HEAD: Final = 9
_FRAME_TYPE: Final = 3
_SETTINGS: Final = 4


def main() -> None:
    """Do what is asked on standard input, answer on standard output; until that is closed."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    _, (address, workers, folder) = pickle.load(asked)
    driver = Driver(answers)
    Thread(target=driver.beat, daemon=True).start()
    refused = driver.begin(address, workers, folder)
    driver.answer(START, refused)
    if refused is None:
        Thread(target=driver.listen, args=(asked,), daemon=True).start()
    if refused is not None or driver.serve():
        Thread(target=_end, args=(folder, _TO_LEAVE), daemon=True).start()
        ray.shutdown()
    _end(folder)


def _end(folder: str | None, seconds: float = 0.0) -> None:
    """End this process, after some time, and what it has started."""
    sleep(seconds)
    if folder is not None:
        remove(folder)
    # Ray without a head would wait for it: in this process, and in some that it has started.
    os.killpg(0, signal.SIGKILL)


class Driver:
    """Hands tasks to Ray, and what became of them to the client."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers, self._answering = answers, Lock()
        self._slots, self._over = 0, Event()
        self._done: SimpleQueue[tuple[int, Future[bytes]] | None] = SimpleQueue()
        self._shared: dict[int, Any] = {}
        self._tasks: dict[int, Any] = {}

    def begin(self, address: str | None, workers: int | None, folder: str | None) -> Failure | None:
        """Connect to Ray, or start it; return why it could not be done."""
        if address == "auto":
            address = os.environ.get("RAY_ADDRESS", address)
        try:
            if address is None:
                cpus = workers or os.cpu_count() or 1
                ray.init("local", num_cpus=cpus, include_dashboard=False, _temp_dir=folder)
            else:
                if address != "auto":
                    _check_server(address)
                ray.init(address)
            at = address if address and "://" in address else _head()
            self._head = _place(at)
            self._task = ray.remote(num_cpus=1, max_retries=AGAIN)(run_serialized)
            self._slots = _slots()
            self._say_slots()
        except Exception as error:  # nobody else would say what it is
            if address is None:
                return Failure("RuntimeError", f"Ray could not be started: {_words(error)}")
            if isinstance(error, OSError):
                text = f"Ray at {address} cannot be reached: {_words(error)}"
                return Failure("ConnectionError", text)
            return Failure(
                type(error).__name__, f"Ray at {address} cannot be used: {_words(error)}"
            )
        return None

    def listen(self, asked: IO[bytes]) -> None:
        """Take in what is asked for, until nobody asks any more."""
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                ticket, data, *shared = pickle.load(asked)
                if shared:
                    self._submit(ticket, data, shared[0])
                elif data is None:
                    self._shared.pop(ticket, None)
                elif isinstance(data, list):
                    self._cancel(data)
                    self.answer(ticket, None)
                else:
                    self._share(ticket, data)
        self._done.put(None)

    def _cancel(self, tickets: list[int]) -> None:
        """Cancel tasks, the last one first: a worker that becomes free would begin the next."""
        for ticket in reversed(tickets):
            if (task := self._tasks.pop(ticket, None)) is not None:
                with suppress(Exception):  # it may just have ended
                    ray.cancel(task)

    def _share(self, ticket: int, data: bytes) -> None:
        """Put bytes into Ray's store."""
        try:
            self._shared[ticket] = ray.put(data)
        except Exception as error:  # each task that it is shared with ends so
            self._shared[ticket] = error

    def _submit(self, ticket: int, packed: bytes, shared: list[int]) -> None:
        try:
            given = [self._shared[one] for one in shared]
            for one in given:
                if isinstance(one, Exception):
                    raise one
            self._tasks[ticket] = task = self._task.remote(packed, *given)
            future = task.future()
        except Exception as error:
            future = Future()
            future.set_exception(error)
        future.add_done_callback(lambda one: self._done.put((ticket, one)))

    def serve(self) -> bool:
        """Answer until nobody asks any more; return whether Ray is there until then."""
        self._heard = monotonic()
        looker = Thread(target=self._look, daemon=True)
        looker.start()
        while monotonic() - self._heard < _PATIENCE:
            with suppress(Empty):
                found = self._done.get(timeout=EVERY)
                if found is None:
                    self._over.set()
                    looker.join(_TO_LEAVE)  # who asks a Ray that is shut down starts another
                    return not looker.is_alive()
                ticket, future = found
                self._tasks.pop(ticket, None)
                if isinstance(future.exception(), LocalRayletDiedError):
                    return False
                self.answer(ticket, _came_of(future))
        return False

    def _look(self) -> None:
        """Look whether Ray answers, again and again; it may itself end this process for it."""
        while not self._over.wait(EVERY):
            with suppress(Exception):  # whatever it is, it is no answer
                socket.create_connection(self._head, EVERY).close()
                self._slots = _slots()
                with suppress(ObjectStoreFullError, OutOfDiskError):
                    ray.put(None)  # that is for the node here, all else for the head
                self._heard = monotonic()

    def beat(self) -> None:
        """Say again and again that this is alive."""
        while True:
            self._say_slots()
            sleep(EVERY)

    def _say_slots(self) -> None:
        with self._answering:
            self._say(None, self._slots)

    def answer(self, ticket: int, value: Any) -> None:
        """Say what became of a ticket."""
        with self._answering:
            self._say(ticket, value)

    def _say(self, ticket: int | None, value: Any) -> None:
        with suppress(OSError):
            pickle.dump((ticket, value), self._answers)
            self._answers.flush()


def remove(folder: str | Path) -> None:
    """Remove the folder of a Ray that has ended, or whose last processes are just ending."""
    end = monotonic() + _TO_LEAVE
    while os.path.exists(folder) and monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        sleep(_SOON)


def _head() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _slots() -> int:
    return int(ray.cluster_resources().get("CPU", 0))


def _place(address: str) -> tuple[str, int]:
    """Return host and port of ``host:port`` or ``ray://host:port``."""
    host, sign, port = address.rpartition("://")[2].rpartition(":")
    if not (sign and port.isdecimal()):
        raise ValueError(f"an address is auto, HOST:PORT or ray://HOST:PORT, got {address!r}")
    return host.strip("[]"), int(port)


def _check_server(address: str) -> None:
    """Refuse an address at which nothing speaks gRPC: Ray would wait for it for minutes.

    Whoever speaks HTTP/2, as gRPC does, begins with a frame of settings (RFC 9113, 3.4).
    """
    with socket.create_connection(_place(address), _PATIENCE) as connection:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return  # what is said there is for Ray's own keys
        connection.settimeout(_PATIENCE)
        try:
            connection.sendall(_PREFACE + _NO_SETTINGS)
            head = connection.recv(_FRAME_HEAD, socket.MSG_WAITALL)
        except TimeoutError:
            raise TimeoutError(f"what listens there gave no answer in {_PATIENCE:g} s") from None
    if len(head) < _FRAME_HEAD or head[_FRAME_TYPE] != _SETTINGS:
        raise ConnectionError("what listens there does not speak the protocol of Ray")


def _came_of(future: "Future[bytes]") -> bytes | Failure:
    """Return what a task returned, or in words why Ray could not have it done."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, WorkerCrashedError):
        return lost_workers_message()
    if isinstance(error, OutOfMemoryError):
        return Failure(
            "MemoryError",
            f"Ray ended {AGAIN + 1} workers at the same task: their machines ran out of memory",
        )
    if "No module named 'keyhole" in _words(error):
        return missing_package_message("Ray")
    return Failure("RuntimeError", f"Ray could not have a task done: {_words(error)}")


def _words(error: BaseException) -> str:
    """Return on one line what an error began with, without its way through Ray."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = lines[-1:] if any("Traceback" in line for line in lines) else lines
    return " ".join(told) or type(error).__name__
