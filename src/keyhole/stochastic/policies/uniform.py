"""Policy Uniform of the stochastic bandit: pulls the arms in turn, a baseline."""

from keyhole.policy import int_array
from keyhole.stochastic.policy_base import Policy, RewardCounts


class Uniform(Policy):
    r"""Pull the arms in turn.

    A baseline that never uses what it has learnt: a bound on regret that even it meets says little.

    In round t pull

    .. math:: i_t = (t - 1) \bmod K

    If decisions were replaced by others, the arm after the last one that was pulled is next.

    Notes
    -----
    Departures from the paper: none.

    References
    ----------
    Lattimore and Szepesvari (2020), "Bandit Algorithms", Cambridge University Press; section 6.1,
    where such exploration comes first.

    Examples
    --------
    >>> learner = Uniform().learner(arms=2)
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
        return turn if turn < p.arms else 0  # a decision may be without some arms

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0
