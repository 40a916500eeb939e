"""Executor that runs each command as a cluster task."""

import os
import socket
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from keyhole.clusters import Cluster
from keyhole.clusters.cluster_connection import THREADS, cluster_connection
from keyhole.clusters.worker_checks import check_versions, make_wanted_check
from keyhole.runner import CommandResult, Runner
from keyhole.tune.loop import Executor, Executors
from keyhole.tune.spec import Spec

_POLL_SECONDS: Final = 0.5
_CHECK_SECONDS: Final = 1.0  # seconds between two checks whether a run is still wanted
_idle_runners: Final = deque[Runner]()
"""Idle runners of this process, a cluster worker; each run takes one, or makes one."""


def is_local(on: str | Cluster) -> bool:
    """Return whether runs take place on this machine."""
    return isinstance(on, str) and "=" not in on


@contextmanager
def cluster_executors(on: str | Cluster, workers: int, spec: Spec) -> Iterator[Executors | None]:
    """Connect to a cluster, and yield a factory of executors; None for `threads` (this machine).

    A cluster that was started here, with the capacity `workers`, is closed in the end.
    """
    if on != THREADS and spec.cores > 1:
        raise ValueError(f"cores must be 1 on a cluster: a run is one task, got {spec.cores}")
    started = is_local(on) and on != THREADS
    with cluster_connection(on, workers if started else None) as cluster:
        if cluster is None:
            yield None
            return
        if (capacity := cluster.capacity()) < workers and not started:
            warnings.warn(
                f"workers: {workers} runs at a time on {cluster.name}, which has a capacity of "
                f"{capacity} now: the others wait",
                stacklevel=2,
            )
        runs = ClusterRuns(cluster, spec.environment)
        try:
            yield runs.executor
        finally:
            runs.close()


class ClusterRuns:
    """Runs on one cluster, submitted by several executors, each in its own thread.

    Parameters
    ----------
    cluster : Cluster
        The connection to the cluster.
    environment : mapping
        Variables that are added to the environment of the worker.
    """

    def __init__(self, cluster: Cluster, environment: Mapping[str, str]) -> None:
        self.cluster, self._environment = cluster, dict(environment)
        self._version = version("keyhole")
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._waiting: dict[int, Future[tuple[CommandResult, str]]] = {}
        self._error: BaseException | None = None
        self._warned: set[str] = set()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def executor(self) -> Executor:
        """Return one more executor on this cluster."""
        return _Executor(self)

    def submit(self, *run: Any) -> "Future[tuple[CommandResult, str]]":
        """Submit a run."""
        future: Future[tuple[CommandResult, str]] = Future()
        with self._lock:
            if self._error is not None:
                raise self._error
            # Within the lock: the listener must not see the task complete before it has a future.
            ticket = self.cluster.submit(run_on_worker, self._version, self._environment, *run)
            self._waiting[ticket] = future
        return future

    def warn(self, text: str) -> None:
        """Issue a warning, each text once."""
        with self._lock:
            known = not text or text in self._warned
            self._warned.add(text)
        if not known:
            warnings.warn(text, stacklevel=2)

    def _listen(self) -> None:
        """Set the results of futures as tasks complete: main function of the listener thread."""
        # `Cluster` has one completion queue for all executors, so that one thread reads it.
        try:
            while not self._closed.is_set():
                for one in self.cluster.as_completed(_POLL_SECONDS):
                    with self._lock:
                        future = self._waiting.pop(one.ticket)
                    if not future.set_running_or_notify_cancel():
                        continue
                    # RuntimeError: the worker has died too often. The run is lost, and repeated.
                    # Other errors, such as another version of Keyhole, end the tune.
                    if isinstance(one.error, RuntimeError | MemoryError):
                        future.set_result((CommandResult("lost", 0.0, reason=str(one.error)), ""))
                    elif one.error is not None:
                        future.set_exception(one.error)
                    else:
                        future.set_result(one.value)
        except BaseException as error:
            # For example ClusterLostError. Every thread that waits for a future must be woken, and
            # later calls of `submit` must fail as well.
            with self._lock:
                self._error, waiting = error, list(self._waiting.values())
            for future in waiting:
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)

    def close(self) -> None:
        """Stop listening, and cancel the runs that are still at work."""
        self._closed.set()
        self._listener.join()
        self.cluster.cancel(self._waiting)


class _Executor:
    """Executor of one worker thread: one cluster task at a time."""

    def __init__(self, runs: ClusterRuns) -> None:
        self._runs, self._closed = runs, False
        self._future: Future[tuple[CommandResult, str]] | None = None
        self.description = f"{runs.cluster.name}: a run ends with the worker that runs it"

    def run(
        self,
        command: Sequence[str],
        limit: float,
        *,
        cpu: float | None,
        memory: int | None,
        folder: Path | None,
        environment: Mapping[str, str] | None,
        cores: Sequence[int] | None,
        grace: float = 0.0,
    ) -> CommandResult:
        """Run a command; `environment` and `cores` are those of the cluster worker."""
        future = self._future = self._runs.submit(
            list(command), limit, cpu, memory, None if folder is None else str(folder), grace
        )
        # `close` may have been called when there was no future yet that it could cancel.
        if self._closed:
            future.cancel()
        try:
            run, warning = future.result()
        except CancelledError:
            return CommandResult("lost", 0.0, reason="the tuner was ended")
        self._runs.warn(warning)
        return run

    def close(self) -> None:
        """Stop waiting for the run; `ClusterRuns.close` cancels its task."""
        self._closed = True
        if self._future is not None:
            self._future.cancel()


def run_on_worker(
    wanted: str,
    environment: Mapping[str, str],
    command: Sequence[str],
    limit: float,
    cpu: float | None,
    memory: int | None,
    folder: str | None,
    grace: float = 0.0,
) -> tuple[CommandResult, str]:
    """Run a command on a cluster worker; return its result and a warning, or an empty text.

    Raises
    ------
    ValueError
        If the client has another version of Keyhole.
    """
    check_versions({"keyhole": version("keyhole")}, {"keyhole": wanted})
    host, runner = socket.gethostname(), _take_runner()
    with _close_when_unwanted(runner):
        run = runner.run(
            command,
            limit,
            cpu=cpu,
            memory=memory,
            folder=folder,
            environment={**os.environ, **environment},
            grace=grace,
        )
    if not runner.closed:
        _idle_runners.append(runner)
    if run.reason:
        run = replace(run, reason=f"{run.reason}, on {host}")
    return run, f"on {host}: {runner.description}" if runner.mechanism == "group" else ""


def _take_runner() -> Runner:
    """Return an idle runner that is not closed, or a new one."""
    # Starting a runner takes 0.06 s of CPU time (docs/running.md), more than many runs: a worker
    # process keeps its runners between tasks.
    while _idle_runners:
        with suppress(IndexError):  # another thread may take the last one
            if not (runner := _idle_runners.pop()).closed:
                return runner
    return Runner()


@contextmanager
def _close_when_unwanted(runner: Runner) -> Iterator[None]:
    """Context manager: close the runner, which kills its run, when the client has cancelled it."""
    over, wanted = threading.Event(), make_wanted_check()

    # Dask cannot interrupt a task that is running. So the worker asks once a second, which also
    # covers a client that has died.
    def check() -> None:
        while not over.wait(_CHECK_SECONDS):
            if not wanted():
                runner.close()
                return

    checker = threading.Thread(target=check, daemon=True)
    checker.start()
    try:
        yield
    finally:
        over.set()
        checker.join()
