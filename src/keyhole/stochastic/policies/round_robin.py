"""Policy RoundRobin of the stochastic bandit: pulls the arms in turn, a baseline."""

from keyhole.policy import int_array
from keyhole.stochastic.policy_base import Policy, RewardCounts


class RoundRobin(Policy):
    r"""Pull the arms in turn.

    It is a baseline that never uses the rewards. A bound on regret says little if even this policy
    keeps below it. With K arms, it pulls in round t

    .. math:: i_t = (t - 1) \bmod K

    If the caller pulls another arm than the policy chose, as in a replayed log, the turn goes on
    from the arm that was pulled.

    Notes
    -----
    Departures from the paper: none.

    References
    ----------
    Lattimore and Szepesvari (2020), "Bandit Algorithms", Cambridge University Press; section 6.1,
    whose policy begins with such exploration.

    Examples
    --------
    >>> learner = RoundRobin().learner(arms=2)
    >>> for reward in (1.0, 0.0, 1.0):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.ask()
    1
    """

    pending = ("impute", "ignore")
    off_policy = True
    cost_per_round = "O(1)"

    class State(RewardCounts):
        """Pulls and summed rewards of each arm, and the next arm."""

        turn = int_array()

    def select(p, s: State) -> int:
        """Return the next arm in turn."""
        turn = int(s.turn[0])
        # If arms are excluded, there may be fewer arms in this decision than in the last one.
        return turn if turn < p.arms else 0

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0
