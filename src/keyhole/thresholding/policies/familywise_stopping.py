"""Policy FamilywiseStopping: settles options so that most likely no verdict is wrong."""

import math

from keyhole.contract.policy import Guarantee
from keyhole.thresholding.stopping_policy import StoppingPolicy


class FamilywiseStopping(StoppingPolicy):
    r"""Settle each arm at level delta / K: the chance of any wrong arm is at most delta.

    This is `PerArmStopping`, but with K / delta in place of 1 / delta, K being the number of arms
    (Bonferroni's correction). If means are near 1/2, an arm takes about ln K / (2 d^2) more pulls
    than with `PerArmStopping`, d being the distance of its mean from the threshold plus the
    tolerance. In the symbols of `PerArmStopping`, an arm is settled as *above* once

    .. math:: c \int_0^{1/c} \prod_t \big(1 + b (x_t - c)\big) \, \mathrm{d}b \ge \frac{K}{\delta},
       \quad c = \theta - \mathrm{tolerance}

    Parameters
    ----------
    base, delta, tolerance
        As for `PerArmStopping`.

    Notes
    -----
    Source: Keyhole's own, as with `PerArmStopping`.

    **Proved:** with probability at least 1 - delta, no arm whose mean is the tolerance or more from
    the threshold is ever settled on the wrong side, under the conditions of `PerArmStopping`.

    **Where it breaks:** where `PerArmStopping` breaks. Arms can be neither added nor retired, since
    the number of arms is a part of the rule.

    References
    ----------
    As for `PerArmStopping`: Ville (1939), Robbins (1970), Waudby-Smith and Ramdas (2024).

    Examples
    --------
    >>> learner = FamilywiseStopping(delta=0.01).learner(arms=2, threshold=0.5)
    >>> while not learner.is_done:
    ...     arm = learner.ask()
    ...     learner.tell(arm == 1)
    >>> learner.settled, learner.rounds
    ({0: 'below', 1: 'above'}, 18)
    """

    def level(p) -> float:
        """Return ln(K / delta)."""
        return math.log(p.arms / p.delta)

    def guarantee(self) -> Guarantee:
        """Return the bound on the chance of any wrong verdict."""
        text = f"chance of any verdict wrong by {self.tolerance:g} or more: at most {self.delta:g}"
        return Guarantee("any_wrong_settled", self.delta, text)
