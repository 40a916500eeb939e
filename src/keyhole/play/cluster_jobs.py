"""Jobs on a cluster: what is handed out, in which pieces, and what a worker makes of it."""

import platform
import socket
import sys
import warnings
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from math import inf
from threading import Lock
from time import monotonic, sleep
from typing import Any, Final

from keyhole.clusters.cluster import Cluster, ClusterLostError, results
from keyhole.clusters.worker_checks import check_versions, make_wanted_check
from keyhole.kernels.math_library import math_library_digest
from keyhole.play.block import plan_digest
from keyhole.play.jobs import Job, Keep
from keyhole.play.pickling import pickle_plan, sha256, unpickle_plan
from keyhole.play.plan import Plan
from keyhole.play.progress import Report
from keyhole.play.speed import measure_seconds_per_round

_SECONDS: Final = 10.0
"""Of a block: what a killed worker loses. A task costs the scheduler some milliseconds."""
_LEAST_SECONDS: Final = 1.0
_AHEAD: Final = 2  # tasks handed out for each that can be at work
_WAIT: Final = 0.5
_PATIENCE: Final = 10.0
_EYE: Final = 12  # characters of a digest that one compares by eye
_KEPT: Final = 32

_plans: Final[OrderedDict[str, tuple[Plan, str]]] = OrderedDict()
_unpacking: Final = Lock()


@cache
def package_versions() -> Mapping[str, str]:
    """Return what must be the same on client and workers, by name."""
    found = {name: version(name) for name in ("keyhole", "numba", "llvmlite", "numpy")}
    found["Python"] = ".".join(platform.python_version_tuple()[:2])
    found["docstrings"] = "left out" if sys.flags.optimize > 1 else "kept"  # as code is compared
    found["arithmetic of the processor"] = math_library_digest()[:_EYE]
    return found


def run_on_cluster(
    cluster: Cluster, jobs: Sequence[Job], keep: Keep, report: Report | None = None
) -> None:
    """Play what is left of all jobs on a cluster, the first ones first.

    Raises
    ------
    GoneError
        If the cluster does not answer any more.
    ValueError, RuntimeError and others
        What a worker refuses or fails at, in the words of a run on this machine.
    """
    label = f"{len(jobs)} {'run' if len(jobs) == 1 else 'runs'} on {cluster.name}"
    total = sum(job.rounds * job.replications for job in jobs)
    done = total - sum(job.rounds_left for job in jobs)
    hand = _Dispatcher(cluster, jobs)
    try:
        while hand.deal():
            for job, part, data in hand.take_back():
                done += job.rounds * len(part)
                keep(job, job.block(part), data)
                if report is not None:
                    report(label, done, total)
    finally:
        hand.leave()


class _Dispatcher:
    """Deals out parts of jobs and takes back what was played.

    No more is dealt than twice what can be at work, so that the length of a part can follow what
    was measured, and get shorter towards the end.
    """

    def __init__(self, cluster: Cluster, jobs: Sequence[Job]) -> None:
        self._cluster = cluster
        self._new = deque(job for job in jobs if job.remaining)
        self._measured: deque[Job] = deque()
        self._rounds_left = sum(job.rounds_left for job in jobs)
        self._rounds, self._seconds = 0, 0.0
        self._paces: dict[tuple[Any, ...], float] = {}
        self._dealt: dict[int, tuple[Job, range]] = {}
        self._shared: dict[int, tuple[Any, str]] = {}
        self._users = Counter(id(job.plan) for job in self._new)
        self._versions = package_versions()
        self._seen = monotonic()

    def deal(self) -> bool:
        """Deal out what there is room for; return whether something is still to come back."""
        slots = self._cluster.capacity()
        self._watch(slots)
        while (self._new or self._measured) and len(self._dealt) < _AHEAD * slots:
            if not self._measured:
                job = self._new.popleft()
                if job.cost_key in self._paces:
                    job.expect(self._paces[job.cost_key])
                    self._measured.append(job)
                    continue
                part = job.next_block(_SECONDS)
            else:
                job = self._measured[0]
                part = job.next_block(self._length(slots))
                if not job.remaining:
                    self._measured.popleft()
            self._rounds_left -= job.rounds * len(part)
            data, key = self._share(job)
            ticket = self._cluster.submit(
                run_task, data, key, self._versions, job.digest, job.label, part
            )
            self._dealt[ticket] = job, part
        return bool(self._new or self._measured or self._dealt)

    def take_back(self) -> Iterator[tuple[Job, range, bytes]]:
        """Wait a little, and yield what has been played meanwhile."""
        for ended in self._cluster.as_completed(_WAIT):
            job, part = self._dealt.pop(ended.ticket)
            data, seconds = ended.result()
            self._rounds += job.rounds * len(part)
            self._seconds += seconds
            if job.remaining and not job.measured:
                self._measured.append(job)
            job.record_block(part, seconds)
            self._paces[job.cost_key] = seconds / (job.rounds * len(part))
            if not job.remaining and all(other is not job for other, _ in self._dealt.values()):
                self._let_go(job.plan)
            yield job, part, data

    def leave(self) -> None:
        """Recall what has not come back: the cluster may serve others."""
        self._cluster.cancel(self._dealt)
        for shared, _ in self._shared.values():
            self._cluster.release(shared)

    def _length(self, slots: int) -> float:
        """Return for how long the next part is to be played."""
        left = self._rounds_left * self._seconds / max(self._rounds, 1)
        return min(_SECONDS, max(_LEAST_SECONDS, left / (_AHEAD * slots)))

    def _share(self, job: Job) -> tuple[Any, str]:
        """Return what stands for a job's plan on the cluster, and its digest."""
        if id(job.plan) not in self._shared:
            data = pickle_plan(job.plan)
            self._shared[id(job.plan)] = self._cluster.broadcast(data), sha256(data)
        return self._shared[id(job.plan)]

    def _let_go(self, plan: Plan) -> None:
        """Have the cluster forget a plan once all its jobs are done."""
        self._users[id(plan)] -= 1
        if self._users[id(plan)] == 0:
            self._cluster.release(self._shared.pop(id(plan))[0])

    def _watch(self, slots: int) -> None:
        """Say so, once, if there is nobody to work."""
        if slots > 0:
            self._seen = monotonic()
        elif monotonic() - self._seen > _PATIENCE:
            warnings.warn(f"{self._cluster.name} has no worker; waiting for one", stacklevel=3)
            self._seen = inf


def run_task(
    data: bytes, key: str, wanted: Mapping[str, str], digest: str, label: str, part: range
) -> tuple[bytes, float]:
    """Return a block of a packed plan, and the seconds it took; this is what a worker runs.

    Raises
    ------
    ValueError
        If versions, plan or files are not what they are at the client.
    """
    plan = _unpacked(data, key, wanted, digest)
    plan.simulators(label)  # compiled, if need be, before the clock runs
    is_wanted = make_wanted_check()

    def look(*_: Any) -> None:
        if not is_wanted():
            raise RuntimeError("nobody waits for this block any more")

    began = monotonic()
    values = plan.play(label, part, threads=1, report=look)
    seconds = monotonic() - began
    job = Job(plan, label, len(part), [])
    return job.block(part).to_bytes(values), seconds


def warm_up_workers(cluster: Cluster) -> int:
    """Have all workers load what they play with, as the first blocks would; return the slots."""
    until = monotonic() + _PATIENCE
    while not (slots := cluster.capacity()):
        if monotonic() > until:
            raise ClusterLostError(f"{cluster.name} has no worker; try again when it has one")
        sleep(_WAIT)
    for _ in results(cluster, [cluster.submit(package_versions) for _ in range(slots)]):
        pass
    return slots


def measure_speed_on_cluster(
    cluster: Cluster, plan: Plan, label: str, seconds: float, *, replications: int, threads: int
) -> float:
    """Return how long a round of a policy takes if all of a cluster is at work on such.

    So many workers as there are `threads` measure it at once: see `keyhole.play.speed`.
    """
    data = pickle_plan(plan)
    shared, known = cluster.broadcast(data), (sha256(data), package_versions(), plan_digest(plan))
    try:
        dealt = [
            cluster.submit(measure_task, shared, *known, label, seconds, replications)
            for _ in range(threads)
        ]
        speed = sum(1 / float(pace) for pace in results(cluster, dealt))
        return 1 / speed if speed else inf
    finally:
        cluster.release(shared)


def measure_task(
    data: bytes,
    key: str,
    wanted: Mapping[str, str],
    digest: str,
    label: str,
    seconds: float,
    replications: int,
) -> float:
    """Return how long a round takes; this is what a worker runs."""
    plan = _unpacked(data, key, wanted, digest)
    return measure_seconds_per_round(plan, label, seconds, replications=replications)


def _unpacked(data: bytes, key: str, wanted: Mapping[str, str], digest: str) -> Plan:
    """Return a plan that is played here as at the client."""
    check_versions(package_versions(), wanted)
    plan, found = _known(data, key)
    if found != digest:
        raise ValueError(
            f"the worker on {socket.gethostname()} has other code of a problem or a policy than "
            "this client: install the same packages there, and leave files as they are meanwhile"
        )
    return plan


def _known(data: bytes, key: str) -> tuple[Plan, str]:
    """Return a plan and its digest; those used last are kept."""
    with _unpacking:
        if key not in _plans:
            if sha256(data) != key:
                raise ValueError("the plan did not arrive as it was sent: its digest differs")
            plan = unpickle_plan(data)
            _plans[key] = plan, plan_digest(plan)
        _plans.move_to_end(key)
        while len(_plans) > _KEPT:
            _plans.popitem(last=False)
        return _plans[key]
