"""What experiments play, once each, on file.

Two experiments agree on a policy if problem, policy, seed, horizon and replications are the same:
where they differ in when they look, it is played once, and looked at whenever one of them does.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from keyhole.clusters import Cluster
from keyhole.contract.state_memory import FloatArray
from keyhole.experiment.block_files import (
    merge_blocks,
    missing_replications,
    read_blocks,
    write_block,
)
from keyhole.experiment.spec import Spec
from keyhole.play.block import Block
from keyhole.play.cluster_jobs import run_on_cluster
from keyhole.play.jobs import Job, run_locally
from keyhole.play.plan import Plan
from keyhole.play.plan_fingerprint import json_digest, plan_parts
from keyhole.play.progress import Report

_LABEL = "policy"  # labels may differ where policies do not
_KEY = 32


class ResultCache:
    """Blocks, in a folder, of the experiments that are going to be run."""

    def __init__(self, folder: Path, specs: Iterable[Spec]) -> None:
        self.folder = folder
        self._plans: dict[str, Plan] = {}  # of each policy, as all play it together
        self._first: dict[tuple[str, str], int] = {}  # who plays it, and how many rounds
        self._replications: dict[str, int] = {}
        self._filled: set[str] = set()
        self._known: dict[int, tuple[Spec, dict[str, str]]] = {}  # it takes a while to work out
        users: dict[str, tuple[str, str, int]] = {}
        for spec in specs:
            for label, key in self._keys(spec).items():
                alone = _alone(spec.plan, label)
                self._plans[key] = _together(self._plans.get(key, alone), alone)
                self._replications[key] = spec.replications
                users.setdefault(key, (spec.name, label, spec.replications))
        for key, (name, label, replications) in users.items():
            plan = self._plans[key]
            self._first[name, label] = plan.rounds(plan.policies[_LABEL]) * replications

    def all_jobs(self) -> list[Job]:
        """Return all that is played, each once, as if nothing were on file yet."""
        return [
            Job(self._plans[key], _LABEL, count, [range(count)])
            for key, count in self._replications.items()
        ]

    def rounds(self, name: str, label: str) -> int:
        """Return how many rounds a policy takes in a spec, by its name: 0 if another plays it."""
        return self._first.get((name, label), 0)

    def fill(
        self,
        specs: Iterable[Spec],
        cluster: Cluster | None,
        threads: int | None,
        report: Report | None,
    ) -> None:
        """Play what is not on file of some of the experiments: on a cluster all at once."""
        jobs: dict[str, tuple[str, Job]] = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        specs = list(specs)
        for spec in specs:
            for label, key in self._keys(spec).items():
                if key not in self._filled and key not in jobs:
                    jobs[key] = label, self._job(key, spec.replications)
        names = {job: key for key, (_, job) in jobs.items()}

        def store(job: Job, block: Block, data: bytes) -> None:
            write_block(self.folder, names[job], block, data)

        def encode(job: Job, part: range, values: FloatArray) -> None:
            block = job.block(part)
            store(job, block, block.to_bytes(values))

        if cluster is not None:
            run_on_cluster(cluster, list(names), store, report)
        else:
            total = report and len(specs) > 1 and _TotalProgress(report, names)
            for label, job in jobs.values():
                own = partial(total, job) if total else report and partial(_relabel, report, label)
                run_locally(job, encode, threads, own or None)
        self._filled |= jobs.keys()

    def values(self, spec: Spec) -> dict[str, FloatArray]:
        """Return what the policies of an experiment have yielded, once it is on file."""
        return {label: self._look(spec, key) for label, key in self._keys(spec).items()}

    def _keys(self, spec: Spec) -> dict[str, str]:
        """Return under what names the policies of an experiment are on file, by label."""
        known, keys = self._known.get(id(spec), (None, {}))
        if known is not spec:
            keys = {
                label: _key(_alone(spec.plan, label), spec.replications)
                for label in spec.plan.policies
            }
            self._known[id(spec)] = spec, keys
        return keys

    def _job(self, key: str, replications: int) -> Job:
        """Return what is not on file of a policy."""
        job = Job(self._plans[key], _LABEL, replications, [])
        job.remaining = missing_replications(
            [part for part, _ in read_blocks(self.folder, key, job)], replications
        )
        return job

    def _look(self, spec: Spec, key: str) -> FloatArray:
        """Return what is on file of a policy, when an experiment looks, and at what it does."""
        shared, plan = self._plans[key], spec.plan
        job = Job(shared, _LABEL, spec.replications, [])
        values = merge_blocks(read_blocks(self.folder, key, job), spec.replications)
        rows = [shared.checkpoints.index(t) for t in plan.checkpoints]
        columns = [shared.metrics.index(name) for name in plan.metrics]
        return values[rows][:, columns]


class _TotalProgress:
    """Reports the progress of several jobs as that of one."""

    def __init__(self, report: Report, jobs: Collection[Job]) -> None:
        self._report = report
        self._name = f"{len(jobs)} run{'s' if len(jobs) > 1 else ''}"
        self._total = sum(job.rounds * job.replications for job in jobs)
        self._done = {job: job.rounds * job.replications - job.rounds_left for job in jobs}

    def __call__(self, job: Job, _label: str, played: int, _total: int) -> None:
        """Report the rounds of all jobs, given those of one."""
        self._done[job] = played
        self._report(self._name, sum(self._done.values()), self._total)


def _relabel(report: Report, label: str, _: str, played: int, total: int) -> None:
    """Report the progress of a policy under the label that its experiment gives it."""
    report(label, played, total)


def _alone(plan: Plan, label: str) -> Plan:
    workers = {_LABEL: plan.workers[label]} if plan.workers else {}
    return replace(plan, policies={_LABEL: plan.policies[label]}, workers=workers)


def _key(alone: Plan, replications: int) -> str:
    """Return the start of a digest of what must be the same, whenever one looks."""
    ends = replace(alone, checkpoints=(alone.horizon,), details=False)
    return json_digest([alone.horizon, alone.seed, replications, plan_parts(ends)])[:_KEY]


def _together(one: Plan, other: Plan) -> Plan:
    """Return the plan that looks whenever one of two does, at all that one of them does."""
    rounds = tuple(sorted({*one.checkpoints, *other.checkpoints}))
    return replace(one, checkpoints=rounds, details=one.details or other.details)
