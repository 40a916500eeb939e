"""Plans: validated descriptions of simulations, with their checkpoints and simulated workers."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal, Protocol, get_args

import numpy as np

from keyhole import validation
from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.pending_mode_inference import PENDING_MODES, check_mode_allowed
from keyhole.contract.policy import Policy
from keyhole.contract.problem import ROUND_COUNT_NAMES, Problem, metrics_for
from keyhole.contract.state_arrays import FloatArray
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.interpreted_mode import find_interpretation_request
from keyhole.metric import LAST_FEEDBACK_TIME, STOP_METRICS, Metric
from keyhole.results.curves import Curves

_MOST_WORKERS: Final = 2**16
MOST_CHECKPOINTS: Final = 100_000
SpacingKind = Literal["linear", "log"]
_CHECKPOINT_ENTRIES: Final = ("count", "spacing")
# The allowed counts: pulls are counted in floats, which represent every integer up to 2**53.
COUNTS: Final = validation.Range(ge=1, le=2**53)


class Duration(Protocol):
    """A distribution of durations: see `keyhole.distributions.busy_times`."""

    @property
    def draw(self) -> Kernel:
        """The kernel ``draw(rng, numbers, ...)``; context, decision and feedback may follow.

        It may leave out arguments.
        """

    @property
    def numbers(self) -> FloatArray:
        """The numbers that `draw` reads."""


class _UnitDuration:
    """The constant duration 1."""

    numbers = np.zeros(1)

    @staticmethod
    def draw() -> float:
        """Return 1."""
        return 1.0

    def __repr__(self) -> str:
        """Return the number."""
        return "1"


_UNIT_DURATION: Final = _UnitDuration()


@dataclass(frozen=True)
class SimulatedWorkers:
    """The simulated workers that carry out a policy's decisions.

    Parameters
    ----------
    number : int
        The number of workers. Each asks, is busy, tells, and asks again.
    duration : Duration, optional
        The distribution of the time that a decision takes; by default always 1.
    pending : {"impute", "ignore", "wait"}, optional
        How the policy treats pending decisions; by default the first mode that it declares.
    """

    number: int = 1
    duration: Duration = _UNIT_DURATION
    pending: str | None = None

    def __post_init__(self) -> None:
        """Check the number of workers, the duration and the pending mode."""
        validation.check_integer("workers", self.number, validation.Range(ge=1, le=_MOST_WORKERS))
        if not (hasattr(self.duration, "draw") and hasattr(self.duration, "numbers")):
            raise TypeError(
                "duration must be a distribution, such as keyhole.distributions.busy_times."
                f"Exponential(), got {validation.short_repr(self.duration)}"
            )
        if self.pending is not None:
            validation.check_choice("pending", self.pending, PENDING_MODES)

    def check(self, policy: Policy, problem: Problem) -> None:
        """Refuse a setting, a policy or a problem that does not fit the workers."""
        setting = problem.setting
        if setting.by_round:
            raise ValueError(
                f"workers must be 1 in the setting {setting.name!r}, got {self.number}, and "
                "duration must be left out: its feedback belongs to rounds, not to decisions"
            )
        if self.pending is not None:
            check_mode_allowed(policy, self.pending, policy.pending)
        allowed_names = ("rng", "numbers", *setting.context, *setting.decision, *setting.feedback)
        for name in kernel_argument_names(self.duration.draw):
            if name not in allowed_names:
                raise ValueError(
                    f"duration must be a distribution that fits the setting {setting.name!r}, "
                    f"which has no {name}; got {self.duration!r}"
                )
        if (fits := getattr(self.duration, "fits", None)) is not None:
            fits(problem)

    def caution(self, policy: Policy) -> str:
        """Return a warning if a policy makes workers wait, and the user chose no mode; else ""."""
        if self.number == 1 or self.pending is not None:
            return ""
        return policy.explain_waiting()

    def pending_mode(self, policy: Policy) -> str:
        """Return the mode in which a policy treats pending decisions."""
        return self.pending or policy.pending[0]


_NO_WORKERS: Final = SimulatedWorkers()


def check_checkpoints(
    checkpoints: Iterable[int] | Mapping[str, Any] | None, horizon: int, first: int = 1
) -> tuple[int, ...]:
    """Return checked checkpoints; the horizon alone if none are given.

    Parameters
    ----------
    checkpoints : iterable of int, mapping or None
        Increasing rounds, or their number and spacing: see `spaced_checkpoints`.
    horizon : int
        The last round.
    first : int, default 1
        The least round of a spaced checkpoint. Listed checkpoints are not checked against it.

    Examples
    --------
    >>> check_checkpoints({"count": 3, "spacing": "log"}, 1000)
    (10, 100, 1000)
    """
    if checkpoints is None:
        return (horizon,)
    if isinstance(checkpoints, Mapping):
        return spaced_checkpoints(checkpoints, min(first, horizon), horizon)
    entries = validation.check_sequence(
        "checkpoints", checkpoints, "a list of rounds, or a number of them as {'count': 50}"
    )
    rounds = tuple(
        validation.check_integer(f"checkpoints[{i}]", c, validation.Range(ge=1, le=horizon))
        for i, c in enumerate(entries)
    )
    if not rounds:
        raise ValueError("checkpoints must have at least one entry, got none")
    for before, after in pairwise(rounds):
        if after <= before:
            raise ValueError(f"checkpoints must rise, got {after} after {before}")
    return rounds


def spaced_checkpoints(table: Mapping[str, Any], first: int, horizon: int) -> tuple[int, ...]:
    """Return evenly spaced checkpoints, of which the last is the horizon.

    Parameters
    ----------
    table : mapping
        ``count`` is the number of checkpoints, from 1 to 100,000; there are fewer if rounding makes
        some equal. ``spacing`` is "linear" (by default) for even spacing of the rounds, or "log"
        for even spacing of their logarithms.
    first, horizon : int
        The first round that a checkpoint may have, and the last checkpoint.
    """
    for name in table:
        validation.check_choice("each entry of checkpoints", name, _CHECKPOINT_ENTRIES)
    if "count" not in table:
        raise ValueError("checkpoints.count must be given")
    count = validation.check_integer(
        "checkpoints.count", table["count"], validation.Range(ge=1, le=MOST_CHECKPOINTS)
    )
    spacing = table.get("spacing", "linear")
    if validation.check_choice("checkpoints.spacing", spacing, get_args(SpacingKind)) == "linear":
        points = horizon * np.arange(1, count + 1) / count
    else:
        # The first of `count` + 1 points is dropped, so that there are `count` steps.
        points = np.geomspace(first, horizon, count + 1)[1:]
    return tuple(sorted({max(first, int(p)) for p in points.round()}))


def label_policies(policies: Mapping[str, Policy] | Iterable[Policy]) -> dict[str, Policy]:
    """Return policies by label; refuse an empty list, and two policies with one label."""
    if isinstance(policies, Mapping):
        policies_by_label = dict(policies)
    else:
        entries = validation.check_sequence("policies", policies, "a list of policies")
        for i, policy in enumerate(entries):
            _check_policy(f"policies[{i}]", policy)
        policies_by_label = {repr(policy): policy for policy in entries}
        if len(policies_by_label) < len(entries):
            raise ValueError("policies must differ in their parameters or be given labels")
    if not policies_by_label:
        raise ValueError("policies must have at least one entry, got none")
    for label, policy in policies_by_label.items():
        validation.check_line("the label of a policy", label)
        _check_policy(f"policies[{label!r}]", policy)
    return policies_by_label


def _check_policy(name: str, policy: object) -> None:
    if not isinstance(policy, Policy):
        class_name = policy if isinstance(policy, str) else getattr(policy, "__name__", "")
        advice = f": write {class_name}()" if class_name.isidentifier() else ""
        raise TypeError(f"{name} must be a policy, got {validation.short_repr(policy)}{advice}")


@dataclass(frozen=True)
class Plan:
    """A validated simulation: a problem, its policies, the horizon, checkpoints and seed."""

    problem: Problem
    policies: dict[str, Policy]
    horizon: int
    checkpoints: tuple[int, ...]
    seed: int
    details: bool = False  # whether to keep the metrics that are kept on request only
    checked: bool = False  # whether to check every index of a kernel
    interpreted: bool = False
    interpret_uncompiled: bool = False
    """Whether Python may simulate short runs of policies that are not compiled yet."""
    workers: Mapping[str, SimulatedWorkers] = field(default_factory=dict)
    """The simulated workers of each policy, by label; empty if there are none."""

    @classmethod
    def make(
        cls,
        problem: Problem,
        policies: Mapping[str, Policy] | Iterable[Policy],
        *,
        horizon: int,
        checkpoints: Iterable[int] | Mapping[str, Any] | None,
        seed: int,
        details: bool = False,
        checked: bool = False,
        interpreted: bool | None = None,
        interpret_uncompiled: bool = False,
        workers: SimulatedWorkers | Mapping[str, SimulatedWorkers] = _NO_WORKERS,
    ) -> "Plan":
        """Check the arguments of `simulate`, before anything is compiled or run."""
        if not isinstance(problem, Problem):
            raise TypeError(
                "problem must derive from keyhole.policy.Problem, got "
                f"{validation.short_repr(problem)}"
            )
        interpreted = find_interpretation_request(interpreted)
        policies = label_policies(policies)
        horizon = validation.check_integer("horizon", horizon, COUNTS)
        # In a budgeted setting a checkpoint is a budget, which allows a pull of each arm.
        least_checkpoint = problem.fact("arms") if problem.setting.budgeted else 1
        if isinstance(workers, SimulatedWorkers):
            workers = dict.fromkeys(policies, workers)
        # One worker that takes a time of 1 for each decision plays as if there were no workers.
        if all(each.number == 1 and each.duration is _UNIT_DURATION for each in workers.values()):
            workers = {}
        plan = cls(
            problem,
            policies,
            horizon,
            check_checkpoints(checkpoints, horizon, least_checkpoint),
            validation.check_seed(seed),
            details,
            checked,
            bool(interpreted),
            interpret_uncompiled and interpreted is None,  # None: the user has not said
            workers,
        )
        plan._check_length()
        validation.check_distinct(
            "the metrics", [m.name for m in plan.declared_metrics if not m.per_arm]
        )
        for label, policy in plan.policies.items():
            if policy.setting.name != problem.setting.name:
                raise ValueError(
                    f"{label} must be a policy of the setting {problem.setting.name!r}, "
                    f"got one of {policy.setting.name!r}"
                )
            if plan.workers:
                plan.workers[label].check(policy, problem)
                if text := plan.workers[label].caution(policy):
                    warnings.warn(text, stacklevel=3)
            for budget, _ in plan.list_simulations(policy):
                # A warning may depend on the horizon, also for a policy that does not know it.
                facts = plan.facts(policy, budget) | {"horizon": budget}
                if text := policy.caution(facts, problem):
                    warnings.warn(text, stacklevel=3)
        return plan

    def _check_length(self) -> None:
        """Refuse more rounds than the problem has, and a budget below one pull of each arm."""
        rounds = self.problem.rounds
        if rounds is not None and self.horizon > rounds:
            raise ValueError(
                f"horizon must be at most {rounds}, the rounds that the problem has; "
                f"got {self.horizon}"
            )
        if self.problem.setting.budgeted and self.checkpoints[0] < self.problem.fact("arms"):
            raise ValueError(
                "every budget (checkpoint) must be at least the number of arms, "
                f"{self.problem.fact('arms')}; got {self.checkpoints[0]}"
            )

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(m.name for m in self.declared_metrics)

    @property
    def declared_metrics(self) -> tuple[Metric, ...]:
        """The declarations of the metrics, in the order of the names."""
        metrics = metrics_for(self.problem, details=self.details)
        if any(policy.verdicts for policy in self.policies.values()):  # a policy can stop
            metrics = (*metrics, *STOP_METRICS)
        return (*metrics, LAST_FEEDBACK_TIME) if self.workers else metrics

    def make_curves(self, values: Mapping[str, FloatArray]) -> Curves:
        """Return the simulated values of each policy, by label, together with their metrics."""
        arms = self.problem.fact("arms") if "arms" in self.problem.setting.facts else None
        return Curves(self.checkpoints, self.declared_metrics, values, arms=arms)

    def list_simulations(self, policy: Policy) -> list[tuple[int, tuple[int, ...]]]:
        """Return (horizon, checkpoints) of each simulation that a policy needs."""
        # A policy that knows its budget decides differently for each budget. Other policies reach
        # all budgets in one simulation.
        if policy.setting.budgeted and "horizon" in policy.needs:
            return [(budget, (budget,)) for budget in self.checkpoints]
        return [(self.horizon, self.checkpoints)]

    def rounds_per_replication(self, policy: Policy) -> int:
        """Return the number of rounds of one replication of a policy, in all its simulations."""
        return sum(checkpoints[-1] for _, checkpoints in self.list_simulations(policy))

    def wrong_verdicts(self, policy: Policy) -> FloatArray:
        """Return, for each verdict on each arm, 1 if it is wrong and else 0.

        The array of arms by verdicts is flattened. A policy that cannot stop has a single 0.
        """
        if not policy.verdicts:
            return np.zeros(1)
        is_wrong = np.asarray(policy.wrong_verdicts(self.problem))
        expected_shape = (self.problem.fact("arms"), len(policy.verdicts))
        if is_wrong.shape != expected_shape:
            raise ValueError(
                f"{type(policy).__name__}.wrong_verdicts must have the shape {expected_shape}, "
                f"got {is_wrong.shape}"
            )
        return np.ascontiguousarray(is_wrong, np.float64).ravel()

    def unsimulated_metrics(
        self, policy: Policy, checkpoints: Sequence[int]
    ) -> dict[int, FloatArray]:
        """Return the values of metrics that need no simulation, by the metrics' positions.

        An array has a value for each checkpoint. A plan has stop metrics if any of its policies can
        stop. For a policy that cannot stop, their values are known in advance. For a policy that
        can stop, the result is empty.
        """
        values = {"rounds_used": np.array(checkpoints, float), "unfinished": 1.0}
        return {
            i: np.full(len(checkpoints), values.get(metric.name, 0.0))
            for i, metric in enumerate(self.declared_metrics)
            if metric in STOP_METRICS and not policy.verdicts
        }

    def facts(self, policy: Policy, horizon: int) -> dict[str, Any]:
        """Return the quantities that a policy knows, checked by the setting."""
        names = policy.setting.known_quantities(policy.needs)
        facts = {n: horizon if n in ROUND_COUNT_NAMES else self.problem.fact(n) for n in names}
        return policy.check_facts(facts)
