"""What a tune runs next: decisions of a study, or of the decider of a parameter space."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from keyhole.study import Study
from keyhole.tune.arms import Arm
from keyhole.tune.instances import Instance, InstanceOrder
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialLog, TrialRecord

if TYPE_CHECKING:
    from keyhole.tune.space_decider import SpaceDecider, Trial


@dataclass(frozen=True)
class PlannedTrial:
    """A run that is to be made, under the id of its decision."""

    id: str
    round: int
    arm: Arm  # with the parameters of its configuration
    limit: float
    instance: Instance


class Decisions(Protocol):
    """Decides what is run next, and learns from it; several threads call it."""

    def ask(self) -> PlannedTrial | None:
        """Return the next trial; None if nothing is left to be run.

        Raises
        ------
        PendingDecisionError
            If it is to be asked again once a pending trial has ended.
        """

    def tell(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Record an outcome durably, then learn from it; an expired trial does not count."""


class StudyDecisions:
    """Decisions of a study on the commands of a list, each of which has its order of instances."""

    def __init__(self, spec: Spec, study: Study, log: TrialLog) -> None:
        self._study = study
        self._log = log
        self._arms = {arm.name: arm for arm in spec.arms}
        self._order = InstanceOrder(spec.instances, spec.seed, log.by_id.values())
        self._lock = Lock()

    def ask(self) -> PlannedTrial:
        """Return the study's next decision, on the next instance of its arm."""
        decision = self._study.ask()
        # Taken when the run starts and not when it is recorded: parallel runs of an arm must have
        # different instances.
        with self._lock:
            instance = self._order.take(decision.arm)
        arm = self._arms[decision.arm]
        return PlannedTrial(decision.id, decision.round, arm, decision.limit, instance)

    def tell(self, trial: PlannedTrial, record: TrialRecord) -> None:
        """Record an outcome, and tell the study."""
        # The record is durable before the study is told: after a kill in between, the next call
        # tells the study (`resume_study`). In the reverse order the record would be lost.
        with self._lock:
            self._log.add(record)
            if not record.is_counted:
                self._order.put_back(trial.arm.name, trial.instance)
        if record.is_counted:
            self._study.tell(trial.id, **record.to_feedback())
        else:
            self._study.expire(trial.id)
