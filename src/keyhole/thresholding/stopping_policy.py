"""Base class of the policies of thresholding that say when they have enough.

Another policy, the base, chooses which option (arm) is tried. Each arm is settled as above or below
the threshold as soon as its rewards prove it; an arm that is settled is tried no more.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.stopping import settled_arms
from keyhole.draws.e_process import is_mean_above, is_mean_below
from keyhole.policy import (
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    WrapperPolicy,
    argmin,
    argmin_fill,
    argmin_keys,
    argmin_set,
    float_array,
    int_array,
    parameter,
)
from keyhole.thresholding.policies.lsa import LSA
from keyhole.thresholding.policy_base import Policy
from keyhole.thresholding.problem import Problem

# A gap this much below the tolerance is equal to it, as rounding makes it.
_SAME = 1e-12


class _Evidence(Protocol):
    settled: IntArray
    stopped: IntArray
    evidence_pulls: FloatArray
    evidence_totals: FloatArray
    open_pulls: FloatArray


class StoppingPolicy(WrapperPolicy, Policy, abstract=True):
    """Base class: settles arms by e-processes; a subclass says at which level.

    A subclass defines ``level(p)``, the logarithm of the evidence that settles an arm.
    """

    helpers: ClassVar[tuple[str, ...]] = ("level",)
    helper_arguments = MappingProxyType({"level": ("p",)})
    pending: ClassVar[tuple[str, ...]] = ("impute", "ignore")
    off_policy = True
    verdicts = ("above", "below")
    cost_per_round = "one step of the base, O(log K), and some logarithms near a verdict"

    base: Policy = parameter(default=LSA(), doc="who decides which arm is tried")
    delta: float = parameter(default=0.05, gt=0, lt=1, doc="the error that the guarantee allows")
    tolerance: float = parameter(
        default=0.05, ge=0, lt=0.5, doc="distance of a mean from the threshold that may be wrong"
    )

    class State:
        """The verdicts, and the rewards on which they rest."""

        settled = int_array("arms")
        stopped = int_array()
        evidence_pulls = float_array("arms")
        evidence_totals = float_array("arms")
        open_pulls = argmin_keys("arms")
        """The pulls of each open arm; infinite once it is settled."""

    def init(p, s: _Evidence, rng: Stream, base_init: Kernel) -> None:
        """Leave all arms open, and prepare the base."""
        argmin_fill(s.open_pulls, p.arms, 0.0)
        base_init(p, s, 0, rng)

    def select(p, s: _Evidence, t: int, rng: Stream, base_select: Kernel) -> int:
        """Ask the base; in place of a settled arm take the open one with the fewest pulls."""
        arm = int(base_select(p, s, t, rng))
        # An arm that does not exist is the base's refusal, which the guard reports.
        if 0 <= arm < p.arms and s.settled[arm] != 0:
            other = argmin(s.open_pulls, p.arms)
            arm = other if s.settled[other] == 0 else arm
        return arm

    def update(
        p, s: _Evidence, t: int, rng: Stream, arm: int, reward: float, level: Kernel,
        base_update: Kernel,
    ) -> None:  # fmt: skip
        """Have the base learn the reward, and settle the arm if it has proved its side."""
        base_update(p, s, t, rng, arm, reward)
        if s.settled[arm] != 0:  # a verdict is final, whatever is learnt later
            return
        pulls, total = s.evidence_pulls[arm] + 1.0, s.evidence_totals[arm] + reward
        s.evidence_pulls[arm], s.evidence_totals[arm] = pulls, total
        needed = level(p)
        if is_mean_above(total, pulls, p.threshold - p.tolerance, needed):
            s.settled[arm] = 1
        elif is_mean_below(total, pulls, p.threshold + p.tolerance, needed):
            s.settled[arm] = 2
        argmin_set(s.open_pulls, p.arms, arm, pulls if s.settled[arm] == 0 else math.inf)
        if s.settled[arm] != 0 and s.settled[argmin(s.open_pulls, p.arms)] != 0:
            s.stopped[0] = t

    def impute(p, s: _Evidence, t: int, rng: Stream, arm: int, base_update: Kernel) -> None:  # type: ignore[override]
        """Have the base learn the arm's mean, or 1/2 without pulls; nothing is settled by it."""
        pulls = s.evidence_pulls[arm]
        mean = s.evidence_totals[arm] / pulls if pulls > 0.0 else 0.5
        base_update(p, s, t, rng, arm, mean)
        if s.settled[arm] == 0:
            s.evidence_pulls[arm] = pulls + 1.0
            s.evidence_totals[arm] += mean
            argmin_set(s.open_pulls, p.arms, arm, pulls + 1.0)

    def recommend(p, s: _Evidence, labels: FloatArray) -> None:  # type: ignore[override]
        """Label settled arms by their verdicts, and the others by their means."""
        for arm in range(p.arms):
            pulls = s.evidence_pulls[arm]
            slack = (pulls + 2.0) * 2.0**-53  # see `keyhole.thresholding.Policy.recommend`
            above = pulls == 0.0 or s.evidence_totals[arm] / pulls >= p.threshold - slack
            labels[arm] = above if s.settled[arm] == 0 else s.settled[arm] == 1

    def __post_init__(self) -> None:
        """Check the parameters; refuse a base that learns from its own decisions alone."""
        super().__post_init__()
        if not self.base.off_policy:
            raise ValueError(
                "base must be a policy that can learn from decisions of others (off_policy), "
                f"got {self.base!r}"
            )

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known quantities; refuse a tolerance that reaches 0 or 1."""
        facts = super().check_facts(values)
        threshold = facts["threshold"]
        if self.tolerance >= min(threshold, 1.0 - threshold):
            raise ValueError(
                f"tolerance must be below the distance of the threshold, {threshold:g}, from 0 and "
                f"1; got {self.tolerance:g}"
            )
        return facts

    def wrong_verdicts(self, problem: Problem) -> NDArray[np.bool_]:
        """Return which verdicts are wrong by the tolerance or more."""
        far = (problem.gaps >= self.tolerance - _SAME) & ~problem.free
        return np.stack([far & ~problem.labels, far & problem.labels], axis=1)

    def describe(self, learner: Any) -> list[str]:
        """Return the label, the pulls and the mean of each arm, and whether it is settled."""
        settled = settled_arms(self, learner.state)
        lines = super().describe(learner)
        return [
            line.replace(": ", ": settled ", 1) if arm in settled else line
            for arm, line in enumerate(lines)
        ]
