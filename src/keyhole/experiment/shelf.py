"""What several experiments play alike, played once.

Two experiments agree on a policy if problem, policy, seed, horizon and replications are the same:
where they differ in when they look, it is played once, and looked at whenever one of them does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from keyhole.contract.memory import FloatArray
from keyhole.experiment.blocks import play_in_blocks
from keyhole.experiment.identity import digest_of, identity
from keyhole.experiment.spec import Spec
from keyhole.play.progress import Report
from keyhole.play.simulation import Plan

_LABEL = "policy"  # labels may differ where policies do not


@dataclass(frozen=True)
class Job:
    """What is played once, into blocks: a policy of a plan, so often.

    The blocks' files begin with `name`; `digest` is that of all that decides the results.
    """

    name: str
    plan: Plan
    label: str
    replications: int
    digest: str

    @property
    def rounds(self) -> int:
        """How many rounds it takes."""
        return self.plan.rounds(self.plan.policies[self.label]) * self.replications

    def part(self, plan: Plan, values: FloatArray) -> FloatArray:
        """Return of its values those that a plan asks for, which may look less often, at less."""
        rows = [self.plan.checkpoints.index(t) for t in plan.checkpoints]
        columns = [self.plan.metrics.index(name) for name in plan.metrics]
        return values[rows][:, columns]


class Shelf:
    """Blocks, in a folder, that the experiments share which are going to be run."""

    def __init__(self, folder: Path, specs: Iterable[Spec]) -> None:
        self.folder = folder
        self._plans: dict[str, Plan] = {}  # of each policy, as all play it together
        self._replications: dict[str, int] = {}
        self._first: dict[tuple[str, str], int] = {}  # who plays it, and how many rounds
        users: dict[str, tuple[str, str, int]] = {}
        for spec in specs:
            for label in spec.plan.policies:
                alone = _alone(spec.plan, label)
                key = _key(alone, spec.replications)
                self._plans[key] = _together(self._plans.get(key, alone), alone)
                self._replications[key] = spec.replications
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
        job = self.job(plan, label, replications)
        self.folder.mkdir(parents=True, exist_ok=True)
        values = play_in_blocks(
            self.folder, job.name, job.plan, job.label, replications,
            digest=job.digest, threads=threads,
            report=report and (lambda _, played, total: report(label, played, total)),
        )  # fmt: skip
        return job.part(plan, values)

    @property
    def jobs(self) -> list[Job]:
        """All that is to be played, each once."""
        return [self._job(key) for key in self._plans]

    def job(self, plan: Plan, label: str, replications: int) -> Job:
        """Return what is played for one policy of an experiment."""
        return self._job(_key(_alone(plan, label), replications))

    def _job(self, key: str) -> Job:
        plan = self._plans[key]
        return Job(key[:32], plan, _LABEL, self._replications[key], digest_of(identity(plan)))


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


def together(report: Report, name: str, jobs: Iterable[Job]) -> Callable[[Job], Report]:
    """Return what gives each job a report that speaks of all of them, by one name."""
    rounds = {job.name: job.rounds for job in jobs}
    done = dict.fromkeys(rounds, 0)
    total = sum(rounds.values())

    def of(job: Job) -> Report:
        def told(_label: str, played: int, _total: int) -> None:
            done[job.name] = played
            report(name, sum(done.values()), total)

        return told

    return of
