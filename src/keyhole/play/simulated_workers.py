"""Simulated workers: how many use one policy at a time, and how long they take.

A worker carries out a policy's decision, as a machine runs a trial. Until it is done, the policy
lacks what came of its decision; a mode says how it decides then.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.pending_mode_inference import PENDING_MODES, check_allowed
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.kernels.fingerprint import Kernel
from keyhole.validate import Range, check_choice, check_integer, short_repr

_MOST: Final = 2**16


class Duration(Protocol):
    """A distribution of durations: see `keyhole.distributions.busy_times`."""

    @property
    def draw(self) -> Kernel:
        """``draw(rng, numbers, ...)``; it may name the values of the decision and feedback."""

    @property
    def numbers(self) -> FloatArray:
        """The numbers that `draw` reads."""


class _One:
    """The constant duration 1."""

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
    """The simulated workers that carry out a policy's decisions.

    Parameters
    ----------
    number : int
        How many workers; each asks, is busy, tells, and asks again.
    duration : Duration, optional
        The distribution of how long a decision takes; by default 1.
    pending : {"impute", "ignore", "wait"}, optional
        How the policy treats pending decisions; by default the first mode that it declares.
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
                f"keyhole.distributions.busy_times.Exponential(), got {short_repr(self.duration)}"
            )
        if self.pending is not None:
            check_choice("pending", self.pending, PENDING_MODES)

    def check(self, policy: Policy, problem: Problem) -> None:
        """Refuse a setting in which time counts in rounds, and a mode that the policy lacks."""
        if problem.setting.by_round:
            raise ValueError(
                f"workers must be 1 in the setting {problem.setting.name!r}, got {self.number}: "
                "its feedback is delayed by the problem itself, and belongs to a round"
            )
        if self.pending is not None:
            check_allowed(policy, self.pending, policy.pending)
        setting = problem.setting
        known = ("rng", "numbers", *setting.context, *setting.decision, *setting.feedback)
        for name in kernel_argument_names(self.duration.draw):
            if name not in known:
                raise ValueError(
                    f"duration must be a distribution that fits the setting {setting.name!r}, "
                    f"which has no {name}; got {self.duration!r}"
                )
        if (fits := getattr(self.duration, "fits", None)) is not None:
            fits(problem)

    def caution(self, policy: Policy) -> str:
        """Return a warning if a policy waits although `pending` does not ask for it; else ""."""
        return policy.explain_waiting() if self.number > 1 and self.pending is None else ""

    def pending_mode(self, policy: Policy) -> str:
        """Return how a policy treats pending decisions."""
        return self.pending or policy.pending[0]
