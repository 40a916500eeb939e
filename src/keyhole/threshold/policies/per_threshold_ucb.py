"""Policy PerThresholdUCB: plays UCB1 for each threshold separately, as a baseline."""

import math

from keyhole.policy import Kernel, int_array
from keyhole.threshold.policy_base import IndexPolicy, find_index_arm, upper_bound


class PerThresholdUCB(IndexPolicy):
    r"""Play UCB1 for each threshold separately, from the rounds with this threshold alone.

    This is a naive baseline: at each threshold it ignores the samples seen at other thresholds. But
    its widths are narrower than the widths of Lemma 4. So with censored feedback and small gaps it
    may have less regret than `KaplanMeierUCB`, as on Keyhole's data of flights to Washington and of
    deliveries.

    At each threshold, first pull every arm once. Then, when this threshold comes for the n-th time,
    pull

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{\frac{2 \ln (n - 1)}{n_i}}

    with :math:`n_i` the pulls of arm i at this threshold, and :math:`\hat\mu_i` the share of these
    pulls whose samples reached the threshold.

    Notes
    -----
    Departures from the paper: none; the paper names such a baseline without details. Ties go to the
    lowest arm.

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem",
    Machine Learning 47; Figure 1, UCB1.

    Examples
    --------
    >>> learner = PerThresholdUCB().learner(arms=2, levels=3, feedback="censored")
    >>> asked = []
    >>> for threshold in (3, 2, 3, 3):
    ...     asked.append(learner.ask(threshold=threshold))
    ...     learner.tell(0)
    >>> asked
    [0, 0, 1, 0]
    """

    pending = ("impute", "ignore")
    feedback = "whether the sample of the arm pulled reached the threshold"
    cost_per_round = "one logarithm and O(K) square roots"

    class State(IndexPolicy.State):
        """For each arm and threshold: pulls at just this threshold, and how many reached it."""

        rounds = int_array("levels")
        """The number of rounds with each threshold."""

    def index(p, t: int, tried: float, reached: float) -> float:
        """Return the upper confidence bound."""
        return upper_bound(tried, reached, 2.0 * math.log(t))

    def select(  # type: ignore[override]
        p, s: State, threshold: int, index: Kernel
    ) -> int:
        """Return the first arm without pulls at this threshold, else that of the largest index."""
        # In place of the round, `index` gets the number of earlier rounds with this threshold.
        return find_index_arm(p, s, s.rounds[threshold - 1], threshold, index)

    def update(  # type: ignore[override]
        p, s: State, threshold: int, arm: int, value: int
    ) -> None:
        """Count the pull at this threshold."""
        s.rounds[threshold - 1] += 1
        s.tried[arm, threshold - 1] += 1.0
        s.reached[arm, threshold - 1] += value >= threshold

    def impute(p, s: State, threshold: int, arm: int) -> None:  # type: ignore[override]
        """Count the pending pull with the mean at this threshold, or 1/2, as its result."""
        s.rounds[threshold - 1] += 1
        tried = s.tried[arm, threshold - 1]
        mean = s.reached[arm, threshold - 1] / tried if tried > 0.0 else 0.5
        s.tried[arm, threshold - 1] += 1.0
        s.reached[arm, threshold - 1] += mean
