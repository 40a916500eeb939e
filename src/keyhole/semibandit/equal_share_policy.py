"""Base class of policies that give some arms equal shares of a resource, and the others nothing.

An arm is a place where losses occur unless it gets the amount that all arms need, which is known.
What is learnt is where most losses would occur.
"""

from collections.abc import Mapping
from typing import Any

from keyhole.policy import FloatArray, IntArray, parameter
from keyhole.semibandit.allocation_kernels import (
    AllocationState,
    count_all_violations,
    count_losses,
    count_violations,
    format_counts,
)
from keyhole.semibandit.policy_base import Policy
from keyhole.semibandit.setting import is_sufficient
from keyhole.validate import Range, check_integer


class EqualSharePolicy(Policy, abstract=True):
    r"""Base class of policies that give m arms nothing, and share the resource among the others.

    Each of the others gets :math:`Q / (K - m)`, at most 1. If the threshold :math:`\theta_c` is
    common to all arms and known, :math:`m = K - \min\{\lfloor Q/\theta_c \rfloor, K\}` (see
    `count_funded_arms`). A subclass defines `select`.
    """

    m: int = parameter(ge=0, doc="how many arms are given nothing")

    class State(AllocationState):
        """State of `AllocationState`, without additions."""

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked facts; refuse fewer arms than m."""
        facts = super().check_facts(values)
        check_integer("m", self.m, Range(ge=0, le=facts["arms"]))
        return facts

    def caution(self, facts: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if an equal share is below the threshold of an arm of the problem."""
        if problem is None or self.m == facts["arms"]:
            return ""
        share, needed = (
            equal_share(self, facts["arms"], facts["resource"]),
            problem.thresholds.max(),
        )
        if is_sufficient(share, needed):
            return ""
        return f"{self} gives {share:.4g} to each arm that it funds; up to {needed:.4g} is needed"

    def init(p, s: State) -> None:
        """Set the arms' amounts to equal shares of the resource."""
        for arm in range(p.arms):
            s.amounts[arm] = equal_share(p, p.arms, p.resource)

    def update(p, s: State, allocation: FloatArray, losses: FloatArray) -> None:
        """Count the losses."""
        count_losses(p, s, allocation, losses)
        count_violations(p, s, allocation, losses)

    def recommend(  # type: ignore[override]
        p, s: State, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report the arms' amounts, a search of 0 rounds, and the losses that contradict them."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm]
        searched[0], refuted[0] = 0, count_all_violations(s, p.arms)

    def describe(self, learner: Any) -> list[str]:
        """Return a line for each arm with its amount and its losses."""
        return format_counts(learner.state)


def equal_share(p: EqualSharePolicy, arms: int, resource: float) -> float:
    """Return the amount of each funded arm."""
    return min(1.0, resource / max(1, arms - p.m))
