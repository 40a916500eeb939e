"""Policy TopTwoThompson: chooses between the option that looks best and its closest rival."""

import math

import numpy as np

from keyhole.confidence_sequences import binary_entropy
from keyhole.policy import Stream, parameter, uniform
from keyhole.stochastic.policy_base import BetaPosteriorPolicy, draw_means


class TopTwoThompson(BetaPosteriorPolicy):
    r"""Pull the arm with the largest draw, or in some rounds the arm hardest to tell from it.

    It is made to find the best arm, for `BestArmStopping`, and not to earn; its regret is linear.
    In each round the *leader* is

    .. math:: \ell = \arg\max_i \; \theta_i, \qquad \theta_i \sim \mathrm{Beta}(a + S_i, b + F_i)

    with :math:`S_i` the successes and :math:`F_i` the failures of arm i, as in `ThompsonSampling`.
    With probability `share` the leader is pulled, else the *challenger*. This is the lowest arm
    without pulls, or if there is none

    .. math:: \arg\min_{i \ne \ell} \; W(\ell, i) + \ln n_i, \; W(\ell, i) =
        n_\ell \, \mathrm{kl}(\hat\mu_\ell, m) + n_i \, \mathrm{kl}(\hat\mu_i, m)

    with :math:`n_i` pulls, :math:`\hat\mu_i` the mean reward, m the mean of both arms' rewards, kl
    the divergence of Bernoulli distributions; W is 0 if the leader's mean is not the larger.

    Parameters
    ----------
    a, b : float, default 1
        Successes and failures of each arm that the prior assumes, from 10**-3 to 10**6.
    share : float, default 1/2
        The share of rounds in which the leader is pulled; in (0, 1).

    Notes
    -----
    Departures from the paper: another challenger. Proofs: :doc:`/stochastic`. Ties: the lowest arm.

    References
    ----------
    Russo (2020), "Simple Bayesian Algorithms for Best-Arm Identification", Operations Research 68.
    Jourdan, Degenne, Baudry, de Heide and Kaufmann (2022), "Top Two Algorithms Revisited", NeurIPS.

    Examples
    --------
    >>> learner = TopTwoThompson().learner(arms=3, seed=1)
    >>> for _ in range(200):
    ...     learner.tell(learner.ask() == 2)
    >>> learner.recommend()
    2
    """

    pending = ("ignore", "impute")
    randomness = (
        "a beta variate for each arm and a uniform one in every round, and another uniform one for "
        "a reward strictly between 0 and 1"
    )
    cost_per_round = "K beta variates, and three logarithms an arm in half of the rounds"

    share: float = parameter(default=0.5, gt=0, lt=1, doc="share of rounds for the leader")

    def select(p, s: BetaPosteriorPolicy.State, rng: Stream) -> int:
        """Return the leader or its challenger."""
        draw_means(p, s, rng)
        leader = int(np.argmax(s.drawn))
        if uniform(rng) < p.share or p.arms == 1:
            return leader
        return find_challenger(s, leader)


def find_challenger(s: BetaPosteriorPolicy.State, leader: int) -> int:
    """Return the arm that is hardest to tell from the leader; an arm without pulls comes first."""
    challenger = -1
    lowest_cost = math.inf
    for arm in range(len(s.pulls)):
        if arm == leader:
            continue
        if s.pulls[arm] == 0.0:
            return arm
        cost = math.log(s.pulls[arm])
        if s.pulls[leader] > 0.0:
            cost += transport_cost(s.pulls[leader], s.totals[leader], s.pulls[arm], s.totals[arm])
        if cost < lowest_cost:
            challenger, lowest_cost = arm, cost
    return challenger


def total_entropy(pulls: float, total: float) -> float:
    r"""Return :math:`n H(\hat\mu)` for n rewards; its negative is their largest log likelihood."""
    return pulls * binary_entropy(min(total / pulls, 1.0)) if pulls > 0.0 else 0.0


def transport_cost(pulls: float, total: float, other_pulls: float, other_total: float) -> float:
    r"""Return :math:`n_1 \mathrm{kl}(\hat\mu_1, m) + n_2 \mathrm{kl}(\hat\mu_2, m)`.

    m is the mean of all rewards of two arms. The cost is the logarithm of the likelihood ratio of
    two means against one. It is 0 if the first arm's mean is not the higher one. Both arms must
    have pulls.
    """
    if total / pulls <= other_total / other_pulls:
        return 0.0
    separate_entropy = total_entropy(pulls, total) + total_entropy(other_pulls, other_total)
    return max(total_entropy(pulls + other_pulls, total + other_total) - separate_entropy, 0.0)
