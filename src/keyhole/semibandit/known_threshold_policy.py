"""Base class of policies that know how much of a resource each arm needs (its threshold).

An arm is a place where losses occur unless it gets that amount. The resource does not suffice for
all: what is learnt is how often each arm has a loss, and so which arms should get it.
"""

from types import MappingProxyType
from typing import Any, ClassVar

from keyhole.policy import FloatArray, Kernel, Stream, parameter
from keyhole.semibandit.allocation_kernels import (
    KnapsackState,
    allocate_best,
    count_losses,
    format_counts,
    write_allocation,
)
from keyhole.semibandit.policy_base import Policy


class KnownThresholdPolicy(Policy, abstract=True):
    r"""Base class of policies that fund the best arms whose known thresholds fit (a knapsack).

    .. math:: \arg\max_{A : \sum_{i \in A} \theta_i \le Q} \; \sum_{i \in A} \tilde\mu_i

    A subclass defines the kernel ``fill(p, s, t, rng)``, which writes all :math:`\tilde\mu_i` into
    ``s.values``.
    """

    needs = ("thresholds",)
    oracle = True
    # Feedback is not imputed: `select` itself counts the rounds since the knapsack was solved.
    pending = ("ignore",)

    solve_every: int = parameter(
        default=1, ge=1, le=2**40, doc="rounds from one knapsack to the next"
    )

    helpers: ClassVar[tuple[str, ...]] = ("fill",)
    helper_arguments = MappingProxyType({"fill": ("p", "s", "t", "rng")})

    class State(KnapsackState):
        """State of `KnapsackState`, without additions."""

    def init(p, s: State) -> None:
        """Set the arms' amounts to the thresholds."""
        for arm in range(p.arms):
            s.amounts[arm] = p.thresholds[arm]

    def select(p, s: State, t: int, rng: Stream, allocation: FloatArray, fill: Kernel) -> None:
        """Fund the best knapsack."""
        allocate_best(p, s, t, rng, fill)
        write_allocation(p, s, allocation)

    def update(p, s: State, allocation: FloatArray, losses: FloatArray) -> None:
        """Count the losses."""
        count_losses(p, s, allocation, losses)

    def describe(self, learner: Any) -> list[str]:
        """Return a line for each arm with its amount and its losses."""
        return format_counts(learner.state)
