"""Policy HDoC: settles the most promising arms first, each as soon as its bounds allow."""

import math

from keyhole.thresholding.good_arm_policy import GoodArmPolicy


class HDoC(GoodArmPolicy):
    r"""Pull the unsettled arm with the largest index of UCB1, and settle arms by their bounds.

    Use it to find good arms one after the other, the best ones early, if the search may end at any
    time. To label all arms, `FamilywiseStopping` takes a third as many pulls.

    After one pull of each arm, pull among those that are not settled

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{\frac{\ln t}{2 N_i}}

    with :math:`N_i` pulls of arm i and :math:`\hat\mu_i` its mean reward. After a reward, settle
    the arm as *above* if its lower bound is at least the threshold, as *below* if its upper bound
    is below the threshold. For K arms these bounds are

    .. math:: \hat\mu_i \mp \sqrt{\frac{\ln(4 K N_i^2 / \delta)}{2 N_i}}

    Parameters
    ----------
    delta : float, default 0.05
        The chance that any arm is ever settled wrongly is at most delta. In (0, 1).

    Notes
    -----
    Departures from the paper: none. The paper is read as follows: t is the number of the round;
    only the bounds of the arm that was pulled are checked, since the bounds of other arms have not
    changed. Ties, open in the paper, go to the lowest arm. Arms can be neither added nor retired.

    References
    ----------
    Kano, Honda, Sakamaki, Matsuura, Nakamura and Sugiyama (2019), "Good arm identification via
    bandit feedback", Machine Learning 108; Algorithm 1 (HDoC).

    Examples
    --------
    >>> learner = HDoC().learner(arms=2, threshold=0.5)
    >>> while not learner.is_done:
    ...     learner.tell(learner.ask() == 1)
    >>> learner.settled, learner.rounds
    ({0: 'below', 1: 'above'}, 46)
    """

    def bonus(p, t: int, pulls: float) -> float:
        """Return the bonus of the formula, sqrt(ln t / (2 N))."""
        return math.sqrt(math.log(t) / (2.0 * pulls))
