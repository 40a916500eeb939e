"""Index policies of the threshold bandit: pull the arm with the largest index."""

import math
from types import MappingProxyType
from typing import ClassVar

from keyhole.policy import Kernel, float_array
from keyhole.threshold.setting import Policy, ReachCounts, count


class IndexPolicy(Policy, abstract=True):
    """A policy that is its formula.

    A subclass writes one kernel, ``index(p, t, tried, reached)``: at the threshold of the round,
    the index of an arm of which `tried` samples (at least one) are known to have reached the
    threshold or not, and `reached` of them did; ``t`` is the round. The arm with the largest index,
    which must not be NaN, is pulled, the lowest of equals; an arm of which nothing is known at the
    threshold comes first.

    What is known is counted as in eq. (8) of Abernethy et al. (2016): a pull tells about all
    levels up to its threshold.

    Examples
    --------
    >>> import math
    >>> class Bold(IndexPolicy):
    ...     def index(p, t, tried, reached):
    ...         return reached / tried + math.sqrt(math.log(t) / (2 * tried))
    >>> learner = Bold().learner(arms=2, levels=3, feedback="censored")
    >>> learner.ask(threshold=3)
    0
    """

    pending = ("impute", "ignore")
    helpers: ClassVar[tuple[str, ...]] = ("index",)
    helper_arguments = MappingProxyType({"index": ("p", "t", "tried", "reached")})
    off_policy: ClassVar[bool] = True

    class State:
        """Per level and arm: pulls that tell whether it was reached, and how many did."""

        reached = float_array("arms", "levels")
        tried = float_array("arms", "levels")

    def select(p, s: State, t: int, threshold: int, index: Kernel) -> int:
        """Return the arm with the largest index at the threshold."""
        return largest(p, s, t, threshold, index)

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count what the pull tells."""
        count(s, arm, threshold, value)


def largest(p: Policy, s: ReachCounts, t: int, threshold: int, index: Kernel) -> int:
    """Return the arm with the largest index, or the first of which nothing is known."""
    best, highest = 0, -math.inf
    for arm in range(p.arms):
        tried = s.tried[arm, threshold - 1]
        if tried == 0.0:
            return arm
        value = index(p, t, tried, s.reached[arm, threshold - 1])
        if value > highest:
            best, highest = arm, value
    return best
