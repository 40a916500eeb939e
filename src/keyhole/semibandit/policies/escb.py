"""Policy ESCB: divides a resource among all arms but the m with the lowest loss bound."""

import math

from keyhole.policy import FloatArray, float_array, parameter
from keyhole.semibandit.allocation_kernels import AllocationState, write_allocation
from keyhole.semibandit.policy_base import EqualSharePolicy
from keyhole.semibandit.subset_search import SubsetSearch, find_best_subset


class ESCB(EqualSharePolicy):
    r"""Give nothing to the m arms with the lowest joint loss bound; the others share the resource.

    Among all sets L of m arms, nothing is given to the set with the lowest confidence bound

    .. math:: \sum_{i \in L} \frac{S_i}{N_i}
        - \sqrt{\frac{f(t)}{2} \sum_{i \in L} \frac{1}{N_i}}, \qquad f(t) = \ln t + c \, m \ln \ln t

    with :math:`S_i` the losses in the :math:`N_i` rounds in which arm i was given nothing. A
    baseline for `MPTS`: one bound for a set is tighter than the sum of its arms' bounds.

    Parameters
    ----------
    m : int
        Number of arms that are given nothing, from 0 to the number of arms; `MPTS` says how it
        follows from a threshold that all arms share.
    c : float, default 4
        Weight of :math:`m \ln \ln t`, at least 0. The theory needs 4; 0 explores less.

    Notes
    -----
    Departures from the paper: none; it is ESCB-2. ESCB-1, with a bound by the Kullback-Leibler
    divergence, would need a convex program for each set. The paper is read as follows: f is at
    least 0; until every arm has been observed, arms without an observation are given nothing first,
    then those with the smallest mean loss; among sets with equal bounds the set with the lower arms
    is chosen.

    References
    ----------
    Combes, Talebi, Proutiere and Lelarge (2015), "Combinatorial Bandits Revisited", NeurIPS;
    Algorithm 1 with the index c. Named as a choice by Verma, Hanawal, Rajkumar and Sankaran (2019),
    section 3.1.

    Examples
    --------
    >>> learner = ESCB(m=1).learner(arms=3, resource=1.2)
    >>> for _ in range(100):
    ...     given = learner.ask()
    ...     learner.tell([0, int(given[1] == 0), int(given[2] == 0)])
    >>> given  # arm 0 is the one that never has a loss
    array([0. , 0.6, 0.6])
    """

    pending = ("impute", "ignore")
    cost_per_round = (
        "a few sorts, and an exact search among the sets that could still be the best; these can "
        "be exponentially many, but are few if means differ"
    )

    c: float = parameter(default=4.0, ge=0, doc="weight of ln ln t in the width")

    class State(SubsetSearch, AllocationState):
        """Allocation state, and the terms of the sets' bounds."""

        spreads = float_array("arms")
        """1 / N of each arm; 0 for an arm that was never observed."""

    def select(p, s: State, t: int, allocation: FloatArray) -> None:
        """Fund all but the set with the lowest bound."""
        unobserved = 0
        for arm in range(p.arms):
            rounds = s.losses[arm] + s.clears[arm]
            s.values[arm] = s.losses[arm] / rounds if rounds > 0.0 else -1.0
            s.spreads[arm] = 1.0 / rounds if rounds > 0.0 else 0.0
            unobserved += rounds == 0.0
        # Arms that were never observed have the value -1, so sets with the most such arms have the
        # lowest sum.
        width = 0.0 if unobserved > 0 else 0.5 * exploration_term(t, p.c * p.m)
        find_best_subset(s, s.values, s.spreads, p.arms, p.m, width)
        for arm in range(p.arms):
            s.funded[arm] = 1 - s.best[arm]
        write_allocation(p, s, allocation)

    def impute(p, s: State, allocation: FloatArray) -> None:
        """Impute the mean losses of the arms given nothing, or 1/2 without observations."""
        for arm in range(p.arms):
            rounds = s.losses[arm] + s.clears[arm]
            mean = s.losses[arm] / rounds if rounds > 0.0 else 0.5
            if allocation[arm] == 0.0:
                s.losses[arm] += mean
                s.clears[arm] += 1.0 - mean


def exploration_term(t: int, weight: float) -> float:
    """Return f(t), at least 0."""
    log = math.log(t)
    # ln ln t is negative for t = 2, and does not exist for t = 1.
    return max(0.0, log + weight * math.log(log)) if log > 0.0 else 0.0
