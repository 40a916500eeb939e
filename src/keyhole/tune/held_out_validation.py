"""Validation: the recommended and other configurations on instances that no run has used."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.results.estimate import Estimate, mean_estimate, share_estimate
from keyhole.tune.decision_sources import PlannedTrial, plan_chosen_run
from keyhole.tune.instances import Instance
from keyhole.tune.pair_estimates import Interval
from keyhole.tune.recommendation import REFERENCE, ConfigurationEstimate
from keyhole.tune.run_arrays import RunGains
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialLog, TrialRecord
from keyhole.validation import short_repr

VALIDATION_FILE: Final = "validation.jsonl"


def has_outcome_for(record: TrialRecord, estimate: ConfigurationEstimate) -> bool:
    """Return whether a run tells the outcome of the configuration and limit of `estimate`."""
    is_long_enough = record.limit >= estimate.limit or record.outcome != "out of time"
    return is_long_enough and record.parameters == estimate.parameters


@dataclass
class ValidationPlan:
    """Plan of the missing runs of a validation: each configuration is run on each instance.

    Parameters
    ----------
    estimates : iterable of ConfigurationEstimate
        The configurations, with their limits.
    instances : sequence of Instance
        The instances.
    log : TrialLog
        The runs that were made.
    """

    spec: Spec
    estimates: Iterable[ConfigurationEstimate]
    instances: Sequence[Instance]
    log: TrialLog

    def __post_init__(self) -> None:
        """List the missing runs."""
        self._lock = Lock()
        # A run with the longest limit of a configuration tells the outcome with shorter ones, too.
        by_limit = sorted(self.estimates, key=lambda estimate: estimate.limit)
        planned_estimates = {estimate.configuration: estimate for estimate in by_limit}
        # The instances are done one by one, since only complete ones are compared.
        by_path = {resolve_name(self.spec, item.name): item for item in self.instances}
        runs = [(resolve_name(self.spec, run.instance), run) for run in self.log.by_id.values()]
        missing_runs = [
            (estimate, instance)
            for path, instance in by_path.items()
            for estimate in planned_estimates.values()
            if not any(
                run_path == path and has_outcome_for(run, estimate) for run_path, run in runs
            )
        ]
        first_number = max((record.round for record in self.log.all), default=0) + 1
        self._waiting = deque(
            plan_chosen_run(self.spec, number, instance, estimate)
            for number, (estimate, instance) in enumerate(missing_runs, first_number)
        )

    def ask(self) -> PlannedTrial | None:
        """Return the next run; None if all are made or pending."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def tell(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Record an outcome; an expired run is made again."""
        with self._lock:
            self.log.add(record)
            if not record.is_counted:
                self._waiting.appendleft(trial)


def resolve_name(spec: Spec, name: str) -> str:
    """Return an instance's name as a path, which is the same for all names of a file."""
    return os.path.realpath(spec.folder / name)


def refuse_used_instances(spec: Spec, instances: Sequence[Instance]) -> None:
    """Refuse instances on which the tune itself was run."""
    used_paths = {resolve_name(spec, instance.name) for instance in spec.instances}
    for instance in instances:
        if resolve_name(spec, instance.name) in used_paths:
            raise ValueError(
                "instances must not be instances of the tune, on which its choice looks better "
                f"than it is, got {short_repr(instance.name)}"
            )


def compare_configurations(
    spec: Spec, estimates: Mapping[str, ConfigurationEstimate], records: Iterable[TrialRecord]
) -> dict[str, ConfigurationEstimate]:
    """Return estimates by name, from the instances on which all configurations were run.

    Intervals of means are Student's t, cut to the possible range; the interval of a share is
    Clopper and Pearson's.
    """
    runs: dict[str, dict[str, TrialRecord]] = {name: {} for name in estimates}
    for record in records:
        for name, estimate in estimates.items():
            if has_outcome_for(record, estimate):
                runs[name][resolve_name(spec, record.instance)] = record
    instances = set.intersection(*(set(by_instance) for by_instance in runs.values()))
    if not instances:
        return {}
    costs = spec.objective
    run_gains = RunGains(spec.limits[-1], costs.cost_per_second, costs.cost_of_giving_up)
    gains: dict[str, FloatArray] = {}
    rows = {}
    for name in [REFERENCE, *estimates]:  # the reference first: the others need its gains
        limit = estimates[name].limit
        ordered_runs = [runs[name][instance] for instance in sorted(instances)]
        # A run that was out of time would have ended after its limit, at an unknown time.
        times = np.array(
            [math.inf if run.outcome == "out of time" else run.seconds for run in ordered_runs]
        )
        is_failed = np.array([run.outcome != "ok" for run in ordered_runs])
        gains[name] = run_gains.of_times(times, is_failed, limit)
        rows[name] = replace(
            estimates[name],
            runs=len(ordered_runs),
            gain=_clip(mean_estimate(gains[name]), -float(costs.penalty(0.0)(limit)), 1.0),
            success_rate=_clip(share_estimate((times <= limit) & ~is_failed)),
            seconds=_clip(mean_estimate(np.minimum(times, limit)), 0.0, limit),
            gain_over_default=_clip(mean_estimate(gains[name] - gains[REFERENCE])),
            gains=(),
        )
    return {name: rows[name] for name in estimates}


def _clip(estimate: Estimate, low: float = -math.inf, high: float = math.inf) -> Interval:
    return Interval(estimate.value, max(estimate.low, low), min(estimate.high, high))
