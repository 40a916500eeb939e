"""What the policies for one known threshold have in common: how many arms are left alone."""

from collections.abc import Mapping
from typing import Any

from keyhole.policy import FloatArray, IntArray, parameter
from keyhole.semibandit.allocation_kernels import (
    AllocationState,
    count_all_violations,
    count_losses,
    count_violations,
    counts_of,
)
from keyhole.semibandit.setting import Policy, is_sufficient
from keyhole.validate import Range, check_integer


class MultiplePlayPolicy(Policy, abstract=True):
    r"""Base of the policies that leave m arms alone, and share the resource among the others.

    Each of the others gets :math:`Q / (K - m)`, at most 1. If the threshold :math:`\theta_c` is
    common to all arms and known, :math:`m = K - \min\{\lfloor Q/\theta_c \rfloor, K\}` (see
    `funded_arms`). A subclass writes `select`.
    """

    m: int = parameter(ge=0, doc="how many arms are given nothing")

    class State(AllocationState):
        """Of each arm what it takes, whether it is funded, and its losses."""

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the policy is told; refuse fewer arms than it leaves alone."""
        told = super().check_facts(values)
        check_integer("m", self.m, Range(ge=0, le=told["arms"]))
        return told

    def caution(self, told: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if what an arm is given is too little for some arm of the problem."""
        if problem is None or self.m == told["arms"]:
            return ""
        share, needed = shared(self, told["arms"], told["resource"]), problem.thresholds.max()
        if is_sufficient(share, needed):
            return ""
        return f"{self} gives {share:.4g} to each arm that it funds; up to {needed:.4g} is needed"

    def init(p, s: State) -> None:
        """Divide the resource."""
        for arm in range(p.arms):
            s.amounts[arm] = shared(p, p.arms, p.resource)

    def update(p, s: State, allocation: FloatArray, losses: FloatArray) -> None:
        """Count the losses."""
        count_losses(p, s, allocation, losses)
        count_violations(p, s, allocation, losses)

    def recommend(  # type: ignore[override]
        p, s: State, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report what the arms are given, no search, and what speaks against it."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm]
        searched[0], refuted[0] = 0, count_all_violations(s, p.arms)

    def describe(self, learner: Any) -> list[str]:
        """Return of each arm what it takes, and its losses."""
        return counts_of(learner.state)


def shared(p: MultiplePlayPolicy, arms: int, resource: float) -> float:
    """Return what each arm is given that is given anything."""
    return min(1.0, resource / max(1, arms - p.m))
