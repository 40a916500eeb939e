"""Policy PerArmStopping: settles each option on its own, and says when all of them are settled."""

import math

from keyhole.contract.policy import Guarantee
from keyhole.thresholding.stopping_policy import StoppingPolicy


class PerArmStopping(StoppingPolicy):
    r"""Settle each arm at level delta: on average, at most a share delta of all arms is wrong.

    Use it if each wrong arm costs the same and nobody can say how many pulls are enough. An arm
    is settled as *above* or *below* once its evidence for this side, an e-process against the other
    side, reaches 1 / delta. For *above* it is the average wealth of bets b on a mean above c:

    .. math:: c \int_0^{1/c} \prod_t \big(1 + b (x_t - c)\big) \, \mathrm{d}b \ge \frac{1}{\delta},
       \quad c = \theta - \mathrm{tolerance},

    with the threshold :math:`\theta` and the arm's rewards x, each as weights on 0, 1/20, ..., 1.
    If the base chooses a settled arm, the unsettled arm with the fewest pulls is pulled instead.

    Parameters
    ----------
    base : policy of `keyhole.thresholding`, default LSA()
        The policy that chooses. It must be able to learn from decisions of others (`off_policy`).
    delta : float, default 0.05
        The bound on the share of wrong arms, in (0, 1).
    tolerance : float, default 0.05
        If a mean is closer to the threshold than this, either verdict is right. At least 0.

    Notes
    -----
    Source: Keyhole's own; its parts are known. Proved: the chance that an arm is *ever* settled
    wrongly is at most delta. If all means are on the threshold, the policy takes more pulls than
    a rule with a fixed number of pulls (:doc:`/thresholding`).

    References
    ----------
    Ville (1939) for the inequality; Robbins (1970), Annals of Mathematical Statistics 41, pages
    1397-1409, for mixtures; Waudby-Smith and Ramdas (2024), "Estimating means of bounded random
    variables by betting", JRSS B 86, for rewards in [0, 1].

    Examples
    --------
    >>> learner = PerArmStopping().learner(arms=2, threshold=0.5)
    >>> while not learner.is_done:
    ...     learner.tell(learner.ask() == 1)
    >>> learner.settled, learner.rounds
    ({0: 'below', 1: 'above'}, 12)
    """

    arms_change = True

    def level(p) -> float:
        """Return ln(1 / delta)."""
        return -math.log(p.delta)

    def guarantee(self) -> Guarantee:
        """Return the bound on the expected share of wrong arms."""
        text = (
            f"expected share of all arms wrong by {self.tolerance:g} or more: "
            f"at most {self.delta:g}"
        )
        return Guarantee("wrong_settled", self.delta, text)
