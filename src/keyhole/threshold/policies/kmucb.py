"""Policy KMUCB: settles the best arm for each possible threshold, the lowest threshold first."""

import math
from collections.abc import Mapping
from typing import Any

from keyhole.policy import FloatArray, IntArray, int_array
from keyhole.threshold.policy_base import (
    Policy,
    ReachCounts,
    add_observation,
    find_best_arm,
    reach_estimate,
    write_estimates,
)


class KMUCB(Policy):
    r"""Pull all arms equally often, and fix the best arm of one level after another, lowest first.

    It is for censored feedback with m levels where every block of m rounds has each threshold once.
    Its bound is of use only for long runs: with gaps of 0.1 to 0.3 a level takes hundreds of
    epochs of K m rounds. In practice `SurvivalThompson` has far less regret.

    Epoch k has K m rounds, in which each threshold comes K times. At a threshold c below the
    current level j, pull the arm on which level c was settled; at other thresholds, pull arms 1 to
    K in turn. At the end of the epoch let :math:`i^* = \arg\max_i \hat F_i(j)`. If for each other
    arm i

    .. math:: \hat F_{i^*}(j) - \hat F_i(j) \ge \sqrt{\frac{16 \ln(T k)}{(m - j + 1) k}}

    then level j is settled on :math:`i^*`, and the current level is j + 1. :math:`\hat F_i(j)` is
    the share of the pulls of arm i at thresholds of at least j whose samples reached j.

    Notes
    -----
    Departures from the paper: none. The paper is read as follows: the estimates include all rounds
    of the epoch (the printed sum leaves out a round); at most one level is settled in an epoch;
    after the last whole epoch the same rule goes on. Ties, open in the paper, go to the lowest arm.
    If two arms are the best at a level, neither this level nor a higher one is ever settled.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 5.2, Algorithm 1, with eq. (8).

    Examples
    --------
    >>> learner = KMUCB().learner(arms=2, levels=2, feedback="censored", horizon=100)
    >>> asked = []
    >>> for threshold in (2, 1, 1, 2):
    ...     asked.append(learner.ask(threshold=threshold))
    ...     learner.tell(0)
    >>> asked  # both arms once at each threshold
    [0, 0, 1, 1]
    """

    cost_per_round = "O(1), and O(m) to count a sample"
    needs = ("horizon",)
    pending = ("wait",)  # the next arm depends on all feedback so far
    requires = "each threshold once in every block of as many rounds as there are levels"

    class State(ReachCounts):
        """Counts at each level, the position in block and epoch, and the settled levels."""

        level = int_array()
        """The number of settled levels. The current level j is this number plus 1."""
        kept = int_array("levels")
        """For each settled level the arm on which it was settled, which is kept from then on."""
        epoch = int_array()
        """The number of complete epochs."""
        round = int_array()
        """Rounds of the epoch so far."""
        seen = int_array("levels")
        """Rounds of the epoch with each threshold."""

    def select(p, s: State, threshold: int) -> int:
        """Return the next arm, or -1, for none, if this block already had the threshold."""
        # In each complete block the threshold came once. If it came more often than there are
        # complete blocks, it already came in this block. The caller then gets an error that quotes
        # `requires`.
        if s.seen[threshold - 1] > s.round[0] // p.levels:
            return -1
        if threshold <= s.level[0]:
            return int(s.kept[threshold - 1])
        # In an epoch a threshold comes K times. At the n-th time the n-th arm is pulled.
        return int(s.seen[threshold - 1])

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count the pull; at the end of an epoch, settle the current level if possible."""
        add_observation(s, arm, threshold, value)
        s.seen[threshold - 1] += 1
        s.round[0] += 1
        if s.round[0] == p.arms * p.levels:
            s.round[0] = 0
            s.epoch[0] += 1
            s.seen[:] = 0
            if s.level[0] < p.levels:
                settle_level(p, s)

    def recommend(  # type: ignore[override]
        p, s: State, best: IntArray, settled: IntArray, survival: FloatArray, support: FloatArray
    ) -> None:
        """Recommend the settled arms, and at other levels the arms with the best estimates."""
        for level in range(1, p.levels + 1):
            is_settled = level <= s.level[0]
            settled[level - 1] = is_settled
            best_arm = write_estimates(s, level, survival, support)
            best[level - 1] = s.kept[level - 1] if is_settled else best_arm

    def caution(self, facts: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if some level has several best arms."""
        ties = [] if problem is None else problem.ties
        if len(ties) == 0:
            return ""
        return (
            f"{self} never gets beyond level {ties[0]}, at which several arms are the best; "
            "it needs a unique best arm at every level"
        )


def settle_level(p: KMUCB, s: KMUCB.State) -> None:
    """Settle the current level if all other estimates are at least a width below the best one."""
    level = s.level[0] + 1
    k = s.epoch[0]
    best = find_best_arm(s, level)
    # The width is that of the formula in `KMUCB`: after k epochs each arm has (m - j + 1) k pulls
    # at thresholds of at least j.
    width = math.sqrt(16.0 * math.log(p.horizon * k) / ((p.levels - level + 1) * k))
    largest_allowed = reach_estimate(s, level, best) - width
    for arm in range(p.arms):
        if arm != best and reach_estimate(s, level, arm) > largest_allowed:
            return
    s.kept[level - 1] = best
    s.level[0] = level
