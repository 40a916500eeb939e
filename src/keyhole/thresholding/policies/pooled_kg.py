"""Policy PooledKG: a knowledge gradient (KG) with a prior that is fitted to all options."""

import math
from typing import Final

import numpy as np

from keyhole.draws.beta_cdf import log_beta_cdf_left
from keyhole.policy import (
    FloatArray,
    argmin_tree_array,
    argmin_tree_fill,
    argmin_tree_find,
    argmin_tree_update,
    float_array,
    parameter,
)
from keyhole.stochastic.policy_base import RewardCounts
from keyhole.thresholding.policy_base import Policy

# The prior is fitted anew whenever the number of pulls has grown by this factor.
_GROWTH: Final = 1.25
# The power of a + b + T_i in the score (see `PooledKG`). With 1/2 or 1 there are more wrong labels
# if arms form two clusters, or if recorded rewards run out; on other problems it hardly matters.
_POWER: Final = 1.5
# The smallest a + b. With a smaller sum, a single reward would decide an arm's label.
_LEAST_STRENGTH: Final = 0.3
# Scores are rounded to multiples of this number. It is far larger than rounding errors, which thus
# break no tie.
_ROUNDING_STEP: Final = 2.0**-30


class PooledKG(Policy):
    r"""Pull the arm with the most to gain, by a beta prior that is fitted to all arms.

    Use it for many arms with few pulls each, if all but a few arms are alike: the prior tells an
    unusual rate from chance. If means are spread, it is about as good as `LSA`. With the threshold
    :math:`\theta`, the prior Beta(a, b), :math:`T_i` pulls and summed rewards :math:`s_i`, the
    label of arm i is wrong with chance

    .. math:: q_i = \min\{P(X_i < \theta), P(X_i \ge \theta)\}, \qquad
        X_i \sim \mathrm{Beta}(a + s_i, \; b + T_i - s_i)

    Pull :math:`\arg\max_i \; \ln q_i - \tfrac32 \ln (a + b + T_i)`, and label 1 the arms with
    :math:`P(X_i \ge \theta) \ge 1/2`. The prior is uniform at first. Its moments are fitted to the
    rates :math:`s_i / T_i` after 2 K pulls of the K arms, and whenever pulls grew by a quarter.

    Parameters
    ----------
    strength : float, default 4
        The largest a + b, from 0.3 to 1000. In the label of an arm, all other arms together count
        at most as much as this number of pulls of the arm itself.

    Notes
    -----
    Source: Keyhole's own, but for the fit. Nothing is proved of the policy. It breaks if some
    arms lie just beyond the threshold and the others far from it on the other side: see
    :doc:`/thresholding`.

    References
    ----------
    Kleinman (1973), "Proportions with Extraneous Variance: Single and Independent Samples", JASA
    68, pages 46-54, for the fit by moments.

    Examples
    --------
    >>> from keyhole import simulate
    >>> from keyhole.thresholding import LSA, Problem
    >>> problem = Problem([0.1] * 199 + [0.6], 0.3)  # one unusual arm in 200
    >>> curves = simulate(problem, [PooledKG(), LSA()], horizon=1200, replications=5)
    >>> pooled, lsa = (curves.mean(label, "aggregate_regret")[-1] for label in curves.labels)
    >>> bool(pooled < 0.2 * lsa)
    True
    """

    pending = ("impute", "ignore")
    off_policy = True
    cost_per_round = (
        "an incomplete beta function, and O(log K) for the arg-max; K of them whenever the pulls "
        "have grown by a quarter"
    )

    strength: float = parameter(
        default=4.0, ge=0.3, le=1000, doc="how many pulls the prior may count for"
    )

    class State(RewardCounts):
        """Pulls and summed rewards of each arm, the prior, and the scores."""

        above = float_array("arms")
        """The posterior probability that the arm's mean is at least the threshold."""
        prior = float_array(2)
        """The parameters a and b of the beta prior."""
        count = float_array()
        """The number of pulls of all arms."""
        next_fit = float_array()
        """The number of pulls at which the prior is fitted again."""
        index = argmin_tree_array("arms")
        """Minus the score of each arm, in rounding steps."""

    def init(p, s: State) -> None:
        """Set the uniform prior."""
        s.prior[:] = 1.0
        s.next_fit[0] = 2.0 * p.arms
        argmin_tree_fill(s.index, p.arms, 0.0)
        for arm in range(p.arms):
            write_score(p, s, arm)

    def select(p, s: State) -> int:
        """Return the arm with the largest score."""
        return argmin_tree_find(s.index, p.arms)

    def update(p, s: State, arm: int, reward: float) -> None:
        """Update the arm's score; if a fit of the prior is due, fit it and update all scores."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        # Fits are due by the number of pulls and not by the round, since feedback may arrive late.
        s.count[0] += 1.0
        if s.count[0] < s.next_fit[0]:
            write_score(p, s, arm)
            return
        s.next_fit[0] = max(_GROWTH * s.count[0], s.count[0] + 1.0)
        fit_prior(p, s)
        for scored_arm in range(p.arms):
            write_score(p, s, scored_arm)

    def recommend(p, s: State, labels: FloatArray) -> None:  # type: ignore[override]
        """Label 1 the arms that are at least as likely above the threshold as below it."""
        for arm in range(p.arms):
            labels[arm] = s.above[arm] >= 0.5 - _ROUNDING_STEP


def write_score(p: PooledKG, s: PooledKG.State, arm: int) -> None:
    """Write the probability that an arm is above the threshold, and minus its score."""
    a = s.prior[0] + s.totals[arm]
    b = s.prior[1] + (s.pulls[arm] - s.totals[arm])
    # The threshold divides the posterior into two parts. The part without the point (a + 1) / (a +
    # b + 2), near the mean, is computed: the logarithm of this tail is exact, however small it is.
    if p.threshold * (a + b + 2.0) < a + 1.0:
        log_tail = log_beta_cdf_left(p.threshold, a, b)
        tail = math.exp(log_tail)
        s.above[arm] = 1.0 - tail
    else:
        log_tail = log_beta_cdf_left(1.0 - p.threshold, b, a)
        tail = math.exp(log_tail)
        s.above[arm] = tail
    log_wrong = log_tail if tail <= 0.5 else math.log(1.0 - tail)
    score = log_wrong - _POWER * math.log(a + b)
    # The score is negated, since the tree finds the smallest value.
    argmin_tree_update(s.index, p.arms, arm, -float(np.rint(score / _ROUNDING_STEP)))


def fit_prior(p: PooledKG, s: PooledKG.State) -> None:
    """Fit the moments of the prior to the rates of the arms that were pulled.

    The rate of an arm is its empirical mean.
    """
    # The sums begin as if one arm of weight 2 had the rate 1/2.
    weight_sum, rate_sum = 2.0, 1.0
    for arm in range(p.arms):
        pulls = s.pulls[arm]
        if pulls > 0.0:
            weight = pulls / (pulls + 2.0)
            weight_sum += weight
            rate_sum += weight * s.totals[arm] / pulls
    mean = rate_sum / weight_sum
    # With the prior's mean m and rho = 1 / (a + b + 1), the expectation of (rate - m)^2 after n
    # pulls is m (1 - m) (1 / n + rho (1 - 1 / n)). So rho is estimated by the ratio of two sums
    # over the arms. The sums begin with 1/12 and 1/4: their ratio is the rho of the uniform prior.
    excess_sum = 1.0 / 12.0
    scale_sum = 1.0 / 4.0
    for arm in range(p.arms):
        pulls = s.pulls[arm]
        if pulls > 0.0:
            weight = pulls / (pulls + 2.0)
            deviation = s.totals[arm] / pulls - mean
            excess_sum += weight * (deviation * deviation - mean * (1.0 - mean) / pulls)
            scale_sum += weight * mean * (1.0 - mean) * (1.0 - 1.0 / pulls)
    rho = min(max(excess_sum / scale_sum, 1.0 / (p.strength + 1.0)), 1.0 / (_LEAST_STRENGTH + 1.0))
    strength = 1.0 / rho - 1.0  # a + b
    s.prior[0] = strength * mean
    s.prior[1] = strength * (1.0 - mean)
