"""Policy HoeffdingUCB: pulls the arm with the largest upper bound by Hoeffding's inequality."""

import math

from keyhole.policy import Kernel
from keyhole.stochastic.policy_base import DeviationUCBPolicy, ln_of_2_over_delta


class HoeffdingUCB(DeviationUCBPolicy):
    r"""Pull the arm with the largest upper confidence bound, at one confidence level throughout.

    It is a variant of `UCB1` for a known horizon, in which an arm's bound depends only on the arm's
    own pulls and rewards.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{\frac{\ln(2 / \delta)}{2 N_i}},
        \qquad \delta = \tfrac12 T^{-2}

    with :math:`N_i` the pulls of arm i, :math:`\hat\mu_i` the mean of their rewards, and T the
    horizon. The width comes from :math:`f(N, \epsilon) = 2 \exp(-2 N \epsilon^2)`: see
    `keyhole.stochastic.DeviationUCBPolicy`.

    Notes
    -----
    Departures from the paper: arms without pulls come first, the lowest first, while the paper
    gives them the width 1. Ties, open in the paper, go to the lowest arm.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 2 and Theorem 1.

    Examples
    --------
    >>> learner = HoeffdingUCB().learner(arms=2, horizon=100)
    >>> asked = []
    >>> for reward in (0.0, 1.0, 1.0):
    ...     asked.append(learner.ask())
    ...     learner.tell(reward)
    >>> asked
    [0, 1, 1]
    """

    def deviation(p, pulls: float, error: float) -> float:
        """Return 2 exp(-2 N eps^2)."""
        return 2.0 * math.exp(-2.0 * pulls * error * error)

    def width(p, pulls: float, deviation: Kernel) -> float:
        """Return sqrt(ln(2 / delta) / (2 N))."""
        return math.sqrt(ln_of_2_over_delta(p.horizon) / (2.0 * pulls))
