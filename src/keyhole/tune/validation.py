"""Validation: the recommended and other configurations on instances that no run has used."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.results.estimate import exact_interval, mean_estimate
from keyhole.tune.arms import Parameter
from keyhole.tune.decisions import PlannedTrial
from keyhole.tune.instances import Instance
from keyhole.tune.parameter_space import configuration_key
from keyhole.tune.spec import CostModel, Spec
from keyhole.tune.trial_log import TrialLog, TrialRecord
from keyhole.tune.value_estimates import Interval
from keyhole.validate import short_repr

VALIDATION: Final = "validation.jsonl"
YARDSTICK: Final = "default, full cut-off"
"""Name of the entrant with which all are compared."""


@dataclass(frozen=True)
class Entrant:
    """A configuration with its limit, under the name that a table gives it."""

    name: str
    parameters: dict[str, Parameter]
    limit: float

    @property
    def key(self) -> str:
        """Text that is the same for equal configurations."""
        return configuration_key(self.parameters)

    def is_known_from(self, record: TrialRecord) -> bool:
        """Return whether a run tells how this one would have ended with its limit."""
        is_own = configuration_key(record.parameters or {}) == self.key
        return is_own and (record.limit >= self.limit or record.outcome != "out of time")


class ValidationPlan:
    """Decisions on the runs of a validation: each entrant on each instance, less those recorded."""

    def __init__(
        self, spec: Spec, entrants: Sequence[Entrant], instances: Sequence[Instance], log: TrialLog
    ) -> None:
        self._spec = spec
        self._log = log
        self._lock = Lock()
        self._round = len(log.all)
        # The longest limit first: its run tells how the same configuration ends with a shorter one.
        longest = {entrant.key: entrant for entrant in sorted(entrants, key=lambda e: e.limit)}
        records = list(log.by_id.values())
        self._waiting = deque(
            (entrant, instance)
            for instance in instances
            for entrant in longest.values()
            if not any(r.instance == instance.name and entrant.is_known_from(r) for r in records)
        )
        self._pending: dict[str, tuple[Entrant, Instance]] = {}

    def ask(self) -> PlannedTrial | None:
        """Return the next run; instance by instance, so that pairs are complete early."""
        with self._lock:
            if not self._waiting:
                return None
            entrant, instance = self._waiting.popleft()
            self._round += 1
            trial_id = str(self._round)
            self._pending[trial_id] = entrant, instance
        arm = self._spec.configure(entrant.parameters)
        return PlannedTrial(
            trial_id, self._round, arm, entrant.limit, instance, parameters=entrant.parameters
        )

    def tell(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Record an outcome; an expired run is made again."""
        with self._lock:
            self._log.add(record)
            pair = self._pending.pop(trial.id)
            if not record.is_counted:
                self._waiting.appendleft(pair)


def refuse_used_instances(spec: Spec, instances: Sequence[Instance]) -> None:
    """Refuse instances on which the tune itself runs."""
    used_paths = {os.path.realpath(spec.folder / instance.name) for instance in spec.instances}
    for instance in instances:
        if os.path.realpath(spec.folder / instance.name) in used_paths:
            raise ValueError(
                "instances must be none of those of the tune, on which its choice looks better "
                f"than it is, got {short_repr(instance.name)}"
            )


@dataclass(frozen=True)
class ValidationRow:
    """What a configuration did with its limit on the instances that all were run on.

    Attributes
    ----------
    entrant : Entrant
        The configuration and its limit.
    instances : int
        How many these are.
    gain, seconds : Interval
        Mean gain and seconds of a run, with 95 % intervals of Student's t.
    success_rate : Interval
        The share of runs that succeed, with the interval of Clopper and Pearson.
    gain_over_default : Interval
        Its gain less that of the default with the full cut-off, instance by instance.
    """

    entrant: Entrant
    instances: int
    gain: Interval
    success_rate: Interval
    seconds: Interval
    gain_over_default: Interval


def gain_of_run(record: TrialRecord, limit: float, costs: CostModel) -> float:
    """Return the gain that a run would have had with a limit of at most its own."""
    if record.outcome == "out of time" or record.seconds > limit:
        return -float(costs.penalty(0.0)(limit))
    return float(record.outcome == "ok") - float(costs.cost(record.seconds))


def compare_entrants(
    spec: Spec, entrants: Sequence[Entrant], records: Sequence[TrialRecord]
) -> list[ValidationRow]:
    """Return a row for each entrant, of the instances on which all were run."""
    runs = [
        {record.instance: record for record in records if entrant.is_known_from(record)}
        for entrant in entrants
    ]
    names = sorted(set(runs[0]).intersection(*runs[1:]))
    if not names:
        return []
    gains = np.array([
        [gain_of_run(by_name[name], entrant.limit, spec.objective) for name in names]
        for entrant, by_name in zip(entrants, runs, strict=True)
    ])  # fmt: skip
    yardstick = gains[[entrant.name for entrant in entrants].index(YARDSTICK)]
    rows = []
    for entrant, by_name, own_gains in zip(entrants, runs, gains, strict=True):
        seconds = np.array([min(by_name[name].seconds, entrant.limit) for name in names])
        successes = sum(
            by_name[name].outcome == "ok" and by_name[name].seconds <= entrant.limit
            for name in names
        )
        share = Interval(successes / len(names), *exact_interval(successes, len(names)))
        difference = _mean_interval(own_gains - yardstick)
        rows.append(
            ValidationRow(
                entrant, len(names), _mean_interval(own_gains), share, _mean_interval(seconds),
                difference,
            )
        )  # fmt: skip
    return rows


def _mean_interval(values: FloatArray) -> Interval:
    estimate = mean_estimate(values)
    return Interval(estimate.value, estimate.low, estimate.high)
