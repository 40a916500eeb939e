"""A cluster under a scheduler of Ray."""

import logging
import os
import re
import socket
from concurrent.futures import Future
from typing import Any, Final

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError, WorkerCrashedError

from keyhole.clusters.cluster import Cluster, ClusterLostError, dead_workers_error

_RETRIES: Final = 3  # of a task whose worker has died
_TIMEOUT: Final = 10.0  # seconds in which an address must answer


def connect_or_start(on: str, address: str | None, workers: int | None) -> Cluster:
    """Connect to the cluster at an address, or start `workers` processes on this machine.

    Without an address, the cluster to which this process is already connected is used, if any.
    """
    if address is None and ray.is_initialized():
        return Ray(on, is_owner=False)
    options = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if address is None:
        os.environ.setdefault("RAY_task_oom_retries", str(_RETRIES))  # by default without limit
        worker_count = workers or os.cpu_count() or 1
        ray.init("local", num_cpus=worker_count, include_dashboard=False, **options)
        return Ray(on)
    try:
        if address != "auto":
            _check_listener(address)
        ray.init(address, **options)
    except (OSError, RayError) as error:
        raise ClusterLostError(f"Ray at {address} cannot be reached: {error}") from error
    return Ray(on)


def _check_listener(address: str) -> None:
    """Refuse an address where nothing listens, to which Ray would try to connect for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not (host and port.isdecimal()):
        raise ValueError(
            f"the address of Ray must be auto, HOST:PORT or ray://HOST:PORT, got {address!r}"
        )
    socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT).close()


class Ray(Cluster):
    """The cluster to which this process is connected; `shutdown` disconnects if `is_owner`."""

    def __init__(self, name: str, *, is_owner: bool = True) -> None:
        self.name = name
        self._is_owner = is_owner
        self._task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_call)

    def capacity(self) -> int:
        """Return how many processors all nodes have."""
        try:
            return int(ray.cluster_resources().get("CPU", 0))
        except RayError as error:
            raise self.lost_error(error) from error

    def share(self, data: bytes) -> Any:
        """Put bytes into Ray's object store."""
        return ray.put(data)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task, which is cancelled with its future."""
        reference = self._task.remote(fn, *args, **kwargs)
        future = Future[Any]()

        def copy_outcome(ray_future: Future[Any]) -> None:
            if future.set_running_or_notify_cancel():
                if (error := ray_future.exception()) is None:
                    future.set_result(ray_future.result())
                else:
                    future.set_exception(_explain_error(error))

        future.add_done_callback(lambda ended: ended.cancelled() and ray.cancel(reference))
        reference.future().add_done_callback(copy_outcome)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """If `is_owner`, disconnect, and end processes that were started for this client."""
        if self._is_owner:
            ray.shutdown()


def _call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _explain_error(error: BaseException) -> BaseException:
    """Return the error that a task raised, or an error that explains an error of Ray's."""
    if isinstance(error, RayTaskError) and isinstance(error.cause, Exception):
        return _explain_error(error.cause)
    if not isinstance(error, RayError):
        return error
    if isinstance(error, OutOfMemoryError | WorkerCrashedError):
        return dead_workers_error(_RETRIES + 1)
    text = str(error).partition("\n")[0]
    if missing := re.search("No module named '(.*)'", text):
        return ModuleNotFoundError(missing[0], name=missing[1])
    return RuntimeError(f"Ray could not run a task: {text}")
