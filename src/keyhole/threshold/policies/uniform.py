"""Uniform sampling."""

from keyhole.policy import float_array, int_array
from keyhole.threshold.setting import Policy, count


class Uniform(Policy):
    r"""Pull the arms in turn, whatever the threshold.

    A yardstick: it learns, and never uses what it has learnt. A bound on regret that it keeps says
    little.

    In round t pull

    .. math:: i_t = (t - 1) \bmod K

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

    class State:
        """What is known at each level, and the arm whose turn it is."""

        reached = float_array("arms", "levels")
        tried = float_array("arms", "levels")
        turn = int_array()

    def select(p, s: State) -> int:
        """Return the arm whose turn it is."""
        return int(s.turn[0])

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count what the pull tells."""
        count(s, arm, threshold, value)
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0

    def impute(p, s: State, arm: int) -> None:  # type: ignore[override]
        """Go on with the next arm."""
        s.turn[0] = arm + 1 if arm + 1 < p.arms else 0
