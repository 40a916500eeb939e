"""The time of a simulation: from a short timed sample, or from known times of rounds."""

import math
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from os import cpu_count
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Protocol

import numpy as np

from keyhole.clusters import Cluster
from keyhole.experiment.compile_jobs import find_file, plan_jobs
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.spec import Spec
from keyhole.kernels.cache_files import cached_files
from keyhole.play.cluster_jobs import measure_speed_on_cluster
from keyhole.play.plan import Plan
from keyhole.play.policy_simulation_job import SimulationJob
from keyhole.play.progress import WorkItem
from keyhole.play.thread_executor import make_simulators, measure_seconds_per_round

_SPAN: Final = 1.0
_LEAST_SPAN: Final = 0.05  # for one sample
_SAMPLES: Final = 12
_MOST_OF_A_KIND: Final = 4


class Measure(Protocol):
    """A function that returns seconds per round: see `keyhole.play.thread_executor`."""

    def __call__(
        self, plan: Plan, label: str, seconds: float, *, replications: int, threads: int
    ) -> float:
        """Simulate for so many seconds."""


@dataclass(frozen=True)
class Forecast:
    """The expected size and duration of a run.

    Attributes
    ----------
    points, runs, distinct : int
        Points of the sweep; runs (a policy at a point); and runs that differ.
    replications, rounds : int
        Of all distinct runs together.
    compiled : int
        Kernels that were compiled for the measurement, and are in the cache now.
    compiling : float
        The seconds that compilation took.
    threads, samples : int
        How many threads measured at once, and how many runs.
    seconds : float
        Duration of the simulation; infinite if no round of a policy ended in the measurement.
    endless : tuple of str
        The policies of which no round ended.
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


@dataclass(frozen=True)
class _Unit:
    """One run of a policy: to the horizon, or to one of several budgets."""

    plan: Plan
    label: str
    replications: int
    length: int
    checkpoints: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """The rounds of all replications."""
        return self.length * self.replications

    @property
    def size(self) -> float:
        """The logarithm of length times arms, on which the speed within a kind may depend."""
        setting = self.plan.problem.setting
        arms = self.plan.problem.fact("arms") if "arms" in setting.facts else 1
        return math.log(self.length) + math.log(arms)

    @property
    def kind(self) -> tuple[Any, ...]:
        """The key of runs that share compiled code and have about the same speed."""
        policy, workers = self.plan.policies[self.label], self.plan.workers.get(self.label)
        how = (
            (workers.number, workers.pending_mode(policy), repr(workers.duration))
            if workers
            else ()
        )
        return type(policy).__name__, self.plan.problem.environment.__qualname__, *how

    def make_plan(self) -> Plan:
        """Return a plan with this run only."""
        return replace(self.plan, checkpoints=self.checkpoints)


def forecast(
    spec: Spec,
    *,
    threads: int | None = None,
    cluster: Cluster | None = None,
    span: float = _SPAN,
    measure: Measure = measure_seconds_per_round,
    clock: Callable[[], float] = perf_counter,
) -> Forecast:
    """Measure runs of each kind for about `span` seconds in all; return the forecast of all runs.

    Kernels that are not in the cache are compiled first. On a cluster, which must be warm (see
    `keyhole.play.cluster_jobs.warm_up_workers`), all workers measure at once. Tables and reports,
    which are written at the end, are not counted.
    """
    if cluster is not None:
        threads, measure = cluster.capacity(), partial(measure_speed_on_cluster, cluster)
    threads = cpu_count() or 1 if threads is None else threads
    specs = [point.spec for point in spec.points]
    # Only finds what experiments have in common: nothing is read or written in this folder.
    jobs = ResultCache(Path(), specs).all_jobs()
    began, before = clock(), {path for path, _ in cached_files()}
    kinds = _kinds(jobs)
    # Workers of a cluster compile for themselves, before their clocks start.
    for units in kinds if cluster is None else ():
        # One run compiles the code that all runs of its kind share.
        make_simulators(units[0].make_plan(), units[0].label)
    # Counted by new files: code that the cache had before costs the run nothing.
    compiled = len({path for path, _ in cached_files()} - before)
    compiling = clock() - began
    chosen = [_choose_samples(units, _SAMPLES // len(kinds)) for units in kinds]
    samples = sum(map(len, chosen))
    share = max(_LEAST_SPAN, span / samples)
    endless: dict[str, None] = {}

    def speed(unit: _Unit) -> float:
        policy = repr(unit.plan.policies[unit.label])
        # Each attempt to measure an endless round takes half a minute, so there is only one.
        found = math.inf if policy in endless else _measure(unit, share, threads, measure)
        if not math.isfinite(found):
            endless[policy] = None
        return found

    seconds = sum(_estimate(units, some, speed) for units, some in zip(kinds, chosen, strict=True))
    return Forecast(
        points=len(specs),
        runs=sum(len(spec.policy) for spec in specs),
        distinct=len(jobs),
        replications=sum(job.replications for job in jobs),
        rounds=sum(job.rounds * job.replications for job in jobs),
        compiled=compiled,
        compiling=compiling if compiled else 0.0,
        threads=threads,
        samples=samples,
        seconds=math.inf if endless else seconds,
        endless=tuple(endless),
    )


def _kinds(jobs: Sequence[SimulationJob]) -> list[list[_Unit]]:
    """Return all runs grouped by kind, each group sorted by size."""
    kinds: dict[tuple[Any, ...], list[_Unit]] = {}
    for job in jobs:
        for _, checkpoints in job.plan.runs(job.plan.policies[job.label]):
            unit = _Unit(job.plan, job.label, job.replications, checkpoints[-1], checkpoints)
            kinds.setdefault(unit.kind, []).append(unit)
    return [sorted(units, key=lambda unit: unit.size) for units in kinds.values()]


def _choose_samples(units: Sequence[_Unit], count: int) -> list[_Unit]:
    """Return evenly spaced runs with the largest, and with the smallest if there are several."""
    # The largest comes first, so that a single sample is of the run that takes longest.
    count = min(max(1, count), _MOST_OF_A_KIND, len(units))
    places = np.linspace(len(units) - 1, 0, count).round().astype(int)
    return [units[place] for place in places]


def _measure(unit: _Unit, share: float, threads: int, measure: Measure) -> float:
    plan, replications = unit.make_plan(), unit.replications
    return measure(plan, unit.label, share, replications=replications, threads=threads)


def _estimate(
    units: Sequence[_Unit], chosen: Sequence[_Unit], speed: Callable[[_Unit], float]
) -> float:
    """Return the seconds of all runs of a kind, given the seconds per round of chosen ones.

    Speeds are averaged over runs of the same size, and interpolated between sizes.
    """
    found: dict[float, list[float]] = {}
    for unit in chosen:
        found.setdefault(unit.size, []).append(speed(unit))
    sizes = sorted(found)
    speeds = [sum(found[size]) / len(found[size]) for size in sizes]
    rounds = np.array([unit.rounds for unit in units], float)
    # Beyond the sampled sizes `interp` repeats the speed of the nearest one.
    return float(rounds @ np.interp([unit.size for unit in units], sizes, speeds))


_TIMES: Final = "round_times.toml"  # nanoseconds of a round, of each policy of Keyhole
_UNKNOWN: Final = 70.0  # of a policy of a user's own
# To compile a policy, on the machine on which the times of rounds were measured.
_SECONDS_TO_COMPILE: Final = 2.7


def list_work(specs: Mapping[str, Spec], cache: ResultCache, threads: int | None) -> list[WorkItem]:
    """Return the work of specs without a sweep, by the name of their place."""
    times = tomllib.loads((resources.files("keyhole.experiment") / _TIMES).read_text("utf-8"))
    share = 1e-9 / min(threads or math.inf, os.cpu_count() or 1)
    counted: set[Path] = set()
    work = []
    for place, spec in specs.items():
        for label, policy in spec.plan.policies.items():
            setting = spec.plan.problem.setting.name
            rounds = cache.rounds(spec.name, label)
            nanoseconds = times.get(setting, {}).get(type(policy).__name__, _UNKNOWN)
            seconds = rounds * share * nanoseconds
            code = find_file(plan_jobs(spec.plan, label)[0])
            if code is not None and code not in counted and not code.exists():
                counted.add(code)
                seconds += _SECONDS_TO_COMPILE
            work.append(WorkItem(place, label, rounds, seconds))
    return work
