"""Base class of policies that say when another policy, their base, has tried the arms enough.

The base chooses which option (arm) is tried. Arms are settled one by one, by their rewards; one
that is settled is tried no more.
"""

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import (
    FloatArray,
    IntArray,
    argmin_tree_array,
    float_array,
    int_array,
)
from keyhole.contract.wrapper_policy import WrapperPolicy
from keyhole.draws.argmin_tree import argmin, argmin_fill, argmin_update
from keyhole.draws.streams import Stream
from keyhole.kernels.fingerprint import Kernel

SAME_MEAN = 1e-12
"""Numbers this close are equal in comparisons of means, as rounding makes them."""


class Evidence(Protocol):
    """The state of a policy that settles arms: verdicts, and the rewards on which they rest."""

    settled: IntArray
    stopped: IntArray
    evidence_pulls: FloatArray
    evidence_totals: FloatArray
    open_pulls: FloatArray


class StoppingWrapper(WrapperPolicy, abstract=True):
    """Base class: a subclass decides in `update` when an arm is settled, and with which verdict.

    For settings without a context, whose decision is an arm and whose feedback its reward.
    """

    if TYPE_CHECKING:  # subclasses declare the parameter, with the kind of policy that they take
        base: Policy

    pending: ClassVar[tuple[str, ...]] = ("impute", "ignore")
    off_policy = True

    class State:
        """The verdicts, and the rewards on which they rest."""

        settled = int_array("arms")
        stopped = int_array()
        evidence_pulls = float_array("arms")
        evidence_totals = float_array("arms")
        open_pulls = argmin_tree_array("arms")
        """The pulls of each open arm; infinite once it is settled."""

    def init(p: Any, s: Evidence, rng: Stream, base_init: Kernel) -> None:
        """Leave all arms open, and prepare the base."""
        argmin_fill(s.open_pulls, p.arms, 0.0)
        base_init(p, s, 0, rng)

    def select(p: Any, s: Evidence, t: int, rng: Stream, base_select: Kernel) -> int:
        """Ask the base; in place of a settled arm take the open one with the fewest pulls."""
        arm = int(base_select(p, s, t, rng))
        # An arm that does not exist is the base's refusal, which the guard reports.
        if 0 <= arm < p.arms and s.settled[arm] != 0:
            other = argmin(s.open_pulls, p.arms)
            arm = other if s.settled[other] == 0 else arm
        return arm

    def impute(p: Any, s: Evidence, t: int, rng: Stream, arm: int, base_update: Kernel) -> None:
        """Have the base learn the arm's mean, or 1/2 without pulls; nothing is settled by it."""
        pulls = s.evidence_pulls[arm]
        mean = s.evidence_totals[arm] / pulls if pulls > 0.0 else 0.5
        base_update(p, s, t, rng, arm, mean)
        count_pull(s, arm, mean, p.arms)

    def __post_init__(self) -> None:
        """Check the parameters; refuse a base that learns from its own decisions alone."""
        super().__post_init__()
        # The base learns from the open arm that is tried in place of its own choice.
        if not self.base.off_policy:
            raise ValueError(
                "base must be a policy that can learn from decisions of others (off_policy), "
                f"got {self.base!r}"
            )


def count_pull(s: Evidence, arm: int, reward: float, arms: int) -> None:
    """Add a reward to the evidence."""
    s.evidence_pulls[arm] += 1.0
    s.evidence_totals[arm] += reward
    if s.settled[arm] == 0:
        argmin_update(s.open_pulls, arms, arm, s.evidence_pulls[arm])


def settle(s: Evidence, arm: int, verdict: int, arms: int) -> None:
    """Give an arm its final verdict: 1 + its position in `verdicts`."""
    s.settled[arm] = verdict
    argmin_update(s.open_pulls, arms, arm, math.inf)
