"""Policy KnownVarianceUCB: pulls the arm with the largest upper bound by Bernstein's inequality."""

import math

from keyhole.policy import Kernel, parameter
from keyhole.stochastic.policy_base import DeviationUCBPolicy, ln_of_2_over_delta


class KnownVarianceUCB(DeviationUCBPolicy):
    r"""Pull the arm with the largest upper bound, given an upper bound on the arms' variances.

    It is better than `HoeffdingUCB` if the variance of every arm is known to be well below 1/4, the
    largest variance of rewards in [0, 1].

    After one pull of each arm, pull

    .. math:: \arg\max_i \; \hat\mu_i + \frac{L}{3 N_i}
        + \sqrt{\frac{L^2}{9 N_i^2} + \frac{2 v L}{N_i}}, \qquad L = \ln(2 / \delta), \quad
        \delta = \tfrac12 T^{-2}

    with :math:`N_i` the pulls of arm i, :math:`\hat\mu_i` the mean of their rewards, T the horizon
    and v the bound on the variances. The width comes from :math:`f(N, \epsilon) = 2 \exp(-N
    \epsilon^2 / (2 v + 2 \epsilon / 3))`: see `keyhole.stochastic.DeviationUCBPolicy`.

    Parameters
    ----------
    variance : float
        Upper bound on the variance of every arm's rewards; above 0, at most 1/4.

    Notes
    -----
    Departures from the paper: the deviation function, which it leaves open, is Bernstein's for
    rewards within 1 of their mean. Arms without pulls come first; ties go to the lowest arm.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 2. Bernstein's inequality: Boucheron, Lugosi and Massart (2013),
    "Concentration Inequalities", section 2.8.

    Examples
    --------
    >>> learner = KnownVarianceUCB(variance=0.01).learner(arms=2, horizon=100)
    >>> asked = []
    >>> for reward in (0.4, 0.6, 0.6):
    ...     asked.append(learner.ask())
    ...     learner.tell(reward)
    >>> asked
    [0, 1, 1]
    """

    variance: float = parameter(gt=0, le=0.25, doc="upper bound on the variance of the rewards")

    def deviation(p, pulls: float, error: float) -> float:
        """Return 2 exp(-N eps^2 / (2 v + 2 eps / 3))."""
        return 2.0 * math.exp(-pulls * error * error / (2.0 * p.variance + 2.0 * error / 3.0))

    def width(p, pulls: float, deviation: Kernel) -> float:
        """Return the error at which `deviation` is delta, in closed form."""
        first_term = ln_of_2_over_delta(p.horizon) / (3.0 * pulls)  # L / (3 N)
        return first_term + math.sqrt(first_term * first_term + 6.0 * p.variance * first_term)
