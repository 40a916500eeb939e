"""The driver process that holds the connection to Ray, and the function that Ray's workers run.

It never unpickles tasks or results: only the client and the workers do.
"""

import os
import pickle
import shutil
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

from keyhole.clusters.process_termination import kill_session
from keyhole.clusters.serialization import (
    RETRIES,
    TaskFailure,
    lost_workers_message,
    missing_package_message,
    run_serialized,
)

START_TICKET: Final = 0
"""The ticket of the start request, which has an address and the number of workers."""
HEARTBEAT_SECONDS: Final = 1.0
"""Seconds between two heartbeats of a driver, and between its checks of the head node."""
_TIMEOUT: Final = 10.0  # seconds without an answer after which the head is taken to be lost
_LEAVE_SECONDS: Final = 4.0
_RETRY_SECONDS: Final = 0.05
# HTTP/2: the connection preface of a client, an empty SETTINGS frame, and the frame header.
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_NO_SETTINGS: Final = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_FRAME_HEAD: Final = 9
_FRAME_TYPE: Final = 3
_SETTINGS: Final = 4


def main() -> None:
    """Serve requests from standard input on standard output until standard input is closed."""
    # Requests and answers get copies of the descriptors, and 0 and 1 lead nowhere: whatever Ray or
    # one of its libraries prints would otherwise stand between the answers.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    _, (address, workers, folder) = pickle.load(requests)
    driver = Driver(answers)
    Thread(target=driver.send_heartbeats, daemon=True).start()
    refused = driver.connect(address, workers, folder)
    driver.send_answer(START_TICKET, refused)
    if refused is None:
        Thread(target=driver.receive_requests, args=(requests,), daemon=True).start()
    # `ray.shutdown` may wait for a head node that is gone: then the thread ends the process.
    if refused is not None or driver.send_results():
        Thread(target=_end, args=(folder, _LEAVE_SECONDS), daemon=True).start()
        ray.shutdown()
    _end(folder)


def _end(folder: str | None, seconds: float = 0.0) -> None:
    """Kill the session after some time: Ray's processes, and this process."""
    sleep(seconds)
    if folder is not None:
        remove_folder(folder)
    # Without the head, Ray waits for it in this process and in some of those that it started.
    kill_session(os.getpid())


class Driver:
    """The connection to Ray: it submits tasks and sends their results to the client."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers, self._answering = answers, Lock()
        self._capacity, self._ended = 0, Event()
        self._done: SimpleQueue[tuple[int, Future[bytes]] | None] = SimpleQueue()
        self._shared: dict[int, Any] = {}
        self._tasks: dict[int, Any] = {}

    def connect(
        self, address: str | None, workers: int | None, folder: str | None
    ) -> TaskFailure | None:
        """Connect to Ray, or start it; return the failure if that is not possible."""
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
            # A Ray client (ray://) reaches the head through its own server; otherwise Ray knows the
            # address.
            at = address if address and "://" in address else _head_address()
            self._head_place = _host_and_port(at)
            self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(run_serialized)
            self._capacity = _count_processors()
            self._send_capacity()
        except Exception as error:  # the client reports it
            if address is None:
                return TaskFailure(
                    "RuntimeError", f"Ray could not be started: {_format_error(error)}"
                )
            if isinstance(error, OSError):
                text = f"Ray at {address} cannot be reached: {_format_error(error)}"
                return TaskFailure("ConnectionError", text)
            return TaskFailure(
                type(error).__name__, f"Ray at {address} cannot be used: {_format_error(error)}"
            )
        return None

    def receive_requests(self, requests: IO[bytes]) -> None:
        """Receive requests until standard input is closed."""
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                ticket, data, *shared = pickle.load(requests)
                # A task comes with a list of tickets; without one, None releases shared bytes, a
                # list of tickets cancels tasks, and anything else is to be shared.
                if shared:
                    self._submit(ticket, data, shared[0])
                elif data is None:
                    self._shared.pop(ticket, None)
                elif isinstance(data, list):
                    self._cancel(data)
                    self.send_answer(ticket, None)
                else:
                    self._share(ticket, data)
        self._done.put(None)

    def _cancel(self, tickets: list[int]) -> None:
        """Cancel tasks in reverse order: a worker that becomes free would begin the next one."""
        for ticket in reversed(tickets):
            if (task := self._tasks.pop(ticket, None)) is not None:
                with suppress(Exception):  # it may just have ended
                    ray.cancel(task)

    def _share(self, ticket: int, data: bytes) -> None:
        """Put bytes into Ray's object store."""
        try:
            self._shared[ticket] = ray.put(data)
        except Exception as error:  # raised by each task that refers to them
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

    def send_results(self) -> bool:
        """Send results until requests end; return whether Ray was reachable until then."""
        self._last_answer = monotonic()
        checker = Thread(target=self._check_ray, daemon=True)
        checker.start()
        while monotonic() - self._last_answer < _TIMEOUT:
            with suppress(Empty):
                found = self._done.get(timeout=HEARTBEAT_SECONDS)
                if found is None:
                    self._ended.set()
                    checker.join(_LEAVE_SECONDS)  # who asks a Ray that is shut down starts another
                    return not checker.is_alive()
                ticket, future = found
                self._tasks.pop(ticket, None)
                if isinstance(future.exception(), LocalRayletDiedError):
                    return False
                self.send_answer(ticket, _task_result(future))
        return False

    def _check_ray(self) -> None:
        """Check regularly whether Ray answers; it may itself kill this process if not."""
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(Exception):  # any error means that there was no answer
                socket.create_connection(self._head_place, HEARTBEAT_SECONDS).close()
                self._capacity = _count_processors()
                with suppress(ObjectStoreFullError, OutOfDiskError):
                    ray.put(None)  # asks the local node, the lines above ask the head
                self._last_answer = monotonic()

    def send_heartbeats(self) -> None:
        """Send a heartbeat with the capacity regularly."""
        while True:
            self._send_capacity()
            sleep(HEARTBEAT_SECONDS)

    def _send_capacity(self) -> None:
        with self._answering:
            self._send(None, self._capacity)

    def send_answer(self, ticket: int, value: Any) -> None:
        """Send the result of a ticket."""
        with self._answering:
            self._send(ticket, value)

    def _send(self, ticket: int | None, value: Any) -> None:
        with suppress(OSError):
            pickle.dump((ticket, value), self._answers)
            self._answers.flush()


def remove_folder(folder: str | Path) -> None:
    """Remove the folder of a Ray that has ended or is just ending."""
    end = monotonic() + _LEAVE_SECONDS
    # Processes of Ray that are just ending may still write into it.
    while os.path.exists(folder) and monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        sleep(_RETRY_SECONDS)


def _head_address() -> str:
    return str(ray.get_runtime_context().gcs_address)


def _count_processors() -> int:
    return int(ray.cluster_resources().get("CPU", 0))


def _host_and_port(address: str) -> tuple[str, int]:
    """Return host and port of ``host:port`` or ``ray://host:port``."""
    host, sign, port = address.rpartition("://")[2].rpartition(":")
    if not (sign and port.isdecimal()):
        raise ValueError(f"an address is auto, HOST:PORT or ray://HOST:PORT, got {address!r}")
    return host.strip("[]"), int(port)


def _check_server(address: str) -> None:
    """Refuse an address at which no program speaks gRPC: Ray would wait for it for minutes.

    gRPC uses HTTP/2, where a server begins with a SETTINGS frame (RFC 9113, 3.4).
    """
    with socket.create_connection(_host_and_port(address), _TIMEOUT) as connection:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return  # only Ray has the keys
        connection.settimeout(_TIMEOUT)
        try:
            connection.sendall(_PREFACE + _NO_SETTINGS)
            head = connection.recv(_FRAME_HEAD, socket.MSG_WAITALL)
        except TimeoutError:
            raise TimeoutError(f"the program there gave no answer in {_TIMEOUT:g} s") from None
    if len(head) < _FRAME_HEAD or head[_FRAME_TYPE] != _SETTINGS:
        raise ConnectionError("the program there does not speak the protocol of Ray")


def _task_result(future: "Future[bytes]") -> bytes | TaskFailure:
    """Return the pickled result of a task, or the failure with which Ray ended it."""
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, WorkerCrashedError):
        return lost_workers_message()
    if isinstance(error, OutOfMemoryError):
        return TaskFailure(
            "MemoryError",
            f"Ray ended {RETRIES + 1} workers at the same task: their machines ran out of memory",
        )
    if "No module named 'keyhole" in _format_error(error):
        return missing_package_message("Ray")
    return TaskFailure("RuntimeError", f"Ray could not have a task done: {_format_error(error)}")


def _format_error(error: BaseException) -> str:
    """Return the message of the first cause of an error on one line, without Ray's traceback."""
    while error.__cause__ is not None:
        error = error.__cause__
    # Ray may quote the traceback of a worker, whose last line has the error.
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    shown = lines[-1:] if any("Traceback" in line for line in lines) else lines
    return " ".join(shown) or type(error).__name__
