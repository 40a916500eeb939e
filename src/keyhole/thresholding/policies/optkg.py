"""Policy OptKG: pulls the arm whose next reward could raise the certainty of its label the most."""

import math
from typing import Final

import numpy as np

from keyhole.draws.beta_cdf import beta_cdf, log_beta_weight
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

# The probability I of `OptKG` is updated with each reward, and so is ln w, with w = x^A (1 - x)^B /
# B(A, B) at the threshold x. Whenever an arm had this many more pulls, both are computed anew,
# since rounding errors accumulate.
_RENEW_EVERY: Final = 1000
# Logarithms of scores are rounded to multiples of this number, and I is compared with 1/2 to this
# precision. It is far larger than rounding errors, and smaller than any difference that matters.
_ROUNDING_STEP: Final = 2.0**-30


class OptKG(Policy):
    r"""Pull the arm whose next reward could raise the certainty of its label the most.

    The optimistic knowledge gradient looks one pull ahead. Use it if a beta prior describes the
    arms, as in crowdsourcing; else see `LSA`. Each arm has a beta posterior, at first (a, b). Let
    :math:`I(A, B)` be the probability that a variable of distribution Beta(A, B) is at least the
    threshold, and :math:`h(x) = \max(x, 1 - x)`. Pull

    .. math::
        \arg\max_i \; \max\{ h(I(A_i + 1, B_i)), h(I(A_i, B_i + 1)) \} - h(I(A_i, B_i))

    where :math:`(A_i, B_i)` is the posterior of arm i. Label 1 the arms with :math:`I(A_i, B_i) \ge
    1/2`.

    Parameters
    ----------
    a, b : float, default 1
        The prior, from 10**-6 to 10**6. Arms begin as if they had been pulled a + b times and a of
        the rewards were 1. The experiments of Tao et al. use (1, 1) and (0.5, 0.5).

    Notes
    -----
    Departures from the paper: any threshold is allowed, not only 1/2 as in Chen et al.; a reward x
    between 0 and 1 counts as x successes and 1 - x failures. Ties go to the lowest arm.
    :doc:`/thresholding` says how the score is computed.

    References
    ----------
    Chen, Lin and Zhou (2015), "Statistical Decision Making for Optimal Budget Allocation in Crowd
    Labeling", JMLR 16. Tao, Blanco, Peng and Zhou (2019), "Thresholding Bandit with Optimal
    Aggregate Regret", NeurIPS; section 5, for the priors.

    Examples
    --------
    >>> learner = OptKG(a=1, b=1).learner(arms=2, threshold=0.5)
    >>> for reward in (1.0, 1.0):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.ask()
    0
    """

    pending = ("impute", "ignore")
    off_policy = True
    cost_per_round = (
        "two logarithms, an exponential, and O(log K) for the arg-max; an incomplete beta "
        "function (1 to 4 us) every 1000 pulls of an arm, and for each reward other than 0 and 1"
    )

    a: float = parameter(default=1.0, ge=1e-6, le=1e6, doc="prior successes")
    b: float = parameter(default=1.0, ge=1e-6, le=1e6, doc="prior failures")

    class State(RewardCounts):
        """Pulls, summed rewards, I, ln w, w, and the score of each arm."""

        above = float_array("arms")
        """I: the posterior probability that the arm's mean is at least the threshold."""
        log_weight = float_array("arms")
        """ln w: see the head of the file."""
        weight = float_array("arms")
        """w, or 0 if it underflows."""
        index = argmin_tree_array("arms")
        """Minus the logarithm of the score, in a tree that finds the smallest."""

    def init(p, s: State) -> None:
        """Set the posterior of every arm to the prior."""
        above = beta_cdf(1.0 - p.threshold, p.b, p.a)
        log_weight = log_beta_weight(p.threshold, p.a, p.b)
        s.above[:] = above
        s.log_weight[:] = log_weight
        s.weight[:] = math.exp(log_weight)
        argmin_tree_fill(s.index, p.arms, -log_score(p.a, p.b, above, log_weight, s.weight[0]))

    def select(p, s: State) -> int:
        """Return the arm with the largest score."""
        return argmin_tree_find(s.index, p.arms)

    def update(p, s: State, arm: int, reward: float) -> None:
        """Update the posterior of the arm and its score."""
        # After a reward of 0 or 1, I and w change by closed forms: equations 8.17.20 and 8.17.21 of
        # the Digital Library of Mathematical Functions (DLMF).
        a = p.a + s.totals[arm]
        b = p.b + (s.pulls[arm] - s.totals[arm])
        above = s.above[arm]
        log_weight = s.log_weight[arm]
        if reward == 1.0:
            above += s.weight[arm] / a
            log_weight += math.log(p.threshold * (a + b) / a)
        else:
            above -= s.weight[arm] / b
            log_weight += math.log((1.0 - p.threshold) * (a + b) / b)
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        a = p.a + s.totals[arm]
        b = p.b + (s.pulls[arm] - s.totals[arm])
        # The closed forms add 1 to A or B. After a reward between 0 and 1 their results are
        # replaced, by those of the functions themselves.
        if int(s.pulls[arm]) % _RENEW_EVERY == 0 or 0.0 < reward < 1.0:
            above = beta_cdf(1.0 - p.threshold, b, a)
            log_weight = log_beta_weight(p.threshold, a, b)
        weight = math.exp(log_weight)
        s.above[arm] = above
        s.log_weight[arm] = log_weight
        s.weight[arm] = weight
        argmin_tree_update(s.index, p.arms, arm, -log_score(a, b, above, log_weight, weight))

    def recommend(p, s: State, labels: FloatArray) -> None:  # type: ignore[override]
        """Label 1 the arms that are at least as likely above the threshold as below it."""
        for arm in range(p.arms):
            labels[arm] = s.above[arm] >= 0.5 - _ROUNDING_STEP


def log_score(a: float, b: float, above: float, log_weight: float, weight: float) -> float:
    """Return the logarithm of the largest possible gain in certainty, in rounding steps.

    `a` and `b` are the parameters A and B of the posterior. `above` is I, the posterior probability
    of a mean of at least the threshold; `weight` is w, or 0 if it underflows.
    """
    # A reward that speaks for the label raises its certainty by w / A (label 1) or w / B (label 0).
    # A reward that speaks against the label raises the certainty only if it changes the label. I is
    # then so close to 1/2 that w does not underflow.
    label_shape, other_shape = (a, b) if above >= 0.5 else (b, a)
    gain_of_change = weight / other_shape - abs(2.0 * above - 1.0)
    if gain_of_change > weight / label_shape:
        score = math.log(gain_of_change)
    else:
        score = log_weight - math.log(label_shape)
    return float(np.rint(score / _ROUNDING_STEP))
