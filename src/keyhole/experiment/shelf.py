"""What several experiments play alike, played once.

Two experiments agree on a policy if problem, policy, seed, horizon and replications are the same:
where they differ in when they look, it is played once, and looked at whenever one of them does.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from keyhole.contract.memory import FloatArray
from keyhole.experiment.blocks import play_in_blocks
from keyhole.experiment.identity import digest_of, identity
from keyhole.experiment.spec import Spec
from keyhole.play.progress import Report
from keyhole.play.simulation import Plan

_LABEL = "policy"  # labels may differ where policies do not


class Shelf:
    """Blocks, in a folder, that the experiments share which are going to be run."""

    def __init__(self, folder: Path, specs: Iterable[Spec]) -> None:
        self.folder = folder
        self._plans: dict[str, Plan] = {}  # of each policy, as all play it together
        self._first: dict[tuple[str, str], int] = {}  # who plays it, and how many rounds
        users: dict[str, tuple[str, str, int]] = {}
        for spec in specs:
            for label in spec.plan.policies:
                alone = _alone(spec.plan, label)
                key = _key(alone, spec.replications)
                self._plans[key] = _together(self._plans.get(key, alone), alone)
                users.setdefault(key, (spec.name, label, spec.replications))
        for key, (name, label, replications) in users.items():
            plan = self._plans[key]
            self._first[name, label] = plan.rounds(plan.policies[_LABEL]) * replications

    def rounds(self, name: str, label: str) -> int:
        """Return how many rounds a policy takes in a spec, by its name: 0 if another plays it."""
        return self._first.get((name, label), 0)

    def values(
        self,
        plan: Plan,
        label: str,
        replications: int,
        threads: int | None,
        report: Report | None,
    ) -> FloatArray:
        """Return one policy's values, playing what has not been played for another experiment."""
        key = _key(_alone(plan, label), replications)
        shared = self._plans[key]
        self.folder.mkdir(parents=True, exist_ok=True)
        values = play_in_blocks(
            self.folder, key[:32], shared, _LABEL, replications,
            digest=digest_of(identity(shared)), threads=threads,
            report=report and (lambda _, played, total: report(label, played, total)),
        )  # fmt: skip
        rows = [shared.checkpoints.index(t) for t in plan.checkpoints]
        columns = [shared.metrics.index(name) for name in plan.metrics]
        return values[rows][:, columns]


def _alone(plan: Plan, label: str) -> Plan:
    work = {_LABEL: plan.work[label]} if plan.work else {}
    return replace(plan, policies={_LABEL: plan.policies[label]}, work=work)


def _key(alone: Plan, replications: int) -> str:
    """Return a digest of what must be the same, whenever one looks."""
    ends = replace(alone, checkpoints=(alone.horizon,), details=False)
    return digest_of([alone.horizon, alone.seed, replications, identity(ends)])


def _together(one: Plan, other: Plan) -> Plan:
    """Return the plan that looks whenever one of two does, at all that one of them does."""
    rounds = tuple(sorted({*one.checkpoints, *other.checkpoints}))
    return replace(one, checkpoints=rounds, details=one.details or other.details)
