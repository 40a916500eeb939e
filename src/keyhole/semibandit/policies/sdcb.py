"""SDCB: thresholds known, of any kind; confidence bounds."""

import math

from keyhole.policy import Stream
from keyhole.semibandit.allocation_kernels import AllocationState, lower_bound
from keyhole.semibandit.known_threshold_policy import KnownThresholdPolicy


class SDCB(KnownThresholdPolicy):
    r"""Fund the best knapsack by confidence bounds of the mean losses, told the thresholds.

    An arm's loss is taken to be as low as it may be,

    .. math:: \tilde\mu_i = \max\Big\{ \frac{S_i}{N_i} - \sqrt{\frac{3 \ln t}{2 N_i}}, \, 0 \Big\}

    with :math:`S_i` the losses seen in the :math:`N_i` rounds in which the arm was left alone. The
    yardstick for `CTS`: what `CSBDTUCB` would be if there were no need to search.

    Parameters
    ----------
    solve_every : int, default 1
        Every how many rounds the knapsack is solved anew; in between its set is kept.

    Notes
    -----
    Departures from the paper: none. Readings: SDCB moves the distribution function of each arm's
    outcome towards better ones; where outcomes are 0 or 1 and added up only the mean matters, and
    what is left is the bound above. The first rounds, in which every arm is played once, are a
    single one here: giving nothing to anyone plays them all. t counts all rounds. Ties are as in
    `solve_knapsack`: an arm whose bound is 0 is not funded but watched.

    References
    ----------
    Chen, Hu, Li, Li, Liu and Lu (2016), "Combinatorial Multi-Armed Bandit with General Reward
    Functions", NeurIPS; Algorithm 1. Named as a choice by Verma, Hanawal, Rajkumar and Sankaran
    (2019), section 4.1.

    Examples
    --------
    >>> learner = SDCB().learner(arms=3, resource=1.0, thresholds=[0.9, 0.4, 0.6])
    >>> for _ in range(100):
    ...     given = learner.ask()
    ...     learner.tell([int(given[0] == 0), int(given[1] == 0), 0])
    >>> given
    array([0.9, 0. , 0. ])
    """

    pending = ("ignore",)
    cost_per_round = "an exact knapsack"

    def fill(p, s: AllocationState, t: int, rng: Stream) -> None:
        """Compute the bounds."""
        log = math.log(t)
        for arm in range(p.arms):
            seen = s.losses[arm] + s.clears[arm]
            s.values[arm] = lower_bound(s.losses[arm], seen, log) if seen > 0.0 else 0.0
