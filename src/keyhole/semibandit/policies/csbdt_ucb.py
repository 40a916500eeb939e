"""Policy CSBDTUCB: finds each arm's threshold, then funds the arms by bounds of their losses."""

import math

from keyhole.policy import Stream
from keyhole.semibandit.allocation_kernels import AllocationState, mean_loss_lower_bound
from keyhole.semibandit.bisection_policy import BisectionPolicy


class CSBDTUCB(BisectionPolicy):
    r"""Search for each arm's threshold, then fund the arms with the largest lower loss bounds.

    A baseline for `CSBDT`, with the same first phase and parameters. In the second phase the lower
    confidence bound of an arm's mean loss is

    .. math:: \tilde\mu_i = \max\Big\{ \frac{S_i}{N_i} - \sqrt{\frac{1.5 \ln t}{N_i}}, \, 0 \Big\}

    After the search, arm i got nothing in :math:`N_i - 1` rounds; in :math:`S_i` of them it had a
    loss. The exact knapsack :math:`KP(\tilde\mu, \hat\theta, Q)` of `CSBDT` is funded.

    Parameters
    ----------
    delta, epsilon, gamma, round_decimals, solve_every, loss_free_rounds, as_printed, any_loss
        As for `CSBDT`.

    Notes
    -----
    Departures from the paper: none; see `CSBDT` for the correction by ``as_printed=0``. The paper
    is read as follows: :math:`S_i = 0` and :math:`N_i = 1` when the second phase starts; t counts
    all rounds. While many bounds are 0, the result depends on the choice among equally good sets.
    Here `solve_knapsack` makes it: an arm whose bound is 0 is not funded but observed.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), "Censored Semi-Bandits: A Framework for Resource
    Allocation with Censored Feedback", NeurIPS; supplement, section C.1.

    Examples
    --------
    >>> learner = CSBDTUCB(gamma=0.05).learner(arms=2, resource=1.0)
    >>> for _ in range(500):
    ...     given = learner.ask()  # the thresholds, unknown to the policy, are 0.3 and 0.8
    ...     learner.tell([int(given[0] < 0.3), int(given[1] < 0.8)])
    >>> learner.recommend()
    array([0.3046875, 0.8046875])
    """

    pending = ("wait",)
    randomness = "in the first phase the order of the arms whose thresholds are known"
    cost_per_round = "O(K) in the first phase, an exact knapsack in the second"

    def fill(p, s: AllocationState, t: int, rng: Stream) -> None:
        """Set the arms' values to lower confidence bounds of their mean losses."""
        log = math.log(t)
        for arm in range(p.arms):
            # The count starts at 1: otherwise the first bound would divide by 0.
            rounds = 1.0 + s.losses[arm] + s.clears[arm]
            s.values[arm] = mean_loss_lower_bound(s.losses[arm], rounds, log)
