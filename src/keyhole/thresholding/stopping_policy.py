"""Base class of the policies of thresholding that can stop: they settle each arm's label."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.policy import settled_arms
from keyhole.contract.wrapper_policy import (
    MEAN_TOLERANCE,
    StoppingState,
    StoppingWrapper,
    add_reward,
    settle_arm,
)
from keyhole.draws.e_process import log_evidence_above, log_evidence_below
from keyhole.policy import FloatArray, Kernel, Stream, argmin_tree_find, parameter
from keyhole.thresholding.policies.lsa import LSA
from keyhole.thresholding.policy_base import Policy, is_mean_above
from keyhole.thresholding.problem import Problem


class StoppingPolicy(StoppingWrapper, Policy, abstract=True):  # type: ignore[misc]
    """Base class of the policies that settle arms by e-processes.

    A subclass defines the kernel ``level(p)``, which returns the logarithm of the evidence that
    settles an arm.
    """

    helpers: ClassVar[tuple[str, ...]] = ("level",)
    helper_arguments = MappingProxyType({"level": ("p",)})
    verdicts = ("above", "below")
    cost_per_round = "one step of the base, O(log K), and some logarithms near a verdict"

    base: Policy = parameter(default=LSA(), doc="the policy that chooses the arm")
    delta: float = parameter(default=0.05, gt=0, lt=1, doc="the error that the guarantee allows")
    tolerance: float = parameter(
        default=0.05, ge=0, lt=0.5, doc="closer than this to the threshold, either verdict is right"
    )

    def update(
        p, s: StoppingState, t: int, rng: Stream, arm: int, reward: float, level: Kernel,
        base_update: Kernel,
    ) -> None:  # fmt: skip
        """Have the base learn the reward, and settle the arm if there is enough evidence."""
        base_update(p, s, t, rng, arm, reward)
        if s.settled[arm] != 0:  # a verdict is final
            return
        add_reward(s, arm, reward, p.arms)
        needed_evidence = level(p)
        if evidence_above(s, arm, p.threshold - p.tolerance, needed_evidence) >= needed_evidence:
            settle_arm(s, arm, 1, p.arms)  # 1 is "above"
        elif evidence_below(s, arm, p.threshold + p.tolerance, needed_evidence) >= needed_evidence:
            settle_arm(s, arm, 2, p.arms)  # 2 is "below"
        stop_if_all_settled(s, t, p.arms)

    def recommend(p, s: StoppingState, labels: FloatArray) -> None:  # type: ignore[override]
        """Label settled arms by their verdicts, and the others by their means."""
        for arm in range(p.arms):
            is_above = is_mean_above(s.evidence_pulls[arm], s.evidence_totals[arm], p.threshold)
            labels[arm] = is_above if s.settled[arm] == 0 else s.settled[arm] == 1

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known quantities; refuse a tolerance that is too large for the threshold."""
        facts = super().check_facts(values)
        threshold = facts["threshold"]
        # The conditions round as `update` does. A comparison of the tolerance with 1 - threshold
        # would round differently: 1 - 0.95 is above 0.05, and yet 0.95 + 0.05 is 1.
        if threshold - self.tolerance <= 0.0 or threshold + self.tolerance >= 1.0:
            raise ValueError(
                f"tolerance must be below the distance of the threshold, {threshold:g}, from 0 and "
                f"1; got {self.tolerance:g}"
            )
        return facts

    def wrong_verdicts(self, problem: Problem) -> NDArray[np.bool_]:
        """Return for each arm whether "above" and "below" would be wrong, shape (arms, 2)."""
        # Closer to the threshold than the tolerance, and for a free arm, either verdict is right.
        is_judged = (problem.gaps >= self.tolerance - MEAN_TOLERANCE) & ~problem.free
        return np.stack([is_judged & ~problem.labels, is_judged & problem.labels], axis=1)

    def describe(self, learner: Any) -> list[str]:
        """Return the label, the pulls and the mean of each arm, and whether it is settled."""
        settled = settled_arms(self, learner.state)
        return [
            line.replace(": ", ": settled ", 1) if arm in settled else line
            for arm, line in enumerate(super().describe(learner))
        ]


def evidence_above(s: StoppingState, arm: int, null: float, floor: float) -> float:
    """Return the logarithm of the evidence that an arm's mean is above `null`.

    Evidence far below `floor` may be returned as minus infinity.
    """
    pulls = s.evidence_pulls[arm]
    total = s.evidence_totals[arm]
    return log_evidence_above(s.evidence_histogram, arm, pulls, total, null, floor)


def evidence_below(s: StoppingState, arm: int, null: float, floor: float) -> float:
    """Return the logarithm of the evidence that an arm's mean is below `null`.

    Evidence far below `floor` may be returned as minus infinity.
    """
    pulls = s.evidence_pulls[arm]
    total = s.evidence_totals[arm]
    return log_evidence_below(s.evidence_histogram, arm, pulls, total, null, floor)


def stop_if_all_settled(s: StoppingState, t: int, arms: int) -> None:
    """Write the round into `s.stopped` if all arms are settled."""
    # In the tree of open pulls, settled arms come last. So if the first arm is settled, all are.
    if s.settled[argmin_tree_find(s.open_pulls, arms)] != 0:
        s.stopped[0] = t
