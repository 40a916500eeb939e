"""Policy UCBE: tries next an option that may be near the threshold; it knows the hardness."""

import math

from keyhole.policy import parameter
from keyhole.thresholding.policy_base import IndexPolicy


class UCBE(IndexPolicy):
    r"""Pull the arm that could be closest to the threshold, given the hardness of the problem.

    It is an oracle, for comparison only, since it needs the hardness H of the problem, which is
    unknown in practice.

    After one pull of each arm, pull

    .. math:: \arg\min_i \; \hat\Delta_i - \sqrt{a / T_i}, \qquad
        a = 4^b \, \frac{T - K}{H}, \quad H = \sum_i \Delta_i^{-2}

    with :math:`T_i` the pulls of arm i, :math:`\hat\Delta_i = |\hat\theta_i - \theta|` the
    empirical and :math:`\Delta_i` the true distance of its mean from the threshold, T the budget
    and K the number of arms.

    Parameters
    ----------
    b : float, default 0
        Exploration, on a scale of powers of 4. The experiments of Tao et al. use -1, 0 and 4.

    Notes
    -----
    Departures from the paper: none. The paper is read as follows: "4b" in the text of Tao et al. is
    :math:`4^b`, the convention of Locatelli et al. (2016); a is computed from the true gaps and the
    budget of the present run. Ties, open in the paper, go to the lowest arm.

    References
    ----------
    Audibert and Bubeck (2010), "Best Arm Identification in Multi-Armed Bandits", COLT, for the
    algorithm; Tao, Blanco, Peng and Zhou (2019), "Thresholding Bandit with Optimal Aggregate
    Regret", NeurIPS, section 5, for its adaptation.

    Examples
    --------
    >>> learner = UCBE(b=0).learner(arms=2, threshold=0.5, horizon=100, hardness=50.0)
    >>> for reward in (1.0, 0.6):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.ask()
    1
    """

    cost_per_round = "one square root, and O(log K) for the arg-min"
    needs = ("horizon", "hardness")
    oracle = True

    b: float = parameter(default=0.0, doc="exploration, as a power of 4")

    def index(p, pulls: float, total: float) -> float:
        """Return sqrt(a / T) - Delta, since the largest index is pulled."""
        a = 4.0**p.b * (p.horizon - p.arms) / p.hardness
        return math.sqrt(a / pulls) - abs(total - p.threshold * pulls) / pulls
