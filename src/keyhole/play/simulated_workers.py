"""Several workers: how many, for how long they are busy, what policies make of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from keyhole.contract.compiled_class import environment_component, policy_component
from keyhole.contract.environment import Problem, true_values
from keyhole.contract.kernel_checks import local_names
from keyhole.contract.pending import check_allowed
from keyhole.contract.policy import PENDING, Policy
from keyhole.contract.state_memory import FloatArray
from keyhole.drivers.asynchronous import compiled_asynchronous_loop
from keyhole.drivers.pending import memory_plan, working_memory
from keyhole.kernels.execution import interpreted
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.jit import bounds_checked
from keyhole.play.engine_simulator import EngineSimulator, SimulationPlan, vector_of
from keyhole.validate import Range, check_choice, check_integer, short_repr

_MOST: Final = 2**16


class Duration(Protocol):
    """A law of durations: see `keyhole.distributions.durations`."""

    @property
    def draw(self) -> Kernel:
        """``draw(rng, numbers, ...)``: it may name what the decision and the feedback have."""

    @property
    def numbers(self) -> FloatArray:
        """What it is given."""


class _One:
    """Every duration is 1."""

    numbers = np.zeros(1)

    @staticmethod
    def draw() -> float:
        """Return 1."""
        return 1.0

    def __repr__(self) -> str:
        """Return the number."""
        return "1"


_ONE: Final = _One()


@dataclass(frozen=True)
class SimulatedWorkers:
    """How a policy's decisions are carried out.

    Parameters
    ----------
    number : int
        Workers: each asks, is busy, tells, and asks again.
    duration : law, optional
        For how long; by default 1.
    pending : {"impute", "ignore", "wait"}, optional
        What the policy makes of open decisions; by default the first of its own ways.
    """

    number: int = 1
    duration: Duration = _ONE
    pending: str | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the policy."""
        check_integer("workers", self.number, Range(ge=1, le=_MOST))
        if not (hasattr(self.duration, "draw") and hasattr(self.duration, "numbers")):
            raise TypeError(
                "duration must be a distribution, such as "
                f"keyhole.distributions.durations.Exponential(), got {short_repr(self.duration)}"
            )
        if self.pending is not None:
            check_choice("pending", self.pending, PENDING)

    def check(self, policy: Policy, problem: Problem) -> None:
        """Refuse a setting where rounds are time, and what a policy cannot do."""
        if problem.setting.by_round:
            raise ValueError(
                f"workers must be 1 in the setting {problem.setting.name!r}, got {self.number}: "
                "there feedback is late by itself, and belongs to a round"
            )
        if self.pending is not None:
            check_allowed(policy, self.pending, policy.pending)
        setting = problem.setting
        known = ("rng", "numbers", *setting.context, *setting.decision, *setting.feedback)
        for name in local_names(self.duration.draw):
            if name not in known:
                raise ValueError(
                    f"duration must be a distribution that fits the setting {setting.name!r}, "
                    f"which has no {name}; got {self.duration!r}"
                )
        if (fits := getattr(self.duration, "fits", None)) is not None:
            fits(problem)

    def caution(self, policy: Policy) -> str:
        """Return a warning where a policy waits and nobody has asked for that; or ""."""
        return policy.explain_waiting() if self.number > 1 and self.pending is None else ""

    def pending_mode(self, policy: Policy) -> str:
        """Return what a policy makes of open decisions."""
        return self.pending or policy.pending[0]


class AsynchronousSimulator(EngineSimulator):
    """One policy in one world, played with workers."""

    def __init__(
        self,
        plan: SimulationPlan,
        policy: Policy,
        horizon: int,
        checkpoints: Sequence[int],
        work: SimulatedWorkers,
    ) -> None:
        problem = plan.problem
        p_side, w_side = policy_component(type(policy)), environment_component(problem.environment)
        known = policy.numbers() | plan.facts(policy, horizon)
        truth = true_values(problem, horizon)
        p_sizes, w_sizes = p_side.sizes(known), w_side.sizes(truth)
        self.policy, self._interpreted = policy, plan.interpreted
        self.checkpoints = np.array(checkpoints, np.int64)
        way = work.pending_mode(policy)
        with bounds_checked(plan.checked), interpreted(plan.interpreted):
            self.kernel = compiled_asynchronous_loop(
                problem.setting, p_side, w_side, work.duration.draw
            )
        layout = memory_plan(
            p_side, w_side, p_sizes, w_sizes,
            workers=1 if way == "wait" else work.number,
            impute=way == "impute",
            aged=getattr(work.duration, "aged", False),
        )  # fmt: skip
        self.input = (
            p_side.inputs.pack(known, p_sizes),
            vector_of(p_side, p_sizes),
            w_side.inputs.pack(truth, w_sizes),
            vector_of(w_side, w_sizes),
            layout,
            np.ascontiguousarray(work.duration.numbers, np.float64),
            np.uint64(plan.seed),
        )
        self._layout = layout

    def memory(self) -> tuple[Any, ...]:
        """Return what the compiled loop works in."""
        return working_memory(self._layout)
