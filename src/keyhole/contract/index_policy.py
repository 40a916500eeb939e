"""Base class of policies that give each option (arm) a number, the index, and choose the largest.

A kernel (compiled function) of the subclass computes the index from the arm's own rewards.
"""

import math
from types import MappingProxyType
from typing import ClassVar

from keyhole.contract.policy import Policy, known_fact
from keyhole.contract.state_arrays import argmin_tree_array, float_array
from keyhole.draws.argmin_tree import argmin, argmin_fill, argmin_update
from keyhole.kernels.fingerprint import Kernel


class IndexPolicy(Policy, abstract=True):
    """A policy that pulls the arm with the largest index, given by a formula.

    A subclass writes one kernel, ``index(p, pulls, total)``: the index of an arm that has been
    pulled `pulls` times (at least once) with rewards that sum to `total`. Every arm is pulled
    once, in order; then always the arm with the largest index, the lowest of equals. Where the
    smallest should win, return its negative.

    The index may depend on nothing but the arm's own pulls, so that one index changes a round
    and a round costs at most log K.
    """

    helpers: ClassVar[tuple[str, ...]] = ("index",)
    helper_arguments = MappingProxyType({"index": ("p", "pulls", "total")})
    off_policy: ClassVar[bool] = True
    arms: ClassVar[int] = known_fact()

    class State:
        """Pulls and summed rewards of each arm, and the negative of its index."""

        pulls = float_array("arms")
        totals = float_array("arms")
        # Negative, since the tree finds the smallest key.
        index = argmin_tree_array("arms")

    def init(p, s: State) -> None:
        """Give every arm an infinite index, so that arms without pulls come first."""
        argmin_fill(s.index, p.arms, -math.inf)

    def select(p, s: State) -> int:
        """Return the arm with the largest index."""
        return argmin(s.index, p.arms)

    def update(p, s: State, arm: int, reward: float, index: Kernel) -> None:
        """Count the pull and renew the arm's index."""
        pulls = s.pulls[arm] + 1.0
        total = s.totals[arm] + reward
        s.pulls[arm] = pulls
        s.totals[arm] = total
        argmin_update(s.index, p.arms, arm, -index(p, pulls, total))
