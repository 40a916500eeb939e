"""Policy MPTS: divides a resource among all arms but the m with the smallest drawn losses."""

from keyhole.policy import FloatArray, Stream
from keyhole.semibandit.allocation_kernels import AllocationState, fund_top_draws, write_allocation
from keyhole.semibandit.policy_base import EqualSharePolicy


class MPTS(EqualSharePolicy):
    r"""Give nothing to the m arms with the smallest sampled losses; the others share the resource.

    Multiple-play Thompson sampling: for each arm draw

    .. math:: \tilde\mu_i \sim \mathrm{Beta}(1 + S_i, 1 + F_i)

    with :math:`S_i` the observed losses and :math:`F_i` the observed rounds without a loss. Give
    nothing to the m arms with the smallest draws, and :math:`Q / (K - m)`, at most 1, to each of
    the other arms. If all arms have the threshold :math:`\theta_c`, and it is known, take
    :math:`m = K - \min\{\lfloor Q/\theta_c \rfloor, K\}` (see `count_funded_arms`). This is `CSBST`
    without its search.

    Parameters
    ----------
    m : int
        Number of arms that are given nothing, from 0 to the number of arms, K.

    Notes
    -----
    Departures from the paper: none. If draws are equal, the lower arm is funded.

    References
    ----------
    Komiyama, Honda and Nakagawa (2015), "Optimal Regret Analysis of Thompson Sampling in Stochastic
    Multi-armed Bandit Problem with Multiple Plays", ICML; Algorithm 1. In the setting of Verma,
    Hanawal, Rajkumar and Sankaran (2019), section 3.1, Proposition 1.

    Examples
    --------
    >>> learner = MPTS(m=1).learner(arms=3, resource=1.2, seed=3)
    >>> for _ in range(100):
    ...     given = learner.ask()
    ...     learner.tell([0, int(given[1] == 0), int(given[2] == 0)])
    >>> given  # arm 0 is the one that never has a loss
    array([0. , 0.6, 0.6])
    """

    pending = ("ignore",)
    randomness = "a beta variate for each arm in every round"
    cost_per_round = "K beta variates and a sort"

    def select(p, s: AllocationState, rng: Stream, allocation: FloatArray) -> None:
        """Fund the arms with the largest draws."""
        fund_top_draws(p, s, rng, p.arms - p.m)
        write_allocation(p, s, allocation)
