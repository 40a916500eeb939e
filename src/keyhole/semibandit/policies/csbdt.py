"""Policy CSBDT: finds each arm's threshold, then draws mean losses (Thompson sampling)."""

from keyhole.policy import Stream
from keyhole.semibandit.allocation_kernels import AllocationState, draw_mean_losses
from keyhole.semibandit.bisection_policy import BisectionPolicy


class CSBDT(BisectionPolicy):
    r"""Search for each arm's threshold, then fund the arms that prevent the largest sampled losses.

    The published algorithm. Its search (`keyhole.semibandit.BisectionPolicy`) may never end;
    ``as_printed=0`` corrects this. :math:`S_i` and :math:`F_i` count the rounds after the search in
    which arm i got nothing, with and without a loss at this arm. For each arm draw
    :math:`\tilde\mu_i` from :math:`\mathrm{Beta}(1 + S_i, 1 + F_i)`, and fund

    .. math:: \arg\max_{A : \sum_{i \in A} \hat\theta_i \le Q} \; \sum_{i \in A} \tilde\mu_i

    Parameters
    ----------
    delta, epsilon : float, default 0.1
        Bound on the chance that an estimate is wrong; lower bound of all mean losses; in (0, 1).
    gamma : float, default 0.001
        By how much estimates may exceed thresholds, in (0, 1). Take at most `Problem.gamma`.
    round_decimals : int, default 0
        Number of decimals to which estimates are rounded, from 1 to 9; 0 for no rounding.
    solve_every, loss_free_rounds : int, default 1 and 0
        Rounds from one knapsack to the next; and W of `BisectionPolicy`, or 0 to compute W.
    as_printed, any_loss : {0, 1}, default 1 and 0
        Whether to search as the paper prints it; and whether losses count, too, at an arm that was
        given less than the amount on trial.

    Notes
    -----
    Departures from the paper: none. Where it breaks, and how the paper is read: :doc:`/semibandit`.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), "Censored Semi-Bandits: A Framework for Resource
    Allocation with Censored Feedback", NeurIPS; section 4.1.

    Examples
    --------
    >>> learner = CSBDT(gamma=0.05).learner(arms=2, resource=1.0, seed=1)
    >>> for _ in range(500):
    ...     amounts = learner.ask()  # the thresholds, unknown to the policy, are 0.3 and 0.8
    ...     learner.tell([int(amounts[0] < 0.3), int(amounts[1] < 0.8)])
    >>> learner.recommend()
    array([0.3046875, 0.8046875])
    """

    pending = ("wait",)
    randomness = (
        "in the first phase the order of the arms whose thresholds are known; in the second a "
        "beta variate for each arm whenever the knapsack is solved"
    )
    cost_per_round = "O(K) in the first phase, K beta variates and an exact knapsack in the second"

    def fill(p, s: AllocationState, t: int, rng: Stream) -> None:
        """Set the arms' values to draws from the posteriors of their mean losses."""
        draw_mean_losses(p, s, rng)
