"""Policy SDCB: divides a resource by bounds on losses; it knows the thresholds."""

import math

from keyhole.policy import Stream
from keyhole.semibandit.allocation_kernels import AllocationState, mean_loss_lower_bound
from keyhole.semibandit.policy_base import KnownThresholdPolicy


class SDCB(KnownThresholdPolicy):
    r"""Fund the arms with the largest lower bounds of mean losses, with known thresholds.

    The lower confidence bound of an arm's mean loss is

    .. math:: \tilde\mu_i = \max\Big\{ \frac{S_i}{N_i} - \sqrt{\frac{3 \ln t}{2 N_i}}, \, 0 \Big\}

    with :math:`S_i` the losses in the :math:`N_i` rounds in which the arm was given nothing. A
    baseline for `CTS`: `CSBDTUCB` without its search.

    Parameters
    ----------
    solve_every : int, default 1
        Number of rounds from one knapsack to the next; the funded set is kept in between.

    Notes
    -----
    Departures from the paper: none. The paper is read as follows: SDCB shifts the distribution
    function of each arm's outcome; for a sum of outcomes of 0 or 1 only the means matter, and the
    shift is the bound above. The paper first plays every arm once; here a single first round
    without any allocation does this. t counts all rounds. Ties are as in `solve_knapsack`: an arm
    whose bound is 0 is not funded but observed.

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
        """Set the arms' values to lower confidence bounds of their mean losses."""
        log = math.log(t)
        for arm in range(p.arms):
            rounds = s.losses[arm] + s.clears[arm]
            # An arm that was never observed has the value 0. So it is not funded, and is observed.
            s.values[arm] = (
                mean_loss_lower_bound(s.losses[arm], rounds, log) if rounds > 0.0 else 0.0
            )
