"""Base class of policies that compute a score (index) of each arm and pull the largest one.

Each round shows a bar (the threshold); an arm is one of the options, and its random sample should
reach the bar. The score is an optimistic estimate of the chance that it does.
"""

import math
from types import MappingProxyType
from typing import ClassVar

from keyhole.policy import Kernel, float_array
from keyhole.threshold.policy_base import Policy
from keyhole.threshold.reach_counts import ReachCounts, add_observation


class IndexPolicy(Policy, abstract=True):
    """Base class of policies that score every arm, and pull the one with the largest score (index).

    A subclass writes one kernel, ``index(p, t, tried, reached)``: the index of an arm at the
    threshold of the round ``t``. `tried` is the number of samples (at least one) for which it is
    known whether they reached the threshold, `reached` of them did. The arm with the largest index,
    which must not be NaN, is pulled, the lowest of equals; an arm without such samples comes first.

    Samples are counted as in eq. (8) of Abernethy et al. (2016): a pull counts at all levels up to
    its threshold.

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
        """Of each arm and level: pulls at thresholds of at least it, and those that reached it."""

        reached = float_array("arms", "levels")
        tried = float_array("arms", "levels")

    def select(p, s: State, t: int, threshold: int, index: Kernel) -> int:
        """Return the arm with the largest index at the threshold."""
        return find_largest_index(p, s, t, threshold, index)

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count the pull at the levels up to its threshold."""
        add_observation(s, arm, threshold, value)


def find_largest_index(p: Policy, s: ReachCounts, t: int, threshold: int, index: Kernel) -> int:
    """Return the first arm without samples at the threshold, else that with the largest index."""
    best, highest = 0, -math.inf
    for arm in range(p.arms):
        tried = s.tried[arm, threshold - 1]
        if tried == 0.0:
            return arm
        value = index(p, t, tried, s.reached[arm, threshold - 1])
        if value > highest:
            best, highest = arm, value
    return best
