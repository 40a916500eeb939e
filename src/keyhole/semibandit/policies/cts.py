"""CTS: thresholds known, of any kind."""

from typing import ClassVar

from keyhole.core.link import Kernel
from keyhole.core.memory import FloatArray
from keyhole.core.policy import known, parameter
from keyhole.core.streams import Stream
from keyhole.semibandit.funding import (
    KnapsackFunding,
    count_losses,
    fund_best,
    hand_out,
    posterior_sample,
)
from keyhole.semibandit.setting import Policy


class CTS(Policy):
    r"""Fund the best knapsack by sampled mean losses, told the thresholds.

    Combinatorial Thompson sampling: for each arm draw
    :math:`\tilde\mu_i \sim \mathrm{Beta}(1 + S_i, 1 + F_i)`, and fund

    .. math:: \arg\max_{A : \sum_{i \in A} \theta_i \le Q} \; \sum_{i \in A} \tilde\mu_i

    What `CSBDT` would be if there were no need to search: a yardstick.

    Parameters
    ----------
    solve_every : int, default 1
        Every how many rounds the knapsack is solved anew; in between its set is kept.

    Notes
    -----
    Setting: censored semi-bandit; needs the thresholds, which nobody knows in practice.

    Feedback: losses of 0 or 1.

    Randomness: a beta variate for each arm whenever the knapsack is solved.

    Cost per round: K beta variates and an exact knapsack.

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

    needs = ("thresholds",)
    oracle = True
    thresholds: ClassVar[FloatArray] = known()

    solve_every: int = parameter(1, ge=1, le=2**40, doc="rounds from one knapsack to the next")

    class State(KnapsackFunding):
        """Of each arm what it takes, whether it is funded, and its losses."""

    helpers = ("value",)

    def value(p, s: KnapsackFunding, t: int, rng: Stream, arm: int) -> float:
        """Draw from the posterior."""
        return posterior_sample(rng, s, arm)

    def init(p, s: State) -> None:
        """Write down what the arms take."""
        for arm in range(p.arms):
            s.amounts[arm] = p.thresholds[arm]

    def select(p, s: State, t: int, rng: Stream, allocation: FloatArray, value: Kernel) -> None:
        """Fund the best knapsack."""
        fund_best(p, s, t, rng, value)
        hand_out(p, s, allocation)

    def update(p, s: State, losses: FloatArray) -> None:
        """Count the losses."""
        count_losses(p, s, losses)
