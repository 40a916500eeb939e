"""Policy RoundRobin of the threshold bandit: pulls the arms in turn, whatever the threshold."""

from keyhole.policy import int_array
from keyhole.threshold.policy_base import Policy, ReachCounts, add_observation


class RoundRobin(Policy):
    r"""Pull the arms in turn, at any threshold.

    It is a baseline that never uses what it has learnt. A bound on regret says little if even this
    policy keeps below it. With K arms, it pulls in round t

    .. math:: i_t = (t - 1) \bmod K

    If the caller pulls another arm than the policy chose, as in a replayed log, the turn goes on
    from the arm that was pulled.

    Notes
    -----
    Departures from the paper: none. In the paper KMUCB explores in this way, epoch by epoch.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 5.2 and eq. (8).

    Examples
    --------
    >>> learner = RoundRobin().learner(arms=2, levels=3, feedback="censored")
    >>> for threshold in (3, 1, 2):
    ...     arm = learner.ask(threshold=threshold)
    ...     learner.tell(0)
    >>> learner.ask(threshold=3)
    1
    """

    pending = ("impute", "ignore")
    off_policy = True
    cost_per_round = "O(1), and O(m) to count a sample"

    class State(ReachCounts):
        """Counts at each level, and the next arm."""

        turn = int_array()

    def select(p, s: State) -> int:
        """Return the next arm in turn."""
        turn = int(s.turn[0])
        # If arms are excluded, this decision may have fewer arms than the last decision had.
        return turn if turn < p.arms else 0

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count the pull at the levels up to its threshold."""
        add_observation(s, arm, threshold, value)
        # In a replayed log, the arm that was pulled need not be the arm whose turn it was.
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0

    def impute(p, s: State, arm: int) -> None:  # type: ignore[override]
        """Let the next arm be the one after the arm of the pending pull."""
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0
