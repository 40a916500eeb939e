"""Simulation jobs: the work of simulating one policy, split into blocks of about equal duration."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from time import monotonic
from typing import Final

import numpy as np

from keyhole.cached_property import cached_property
from keyhole.contract.kernel_compilation import compiled_environment, compiled_policy
from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.engine import LANES
from keyhole.kernels.fingerprint import fingerprint
from keyhole.kernels.package_digest import compiled_packages_digest, math_library_digest
from keyhole.play.progress import Report
from keyhole.play.simulation_plan import Plan, SimulatedWorkers
from keyhole.play.threaded_simulation import FIRST_ROUNDS, simulate_replications

_FORMAT: Final = "keyhole-block"
_DTYPE: Final = np.dtype("<f8")
_BLOCK_SECONDS: Final = 2.0
"""Duration of a block on this machine. A run that is killed loses the work of one block."""
_MOST_VALUES: Final = 2**22
"""The most values in a block: 32 MB, which one message can carry."""


def plan_digest(plan: Plan) -> str:
    """Return a digest of all that determines the values of a plan's replications."""
    return json_digest([plan.seed, plan.horizon, plan.details, plan.checked, digest_parts(plan)])


def digest_parts(plan: Plan) -> list[object]:
    """Return what determines the results of a plan beside its horizon, seed and replications.

    These are the simulated workers; checkpoints and metrics; the values of the problem; the class,
    parameters, kernel numbers and known quantities of each policy; the code of policies,
    environment, setting and `COMPILED_PACKAGES`; the versions of the compiler; and the digest of
    the math library.
    """
    setting = plan.problem.setting
    environment = compiled_environment(plan.problem.environment)
    workers = [
        [label, *_worker_digest_parts(workers, plan.policies[label])]
        for label, workers in plan.workers.items()
    ]
    policy_classes = {type(policy) for policy in plan.policies.values()}
    code_digests = {
        policy_class: compiled_policy(policy_class).digest for policy_class in policy_classes
    }
    return [
        workers,
        plan.checkpoints,
        rows_for_digest(plan.problem.truth()),
        [
            [label, *_policy_digest_parts(plan, policy), code_digests[type(policy)]]
            for label, policy in plan.policies.items()
        ],
        [setting.name, setting.budgeted, fingerprint(setting.allowed)],
        [environment.digest, plan.metrics],
        compiled_packages_digest(),
        compiler_versions(),
        math_library_digest(),
    ]


@cache
def compiler_versions() -> list[str]:
    """Return the versions of the compiler's packages, cached since they are read from files."""
    return [version(package) for package in ("numba", "llvmlite", "numpy")]


def json_digest(content: object) -> str:
    """Return the SHA-256 of nested lists and tables, as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _policy_digest_parts(plan: Plan, policy: Policy) -> list[object]:
    # A policy that knows its budget plays a simulation for each budget, which is then its horizon.
    simulations = plan.list_simulations(policy)
    facts = [rows_for_digest(plan.facts(policy, horizon)) for horizon, _ in simulations]
    policy_parts: list[object] = [
        type(policy).__name__,
        rows_for_digest(policy.parameters()),
        rows_for_digest(policy.numbers()),
        facts,
    ]
    if policy.verdicts:  # the policy can stop
        policy_parts.append(rows_for_digest({"wrong": plan.wrong_verdicts(policy)}))
    return policy_parts


def _worker_digest_parts(workers: SimulatedWorkers, policy: Policy) -> list[object]:
    duration = workers.duration
    return [
        workers.number,
        workers.pending_mode(policy),
        fingerprint(duration.draw),
        rows_for_digest({"numbers": duration.numbers}),
        # The fingerprint of the kernel does not cover this attribute.
        getattr(duration, "age_bounds_feedback", False),
    ]


def rows_for_digest(values: Mapping[str, object]) -> list[list[str]]:
    """Return named values as texts for a digest; an array's text is the SHA-256 of its content."""
    rows = []
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray | list | tuple):
            array = np.ascontiguousarray(value)
            form = f"{array.dtype.str} {array.shape}"
            rows.append([name, form, hashlib.sha256(array.tobytes()).hexdigest()])
        else:
            # The repr of a float has all of its bits.
            rows.append([name, type(value).__name__, repr(value)])
    return rows


StoreValues = Callable[["SimulationJob", range, FloatArray], None]
"""A function that is called with each block: its job, its replications and their values."""


@dataclass(eq=False)
class SimulationJob:
    """One policy of a plan, with the replications that are still to be simulated.

    Attributes
    ----------
    plan : Plan
        The experiment.
    label : str
        The label of the policy.
    replications : int
        The number of all replications.
    remaining : list of range, optional
        The replications whose simulation has not begun; by default none.
    """

    plan: Plan
    label: str
    replications: int
    remaining: list[range] = field(default_factory=list)
    _seconds: float = field(default=0.0, init=False)
    _measured_replications: int = field(default=0, init=False)

    @cached_property
    def rounds(self) -> int:
        """The rounds of one replication."""
        return self.plan.rounds_per_replication(self.plan.policies[self.label])

    @property
    def total_rounds(self) -> int:
        """The rounds of all replications."""
        return self.rounds * self.replications

    @cached_property
    def digest(self) -> str:
        """The digest of the plan."""
        return plan_digest(self.plan)

    @property
    def rounds_left(self) -> int:
        """The rounds of the remaining replications."""
        return self.rounds * sum(map(len, self.remaining))

    @property
    def is_duration_known(self) -> bool:
        """Whether the duration of a replication is known."""
        return self._measured_replications > 0

    def encode_block(self, replications: range, values: FloatArray) -> bytes:
        """Encode a block, the values of some replications, for files and networks.

        The values have the shape (checkpoints, metrics, replications). A line of JSON has the
        digest of the plan and a checksum, the rest is little-endian floats of 8 bytes. So a block
        that differs in a single bit is noticed.
        """
        content = np.ascontiguousarray(values, _DTYPE).tobytes()
        checksum = hashlib.sha256(content).hexdigest()
        block = self.label, replications.start, self.plan.metrics, values.shape
        header = [_FORMAT, self.digest, *block, checksum]
        return json.dumps(header).encode() + b"\n" + content

    def decode_block(self, replications: range, data: bytes) -> FloatArray | None:
        """Decode a block; return None if the bytes are damaged or belong to another block."""
        content = data.partition(b"\n")[2]
        shape = len(self.plan.checkpoints), len(self.plan.metrics), len(replications)
        if len(content) != _DTYPE.itemsize * math.prod(shape):
            return None
        values = np.frombuffer(content, _DTYPE).astype(np.float64).reshape(shape)
        # Encoding is deterministic, so comparing the bytes checks all parts of the header.
        return values if self.encode_block(replications, values) == data else None

    def take_next_block(self, seconds: float, threads: int = 1) -> range:
        """Take the next block from `remaining`; on `threads`, it should take about `seconds`.

        The first block is small, since no speed has been measured yet.
        """
        first, *others = self.remaining
        if self.is_duration_known:
            count = int(seconds * self._measured_replications / max(self._seconds, 1e-9))
        else:
            count = FIRST_ROUNDS // self.rounds
        count = min(count, _MOST_VALUES // (len(self.plan.checkpoints) * len(self.plan.metrics)))
        # Every thread gets whole groups of `LANES` replications, unless a group takes too long.
        group_size = LANES * threads
        if count >= group_size:
            count -= count % group_size
        count = max(count, threads)
        replications = first[:count]
        self.remaining = [span for span in (first[count:], *others) if span]
        return replications

    def record_duration(self, replications: range, seconds: float) -> None:
        """Record how long some replications took."""
        self._seconds += seconds
        self._measured_replications += len(replications)


def run_locally(
    job: SimulationJob,
    store: StoreValues,
    threads: int | None,
    report: Report | None,
    *,
    block_seconds: float | None = None,
) -> None:
    """Simulate the remaining replications of a job on threads of this process, block by block."""
    threads = threads or os.cpu_count() or 1
    seconds = _BLOCK_SECONDS if block_seconds is None else block_seconds
    total = job.total_rounds

    def report_block(rounds_before: int, label: str, block_rounds: int, _: int) -> None:
        if report is not None:
            report(label, rounds_before + block_rounds, total)

    # A report comes before the first block, so that the time of this block counts as well.
    report_block(total - job.rounds_left, job.label, 0, 0)
    while job.remaining:
        report_in_job = partial(report_block, total - job.rounds_left)
        replications = job.take_next_block(seconds, threads)
        start = monotonic()
        values = simulate_replications(
            job.plan, job.label, replications, threads=threads, report=report_in_job
        )
        job.record_duration(replications, monotonic() - start)
        # The block is not encoded here: that would digest all sources, also for `keyhole.simulate`.
        store(job, replications, values)
