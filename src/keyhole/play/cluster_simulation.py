"""Simulation on a cluster: the replications of policies are split into tasks for its workers."""

import platform
import socket
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cache, lru_cache
from importlib.metadata import version
from math import inf
from threading import Lock
from time import monotonic
from typing import Any, Final

from keyhole.clusters import Cluster
from keyhole.clusters.cluster import check_versions, make_wanted_check
from keyhole.kernels.package_digest import math_library_digest
from keyhole.play.plan_pickling import pickle_plan, unpickle_plan
from keyhole.play.progress import Report
from keyhole.play.simulation_job import SimulationJob, StoreValues, plan_digest
from keyhole.play.simulation_plan import Plan
from keyhole.play.threaded_simulation import make_simulators, simulate_replications
from keyhole.text_formatting import count_text

# A worker that is killed loses a block, so blocks are short. A task costs the scheduler some
# milliseconds (measured: docs/clusters.md): with ten seconds a block, some 2,000 workers keep a
# scheduler of Dask busy.
_BLOCK_SECONDS: Final = 10.0
_LEAST_SECONDS: Final = 1.0  # of the last blocks, which are short: idle workers wait for them
_TASKS_PER_SLOT: Final = 2  # submitted tasks for each task that can run at once
_POLL_SECONDS: Final = 0.5
_WARNING_SECONDS: Final = 10.0  # without a worker, until a warning is shown
_SHOWN_CHARACTERS: Final = 12  # of a digest that users compare by eye

_plans_lock: Final = Lock()


@cache
def package_versions() -> Mapping[str, str]:
    """Return the versions that must be the same on client and workers, by name."""
    versions = {name: version(name) for name in ("keyhole", "numba", "llvmlite", "numpy")}
    versions["Python"] = ".".join(platform.python_version_tuple()[:2])
    # `python -OO` leaves docstrings out of code objects, whose digests are compared.
    versions["docstrings"] = "left out" if sys.flags.optimize > 1 else "kept"
    versions["arithmetic of the processor"] = math_library_digest()[:_SHOWN_CHARACTERS]
    return versions


def run_on_cluster(
    cluster: Cluster,
    jobs: Sequence[SimulationJob],
    store: StoreValues,
    report: Report | None = None,
) -> None:
    """Simulate the remaining replications of all jobs on a cluster, in the order of the jobs.

    Raises
    ------
    ClusterLostError
        If the cluster does not answer any more.
    ValueError, RuntimeError and others
        The errors of workers, with the messages that they would have on threads.
    """
    label = f"{count_text(len(jobs), 'run')} on {cluster.name}"
    total = sum(job.total_rounds for job in jobs)
    rounds_done = total - sum(job.rounds_left for job in jobs)
    dispatcher = _Dispatcher(cluster, jobs)
    try:
        while dispatcher.submit_tasks():
            for job, replications, data in dispatcher.collect_results():
                rounds_done += job.rounds * len(replications)
                if (values := job.decode_block(replications, data)) is None:
                    raise ValueError(
                        f"replications {replications.start} to {replications.stop - 1} of "
                        f"{job.label} were damaged on their way from the worker"
                    )
                store(job, replications, values)
                if report is not None:
                    report(label, rounds_done, total)
    finally:
        dispatcher.cancel()


class _Dispatcher:
    """Splits jobs into tasks, submits them to a cluster and collects their results.

    It submits at most twice as many tasks as can run at once. So the size of later tasks can follow
    the measured speed, and shrink towards the end, when idle workers wait for the last task.
    """

    def __init__(self, cluster: Cluster, jobs: Sequence[SimulationJob]) -> None:
        self._cluster = cluster
        # Jobs that have not begun, and jobs whose speed is known and that have replications left.
        self._new_jobs = deque(job for job in jobs if job.remaining)
        self._measured_jobs: deque[SimulationJob] = deque()
        self._rounds_left = sum(job.rounds_left for job in jobs)
        self._rounds_done = 0
        self._seconds = 0.0
        self._blocks_by_future: dict[Future[Any], tuple[SimulationJob, range]] = {}
        self._shared_plans: dict[int, object] = {}
        self._versions = package_versions()
        self._last_time_with_worker = monotonic()

    def submit_tasks(self) -> bool:
        """Submit as many tasks as allowed; return whether results are still to come."""
        capacity = self._cluster.capacity()
        self._warn_without_workers(capacity)
        # Each job begins with one small block, by which its speed is measured. The job's other
        # blocks wait for that result.
        most_blocks = _TASKS_PER_SLOT * capacity
        while (self._new_jobs or self._measured_jobs) and len(self._blocks_by_future) < most_blocks:
            job = (self._measured_jobs or self._new_jobs).popleft()
            seconds_left = self._rounds_left * self._seconds / max(self._rounds_done, 1)
            block_seconds = min(_BLOCK_SECONDS, max(_LEAST_SECONDS, seconds_left / most_blocks))
            replications = job.take_next_block(block_seconds)
            if job.is_duration_known and job.remaining:
                self._measured_jobs.appendleft(job)
            self._rounds_left -= job.rounds * len(replications)
            if id(job.plan) not in self._shared_plans:
                self._shared_plans[id(job.plan)] = self._cluster.share(pickle_plan(job.plan))
            plan_arguments = self._shared_plans[id(job.plan)], self._versions, job.digest
            future = self._cluster.submit(run_task, *plan_arguments, job.label, replications)
            self._blocks_by_future[future] = job, replications
        return bool(self._new_jobs or self._measured_jobs or self._blocks_by_future)

    def collect_results(self) -> Iterator[tuple[SimulationJob, range, bytes]]:
        """Wait a little, and yield the blocks that have been simulated meanwhile."""
        for future in self._cluster.completed(self._blocks_by_future, _POLL_SECONDS):
            job, replications = self._blocks_by_future.pop(future)
            data, seconds = self._cluster.result(future)
            self._rounds_done += job.rounds * len(replications)
            self._seconds += seconds
            if job.remaining and not job.is_duration_known:
                self._measured_jobs.append(job)
            job.record_duration(replications, seconds)
            # A task whose worker dies is run again, and reads the plan again. So the plan is kept
            # as long as a job with this plan is unfinished.
            if not job.remaining:
                submitted_jobs = (block[0] for block in self._blocks_by_future.values())
                unfinished_jobs = (*self._new_jobs, *self._measured_jobs, *submitted_jobs)
                if not any(unfinished.plan is job.plan for unfinished in unfinished_jobs):
                    del self._shared_plans[id(job.plan)]
            yield job, replications, data

    def cancel(self) -> None:
        """Cancel all tasks and release all plans, since the cluster may serve other calls."""
        self._cluster.cancel(self._blocks_by_future)
        self._shared_plans.clear()

    def _warn_without_workers(self, capacity: int) -> None:
        """Warn if the cluster has had no worker for a while, once until it has one again."""
        if capacity > 0:
            self._last_time_with_worker = monotonic()
        elif monotonic() - self._last_time_with_worker > _WARNING_SECONDS:
            warnings.warn(f"{self._cluster.name} has no worker; waiting for one", stacklevel=3)
            self._last_time_with_worker = inf


def run_task(
    data: bytes, versions: Mapping[str, str], digest: str, label: str, replications: range
) -> tuple[bytes, float]:
    """Simulate a block of a pickled plan in a worker; return the encoded block and the seconds.

    Raises
    ------
    ValueError
        If the versions of packages, or the code of a problem or a policy, differ from the client's.
    """
    plan = _load_checked_plan(data, versions, digest)
    make_simulators(plan, label)  # compile before the clock starts
    # A block that was cancelled would otherwise occupy a worker of Dask to the end of the block.
    is_wanted = make_wanted_check()

    def stop_if_unwanted(*_: object) -> None:
        if not is_wanted():
            raise RuntimeError("the client does not wait for this block any more")

    start = monotonic()
    values = simulate_replications(plan, label, replications, threads=1, report=stop_if_unwanted)
    seconds = monotonic() - start
    return SimulationJob(plan, label, len(replications)).encode_block(replications, values), seconds


def _load_checked_plan(data: bytes, versions: Mapping[str, str], digest: str) -> Plan:
    """Unpickle a plan; refuse it if its results would differ on this worker."""
    check_versions(package_versions(), versions)
    # Without the lock, threads of a worker that begin at the same time would each load the plan.
    with _plans_lock:
        plan, worker_digest = _cached_plan(data)
    if worker_digest != digest:
        raise ValueError(
            f"the worker on {socket.gethostname()} has other code of a problem or a policy than "
            "this client: install the same packages there, and change no file during the run"
        )
    return plan


# The cache is small, since a plan holds modules of scripts, and a worker serves one run after
# another.
@lru_cache(maxsize=32)
def _cached_plan(data: bytes) -> tuple[Plan, str]:
    """Return a plan and its digest, from a cache of the plans that were used last."""
    plan = unpickle_plan(data)
    return plan, plan_digest(plan)
