"""Policy RoundRobin of the thresholding bandit: pulls the arms in turn, a baseline."""

from keyhole.policy import int_array
from keyhole.stochastic.policy_base import RewardCounts
from keyhole.thresholding.policy_base import Policy


class RoundRobin(Policy):
    r"""Pull the arms in turn.

    It is the baseline for all other policies, and is called Uniform in the paper. With K arms, it
    pulls in round t

    .. math:: i_t = (t - 1) \bmod K

    Notes
    -----
    Departures from the paper: none. The paper pulls "sequentially from 1 to K until budget T is
    reached", which is read as one pull of each arm in turn, again and again.

    References
    ----------
    Tao, Blanco, Peng and Zhou (2019), "Thresholding Bandit with Optimal Aggregate Regret",
    NeurIPS; section 5.

    Examples
    --------
    >>> learner = RoundRobin().learner(arms=2, threshold=0.5)
    >>> for reward in (1.0, 0.0, 1.0):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.ask()
    1
    """

    pending = ("ignore",)
    off_policy = True
    cost_per_round = "O(1)"

    class State(RewardCounts):
        """Pulls and summed rewards of each arm, and the next arm."""

        turn = int_array()

    def select(p, s: State) -> int:
        """Return the next arm in turn."""
        # The turn is counted, since a division by K would cost more than the rest of the round.
        arm = int(s.turn[0])
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0
        return arm

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
