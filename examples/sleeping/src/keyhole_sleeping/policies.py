"""The paper's policy, and the one that others are held against."""

import math

from keyhole.policy import IntArray, Stream, parameter, per, uniform
from keyhole_sleeping.setting import Policy


class AUER(Policy):
    r"""Pull the arm with the largest upper estimate of its reward among those awake.

    "Awake Upper Estimated Reward": one that was never pulled comes first, then

    .. math:: \arg\max_{i \in A_t} \; \hat\mu_i + \sqrt{\alpha \ln t / n_i}

    with :math:`A_t` the arms awake and :math:`n_i` the pulls of arm i.

    Notes
    -----
    Setting: sleeping bandit; anytime. Feedback: the reward of the arm pulled, in [0, 1].
    Randomness: none. Cost per round: O(K). Departures from the paper: the weight :math:`\alpha`
    can be chosen (the paper's is 8). Ties, open in the paper, go to the lowest arm.

    References
    ----------
    Kleinberg, Niculescu-Mizil and Sharma (2010), "Regret bounds for sleeping experts and bandits",
    Machine Learning 80; the algorithm AUER.

    Examples
    --------
    >>> learner = AUER().learner(arms=2)
    >>> learner.ask(awake=[1])
    1
    """

    alpha: float = parameter(8.0, gt=0, doc="weight of the logarithm in the width of the interval")

    class State:
        """Pulls and summed rewards of each arm."""

        pulls = per("arms")
        totals = per("arms")

    def select(p, s: State, t: int, awake: IntArray) -> int:
        """Return the arm awake with the largest estimate, the first that was never pulled."""
        best, highest = -1, -math.inf
        for arm in range(p.arms):
            if awake[arm] == 1:
                if s.pulls[arm] == 0.0:
                    return arm
                width = math.sqrt(p.alpha * math.log(t) / s.pulls[arm])
                if s.totals[arm] / s.pulls[arm] + width > highest:
                    best, highest = arm, s.totals[arm] / s.pulls[arm] + width
        return best

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


class Uniform(Policy):
    r"""Pull one of the arms awake, each with the same chance.

    A yardstick, which never learns:

    .. math:: I_t \sim U(A_t)

    Notes
    -----
    Setting: sleeping bandit; anytime. Feedback: none is used. Randomness: one number a round.
    Cost per round: O(K). Departures from the paper: none.

    References
    ----------
    Kleinberg, Niculescu-Mizil and Sharma (2010), as for `AUER`.

    Examples
    --------
    >>> Uniform().learner(arms=2).ask(awake=[1])
    1
    """

    def select(p, rng: Stream, awake: IntArray) -> int:
        """Return the arm awake before which a share of them stands that is drawn at random."""
        left, arm = int(uniform(rng) * awake.sum()), 0
        while left >= awake[arm]:
            left -= awake[arm]
            arm += 1
        return arm

    def update(p, arm: int, reward: float) -> None:
        """Learn nothing."""
