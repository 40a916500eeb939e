"""Policy CTS: divides a resource by Thompson sampling; it knows the thresholds."""

from keyhole.policy import Stream
from keyhole.semibandit.allocation_kernels import AllocationState, draw_mean_losses
from keyhole.semibandit.policy_base import KnownThresholdPolicy


class CTS(KnownThresholdPolicy):
    r"""Fund the arms that prevent the largest sampled losses, with known thresholds.

    Combinatorial Thompson sampling: for each arm draw
    :math:`\tilde\mu_i \sim \mathrm{Beta}(1 + S_i, 1 + F_i)`. :math:`S_i` and :math:`F_i` count the
    rounds in which the arm got nothing, with and without a loss at this arm. Fund

    .. math:: \arg\max_{A : \sum_{i \in A} \theta_i \le Q} \; \sum_{i \in A} \tilde\mu_i

    A baseline: `CSBDT` without its search.

    Parameters
    ----------
    solve_every : int, default 1
        Number of rounds from one knapsack to the next; the funded set is kept in between.

    Notes
    -----
    Departures from the paper: none; ties are as in `solve_knapsack`.

    References
    ----------
    Wang and Chen (2018), "Thompson Sampling for Combinatorial Semi-Bandits", ICML; Algorithm 1. In
    the setting of Verma, Hanawal, Rajkumar and Sankaran (2019), section 4, Proposition 3.

    Examples
    --------
    >>> learner = CTS().learner(arms=3, resource=1.0, thresholds=[0.9, 0.4, 0.6], seed=2)
    >>> for _ in range(100):
    ...     given = learner.ask()
    ...     learner.tell([int(given[0] == 0), int(given[1] == 0), 0])
    >>> given
    array([0.9, 0. , 0. ])
    """

    pending = ("ignore",)
    randomness = "a beta variate for each arm whenever the knapsack is solved"
    cost_per_round = "K beta variates and an exact knapsack"

    def fill(p, s: AllocationState, t: int, rng: Stream) -> None:
        """Set the arms' values to draws from the posteriors of their mean losses."""
        draw_mean_losses(p, s, rng)
