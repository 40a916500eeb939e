"""AnytimeOPTIM: the policy OPTIM for a number of rounds that is not known."""

from typing import ClassVar

from keyhole.policy import parameter
from keyhole.threshold.policies.anytime_dkwucb import anytime_log_term
from keyhole.threshold.policies.optim import OPTIM
from keyhole.threshold.policy_base import upper_bound


class AnytimeOPTIM(OPTIM):
    r"""Pull the arm with the largest bound, for thresholds that never rise and any horizon.

    It is `OPTIM` for an unknown horizon, with censored feedback.

    After one pull of each arm, pull in round t

    .. math:: \arg\max_i \; \hat F_i(c_t)
        + \sqrt{\frac{2 (\ln t + c \ln \ln t)}{N_i}}

    with :math:`N_i` the pulls of arm i, all at thresholds of at least :math:`c_t`, and
    :math:`\hat F_i(c)` the share of these pulls whose samples reached c.

    Parameters
    ----------
    c : float, default 0
        Weight of ln ln t, at least 0. Theory for such indices uses 3, practice 0.

    Notes
    -----
    Departures from the paper: the paper has no anytime policy. OPTIM has ln(2 / delta), which
    depends on the horizon, in place of ln t + c ln ln t. If ln t is below 1, ln ln t counts
    as 0.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 5.1, OPTIM, which has another width.

    Examples
    --------
    >>> learner = AnytimeOPTIM().learner(arms=2, levels=3, feedback="censored")
    >>> learner.ask(threshold=2), learner.tell(censored=True)
    (0, None)
    >>> learner.ask(threshold=1)
    1
    """

    cost_per_round = "two logarithms, O(K) square roots, and O(m) to count a sample"

    needs: ClassVar[tuple[str, ...]] = ()

    c: float = parameter(default=0.0, ge=0, doc="weight of ln ln t")

    def index(p, t: int, tried: float, reached: float) -> float:
        """Return the upper confidence bound."""
        return upper_bound(tried, reached, 2.0 * anytime_log_term(t, p.c))
