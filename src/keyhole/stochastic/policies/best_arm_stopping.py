"""Policy BestArmStopping: says when the best option is found, with a given confidence."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.confidence_sequences import log_beta
from keyhole.contract.policy import Guarantee, settled_arms
from keyhole.contract.wrapper_policy import MEAN_TOLERANCE, StoppingWrapper, add_reward, settle_arm
from keyhole.draws.e_process import log_evidence_against, log_largest_wealth
from keyhole.policy import (
    IntArray,
    Kernel,
    Stream,
    argmin_tree_fill,
    argmin_tree_find,
    int_array,
    parameter,
)
from keyhole.stochastic.policies.top_two_thompson import TopTwoThompson, total_entropy
from keyhole.stochastic.policy_base import Policy
from keyhole.stochastic.problem import Problem

# The most steps of the search in `is_mean_higher_by_bets`. It rarely takes more than five, but
# would not end if evidence and level were equal up to rounding.
_SEARCH_STEPS: Final = 60


class BestArmStopping(StoppingWrapper, Policy):  # type: ignore[misc]
    r"""Give up arms that are proved not to be the best; the last remaining arm is the best.

    Use it for tests with a fixed confidence and no fixed number of pulls. With `TopTwoThompson` as
    its base, it takes a fifth to a third of the pulls of KL-LUCB. Arm j is settled as *not best* as
    soon as some arm i has a higher empirical mean and

    .. math:: \min_\mu W_i(\mu) \, W_j(\mu) \ge \frac{K - 1}{\delta}, \quad
        W_i(\mu) = \int_0^1 \prod_t \Big(
        \frac{q}{\mu} \, x_t + \frac{1 - q}{1 - \mu} \, (1 - x_t)\Big) \, \mathrm{d}q

    Here x are an arm's rewards, each kept as weights on 0, 1/20, ..., 1; W is the mean wealth of
    bets against :math:`\mu`; and K is the number of arms. The last arm left is *best*. If the base
    chooses a settled arm, the unsettled arm with the fewest pulls is pulled in its place.

    Parameters
    ----------
    base : policy of `keyhole.stochastic`, default TopTwoThompson()
        The policy that chooses. It must be able to learn from decisions of others (`off_policy`).
    delta : float, default 0.05
        A bound on the chance that the arm named best is not the best, in (0, 1).

    Notes
    -----
    Source: Keyhole's own; the parts are known. Proved: the chance that a wrong arm is ever named
    best is at most delta. The policy breaks if there are two best arms (it may then never stop),
    and with a base that maximises rewards; see :doc:`/stochastic`, also for the proof.

    References
    ----------
    Ville (1939), "Etude critique de la notion de collectif". Waudby-Smith and Ramdas (2024),
    "Estimating means of bounded random variables by betting", JRSS B 86. Kaufmann and
    Kalyanakrishnan (2013), "Information Complexity in Bandit Subset Selection", COLT: KL-LUCB.

    Examples
    --------
    >>> learner = BestArmStopping().learner(arms=2, seed=1)
    >>> while not learner.is_done:
    ...     learner.tell(learner.ask() == 1)
    >>> learner.settled, learner.rounds
    ({0: 'not best', 1: 'best'}, 10)
    """

    verdicts = ("best", "not best")
    cost_per_round = "one step of the base, O(K), and some logarithms near a verdict"

    base: Policy = parameter(default=TopTwoThompson(), doc="the policy that chooses the arm")
    delta: float = parameter(default=0.05, gt=0, lt=1, doc="the error that the guarantee allows")

    class State(StoppingWrapper.State):
        """The verdicts, the rewards on which they rest, and how many arms are left."""

        left = int_array()
        """The number of arms that are not given up, or 0 once the best arm is named."""

    def init(p, s: State, rng: Stream, base_init: Kernel) -> None:  # type: ignore[override]
        """Leave all arms open, and prepare the base."""
        s.left[0] = p.arms
        argmin_tree_fill(s.open_pulls, p.arms, 0.0)
        base_init(p, s, 0, rng)

    def update(
        p, s: State, t: int, rng: Stream, arm: int, reward: float, base_update: Kernel
    ) -> None:
        """Have the base learn the reward, and give up arms that are proved not to be the best."""
        base_update(p, s, t, rng, arm, reward)
        add_reward(s, arm, reward, p.arms)
        level = math.log(max(p.arms - 1, 1) / p.delta)
        # Only pairs with this arm are compared, since no other pair has new evidence.
        for rival in range(p.arms):
            if rival != arm and s.evidence_pulls[rival] > 0.0 and s.left[0] > 1:
                settle_rival(s, arm, rival, level, p.arms)
                settle_rival(s, rival, arm, level, p.arms)
        if s.left[0] == 1:
            # The last arm is never given up, and is the best.
            settle_arm(s, argmin_tree_find(s.open_pulls, p.arms), 1, p.arms)  # 1 is "best"
            s.left[0] = 0
            s.stopped[0] = t

    def recommend(p, s: State, best: IntArray) -> None:  # type: ignore[override]
        """Recommend the arm that is settled as best, or the open arm with the highest mean."""
        highest = -1.0
        # This open arm is recommended if no open arm has pulls.
        best[0] = argmin_tree_find(s.open_pulls, p.arms)
        for arm in range(p.arms):
            if s.settled[arm] == 1:
                best[0] = arm
            elif s.left[0] > 0 and s.settled[arm] == 0 and s.evidence_pulls[arm] > 0.0:
                mean = s.evidence_totals[arm] / s.evidence_pulls[arm]
                if mean > highest:
                    highest, best[0] = mean, arm

    @property
    def beta_prior(self) -> tuple[float, float] | None:
        """The prior of the base."""
        return self.base.beta_prior

    def guarantee(self) -> Guarantee:
        """Return the bound on the chance that the wrong arm is named best, or the best given up."""
        text = f"chance that the arm named best is not the best: at most {self.delta:g}"
        return Guarantee("any_wrong_settled", self.delta, text)

    def wrong_verdicts(self, problem: Problem) -> NDArray[np.bool_]:
        """Return for each arm whether "best" and "not best" would be wrong, shape (arms, 2).

        If there are several best arms, any of them may be given up.
        """
        is_best = problem.means >= problem.means.max() - MEAN_TOLERANCE
        return np.stack([~is_best, is_best & (is_best.sum() == 1)], axis=1)

    def describe(self, learner: Any) -> list[str]:
        """Return a line for each arm: its pulls, its mean, and its verdict if it is settled."""
        settled: Mapping[int, str] = settled_arms(self, learner.state)
        lines = super().describe(learner)
        return [
            f"{line}, {settled[arm]}" if arm in settled else line for arm, line in enumerate(lines)
        ]


def settle_rival(s: BestArmStopping.State, arm: int, rival: int, level: float, arms: int) -> None:
    """Settle the rival as not the best if its mean is proved to be below the arm's mean.

    `level` is the logarithm of the evidence that counts as a proof.
    """
    if s.settled[rival] != 0:
        return
    pulls, totals = s.evidence_pulls, s.evidence_totals
    is_higher = is_mean_higher_by_sums(pulls[arm], totals[arm], pulls[rival], totals[rival], level)
    if is_higher or is_mean_higher_by_bets(s, arm, rival, level):
        settle_arm(s, rival, 2, arms)  # 2 is "not best"
        s.left[0] -= 1


def is_mean_higher_by_sums(
    pulls: float, total: float, other_pulls: float, other_total: float, level: float
) -> bool:
    r"""Return whether the e-process against "first mean at most the second" reaches exp(level).

    The e-process is made for rewards of 0 and 1, and is valid for all rewards in [0, 1]. For
    rewards between 0 and 1, the e-process of `is_mean_higher_by_bets` may be larger.

    The e-process is at most the likelihood ratio. With m the mean of all rewards, the likelihood
    ratio is at most the exponential of :math:`\frac{n_1 n_2}{n_1 + n_2}
    \frac{(\hat\mu_1 - \hat\mu_2)^2}{m (1 - m)}`. This bound is checked first; mostly it is too low.
    """
    gap = total / pulls - other_total / other_pulls
    all_pulls = pulls + other_pulls
    mean = (total + other_total) / all_pulls
    if gap <= 0.0 or pulls * other_pulls / all_pulls * gap * gap < level * mean * (1.0 - mean):
        return False
    # The logarithm of the likelihood of all rewards, averaged over both means.
    mixture = log_beta(total, pulls - total) + log_beta(other_total, other_pulls - other_total)
    return mixture + total_entropy(all_pulls, total + other_total) >= level


def is_mean_higher_by_bets(s: BestArmStopping.State, arm: int, rival: int, level: float) -> bool:
    """Return whether bets against "the arm's mean is at most the rival's" reach exp(level).

    For a mean of the arm and a mean of the rival, the evidence against both is the product of the
    evidence against each. Its minimum over all pairs in which the rival's mean is at least the
    arm's is the evidence against the hypothesis. The product is log-convex in both means. So if the
    arm has the higher empirical mean, both means are equal at the minimum. The search for the
    minimum ends as soon as it is clear whether the minimum reaches the level.
    """
    pulls = s.evidence_pulls[arm]
    total = s.evidence_totals[arm]
    other_pulls = s.evidence_pulls[rival]
    other_total = s.evidence_totals[rival]
    histogram = s.evidence_histogram
    # At position 0 an arm's histogram has the weight of rewards strictly between 0 and 1. If it is
    # 0 for both arms, there is no more evidence than in `is_mean_higher_by_sums`.
    has_graded_rewards = histogram[arm, 0] > 0.0 or histogram[rival, 0] > 0.0
    if not has_graded_rewards or total * other_pulls <= other_total * pulls:
        return False
    mean = (total + other_total) / (pulls + other_pulls)
    # The search begins at the mean of all rewards. If the largest wealth of any bet against this
    # mean is below the level, so is the evidence.
    largest_wealth = log_largest_wealth(histogram, arm, pulls, total, mean)
    largest_wealth += log_largest_wealth(histogram, rival, other_pulls, other_total, mean)
    if largest_wealth < level:
        return False
    step = math.sqrt(mean * (1.0 - mean) / (pulls + other_pulls))
    evidence = log_common_mean_evidence(s, arm, rival, mean)
    for _ in range(_SEARCH_STEPS):
        step = min(step, 0.5 * mean, 0.5 * (1.0 - mean))
        lower = log_common_mean_evidence(s, arm, rival, mean - step)
        upper = log_common_mean_evidence(s, arm, rival, mean + step)
        if min(evidence, lower, upper) < level:
            return False
        if lower < evidence:
            mean -= step
            evidence = lower
        elif upper < evidence:
            mean += step
            evidence = upper
        # The minimum is attained between mean - step and mean + step. By convexity its value is
        # at least the number that is compared here.
        elif 2.0 * evidence - max(lower, upper) >= level:
            return True
        else:
            step *= 0.5
    # No mean was found whose evidence is below the level.
    return True


def log_common_mean_evidence(s: BestArmStopping.State, arm: int, rival: int, mean: float) -> float:
    """Return the logarithm of the evidence against "both arms have this mean"."""
    evidence = 0.0
    for contender in (arm, rival):
        pulls = s.evidence_pulls[contender]
        total = s.evidence_totals[contender]
        evidence += log_evidence_against(s.evidence_histogram, contender, pulls, total, mean)
    return evidence
