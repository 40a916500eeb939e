"""Jobs: a policy's replications, cut into blocks by how long they take."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Final

from keyhole.cached import cached_property
from keyhole.drivers.engine import LANES
from keyhole.play.block import Block, plan_digest
from keyhole.play.plan import Plan
from keyhole.play.plan_fingerprint import fingerprint_texts, json_digest
from keyhole.play.progress import Report

_SECONDS_HERE: Final = 2.0
"""What a killed run loses, and a report waits for."""
_FIRST_ROUNDS: Final = 1_000_000
"""Those of the block by which the others are measured: some 30 ms of work."""
_MOST_VALUES: Final = 2**22
"""In a block: 32 MB, which one message can carry."""

Keep = Callable[["Job", Block, bytes], None]
"""Told of each block that has been played, with its content."""


@dataclass(eq=False)
class Job:
    """One policy of a plan, with the replications that are still to be played.

    Attributes
    ----------
    plan : Plan
        The experiment.
    label : str
        The policy's.
    replications : int
        How many there are in all.
    remaining : list of range
        Those that nobody plays or has played yet.
    """

    plan: Plan
    label: str
    replications: int
    remaining: list[range]
    _seconds: float = field(default=0.0, init=False)
    _measured: int = field(default=0, init=False)

    @cached_property
    def rounds(self) -> int:
        """Those of one replication."""
        return self.plan.rounds(self.plan.policies[self.label])

    @cached_property
    def digest(self) -> str:
        """That of the plan."""
        return plan_digest(self.plan)

    @cached_property
    def values(self) -> int:
        """Those that a replication yields."""
        return len(self.plan.checkpoints) * len(self.plan.metrics)

    @property
    def rounds_left(self) -> int:
        """The rounds that nobody has begun."""
        return self.rounds * sum(map(len, self.remaining))

    @property
    def measured(self) -> bool:
        """Whether it is known how long a replication takes."""
        return self._measured > 0

    def block(self, part: range) -> Block:
        """Return what the block of some replications must be."""
        plan = self.plan
        return Block(
            self.digest, self.label, part.start, plan.metrics, len(plan.checkpoints), len(part)
        )

    def next_block(self, seconds: float, at_once: int = 1) -> range:
        """Return replications that will take about so long, if so many are played at once.

        The first ones are few: nobody knows yet.
        """
        first, *others = self.remaining
        if self.measured:
            count = int(seconds * self._measured / max(self._seconds, 1e-9))
        else:
            count = _FIRST_ROUNDS // self.rounds
        count = min(count, _MOST_VALUES // self.values)
        group = LANES * at_once
        count = max(count - count % group if count >= group else count, at_once)
        part = first[:count]
        self.remaining = [first[count:], *others] if len(first) > count else others
        return part

    @cached_property
    def cost_key(self) -> tuple[Any, ...]:
        """What is alike in how long a round takes; a parameter can be what makes it long."""
        plan, policy = self.plan, self.plan.policies[self.label]
        arms = plan.problem.fact("arms") if "arms" in plan.problem.setting.facts else None
        who = (
            type(policy),
            json_digest(fingerprint_texts(policy.numbers())),
            plan.work.get(self.label),
        )
        return *who, plan.problem.environment, arms, plan.horizon

    def expect(self, seconds: float) -> None:
        """Take for known how long a round takes."""
        self._seconds, self._measured = seconds * self.rounds, 1

    def record_block(self, part: range, seconds: float) -> None:
        """Take note of how long a part took."""
        self._seconds += seconds
        self._measured += len(part)


def run_locally(job: Job, keep: Keep, threads: int | None, report: Report | None) -> None:
    """Play what is left of a job on threads of this process."""
    threads = os.cpu_count() or 1 if threads is None else threads
    total = job.rounds * job.replications
    while job.remaining:
        told = report and partial(_told, report, total - job.rounds_left, total)
        part = job.next_block(_SECONDS_HERE, threads)
        began = monotonic()
        values = job.plan.play(job.label, part, threads=threads, report=told)
        job.record_block(part, monotonic() - began)
        block = job.block(part)
        keep(job, block, block.to_bytes(values))


def _told(report: Report, before: int, total: int, label: str, played: int, _: int) -> None:
    """Tell of a block as a part of all that there is."""
    report(label, before + played, total)
