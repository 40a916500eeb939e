"""What a run is going to take: how much there is to play, and how long that is, from a sample."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import cpu_count
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Protocol

import numpy as np

from keyhole.clusters import Cluster
from keyhole.experiment.plots import KINDS, blank, picture
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.spec import Spec
from keyhole.experiment.sweep_report import panels
from keyhole.kernels.cache_files import cached_files
from keyhole.play.cluster_jobs import measure_speed_on_cluster
from keyhole.play.jobs import Job
from keyhole.play.plan import Plan
from keyhole.play.plan_executor import make_simulators
from keyhole.play.speed import measure_seconds_per_round

_SPAN: Final = 1.0
_LEAST: Final = 0.05  # of the span, for one sample
_SAMPLES: Final = 12
_MOST_OF_A_KIND: Final = 4
# Measured on one processor, on which drawing a figure of nothing took so long.
_SECONDS_TO_DRAW: Final = 0.29
_SECONDS_A_VALUE: Final = 2e-7  # written, and summed up
_SECONDS_A_RUN: Final = 0.009
_SECONDS_A_FIGURE: Final = 0.2
_SECONDS_A_PANEL: Final = 0.105


class Measure(Protocol):
    """Returns seconds per round: see `keyhole.play.speed.measure_seconds_per_round`."""

    def __call__(
        self, plan: Plan, label: str, seconds: float, *, replications: int, threads: int
    ) -> float:
        """Play for so many seconds."""


@dataclass(frozen=True)
class Forecast:
    """What a run is going to take.

    Attributes
    ----------
    points, runs, distinct : int
        Of the grid; policies at points; and those of them that differ.
    replications, rounds : int
        Of all distinct runs together.
    compiled : int
        Pieces that were compiled for this, and are on file now.
    compiling : float
        The seconds that took.
    threads, samples : int
        With how many threads at once how many runs were measured.
    seconds : float
        Of playing; infinite if no round of a policy ended while it was measured.
    writing : float
        Seconds in which tables and report are written.
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
    writing: float
    endless: tuple[str, ...]


@dataclass(frozen=True)
class _Unit:
    """One run of a policy: to the horizon, or to one budget of several."""

    plan: Plan
    label: str
    replications: int
    length: int
    checkpoints: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """Of all replications."""
        return self.length * self.replications

    @property
    def size(self) -> float:
        """What its speed may depend on, within a kind."""
        setting = self.plan.problem.setting
        arms = self.plan.problem.fact("arms") if "arms" in setting.facts else 1
        return math.log(self.length) + math.log(arms)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What is compiled together, and about as fast."""
        policy, work = self.plan.policies[self.label], self.plan.workers.get(self.label)
        how = (work.number, work.pending_mode(policy), repr(work.duration)) if work else ()
        return type(policy).__name__, self.plan.problem.environment.__qualname__, *how

    def alone(self) -> Plan:
        """Return a plan that has no other run."""
        return replace(self.plan, checkpoints=self.checkpoints)


def forecast(
    spec: Spec,
    *,
    threads: int | None = None,
    cluster: Cluster | None = None,
    span: float = _SPAN,
    measure: Measure = measure_seconds_per_round,
    clock: Callable[[], float] = perf_counter,
    slowness: Callable[[], float] | None = None,
) -> Forecast:
    """Measure runs of each kind for about `span` seconds in all, and say what all are to take.

    What is not compiled yet is compiled first. On a cluster that is awake (see
    `keyhole.play.cluster_jobs.warm_up_workers`) `threads` are what can be at work there, and the
    workers measure, all at once. `slowness` says how much slower this machine draws than the one
    where the rest was measured; by default it draws.
    """
    if cluster is not None:
        threads, measure = cluster.capacity(), partial(measure_speed_on_cluster, cluster)
    threads = cpu_count() or 1 if threads is None else threads
    specs = [point.spec for point in spec.points]
    jobs = ResultCache(Path(), specs).all_jobs()
    began, known = clock(), {path for path, _ in cached_files()}
    kinds = _kinds(jobs)
    for units in kinds if cluster is None else ():
        make_simulators(units[0].alone(), units[0].label)
    compiled = len({path for path, _ in cached_files()} - known)
    compiling = clock() - began
    chosen = [_spread(units, _SAMPLES // len(kinds)) for units in kinds]
    samples = sum(map(len, chosen))
    share = max(_LEAST, span / samples)
    endless: dict[str, None] = {}

    def pace(unit: _Unit) -> float:
        policy = repr(unit.plan.policies[unit.label])
        found = math.inf if policy in endless else _measured(unit, share, threads, measure)
        if not math.isfinite(found):
            endless[policy] = None
        return found

    seconds = sum(_expected(units, some, pace) for units, some in zip(kinds, chosen, strict=True))
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
        writing=_writing(spec, len(jobs)) * (slowness or _slowness)(),
        endless=tuple(endless),
    )


def _slowness() -> float:
    """Return how many times longer than there a figure takes here and now."""
    taken = [perf_counter()]
    for _ in range(3):  # the first one looks for fonts
        figure = blank()
        figure.subplots().plot([0, 1])
        for kind in KINDS:
            picture(figure, kind)
        taken.append(perf_counter())
    return float(min(np.diff(taken)[1:])) / _SECONDS_TO_DRAW


def _writing(spec: Spec, runs: int) -> float:
    """Return the seconds in which tables and report were written where that was measured."""
    specs = [point.spec for point in spec.points]
    over_rounds = spec.sweep is None or any(len(s.plan.checkpoints) > 1 for s in specs)
    figures = panels(spec.sweep or {}, over_rounds=over_rounds)
    drawn = {
        metric.name
        for point in specs
        for metric in point.plan.measured
        if spec.sweep is None or not metric.detail
    }
    report = len(figures) * _SECONDS_A_FIGURE + sum(figures) * _SECONDS_A_PANEL
    tables = sum(map(_values, specs)) * _SECONDS_A_VALUE + runs * _SECONDS_A_RUN
    return tables + len(drawn) * report


def _values(spec: Spec) -> int:
    plan = spec.plan
    return len(plan.policies) * len(plan.checkpoints) * len(plan.metrics) * spec.replications


def _kinds(jobs: Sequence[Job]) -> list[list[_Unit]]:
    """Return all runs by kind, in each the smallest first."""
    kinds: dict[tuple[Any, ...], list[_Unit]] = {}
    for job in jobs:
        for _, checkpoints in job.plan.runs(job.plan.policies[job.label]):
            unit = _Unit(job.plan, job.label, job.replications, checkpoints[-1], checkpoints)
            kinds.setdefault(unit.kind, []).append(unit)
    return [sorted(units, key=lambda unit: unit.size) for units in kinds.values()]


def _spread(units: Sequence[_Unit], count: int) -> list[_Unit]:
    """Return some runs, evenly spread, the largest among them, and the smallest if several."""
    count = min(max(1, count), _MOST_OF_A_KIND, len(units))
    places = np.linspace(len(units) - 1, 0, count).round().astype(int)
    return [units[place] for place in places]


def _measured(unit: _Unit, share: float, threads: int, measure: Measure) -> float:
    return measure(unit.alone(), unit.label, share, replications=unit.replications, threads=threads)


def _expected(
    units: Sequence[_Unit], chosen: Sequence[_Unit], pace: Callable[[_Unit], float]
) -> float:
    """Return the seconds that runs of a kind take; the pace of others lies between those measured.

    What is of the same size is as fast as the mean of what was measured of it.
    """
    found: dict[float, list[float]] = {}
    for unit in chosen:
        found.setdefault(unit.size, []).append(pace(unit))
    sizes = sorted(found)
    paces = [sum(found[size]) / len(found[size]) for size in sizes]
    rounds = np.array([unit.rounds for unit in units], float)
    return float(rounds @ np.interp([unit.size for unit in units], sizes, paces))
