"""Policy MOSS: pulls the arm with the largest upper bound; bonuses end at horizon / arms pulls."""

import math

from keyhole.stochastic.policy_base import IndexPolicy


class MOSS(IndexPolicy):
    r"""Pull the arm with the largest upper bound, which is its mean from horizon / arms pulls on.

    It is minimax optimal: in the worst case its regret is of the smallest possible order,
    :math:`\sqrt{K T}`. It needs the horizon.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; \hat\mu_i
        + \sqrt{\frac{\max\{ \ln \frac{T}{K n_i}, 0 \}}{n_i}}

    with :math:`n_i` the pulls of arm i, :math:`\hat\mu_i` the mean of their rewards, T the horizon
    and K the number of arms.

    Notes
    -----
    Departures from the paper: none. Ties, open in the paper, go to the lowest arm.

    References
    ----------
    Audibert and Bubeck (2009), "Minimax Policies for Adversarial and Stochastic Bandits", COLT;
    section 3 (Figure 1).

    Examples
    --------
    >>> learner = MOSS().learner(arms=2, horizon=100)
    >>> asked = []
    >>> for reward in (0.0, 1.0, 1.0):
    ...     asked.append(learner.ask())
    ...     learner.tell(reward)
    >>> asked
    [0, 1, 1]
    """

    cost_per_round = "a logarithm, a square root, and O(log K) for the arg-max"
    needs = ("horizon",)

    def index(p, pulls: float, total: float) -> float:
        """Return the bound."""
        log = max(0.0, math.log(p.horizon / (p.arms * pulls)))
        return total / pulls + math.sqrt(log / pulls)
