"""Base class of the policies that settle arms one by one, each as soon as its bounds allow."""

import math
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.policy import Guarantee
from keyhole.policy import FloatArray, Kernel, float_array, int_array, parameter
from keyhole.thresholding.policy_base import Policy, is_mean_above
from keyhole.thresholding.problem import Problem


class GoodArmPolicy(Policy, abstract=True):
    """Base class of policies that settle arms by Hoeffding's bounds.

    An arm is *open* until it is settled. A subclass defines the kernel ``bonus(p, t, pulls)``. The
    index of an arm is its empirical mean plus this bonus, and the open arm with the largest index
    is pulled.
    """

    helpers: ClassVar[tuple[str, ...]] = ("bonus",)
    helper_arguments = MappingProxyType({"bonus": ("p", "t", "pulls")})
    verdicts = ("above", "below")
    pending: ClassVar[tuple[str, ...]] = ("ignore",)
    off_policy = True
    cost_per_round = "K logarithms and roots"

    delta: float = parameter(default=0.05, gt=0, lt=1, doc="bound on the chance of any error")

    class State:
        """Pulls and summed rewards, and the verdicts on arms: see `keyhole.policy.Policy`."""

        pulls = float_array("arms")
        totals = float_array("arms")
        settled = int_array("arms")  # 0 if open, else 1 + the verdict's position in `verdicts`
        stopped = int_array()  # the round in which the last arm was settled, or 0

    def select(p, s: State, t: int, bonus: Kernel) -> int:
        """Return the first open arm without pulls, else the open arm with the largest index.

        If no arm is open, arm 0 is returned.
        """
        choice = -1
        highest = -math.inf
        for arm in range(p.arms):
            if s.settled[arm] != 0:
                continue
            if s.pulls[arm] == 0.0:
                return arm
            index = s.totals[arm] / s.pulls[arm] + bonus(p, t, s.pulls[arm])
            if index > highest:
                choice = arm
                highest = index
        return max(choice, 0)

    def update(p, s: State, t: int, arm: int, reward: float) -> None:
        """Count the reward, and settle the arm if a bound of its mean has passed the threshold."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        if s.settled[arm] != 0:
            return
        mean = s.totals[arm] / s.pulls[arm]
        width = confidence_width(s.pulls[arm], p.arms, p.delta)
        if mean - width >= p.threshold:
            s.settled[arm] = 1  # "above"
        elif mean + width < p.threshold:
            s.settled[arm] = 2  # "below"
        if s.settled[arm] != 0:
            is_done = True
            for other_arm in range(p.arms):
                is_done = is_done and s.settled[other_arm] != 0
            if is_done:
                s.stopped[0] = t

    def recommend(p, s: State, labels: FloatArray) -> None:  # type: ignore[override]
        """Label settled arms by their verdicts, and the others by their means."""
        for arm in range(p.arms):
            is_above = is_mean_above(s.pulls[arm], s.totals[arm], p.threshold)
            labels[arm] = is_above if s.settled[arm] == 0 else s.settled[arm] == 1

    def guarantee(self) -> Guarantee:
        """Return the bound on the chance of any wrong verdict."""
        text = f"chance of any wrong verdict: at most {self.delta:g}"
        return Guarantee("any_wrong_settled", self.delta, text)

    def wrong_verdicts(self, problem: Problem) -> NDArray[np.bool_]:
        """Return for each arm whether "above" and "below" would be wrong, shape (arms, 2)."""
        is_wrong = np.stack([~problem.labels, problem.labels], axis=1)
        # Either label of a free arm is right.
        return is_wrong & ~np.asarray(problem.free)[:, np.newaxis]


def confidence_width(pulls: float, arms: int, delta: float) -> float:
    r"""Return :math:`\sqrt{\ln(4 K n^2 / \delta) / (2 n)}`, for n pulls of one of K arms.

    With probability at least 1 - delta, all empirical means of all arms are always within this
    distance of the arms' means. The rewards must be independent and in [0, 1].
    """
    return math.sqrt(math.log(4.0 * arms * pulls * pulls / delta) / (2.0 * pulls))
