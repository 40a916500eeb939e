"""AnytimeDKWUCB: the policy DKWUCB for a number of rounds that is not known."""

import math
from typing import ClassVar

from keyhole.policy import parameter
from keyhole.threshold.policies.dkwucb import DKWUCB
from keyhole.threshold.policy_base import upper_bound


class AnytimeDKWUCB(DKWUCB):
    r"""Pull the arm whose chance to reach the threshold has the largest bound, for any horizon.

    It is `DKWUCB` for an unknown horizon, with uncensored feedback.

    After one pull of each arm, pull in round t

    .. math:: \arg\max_i \; \hat F_i(c_t)
        + \sqrt{\frac{\ln t + c \ln \ln t}{2 N_i}}

    with :math:`N_i` the pulls of arm i at any threshold, and :math:`\hat F_i(c)` the share
    of its samples that are at least c.

    Parameters
    ----------
    c : float, default 0
        Weight of ln ln t, at least 0. Theory for such indices uses 3, practice 0.

    Notes
    -----
    Departures from the paper: the paper has no anytime policy. DKWUCB has ln(2 / delta), which
    depends on the horizon, in place of ln t + c ln ln t. If ln t is below 1, ln ln t counts
    as 0.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 4, DKWUCB, which has another width.

    Examples
    --------
    >>> learner = AnytimeDKWUCB().learner(arms=2, levels=3, feedback="uncensored")
    >>> learner.ask(threshold=3), learner.tell(1)
    (0, None)
    >>> learner.ask(threshold=1)
    1
    """

    cost_per_round = "two logarithms, O(K) square roots, and O(m) to count a sample"
    needs: ClassVar[tuple[str, ...]] = ()

    c: float = parameter(default=0.0, ge=0, doc="weight of ln ln t")

    def index(p, t: int, tried: float, reached: float) -> float:
        """Return the upper confidence bound."""
        return upper_bound(tried, reached, 0.5 * anytime_log_term(t, p.c))


def anytime_log_term(t: int, c: float) -> float:
    """Return ln t + c ln ln t; if ln ln t is below 0 or not defined, it counts as 0."""
    log = math.log(t)
    return log + c * math.log(max(log, 1.0))
