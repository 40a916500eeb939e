"""Simulation jobs: the work of simulating one policy, split into parts of about equal duration."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Final

from keyhole.cached_property import cached_property
from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.engine import LANES
from keyhole.play.plan import Plan
from keyhole.play.progress import Report
from keyhole.play.replication_block import ReplicationBlock, plan_digest
from keyhole.play.thread_executor import simulate_replications

_BLOCK_SECONDS: Final = 2.0
"""Duration of a block on this machine: the work that a killed run loses."""
_FIRST_ROUNDS: Final = 1_000_000
"""Rounds of the first block, whose speed gives the size of the others: some 30 ms of work."""
_MOST_VALUES: Final = 2**22
"""Values in a block: 32 MB, which one message can carry."""

StoreValues = Callable[["SimulationJob", range, FloatArray], None]
"""Called with some replications of a job and their values, block by block."""


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
    remaining : list of range
        The replications that are neither simulated nor begun.
    """

    plan: Plan
    label: str
    replications: int
    remaining: list[range]
    _seconds: float = field(default=0.0, init=False)
    _measured: int = field(default=0, init=False)

    @cached_property
    def rounds(self) -> int:
        """The rounds of one replication."""
        return self.plan.rounds(self.plan.policies[self.label])

    @cached_property
    def digest(self) -> str:
        """The digest of the plan."""
        return plan_digest(self.plan)

    @cached_property
    def values(self) -> int:
        """The number of values of one replication."""
        return len(self.plan.checkpoints) * len(self.plan.metrics)

    @property
    def rounds_left(self) -> int:
        """The rounds of the remaining replications."""
        return self.rounds * sum(map(len, self.remaining))

    @property
    def measured(self) -> bool:
        """Whether the duration of a replication is known."""
        return self._measured > 0

    def block(self, replications: range) -> ReplicationBlock:
        """Return the block of some replications, without their values."""
        plan, count = self.plan, len(replications)
        return ReplicationBlock(
            self.digest, self.label, replications.start, plan.metrics, len(plan.checkpoints), count
        )

    def next_block(self, seconds: float, at_once: int = 1) -> range:
        """Take from `remaining` what takes about so long if so many replications run at once.

        The first block is small, since no speed has been measured yet.
        """
        first, *others = self.remaining
        if self.measured:
            count = int(seconds * self._measured / max(self._seconds, 1e-9))
        else:
            count = _FIRST_ROUNDS // self.rounds
        count = min(count, _MOST_VALUES // self.values)
        # Whole groups of lanes on every thread, unless a group would take too long.
        group = LANES * at_once
        count = max(count - count % group if count >= group else count, at_once)
        replications = first[:count]
        self.remaining = [first[count:], *others] if len(first) > count else others
        return replications

    def record_block(self, replications: range, seconds: float) -> None:
        """Record how long some replications took."""
        self._seconds += seconds
        self._measured += len(replications)


def run_locally(
    job: SimulationJob,
    store: StoreValues,
    threads: int | None,
    report: Report | None,
    *,
    block_seconds: float | None = None,
) -> None:
    """Simulate the remaining replications of a job on threads of this process, block by block."""
    threads = os.cpu_count() or 1 if threads is None else threads
    seconds = _BLOCK_SECONDS if block_seconds is None else block_seconds
    total = job.rounds * job.replications
    if report is not None:  # before the first block, so that its time is known
        report(job.label, total - job.rounds_left, total)
    while job.remaining:
        in_job = report and partial(_report_block, report, total - job.rounds_left, total)
        part = job.next_block(seconds, threads)
        began = monotonic()
        values = simulate_replications(job.plan, job.label, part, threads=threads, report=in_job)
        job.record_block(part, monotonic() - began)
        # Not `job.block(part)`: its digest covers all sources, which `simulate` need not read.
        store(job, part, values)


def _report_block(report: Report, before: int, total: int, label: str, played: int, _: int) -> None:
    """Report the progress of a block as progress of its job."""
    report(label, before + played, total)
