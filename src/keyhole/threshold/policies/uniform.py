"""Policy Uniform of the threshold bandit: pulls the arms in turn, whatever the bar."""

from keyhole.policy import int_array
from keyhole.threshold.policy_base import Policy, ReachCounts, add_observation


class Uniform(Policy):
    r"""Pull the arms in turn, at any threshold.

    A baseline that never uses what it has learnt: a bound on regret that even it meets says little.

    In round t pull

    .. math:: i_t = (t - 1) \bmod K

    If decisions were replaced by others, the arm after the last one that was pulled is next.

    Notes
    -----
    Departures from the paper: none; KMUCB explores so, epoch by epoch.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 5.2 and eq. (8).

    Examples
    --------
    >>> learner = Uniform().learner(arms=2, levels=3, feedback="censored")
    >>> for threshold in (3, 1, 2):
    ...     arm = learner.ask(threshold=threshold)
    ...     learner.tell(0)
    >>> learner.ask(threshold=3)
    1
    """

    pending = ("impute", "ignore")
    off_policy = True
    cost_per_round = "O(1), and O(c) to count what is seen"

    class State(ReachCounts):
        """Counts at each level, and the next arm."""

        turn = int_array()

    def select(p, s: State) -> int:
        """Return the next arm in turn."""
        turn = int(s.turn[0])
        return turn if turn < p.arms else 0  # a decision may be without some arms

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count the pull at the levels up to its threshold."""
        add_observation(s, arm, threshold, value)
        # After the arm that was pulled: in a replayed log it need not be the one in turn.
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0

    def impute(p, s: State, arm: int) -> None:  # type: ignore[override]
        """Go on with the next arm."""
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0
