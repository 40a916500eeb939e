"""Policy ThompsonSampling: draws a plausible mean of each option; the largest draw decides."""

import numpy as np

from keyhole.policy import Stream
from keyhole.stochastic.policy_base import BetaPosteriorPolicy, draw_means


class ThompsonSampling(BetaPosteriorPolicy):
    r"""Draw each arm's mean from its posterior distribution; pull the arm with the largest draw.

    It is a strong default on Bernoulli arms, on which it is asymptotically optimal. It draws from
    its own random stream, so runs with different seeds differ.

    Each arm has a beta posterior that starts at (a, b). In every round pull

    .. math:: \arg\max_i \; \theta_i, \qquad \theta_i \sim \mathrm{Beta}(a + S_i, b + F_i)

    with :math:`S_i` the successes and :math:`F_i` the failures of arm i. A reward x strictly
    between 0 and 1 is a success with probability x.

    Parameters
    ----------
    a, b : float, default 1
        From 10**-3 to 10**6. The prior is as if an arm had been pulled a + b times and a of the
        rewards were 1.

    Notes
    -----
    Departures from the paper: none. Ties go to the lowest arm.

    References
    ----------
    Thompson (1933), "On the Likelihood that One Unknown Probability Exceeds Another in View of the
    Evidence of Two Samples", Biometrika 25. Agrawal and Goyal (2012), "Analysis of Thompson
    Sampling for the Multi-armed Bandit Problem", COLT; Algorithms 1 and 2.

    Examples
    --------
    >>> learner = ThompsonSampling().learner(arms=2, seed=1)
    >>> for _ in range(50):
    ...     arm = learner.ask()
    ...     learner.tell(1.0 if arm == 1 else 0.0)
    >>> learner.recommend()
    1
    """

    pending = ("ignore", "impute")

    def select(p, s: BetaPosteriorPolicy.State, rng: Stream) -> int:
        """Return the arm with the largest draw."""
        draw_means(p, s, rng)
        return int(np.argmax(s.drawn))
