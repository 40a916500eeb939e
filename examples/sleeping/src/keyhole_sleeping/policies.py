"""Policies: the paper's AUER, and uniform sampling as a baseline."""

import math

from keyhole.policy import IntArray, Stream, float_array, parameter, uniform
from keyhole_sleeping.setting import Policy


class AUER(Policy):
    r"""Pull the arm with the largest upper estimate of its reward among those awake.

    An arm that was never pulled comes first, then

    .. math:: \arg\max_{i \in A_t} \; \hat\mu_i + \sqrt{\alpha \ln t / n_i}

    with :math:`A_t` the arms awake and :math:`n_i` the pulls of arm i.

    Notes
    -----
    Departures from the paper: :math:`\alpha`, 8 there, can be chosen. Ties go to the lowest arm.

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

    cost_per_round = "O(K)"
    alpha: float = parameter(default=8.0, gt=0, doc="weight of the logarithm in the interval")

    class State:
        """Pulls and summed rewards of each arm."""

        pulls = float_array("arms")
        totals = float_array("arms")

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

    def recommend(p, s: State, best: IntArray) -> None:
        """Recommend the arm with the highest mean; among equals the first."""
        highest = -1.0
        for arm in range(p.arms):
            mean = s.totals[arm] / max(s.pulls[arm], 1.0)
            if mean > highest:
                best[0], highest = arm, mean


class Uniform(Policy):
    r"""Pull one of the arms awake uniformly at random: :math:`I_t \sim U(A_t)`."""

    feedback = "none is used"
    randomness = "one number a round"
    cost_per_round = "O(K)"

    def select(p, rng: Stream, awake: IntArray) -> int:
        """Return one of the arms awake, drawn uniformly."""
        left, arm = int(uniform(rng) * awake.sum()), 0
        while left >= awake[arm]:
            left -= awake[arm]
            arm += 1
        return arm

    def update(p, arm: int, reward: float) -> None:
        """Learn nothing."""
