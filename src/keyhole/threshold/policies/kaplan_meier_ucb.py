"""KaplanMeierUCB: pulls the arm whose chance to reach the threshold has the largest bound."""

from typing import ClassVar

from keyhole.stochastic.policy_base import ln_of_2_over_delta
from keyhole.threshold.policy_base import IndexPolicy, upper_bound


class KaplanMeierUCB(IndexPolicy):
    r"""Pull the arm with the largest upper confidence bound, estimated from censored samples.

    It uses the paper's estimator for thresholds in any order: a pull at a high threshold also
    counts at lower thresholds. The paper proves no bound for it; if thresholds never rise, it is
    `OPTIM`, for which there is a bound. The width of Lemma 4 is large. So on Keyhole's data of
    flights and of deliveries, `PerThresholdUCB` does about as well, and `SurvivalThompson` has at
    most a quarter of the regret.

    Pull an arm that has never been pulled at a threshold of at least :math:`c_t`; if none is left,

    .. math:: \arg\max_i \; \hat F_i(c_t) + \sqrt{\frac{2 \ln(2 / \delta)}{N_i(c_t)}},
        \qquad \delta = \tfrac12 T^{-2}

    with :math:`N_i(c)` the pulls of arm i at thresholds of at least c, and :math:`\hat F_i(c)` the
    share of these pulls whose samples reached c.

    Notes
    -----
    Source: Keyhole's own; the estimator is the paper's. The paper has the index only for thresholds
    that never rise, with :math:`N_i` in place of :math:`N_i(c_t)`. Arms without samples at the
    threshold come first, the lowest first; ties go to the lowest arm.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; eq. (8) for the estimator, Lemma 4 for the width, section 5.1 (OPTIM) for the index.

    Examples
    --------
    >>> learner = KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored", horizon=100)
    >>> learner.ask(threshold=3), learner.tell(1)
    (0, None)
    >>> learner.ask(threshold=2), learner.tell(censored=True)
    (1, None)
    >>> learner.ask(threshold=2)  # arm 1 has reached level 2, arm 0 has not
    1
    """

    cost_per_round = "O(K) square roots, and O(m) to count a sample"

    needs: ClassVar[tuple[str, ...]] = ("horizon",)

    def index(p, t: int, tried: float, reached: float) -> float:
        """Return the upper confidence bound."""
        return upper_bound(tried, reached, 2.0 * ln_of_2_over_delta(p.horizon))
