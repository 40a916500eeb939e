"""Several workers: how many, for how long they are busy, what policies make of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from keyhole.contract.answers import names_of
from keyhole.contract.component import policy_component, world_component
from keyhole.contract.memory import FloatArray
from keyhole.contract.pending import check_allowed
from keyhole.contract.policy import PENDING, Policy
from keyhole.contract.world import Problem, truth_of
from keyhole.drivers.parallel import compiled_parallel, scratch
from keyhole.drivers.rows import memory_plan
from keyhole.kernels.execution import interpreted
from keyhole.kernels.jit import bounds_checked
from keyhole.kernels.link import Kernel
from keyhole.play.player import Planned, Player, vector_of
from keyhole.validate import Range, choice, integer, shown

_MOST: Final = 2**16


class Duration(Protocol):
    """A law of durations: see `keyhole.laws.durations`."""

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
class Workers:
    """How a policy's decisions are carried out.

    Parameters
    ----------
    count : int
        Workers: each asks, is busy, tells, and asks again.
    duration : law, optional
        For how long; by default 1.
    pending : {"imagine", "ignore", "wait"}, optional
        What the policy makes of open decisions; by default the first of its own ways.
    """

    count: int = 1
    duration: Duration = _ONE
    pending: str | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the policy."""
        integer("workers", self.count, Range(ge=1, le=_MOST))
        if not (hasattr(self.duration, "draw") and hasattr(self.duration, "numbers")):
            raise TypeError(
                f"duration must be a law, such as keyhole.laws.durations.Exponential(), "
                f"got {shown(self.duration)}"
            )
        if self.pending is not None:
            choice("pending", self.pending, PENDING)

    def check(self, policy: Policy, problem: Problem) -> None:
        """Refuse a setting where rounds are time, and what a policy cannot do."""
        if problem.setting.by_round:
            raise ValueError(
                f"workers must be 1 in the setting {problem.setting.name!r}, got {self.count}: "
                "there feedback is late by itself, and belongs to a round"
            )
        if self.pending is not None:
            check_allowed(policy, self.pending, policy.pending)
        setting = problem.setting
        known = ("rng", "numbers", *setting.context, *setting.decision, *setting.feedback)
        for name in names_of(self.duration.draw):
            if name not in known:
                raise ValueError(
                    f"duration must be a law that fits the setting {setting.name!r}, which has no "
                    f"{name}; got {self.duration!r}"
                )
        if (fits := getattr(self.duration, "fits", None)) is not None:
            fits(problem)

    def caution(self, policy: Policy) -> str:
        """Return a warning where a policy waits and nobody has asked for that; or ""."""
        return policy.explain_waiting() if self.count > 1 and self.pending is None else ""

    def way(self, policy: Policy) -> str:
        """Return what a policy makes of open decisions."""
        return self.pending or policy.pending[0]


class WorkersPlayer(Player):
    """One policy in one world, played with workers."""

    def __init__(
        self, plan: Planned, policy: Policy, horizon: int, checkpoints: Sequence[int], work: Workers
    ) -> None:
        problem = plan.problem
        p_side, w_side = policy_component(type(policy)), world_component(problem.world)
        known = policy.numbers() | plan.facts(policy, horizon)
        truth = truth_of(problem, horizon)
        p_sizes, w_sizes = p_side.sizes(known), w_side.sizes(truth)
        self.policy, self._interpreted = policy, plan.interpreted
        self.checkpoints = np.array(checkpoints, np.int64)
        way = work.way(policy)
        with bounds_checked(plan.checked), interpreted(plan.interpreted):
            self.kernel = compiled_parallel(problem.setting, p_side, w_side, work.duration.draw)
        layout = memory_plan(
            p_side, w_side, p_sizes, w_sizes,
            workers=1 if way == "wait" else work.count,
            imagine=way == "imagine",
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
        return scratch(self._layout)
