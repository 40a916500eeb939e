"""Policy APGAI: tries next the option that is nearest to being proved good."""

import math

from keyhole.thresholding.policy_base import IndexPolicy


class APGAI(IndexPolicy):
    r"""Pull the arm that looks most surely good; if no arm looks good, the arm least surely bad.

    Use it to find one good arm soon, or to find that there is none. It has no parameters. It is
    poor at labelling all arms, since it neglects the others while one arm looks good.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; W_i^+ \;\text{ if some } \hat\mu_i > \theta, \text{ else } \arg\min_i \;
        W_i^-, \qquad W_i^\pm = \sqrt{N_i} \, \max\{\pm (\hat\mu_i - \theta), 0\}

    with :math:`N_i` pulls of arm i, :math:`\hat\mu_i` its mean reward and :math:`\theta` the
    threshold. In either case this is the arm with the largest :math:`\sqrt{N_i} (\hat\mu_i -
    \theta)`.

    Notes
    -----
    Departures from the paper: its stopping rule is not here (:doc:`/not_here`). Under a policy that
    settles arms, such as `FamilywiseStopping`, stop when the first arm is settled as above (see the
    example). The guarantee is then a guarantee of the settling policy, not of the paper. Ties, open
    in the paper, go to the lowest arm.

    References
    ----------
    Jourdan and Reda (2023), "An Anytime Algorithm for Good Arm Identification", arXiv:2310.10359;
    Algorithm 1.

    Examples
    --------
    >>> from keyhole.thresholding import FamilywiseStopping
    >>> learner = FamilywiseStopping(base=APGAI()).learner(arms=3, threshold=0.5)
    >>> while not learner.is_done and "above" not in learner.settled.values():
    ...     learner.tell(learner.ask() == 1)
    >>> learner.settled, learner.rounds
    ({1: 'above'}, 9)
    """

    arms_change = True
    cost_per_round = "a root, and O(log K) for the arg-max"

    def index(p, pulls: float, total: float) -> float:
        """Return the mean less the threshold, times the root of the pulls."""
        return (total - p.threshold * pulls) / math.sqrt(pulls)
