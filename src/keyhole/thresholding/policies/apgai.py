"""Policy APGAI: tries next the option that is nearest to being proved good."""

import math

from keyhole.thresholding.policy_base import IndexPolicy


class APGAI(IndexPolicy):
    r"""Pull the arm that looks most surely good, or, if none does, least surely bad.

    For one good arm, soon, or the finding that there is none; it has no parameters. It is poor for
    labels of all arms: it leaves the others as soon as one looks good.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; W_i^+ \;\text{ if some } \hat\mu_i > \theta, \text{ else } \arg\min_i \;
        W_i^-, \qquad W_i^\pm = \sqrt{N_i} \, \max\{\pm (\hat\mu_i - \theta), 0\}

    with :math:`N_i` pulls and :math:`\hat\mu_i` the mean reward: in either case the arm with the
    largest :math:`\sqrt{N_i} (\hat\mu_i - \theta)`.

    Notes
    -----
    Departures from the paper: its stopping rule is not here (:doc:`/not_here`). Beside a rule that
    settles arms, end when the first arm is above (see the example): that is the promise of that
    rule, and none of the paper's. Ties, open in the paper, go to the lowest arm.

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
    cost_per_round = "a root, and O(log K) for the arg-min"

    def index(p, pulls: float, total: float) -> float:
        """Return the distance of the mean from the threshold, times the root of the pulls."""
        return (total - p.threshold * pulls) / math.sqrt(pulls)
