"""Policy FalseDiscoveryStopping: settles options so that few of the settled options are wrong."""

import math

from keyhole.contract.policy import Guarantee
from keyhole.contract.wrapper_policy import StoppingState, add_reward, settle_arm
from keyhole.policy import FloatArray, Kernel, Stream, float_array
from keyhole.thresholding.stopping_policy import (
    StoppingPolicy,
    evidence_above,
    evidence_below,
    stop_if_all_settled,
)


class FalseDiscoveryStopping(StoppingPolicy):
    r"""Settle the arms with the most evidence: on average, few of the settled arms are wrong.

    Use it to list the few arms among many that are above. `PerArmStopping` bounds only the errors
    among all arms, and these errors may be most of the arms that it calls above;
    `FamilywiseStopping` needs more pulls. After each reward an arm i is settled as *above* if

    .. math:: E_i \ge \frac{K}{k \, \delta}, \qquad k = \max \Big\{ n : \# \Big\{ j : E_j \ge
        \frac{K}{n \, \delta} \Big\} \ge n \Big\}

    with K the number of arms and E the evidence of `PerArmStopping` for *above*. An arm that is
    settled as above keeps its E; an arm that is settled as below is left out. Arms are settled as
    *below* by the same rule, with their evidence for *below*.

    Parameters
    ----------
    base, delta, tolerance
        As for `PerArmStopping`.

    Notes
    -----
    Source: Keyhole's own; the rule for k, e-BH, is known. Proved: whenever you stop, the share of
    wrong arms among those called above (0 if there are none) is on average at most delta. The same
    holds among the arms called below, and among all settled arms; see :doc:`/stopping`.
    Arms can be neither added nor retired.

    References
    ----------
    Wang and Ramdas (2022), "False discovery rate control with e-values", JRSS B 84; section 4. Xu,
    Wang and Ramdas (2021), "A unified framework for bandit multiple testing", NeurIPS. Jamieson and
    Jain (2018), "A bandit approach to sequential experimental design with false discovery control",
    NeurIPS.

    Examples
    --------
    >>> learner = FalseDiscoveryStopping().learner(arms=2, threshold=0.5)
    >>> while not learner.is_done:
    ...     learner.tell(learner.ask() == 1)
    >>> learner.settled, learner.rounds
    ({0: 'below', 1: 'above'}, 14)
    """

    cost_per_round = "one step of the base, some logarithms and O(K) near a verdict"

    class State(StoppingState):
        """The verdicts, the rewards on which they rest, and the evidence near a verdict."""

        log_above = float_array("arms")
        """The logarithm of the evidence for *above*; minus infinity if it is far below `level`."""
        log_below = float_array("arms")
        """The logarithm of the evidence for *below*; minus infinity if it is far below `level`."""

    def level(p) -> float:
        """Return ln(1 / delta), the logarithm of the least evidence that may settle an arm."""
        return -math.log(p.delta)

    def update(  # type: ignore[override]
        p, s: State, t: int, rng: Stream, arm: int, reward: float, level: Kernel,
        base_update: Kernel,
    ) -> None:  # fmt: skip
        """Have the base learn the reward, and settle all arms with enough evidence."""
        base_update(p, s, t, rng, arm, reward)
        if s.settled[arm] != 0:
            return
        add_reward(s, arm, reward, p.arms)
        floor = level(p)
        s.log_above[arm] = evidence_above(s, arm, p.threshold - p.tolerance, floor)
        s.log_below[arm] = evidence_below(s, arm, p.threshold + p.tolerance, floor)
        settle_arms_by_evidence(s, s.log_above, 1, floor, p.arms)  # 1 is "above"
        settle_arms_by_evidence(s, s.log_below, 2, floor, p.arms)  # 2 is "below"
        stop_if_all_settled(s, t, p.arms)

    def guarantee(self) -> Guarantee:
        """Return the bound on the expected share of wrong arms among those settled."""
        text = (
            f"expected share of the settled arms wrong by {self.tolerance:g} or more: "
            f"at most {self.delta:g}"
        )
        return Guarantee("wrong_of_settled", self.delta, text)


def settle_arms_by_evidence(
    s: StoppingState, evidence: FloatArray, verdict: int, floor: float, arms: int
) -> None:
    """Give the verdict to k arms, for the largest k for which k arms have enough evidence.

    The logarithm of the evidence must be at least `floor` + ln(K / k), K being the number of arms.
    Arms that already have the verdict count, too.
    """
    # A smaller k needs more evidence. So if `enough` arms have enough for k = `count`, and these
    # are fewer than `count`, there is no such k above `enough`.
    count = arms
    needed = floor
    while count > 0:
        needed = floor + math.log(arms / count)
        enough = 0
        for arm in range(arms):
            if s.settled[arm] in (0, verdict) and evidence[arm] >= needed:
                enough += 1
        if enough >= count:
            break
        count = enough
    for arm in range(arms):
        if count > 0 and s.settled[arm] == 0 and evidence[arm] >= needed:
            settle_arm(s, arm, verdict, arms)
