"""Policy APT: tries next the option whose label, above or below a threshold, is least certain."""

from keyhole.policy import parameter
from keyhole.thresholding.policy_base import IndexPolicy


class APT(IndexPolicy):
    r"""Pull the arm whose label is least certain, given the precision that is needed.

    Use it if any wrong label spoils the result, or if arms closer to the threshold than a known
    precision do not matter. The best precision differs from problem to problem; if you do not
    know it, use `LSA`.

    After one pull of each arm, pull

    .. math:: \arg\min_i \; \sqrt{T_i} \, (\hat\Delta_i + \epsilon)

    with :math:`T_i` the pulls of arm i and :math:`\hat\Delta_i = |\hat\theta_i - \theta|` the
    distance of its mean reward from the threshold.

    Parameters
    ----------
    epsilon : float, default 0
        The precision, at least 0. Labels of arms closer to the threshold than this do not matter.
        The experiments of Tao et al. use 0, 0.025, 0.05 and 0.1.

    Notes
    -----
    Departures from the paper: the label is 1 if the empirical mean is at least the threshold, as in
    Tao et al. (2019); in the original either label of an arm within the precision is right. Ties go
    to the lowest arm. See :doc:`/thresholding`.

    References
    ----------
    Locatelli, Gutzeit and Carpentier (2016), "An optimal algorithm for the Thresholding Bandit
    Problem", ICML; Algorithm 1. Tao, Blanco, Peng and Zhou (2019), "Thresholding Bandit with
    Optimal Aggregate Regret", NeurIPS; section 5.

    Examples
    --------
    >>> learner = APT(epsilon=0.05).learner(arms=2, threshold=0.5)
    >>> for reward in (1.0, 0.6):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.ask()
    1
    """

    arms_change = True
    cost_per_round = "O(log K) for the arg-min"

    epsilon: float = parameter(
        default=0.0, ge=0, doc="precision: labels of arms closer to the threshold do not matter"
    )

    def index(p, pulls: float, total: float) -> float:
        """Return minus T (Delta + epsilon)^2, since the largest index is pulled."""
        # T (Delta + epsilon)
        scaled_distance = abs(total - p.threshold * pulls) + p.epsilon * pulls
        return -(scaled_distance * scaled_distance / pulls)
