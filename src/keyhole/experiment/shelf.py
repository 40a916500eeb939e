"""What several experiments play alike, played once.

Two experiments agree on a policy if problem, policy, seed, horizon and replications are the same:
where they differ in when they look, it is played once, and looked at whenever one of them does.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from keyhole.contract.memory import FloatArray
from keyhole.experiment.blocks import play_in_blocks
from keyhole.experiment.identity import digest_of, identity
from keyhole.experiment.spec import Spec
from keyhole.play.progress import Report
from keyhole.play.simulation import Plan

_LABEL = "policy"  # labels may differ where policies do not


@dataclass
class _Item:
    """A policy as all play it, and how many do."""

    plan: Plan
    users: int = 0


class Shelf:
    """Blocks that experiments share.

    Parameters
    ----------
    folder : Path
        Of the blocks; made if need be.
    specs : iterable of Spec
        The experiments that are going to be run.
    """

    def __init__(self, folder: Path, specs: Iterable[Spec]) -> None:
        self.folder = folder
        self._items: dict[str, _Item] = {}
        for spec in specs:
            for label in spec.plan.policies:
                alone = _alone(spec.plan, label)
                item = self._items.setdefault(_key(alone, spec.replications), _Item(alone))
                item.plan = _together(item.plan, alone)
                item.users += 1

    def rounds(self, plan: Plan, label: str, replications: int) -> int:
        """Return how many rounds a policy takes, with all checkpoints that someone looks at."""
        shared = self._items[_key(_alone(plan, label), replications)].plan
        return shared.rounds(shared.policies[_LABEL]) * replications

    def values(
        self,
        plan: Plan,
        label: str,
        replications: int,
        threads: int | None,
        report: Report | None,
    ) -> FloatArray:
        """Return one policy's values, playing what has not been played for another experiment.

        Raises
        ------
        KeyError
            If it is of none of the experiments that were announced.
        OSError
            If a block cannot be written.
        """
        key = _key(_alone(plan, label), replications)
        shared = self._items[key].plan
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
    return replace(plan, policies={_LABEL: plan.policies[label]})


def _key(alone: Plan, replications: int) -> str:
    """Return a digest of what must be the same, whenever one looks."""
    ends = replace(alone, checkpoints=(alone.horizon,), details=False)
    return digest_of([alone.horizon, alone.seed, replications, identity(ends)])


def _together(one: Plan, other: Plan) -> Plan:
    """Return the plan that looks whenever one of two does, at all that one of them does."""
    rounds = tuple(sorted({*one.checkpoints, *other.checkpoints}))
    return replace(one, checkpoints=rounds, details=one.details or other.details)
