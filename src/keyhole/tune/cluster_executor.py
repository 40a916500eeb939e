"""Executor of a tune that runs each command as a task of a cluster."""

import os
import socket
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from keyhole.clusters import Cluster, ClusterLostError
from keyhole.clusters.cluster import THREADS, check_versions, cluster_connection, make_wanted_check
from keyhole.runner import CommandResult, CommandRunner
from keyhole.tune.spec import Spec

if TYPE_CHECKING:
    from keyhole.tune.tuner import ExecutorFactory

_POLL_SECONDS: Final = 0.5
_CHECK_SECONDS: Final = 1.0  # between two checks whether a run is still wanted
_idle_runners: Final = deque[CommandRunner]()
"""Runners that this cluster worker keeps for its next tasks."""


def is_local(on: str | futures.Executor) -> bool:
    """Return whether runs take place on this machine."""
    return isinstance(on, str) and "=" not in on


@contextmanager
def cluster_executors(
    on: str | futures.Executor, workers: int, spec: Spec
) -> "Iterator[ExecutorFactory | None]":
    """Connect to a cluster, and yield a factory of executors; None for `threads` (this machine).

    A cluster that is started here has the capacity `workers`, and is closed at the end.
    """
    if on != THREADS and spec.cores > 1:
        raise ValueError(f"cores must be 1 on a cluster: a run is one task, got {spec.cores}")
    starts_cluster = is_local(on) and on != THREADS
    with cluster_connection(on, workers if starts_cluster else None) as cluster:
        if cluster is None:
            yield None
            return
        if (capacity := cluster.capacity()) < workers and not starts_cluster:
            warnings.warn(
                f"workers: {workers} runs at a time on {cluster.name}, which has a capacity of "
                f"{capacity} now: the others wait",
                stacklevel=2,
            )
        warned: set[str] = set()
        yield lambda: _ClusterExecutor(cluster, spec.environment, warned)


@dataclass
class _ClusterExecutor:
    """Executor of one worker thread: one cluster task at a time.

    Parameters
    ----------
    cluster : Cluster
        Runs the tasks.
    environment : mapping
        Variables that are added to the environment of the cluster worker.
    warned : set of str
        The warnings that any executor of the tune has issued; each is issued only once.
    """

    cluster: Cluster
    environment: Mapping[str, str]
    warned: set[str]
    _version: str = field(default_factory=lambda: version("keyhole"))
    _closed: bool = False
    _task: futures.Future[tuple[CommandResult, str]] | None = None

    def run(
        self,
        command: Sequence[str],
        limit: float,
        *,
        environment: Mapping[str, str] | None,
        cores: Sequence[int] | None,
        **options: object,
    ) -> CommandResult:
        """Run a command as a task, in the environment and on the cores of the cluster worker.

        The arguments `environment` and `cores` are those of this machine, and are not used.
        """
        task = self.cluster.submit(
            run_on_worker, self._version, dict(self.environment), command, limit, options
        )
        self._task = task
        while not self.cluster.completed([task], _POLL_SECONDS) and not self._closed:
            pass
        if self._closed:
            return CommandResult("lost", 0.0, reason="the tuner was ended")
        result: CommandResult
        try:
            result, warning = self.cluster.result(task)
        except ClusterLostError:
            raise
        except (RuntimeError, MemoryError) as error:
            # The cluster worker has died too often: the tuner repeats the run. Other errors, such
            # as that of another version of Keyhole, end the tune.
            return CommandResult("lost", 0.0, reason=str(error))
        if warning and warning not in self.warned:
            self.warned.add(warning)
            warnings.warn(warning, stacklevel=2)
        return result

    def close(self) -> None:
        """Cancel the run, and wait no longer for it."""
        self._closed = True
        if self._task is not None:
            self.cluster.cancel([self._task])


def run_on_worker(
    client_version: str,
    environment: Mapping[str, str],
    command: Sequence[str],
    limit: float,
    options: Mapping[str, Any],
) -> tuple[CommandResult, str]:
    """Run a command in a task on a cluster worker; return its result and a warning, or "".

    Raises
    ------
    ValueError
        If the client has another version of Keyhole.
    """
    check_versions({"keyhole": version("keyhole")}, {"keyhole": client_version})
    runner = _take_runner()
    with _close_when_unwanted(runner):
        run = runner.run(command, limit, environment={**os.environ, **environment}, **options)
    if not runner.closed:
        _idle_runners.append(runner)
    host = socket.gethostname()
    if run.reason:
        run = replace(run, reason=f"{run.reason}, on {host}")
    if runner.mechanism == "group":
        return run, f"on {host}: {runner.description}"
    return run, ""


def _take_runner() -> CommandRunner:
    """Return an idle runner that is not closed, or a new one."""
    # A worker process keeps its runners between tasks, since starting one takes 0.06 s of CPU time
    # (docs/running.md), more than many runs.
    while _idle_runners:
        with suppress(IndexError):  # another thread may take the last one
            if not (runner := _idle_runners.pop()).closed:
                return runner
    return CommandRunner()


@contextmanager
def _close_when_unwanted(runner: CommandRunner) -> Iterator[None]:
    """Close the runner, which kills its run, if the client cancels the task or has ended."""
    run_end = threading.Event()
    is_wanted = make_wanted_check()

    # Dask cannot interrupt a running task, so the worker asks once a second. It thus also notices
    # that the client has died.
    def watch_client() -> None:
        while not run_end.wait(_CHECK_SECONDS):
            if not is_wanted():
                runner.close()
                return

    watcher = threading.Thread(target=watch_client, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        run_end.set()
        watcher.join()
