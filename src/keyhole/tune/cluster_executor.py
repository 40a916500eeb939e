"""Runs on a cluster: each is a task, and its worker runs the command as this machine would."""

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
from keyhole.clusters.connection import THREADS, cluster_connection
from keyhole.clusters.worker_checks import check_versions, make_wanted_check
from keyhole.runner import CommandResult, Runner
from keyhole.tune.executor import CommandOutcome, Executor, Executors
from keyhole.tune.spec import Spec

_WAIT: Final = 0.5
_LOOK: Final = 1.0  # seconds between looks whether a run is still wanted
_idle: Final = deque[Runner]()
"""Those that this process, a worker, has made; one for each run that it makes at a time."""


def is_local(on: str | Cluster) -> bool:
    """Return whether the runs are those of this machine."""
    return isinstance(on, str) and "=" not in on


@contextmanager
def cluster_executors(on: str | Cluster, workers: int, spec: Spec) -> Iterator[Executors | None]:
    """Give what makes the executors of a cluster; None for `threads`, which is this machine.

    One that was started for it, for so many runs at a time, is closed in the end.
    """
    if on != THREADS and spec.cores > 1:
        raise ValueError(f"cores must be 1 on a cluster: a run has one slot, got {spec.cores}")
    started = is_local(on) and on != THREADS
    with cluster_connection(on, workers if started else None) as cluster:
        if cluster is None:
            yield None
            return
        if (slots := cluster.capacity()) < workers and not started:
            warnings.warn(
                f"workers: {workers} runs at a time on {cluster.name}, which has room for {slots} "
                "just now: others wait",
                stacklevel=2,
            )
        elsewhere = ClusterRuns(cluster, spec.environment)
        try:
            yield elsewhere.executor
        finally:
            elsewhere.close()


class ClusterRuns:
    """Has runs made on a cluster for several executors, each in a thread of its own.

    Parameters
    ----------
    cluster : Cluster
        Where.
    environment : mapping
        What a run's environment has beyond that of its worker.
    """

    def __init__(self, cluster: Cluster, environment: Mapping[str, str]) -> None:
        self.cluster, self._environment = cluster, dict(environment)
        self._version = version("keyhole")
        self._lock, self._over = threading.Lock(), threading.Event()
        self._waiting: dict[int, Future[tuple[CommandResult, str]]] = {}
        self._error: BaseException | None = None
        self._warned: set[str] = set()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def executor(self) -> Executor:
        """Return one more that runs commands there."""
        return _Executor(self)

    def begin(self, *run: Any) -> "Future[tuple[CommandResult, str]]":
        """Hand out a run."""
        future: Future[tuple[CommandResult, str]] = Future()
        with self._lock:
            if self._error is not None:
                raise self._error
            ticket = self.cluster.submit(run_on_worker, self._version, self._environment, *run)
            self._waiting[ticket] = future
        return future

    def warn(self, text: str) -> None:
        """Warn of something, once."""
        with self._lock:
            known = not text or text in self._warned
            self._warned.add(text)
        if not known:
            warnings.warn(text, stacklevel=2)

    def _listen(self) -> None:
        """Pass on what comes back, to whoever waits for it."""
        try:
            while not self._over.is_set():
                for one in self.cluster.as_completed(_WAIT):
                    with self._lock:
                        future = self._waiting.pop(one.ticket)
                    if not future.set_running_or_notify_cancel():
                        continue
                    if isinstance(one.error, RuntimeError | MemoryError):
                        future.set_result((CommandResult("lost", 0.0, reason=str(one.error)), ""))
                    elif one.error is not None:
                        future.set_exception(one.error)
                    else:
                        future.set_result(one.value)
        except BaseException as error:  # such as that the scheduler is gone
            with self._lock:
                self._error, waiting = error, list(self._waiting.values())
            for future in waiting:
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)

    def close(self) -> None:
        """Listen no more, and recall what is still at work."""
        self._over.set()
        self._listener.join()
        self.cluster.cancel(self._waiting)


class _Executor:
    """Runs commands on a cluster, one at a time."""

    def __init__(self, elsewhere: ClusterRuns) -> None:
        self._elsewhere, self._closed = elsewhere, False
        self._future: Future[tuple[CommandResult, str]] | None = None
        self.description = f"{elsewhere.cluster.name}: a run ends with the worker that runs it"

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
    ) -> CommandOutcome:
        """Run a command; environment and cores are those that its worker has."""
        future = self._future = self._elsewhere.begin(
            list(command), limit, cpu, memory, None if folder is None else str(folder)
        )
        if self._closed:
            future.cancel()
        try:
            run, warning = future.result()
        except CancelledError:
            return CommandResult("lost", 0.0, reason="the tuner was ended")
        self._elsewhere.warn(warning)
        return run

    def close(self) -> None:
        """Wait no more for what runs: it is ended when all executors are let go."""
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
) -> tuple[CommandResult, str]:
    """Run a command, and return a warning with what became of it; this is what a worker runs.

    Raises
    ------
    ValueError
        If the client has another version of Keyhole.
    """
    check_versions({"keyhole": version("keyhole")}, {"keyhole": wanted})
    host, runner = socket.gethostname(), _runner()
    with _ended_if_unwanted(runner):
        run = runner.run(
            command,
            limit,
            cpu=cpu,
            memory=memory,
            folder=folder,
            environment={**os.environ, **environment},
        )
    if not runner.closed:
        _idle.append(runner)
    if run.reason:
        run = replace(run, reason=f"{run.reason}, on {host}")
    return run, f"on {host}: {runner.description}" if runner.mechanism == "group" else ""


def _runner() -> Runner:
    """Return an idle runner, or a new one; whoever has closed an idle one is done with it."""
    while _idle:
        with suppress(IndexError):  # another thread may take the last one
            if not (runner := _idle.pop()).closed:
                return runner
    return Runner()


@contextmanager
def _ended_if_unwanted(runner: Runner) -> Iterator[None]:
    """Close a runner when nobody waits for its run any more."""
    over, wanted = threading.Event(), make_wanted_check()

    def look() -> None:
        while not over.wait(_LOOK):
            if not wanted():
                runner.close()
                return

    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    try:
        yield
    finally:
        over.set()
        looker.join()
