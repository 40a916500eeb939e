"""Policy OPTIM: pulls the arm whose chance to reach the threshold has the largest bound."""

from keyhole.policy import Kernel, int_array
from keyhole.threshold.policies.kaplan_meier_ucb import KaplanMeierUCB
from keyhole.threshold.policy_base import add_observation, find_index_arm


class OPTIM(KaplanMeierUCB):
    r"""Pull the arm with the largest upper confidence bound, for thresholds that never rise.

    If thresholds never rise, nothing is lost to censoring: a sample at a high threshold also counts
    at all lower thresholds, and only lower thresholds follow. This policy refuses a threshold that
    rises. For thresholds in any order see `KaplanMeierUCB`, which takes the same decisions if
    thresholds never rise.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; \hat F_i(c_t) + \sqrt{\frac{2 \ln(2 / \delta)}{N_i}},
        \qquad \delta = \tfrac12 T^{-2}

    Here :math:`N_i` is the number of pulls of arm i, all at thresholds of at least :math:`c_t`, and
    :math:`\hat F_i(c)` is the share of these pulls whose samples reached c.

    Notes
    -----
    Departures from the paper: arms without pulls come first, the lowest first, while the paper
    gives them the width 1. Ties, open in the paper, go to the lowest arm.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 5.1, OPTIM, with eq. (8) and Lemma 4.

    Examples
    --------
    >>> learner = OPTIM().learner(arms=2, levels=3, feedback="censored", horizon=100)
    >>> learner.ask(threshold=2), learner.tell(censored=True)
    (0, None)
    >>> learner.ask(threshold=3)
    Traceback (most recent call last):
    ValueError: OPTIM() needs thresholds that never rise: not so in round 2
    """

    pending = ("impute", "ignore")
    requires = "thresholds that never rise"

    class State(KaplanMeierUCB.State):
        """Counts at each level, and the last threshold."""

        last = int_array()
        """The threshold of the last round, or 0 before the first."""

    def select(  # type: ignore[override]
        p, s: State, t: int, threshold: int, index: Kernel
    ) -> int:
        """Return the arm as `KaplanMeierUCB` does, or -1, for none, if the threshold rises."""
        if 0 < s.last[0] < threshold:
            # With no arm, the caller gets an error that quotes `requires`.
            return -1
        return find_index_arm(p, s, t, threshold, index)

    def update(  # type: ignore[override]
        p, s: State, threshold: int, arm: int, value: int
    ) -> None:
        """Count the pull, and keep the threshold."""
        s.last[0] = threshold
        add_observation(s, arm, threshold, value)
