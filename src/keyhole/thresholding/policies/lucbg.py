"""Policy LUCBG: pulls the arm with the largest bound, and settles arms by their bounds."""

from keyhole.thresholding.good_arm_policy import GoodArmPolicy, confidence_width


class LUCBG(GoodArmPolicy):
    r"""Pull the unsettled arm with the largest upper bound, and settle arms by their bounds.

    LUCB-G is the baseline that the paper compares `HDoC` with. LUCB-G explores more, since its
    upper bounds hold for all arms and all times at once.

    After one pull of each arm, pull among those that are not settled

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{\frac{\ln(4 K N_i^2 / \delta)}{2 N_i}}

    with :math:`N_i` pulls of arm i, :math:`\hat\mu_i` its mean reward and K the number of arms.
    Arms are settled as by `HDoC`.

    Parameters
    ----------
    delta : float, default 0.05
        The chance that any arm is ever settled wrongly is at most delta. In (0, 1).

    Notes
    -----
    Departures from the paper: none; `HDoC` says how the paper is read. Ties go to the lowest arm.

    References
    ----------
    Kano, Honda, Sakamaki, Matsuura, Nakamura and Sugiyama (2019), "Good arm identification via
    bandit feedback", Machine Learning 108; Algorithm 2 (LUCB-G).

    Examples
    --------
    >>> learner = LUCBG().learner(arms=2, threshold=0.5)
    >>> while not learner.is_done:
    ...     learner.tell(learner.ask() == 1)
    >>> learner.settled, learner.rounds
    ({0: 'below', 1: 'above'}, 46)
    """

    def bonus(p, t: int, pulls: float) -> float:
        """Return the width of the bounds that settle arms."""
        return confidence_width(pulls, p.arms, p.delta)
