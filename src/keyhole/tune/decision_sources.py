"""Sources of decisions on the next run of a tune: a study, or the decider of a parameter space."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from keyhole.study import Study
from keyhole.tune.arms import Arm, Scalar
from keyhole.tune.instances import Instance, InstanceOrder
from keyhole.tune.recommendation import ConfigurationEstimate
from keyhole.tune.run_arrays import Trial
from keyhole.tune.space_decider import SpaceDecider, SpaceExhaustedError
from keyhole.tune.spec import FULL_CUT_OFF, Spec
from keyhole.tune.trial_log import RUNS_FILE, TrialLog, TrialRecord
from keyhole.tune.warm_start import read_warm_start
from keyhole.validation import short_repr


@dataclass(frozen=True)
class PlannedTrial:
    """A run to be made: its command, limit and instance, and the id of its decision."""

    id: str
    round: int
    arm: Arm
    limit: float
    instance: Instance
    configuration: int | None = None  # in a space, the configuration's number
    parameters: dict[str, Scalar] | None = None


class StudyDecisionSource:
    """A study that chooses from a list of commands; each command has its own order of instances."""

    def __init__(self, spec: Spec, study: Study, log: TrialLog) -> None:
        self._study = study
        self.log = log
        self._arms = {arm.name: arm for arm in spec.arms}
        self._order = InstanceOrder(spec.instances, spec.seed, log.by_id.values())
        self._lock = Lock()

    def ask(self) -> PlannedTrial:
        """Return the next decision of the study, with the next instance of its arm.

        Raises
        ------
        PendingDecisionError
            If the next decision must wait for the outcome of a pending trial.
        """
        decision = self._study.ask()
        # The instance is taken now, not when the run is recorded: parallel runs of an arm must have
        # different instances.
        with self._lock:
            instance = self._order.take(decision.arm)
        arm = self._arms[decision.arm]
        return PlannedTrial(decision.id, decision.round, arm, decision.limit, instance)

    def tell(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Record an outcome, and tell the study."""
        # The record is durable before the study is told. If the process is killed in between, the
        # next call tells the study (`resume_study`); in the reverse order the record would be lost.
        with self._lock:
            self.log.add(record)
            if not record.is_counted:
                self._order.put_back(trial.arm.name, trial.instance)
        if record.is_counted:
            self._study.tell(trial.id, **record.to_feedback())
        else:
            self._study.expire(trial.id)


def plan_chosen_run(
    spec: Spec, round: int, instance: Instance, choice: Trial | ConfigurationEstimate
) -> PlannedTrial:
    """Plan the run of a chosen configuration, with its limit, on an instance."""
    arm = spec.configure(choice.parameters)
    return PlannedTrial(
        str(round), round, arm, choice.limit, instance, choice.configuration, choice.parameters
    )


def make_decider(folder: Path, spec: Spec, records: Iterable[TrialRecord]) -> SpaceDecider:
    """Make the decider of a tune as it is after these runs.

    Raises
    ------
    ValueError
        If a record has no configuration or instance of the spec, or has other parameters than the
        configuration of its number.
    """
    search = spec.search
    assert search is not None
    decider = SpaceDecider(
        search.space,
        spec.limits,
        len(spec.instances),
        seed=spec.seed,
        cost_per_second=spec.objective.cost_per_second,
        cost_of_giving_up=spec.objective.cost_of_giving_up,
        policy=search.rule,
        learns_limit=spec.objective.preset != FULL_CUT_OFF,
        is_deterministic=search.is_deterministic,
    )
    numbers = {instance.name: number for number, instance in enumerate(spec.instances)}
    if start := read_warm_start(folder):
        # Instances that only the earlier tune has are numbered after those of this tune.
        names = dict.fromkeys([*numbers, *(run.instance for run in start.runs)])
        all_numbers = {name: number for number, name in enumerate(names)}
        trials = [
            (run.as_trial(all_numbers), run.outcome, run.seconds)
            for run in start.runs
            if run.outcome != "expired"
        ]
        decider.warm(trials, start.weight)
    for record in records:
        trial = record.as_trial(numbers)
        if min(trial.configuration, trial.instance) < 0:
            raise ValueError(
                f"{folder / RUNS_FILE}: run {record.round:,} must have a configuration and an "
                f"instance of the spec, got {record.configuration} and "
                f"{short_repr(record.instance)}"
            )
        decider.tell(trial, record.outcome, record.seconds)
        configuration = trial.configuration
        if record.is_counted and decider.configurations[configuration] != trial.parameters:
            raise ValueError(
                f"{folder / RUNS_FILE}: run {record.round:,} must have the parameters of "
                f"configuration {configuration}, got {short_repr(trial.parameters)}"
            )
    return decider


@dataclass
class SpaceDecisionSource:
    """A `SpaceDecider` as a source; the decider of a resumed tune is made anew from the log."""

    spec: Spec
    decider: SpaceDecider
    log: TrialLog
    _pending: dict[str, Trial] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ask(self) -> PlannedTrial | None:
        """Return the decider's next trial; None if nothing is left to be run."""
        with self._lock:
            try:
                trial = self.decider.ask()
            except SpaceExhaustedError as error:
                if not self._pending:
                    warnings.warn(str(error), stacklevel=2)
                return None
            self._pending[str(trial.round)] = trial
        instance = self.spec.instances[trial.instance]
        return plan_chosen_run(self.spec, trial.round, instance, trial)

    def tell(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Record an outcome, and tell the decider."""
        if record.outcome == "ok" and record.reward != 1.0:
            raise ValueError(
                f"a function with parameters must return True, None or False, got {record.reward}"
            )
        # One lock for both: the decider must learn the runs in the order of the log, from which a
        # resumed tune makes a new decider.
        with self._lock:
            self.log.add(record)
            self.decider.tell(self._pending.pop(trial.id), record.outcome, record.seconds)
