"""The result cache: files of simulated results that several experiments share."""

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from keyhole.clusters import Cluster
from keyhole.clusters.cluster import THREADS, cluster_connection
from keyhole.contract.state_arrays import FloatArray
from keyhole.experiment.run_folder import is_finished
from keyhole.experiment.spec import Spec
from keyhole.files import write_atomically
from keyhole.play.cluster_simulation import run_on_cluster
from keyhole.play.progress import Report, progress_callback
from keyhole.play.simulation_job import SimulationJob, digest_parts, json_digest, run_locally
from keyhole.play.simulation_plan import Plan
from keyhole.text_formatting import count_text

_LABEL = "policy"  # in cached plans: experiments may give a policy different labels
_KEY_CHARACTERS = 32


class ResultCache:
    """The results of several experiments in a folder: content-addressed blocks of replications."""

    def __init__(self, folder: Path, specs: Iterable[Spec]) -> None:
        self.folder = folder
        self._plans: dict[str, Plan] = {}  # by key, with the checkpoints of all experiments
        self._replications: dict[str, int] = {}
        # The keys whose rounds are counted for a policy, by the name of its spec and its label. If
        # policies have equal keys, the rounds are counted for the first policy only.
        self._counted_keys: dict[tuple[str, str], str] = {}
        self._complete_keys: set[str] = set()  # of results without missing blocks
        # The keys of each spec are computed once, since digests take a while.
        self._spec_keys: dict[int, tuple[Spec, dict[str, str]]] = {}
        for spec in specs:
            for label, key in self._keys(spec).items():
                if key not in self._plans:
                    self._counted_keys[spec.name, label] = key
                plan = _single_policy_plan(spec.plan, label)
                self._plans[key] = _merge_plans(self._plans.get(key, plan), plan)
                self._replications[key] = spec.replications

    def all_jobs(self) -> list[SimulationJob]:
        """Return the distinct jobs of all experiments, whether or not their results are stored."""
        return [self._job(key) for key in self._plans]

    def _job(self, key: str) -> SimulationJob:
        return SimulationJob(self._plans[key], _LABEL, self._replications[key])

    def rounds_to_simulate(self, spec_name: str, label: str) -> int:
        """Return the number of rounds of a spec's policy; 0 if an earlier policy shares them."""
        key = self._counted_keys.get((spec_name, label))
        return 0 if key is None else self._job(key).total_rounds

    def simulate_missing_blocks(
        self,
        specs: Sequence[Spec],
        cluster: Cluster | None,
        threads: int | None,
        report: Report | None,
    ) -> None:
        """Simulate the missing blocks of experiments; a cluster simulates all of them at once."""
        jobs: dict[str, tuple[str, SimulationJob]] = {}
        self.folder.mkdir(parents=True, exist_ok=True)
        for spec in specs:
            for label, key in self._keys(spec).items():
                # Experiments that share a policy share its job. Complete results are not read.
                if key not in self._complete_keys and key not in jobs:
                    job = self._job(key)
                    stored_ranges = [span for span, _ in read_blocks(self.folder, key, job)]
                    job.remaining = missing_replications(stored_ranges, spec.replications)
                    jobs[key] = label, job
        key_by_job = {job: key for key, (_, job) in jobs.items()}
        total = sum(job.total_rounds for job in key_by_job)

        # Blocks are stored one by one: a run that is killed loses only those in progress.
        def store_block(job: SimulationJob, replications: range, values: FloatArray) -> None:
            data = job.encode_block(replications, values)
            write_block(self.folder, key_by_job[job], replications, data)

        # For one experiment, the progress of each policy is reported; for several, only the total.
        def forward(label: str, job: SimulationJob, _: str, rounds_done: int, rounds: int) -> None:
            if report is not None and len(specs) == 1:
                report(label, rounds_done, rounds)
            elif report is not None:
                others_left = sum(item.rounds_left for item in key_by_job if item is not job)
                all_rounds_done = total - others_left - rounds + rounds_done
                report(count_text(len(key_by_job), "run"), all_rounds_done, total)

        if cluster is not None:
            run_on_cluster(cluster, list(key_by_job), store_block, report)
        else:
            for label, job in jobs.values():
                run_locally(job, store_block, threads, partial(forward, label, job))
        self._complete_keys |= jobs.keys()

    def values(self, spec: Spec) -> dict[str, FloatArray]:
        """Return the values of an experiment's policies, by label; all must be in the cache."""
        return {label: self._read_values(spec, key) for label, key in self._keys(spec).items()}

    def _keys(self, spec: Spec) -> dict[str, str]:
        """Return the cache keys of an experiment's policies, by label."""
        # Specs are not hashable, so the keys of the dict are their ids. The dict also keeps the
        # specs themselves alive, since another object could get the id of a spec that is gone.
        if id(spec) not in self._spec_keys:
            keys = {
                label: _cache_key(_single_policy_plan(spec.plan, label), spec.replications)
                for label in spec.plan.policies
            }
            self._spec_keys[id(spec)] = spec, keys
        return self._spec_keys[id(spec)][1]

    def _read_values(self, spec: Spec, key: str) -> FloatArray:
        """Return the values of a policy for the checkpoints and metrics of one experiment."""
        shared_plan = self._plans[key]
        plan = spec.plan
        blocks = read_blocks(self.folder, key, self._job(key))
        values = merge_blocks(blocks, spec.replications)
        # Other experiments may have added checkpoints and metrics to the simulation.
        rows = [shared_plan.checkpoints.index(t) for t in plan.checkpoints]
        policy = shared_plan.policies[_LABEL]
        unsimulated_values = plan.unsimulated_metrics(policy, plan.checkpoints)
        selected = np.empty((len(rows), len(plan.metrics), spec.replications))
        for i, name in enumerate(plan.metrics):
            if i in unsimulated_values:
                selected[:, i] = unsimulated_values[i][:, None]
            else:
                selected[:, i] = values[rows, shared_plan.metrics.index(name)]
        return selected


def _single_policy_plan(plan: Plan, label: str) -> Plan:
    """Return the plan of one policy alone, with the label that all cached plans have."""
    workers = {_LABEL: plan.workers[label]} if plan.workers else {}
    return replace(plan, policies={_LABEL: plan.policies[label]}, workers=workers)


# The key leaves out what may differ between experiments that share results: checkpoints, details
# and labels. `_merge_plans` makes the one plan that has the checkpoints and details of all, and
# `_read_values` selects those of one experiment.
def _cache_key(plan: Plan, replications: int) -> str:
    """Return the cache key of a plan with one policy; it does not depend on checkpoints."""
    plan_at_horizon = replace(plan, checkpoints=(plan.horizon,), details=False)
    key_parts = [plan.horizon, plan.seed, replications, digest_parts(plan_at_horizon)]
    return json_digest(key_parts)[:_KEY_CHARACTERS]


def _merge_plans(first: Plan, second: Plan) -> Plan:
    """Return the plan with the checkpoints and the metrics of two plans of the same policy."""
    rounds = tuple(sorted({*first.checkpoints, *second.checkpoints}))
    return replace(first, checkpoints=rounds, details=first.details or second.details)


_BLOCK_NAME: Final = re.compile(r"(\d+)-(\d+)\.block")

StoredBlock = tuple[range, FloatArray]
"""The replications of a block, and their values."""


def write_block(folder: Path, name: str, replications: range, data: bytes) -> None:
    """Write a block atomically to the file that is named after `name` and the replications."""
    range_text = f"{replications.start:010d}-{replications.stop:010d}"
    write_atomically(folder / f"{name}-{range_text}.block", data)


def read_blocks(folder: Path, name: str, job: SimulationJob) -> list[StoredBlock]:
    """Return the blocks of a job in a folder, in order; skip damaged and foreign files."""
    blocks: list[StoredBlock] = []
    for path in sorted(folder.glob(f"{name}-*.block")):
        match = _BLOCK_NAME.fullmatch(path.name.removeprefix(f"{name}-"))
        # If a folder had the name of a block, the block could not be written after its simulation.
        if path.is_dir():
            raise ValueError(f"{path} must be a file, got a folder; remove it")
        if match is None or not path.is_file():
            continue
        # The range comes from the file's name. `decode_block` compares it, the plan and a checksum
        # with the file's content, so the blocks of renamed or exchanged files are simulated again.
        block_range = range(*map(int, match.groups()))
        # Sorted by name, blocks are in the order of their first replications. A block that overlaps
        # the one before it is skipped: merged values must have each replication once.
        end = blocks[-1][0].stop if blocks else 0
        if not end <= block_range.start < block_range.stop <= job.replications:
            continue
        values = job.decode_block(block_range, path.read_bytes())
        if values is not None:
            blocks.append((block_range, values))
    return blocks


def missing_replications(ranges: Iterable[range], replications: int) -> list[range]:
    """Return the replications that sorted ranges leave out.

    Examples
    --------
    >>> missing_replications([range(0, 8), range(16, 20)], 24)
    [range(8, 16), range(20, 24)]
    """
    gaps = []
    end = 0
    for stored_range in ranges:
        gaps.append(range(end, stored_range.start))
        end = stored_range.stop
    return [gap for gap in (*gaps, range(end, replications)) if gap]


def merge_blocks(blocks: Sequence[StoredBlock], replications: int) -> FloatArray:
    """Return the values of all replications; refuse blocks that lack some."""
    if gaps := missing_replications([block_range for block_range, _ in blocks], replications):
        raise ValueError(
            f"the block of replication {gaps[0].start} was changed by another program; run the "
            "spec again"
        )
    return np.concatenate([values for _, values in blocks], axis=2)


def connect_if_unfinished(
    folders: Iterable[Path], on: str | Executor, threads: int | None
) -> AbstractContextManager[Cluster | None]:
    """Return a context manager that yields the cluster: None on threads, or if all are finished.

    Enter it before a folder is created, so that a cluster that does not answer leaves none behind.
    """
    all_finished = all(map(is_finished, folders))
    return cluster_connection(THREADS if all_finished else on, threads)


def simulate_on_cluster(
    cache: ResultCache,
    specs: Mapping[Path, Spec],
    cluster: Cluster | None,
    threads: int | None,
    progress: bool,
) -> None:
    """Simulate on the cluster, if there is one, the results that unfinished runs need.

    Without a cluster, each run simulates what it lacks when its turn comes.
    """
    if cluster is not None:
        missing_specs = [spec for folder, spec in specs.items() if not is_finished(folder)]
        with progress_callback(progress) as report:
            cache.simulate_missing_blocks(missing_specs, cluster, threads, report)
