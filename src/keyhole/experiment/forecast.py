"""Estimates of how long simulations take: from a short timed sample, or from known times."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from keyhole.experiment.compile_jobs import find_cache_file, list_plan_jobs
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.spec import Spec
from keyhole.files import read_toml
from keyhole.kernels.cache_files import cached_files
from keyhole.play.progress import WorkItem
from keyhole.play.simulation_job import SimulationJob
from keyhole.play.threaded_simulation import make_simulators, measure_seconds_per_round

_SPAN: Final = 1.0  # seconds, of all samples together
_LEAST_SPAN: Final = 0.05  # seconds, of one sample
_MOST_SAMPLES: Final = 12
_MOST_SAMPLES_OF_A_KIND: Final = 4


@dataclass(frozen=True)
class Forecast:
    """The expected size and duration of a run.

    Attributes
    ----------
    points, runs, distinct : int
        The numbers of points of the sweep, of runs (a policy at a point), and of distinct runs.
    replications, rounds : int
        The numbers of replications and of rounds of all distinct runs together.
    compiled : int
        The number of kernels that were compiled for the measurement, and are in the cache now.
    compiling : float
        The seconds that compilation took.
    threads, samples : int
        The numbers of threads and of runs in the measurement.
    seconds : float
        The duration of the simulation; infinite if no round of a policy ended in the measurement.
    endless : tuple of str
        The policies that did not end a single round.
    """

    points: int
    runs: int
    distinct: int
    replications: int
    rounds: int
    compiled: int
    compiling: float
    threads: int
    samples: int
    seconds: float
    endless: tuple[str, ...]


def measure_forecast(
    spec: Spec,
    *,
    threads: int | None = None,
    span: float = _SPAN,
    measure: Callable[..., float] = measure_seconds_per_round,
    clock: Callable[[], float] = perf_counter,
) -> Forecast:
    """Measure some runs for about `span` seconds in all; return the forecast of all runs.

    Kernels that are not in the cache are compiled first. Tables and reports, which are written at
    the end, are not counted.
    """
    threads = threads or os.cpu_count() or 1
    specs = [point.spec for point in spec.points]
    # The cache only tells which jobs points share: it reads and writes no files here.
    jobs = ResultCache(Path(), specs).all_jobs()
    start = clock()
    files_before = {path for path, _ in cached_files()}
    groups = _group_by_kind(jobs)
    for group in groups:
        # One job compiles the code that all jobs of its kind share.
        make_simulators(group[0].plan, group[0].label)
    compiled_count = len({path for path, _ in cached_files()} - files_before)
    compile_seconds = clock() - start
    samples = [_choose_samples(group, _MOST_SAMPLES // len(groups)) for group in groups]
    sample_count = sum(map(len, samples))
    sample_span = max(_LEAST_SPAN, span / sample_count)
    endless_policies: dict[str, None] = {}

    def seconds_per_round(job: SimulationJob) -> float:
        policy = repr(job.plan.policies[job.label])
        # It takes half a minute to find that a round does not end, so the attempt is not repeated.
        if policy in endless_policies:
            return math.inf
        count = job.replications
        seconds = measure(job.plan, job.label, sample_span, replications=count, threads=threads)
        if not math.isfinite(seconds):
            endless_policies[policy] = None
        return seconds

    seconds = sum(
        _estimate_seconds(group, group_samples, seconds_per_round)
        for group, group_samples in zip(groups, samples, strict=True)
    )
    return Forecast(
        points=len(specs),
        runs=sum(len(point_spec.policy) for point_spec in specs),
        distinct=len(jobs),
        replications=sum(job.replications for job in jobs),
        rounds=sum(job.total_rounds for job in jobs),
        compiled=compiled_count,
        compiling=compile_seconds if compiled_count else 0.0,
        threads=threads,
        samples=sample_count,
        seconds=math.inf if endless_policies else seconds,
        endless=tuple(endless_policies),
    )


def _group_by_kind(jobs: Sequence[SimulationJob]) -> list[list[SimulationJob]]:
    """Return all jobs grouped by kind, each group sorted by size.

    A job whose policy needs a simulation for each budget becomes a job for each budget. Jobs of a
    kind share compiled code, and have about the same speed.
    """
    kinds: dict[tuple[object, ...], list[SimulationJob]] = {}
    for job in jobs:
        plan = job.plan
        policy = plan.policies[job.label]
        key: list[object] = [type(policy).__name__, plan.problem.environment.__qualname__]
        if workers := plan.workers.get(job.label):
            key += [workers.number, workers.pending_mode(policy), repr(workers.duration)]
        for _, checkpoints in plan.list_simulations(policy):
            new_job = replace(job, plan=replace(plan, checkpoints=checkpoints))
            kinds.setdefault(tuple(key), []).append(new_job)
    return [sorted(group, key=_log_size) for group in kinds.values()]


def _log_size(job: SimulationJob) -> float:
    """Return the logarithm of rounds times arms, on which the speed within a kind may depend."""
    problem = job.plan.problem
    arms = problem.fact("arms") if "arms" in problem.setting.facts else 1
    return math.log(job.rounds) + math.log(arms)


def _choose_samples(jobs: Sequence[SimulationJob], count: int) -> list[SimulationJob]:
    """Return up to `count` jobs, at least one, evenly spaced from the largest to the smallest."""
    count = min(max(1, count), _MOST_SAMPLES_OF_A_KIND, len(jobs))
    positions = np.linspace(len(jobs) - 1, 0, count).round().astype(int)
    return [jobs[position] for position in positions]


def _estimate_seconds(
    jobs: Sequence[SimulationJob],
    samples: Sequence[SimulationJob],
    seconds_per_round: Callable[[SimulationJob], float],
) -> float:
    """Estimate the seconds that all jobs of a kind take, from the seconds per round of samples.

    Seconds per round are averaged over samples of the same size, and interpolated between sizes.
    """
    round_seconds: dict[float, list[float]] = {}  # the seconds of a round, by size
    for job in samples:
        round_seconds.setdefault(_log_size(job), []).append(seconds_per_round(job))
    sizes = sorted(round_seconds)
    mean_round_seconds = [sum(round_seconds[size]) / len(round_seconds[size]) for size in sizes]
    rounds = np.array([job.total_rounds for job in jobs], float)
    # Beyond the sampled sizes `interp` repeats the value of the nearest size.
    return float(rounds @ np.interp([*map(_log_size, jobs)], sizes, mean_round_seconds))


# The file has the nanoseconds that a round takes, by setting and policy.
_TIMES_FILE: Final = Path(__file__).with_name("round_times.toml")
_DEFAULT_NANOSECONDS: Final = 70.0  # of a round of a policy that the file lacks, such as a user's
# The time to compile a policy, on the machine on which the times of rounds were measured.
_SECONDS_TO_COMPILE: Final = 2.7


def list_work(specs: Mapping[str, Spec], cache: ResultCache, threads: int | None) -> list[WorkItem]:
    """Return a work item for each policy of each spec; the specs must have no sweep.

    The key of a spec in `specs` becomes the `location` of its work items.
    """
    times = read_toml(_TIMES_FILE)
    thread_count = min(threads or math.inf, os.cpu_count() or 1)
    files_to_write: set[Path] = set()
    work = []
    for location, spec in specs.items():
        for label, policy in spec.plan.policies.items():
            setting = spec.plan.problem.setting.name
            rounds = cache.rounds_to_simulate(spec.name, label)
            nanoseconds = times.get(setting, {}).get(type(policy).__name__, _DEFAULT_NANOSECONDS)
            seconds = rounds * nanoseconds * 1e-9 / thread_count
            code_file = find_cache_file(list_plan_jobs(spec.plan, label)[0])
            if code_file and code_file not in files_to_write and not code_file.exists():
                files_to_write.add(code_file)
                seconds += _SECONDS_TO_COMPILE
            work.append(WorkItem(location, label, rounds, seconds))
    return work
