"""Policy DKWUCB: pulls the arm whose chance to reach the threshold has the largest bound."""

from typing import ClassVar

from keyhole.stochastic.policy_base import ln_of_2_over_delta
from keyhole.threshold.policy_base import IndexPolicy, add_observation, impute_pull, upper_bound


class DKWUCB(IndexPolicy):
    r"""Pull the arm whose chance to reach the threshold has the largest upper confidence bound.

    It is for uncensored feedback, where every sample shows which levels it reached. By the
    inequality of Dvoretzky, Kiefer and Wolfowitz one width holds for all m levels at once, so m
    levels are no harder than one. With censored feedback see `SurvivalThompson`; without a horizon,
    `AnytimeDKWUCB`.

    After one pull of each arm, pull

    .. math:: \arg\max_i \; \hat F_i(c_t) + \sqrt{\frac{\ln(2 / \delta)}{2 N_i}},
        \qquad \delta = \tfrac12 T^{-2}

    with :math:`N_i` the pulls of arm i at any threshold, and :math:`\hat F_i(c)` the share
    of its samples that are at least c.

    Notes
    -----
    Departures from the paper: arms without pulls come first, the lowest first. The paper gives them
    the width 1, with which a pulled arm could have a larger index. Ties, open in the paper, go to
    the lowest arm.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 4, DKWUCB, with the widths of section 2.

    Examples
    --------
    >>> learner = DKWUCB().learner(arms=2, levels=3, feedback="uncensored", horizon=100)
    >>> learner.ask(threshold=3), learner.tell(1)
    (0, None)
    >>> learner.ask(threshold=1), learner.tell(3)
    (1, None)
    >>> learner.ask(threshold=2)  # arm 1 has reached level 2, arm 0 has not
    1
    """

    pending = ("impute", "ignore")
    feedback = "the sample of the arm pulled (uncensored)"
    cost_per_round = "O(K) square roots, and O(m) to count a sample"
    needs: ClassVar[tuple[str, ...]] = ("horizon",)
    works_with = ("uncensored",)

    def index(p, t: int, tried: float, reached: float) -> float:
        """Return the upper confidence bound."""
        return upper_bound(tried, reached, 0.5 * ln_of_2_over_delta(p.horizon))

    def update(p, s: IndexPolicy.State, arm: int, value: int) -> None:  # type: ignore[override]
        """Count the sample at all levels."""
        add_observation(s, arm, p.levels, value)

    def impute(p, s: IndexPolicy.State, arm: int) -> None:  # type: ignore[override]
        """Count the pending pull with its expected result at all levels."""
        impute_pull(s.reached, s.tried, arm, p.levels)
