"""Policy CSBST: finds the threshold that all arms share, then draws mean losses."""

import math
from collections.abc import Mapping
from typing import Any

from keyhole.policy import FloatArray, IntArray, Stream, int_array, parameter
from keyhole.semibandit.allocation_kernels import (
    AllocationState,
    count_losses,
    count_refuting_losses,
    format_loss_counts,
    format_second_phase,
    fund_top_draws,
    shuffle,
    sum_refuting_losses,
    write_allocation,
)
from keyhole.semibandit.policy_base import Policy, unfinished_search_warning
from keyhole.semibandit.setting import integer_part


class CSBST(Policy):
    r"""Search for the threshold that all arms share, then give it to the arms with most losses.

    A binary search tries the candidates Q/M in :math:`\Theta` (`candidate_thresholds`), each on M
    arms. A candidate is sufficient after W rounds in a row without a loss at these arms,

    .. math:: W = \Big\lceil \frac{\ln(\log_2 |\Theta| / \delta)}
        {\max\{1, \lfloor Q \rfloor\} \ln(1 / (1 - \epsilon))} \Big\rceil

    After the search, the estimate Q/M is given to the M arms with the largest draws from
    :math:`\mathrm{Beta}(1 + S_i, 1 + F_i)`. :math:`S_i` and :math:`F_i` count the rounds
    after the search in which arm i got nothing, with and without a loss at this arm.

    Parameters
    ----------
    delta : float, default 0.1
        Bound on the probability, in (0, 1), that the estimate is too low.
    epsilon : float, default 0.1
        A lower bound of all mean losses, in (0, 1). If it is wrong, the search fails more often.
    loss_free_rounds : int, default 0
        W, at least 1; 0 for the formula above.
    random_subset : {0, 1}, default 0
        Whether each candidate is tried on arms drawn at random, instead of on the first arms.

    Notes
    -----
    Departures from the paper: none. How the paper is read: :doc:`/semibandit`.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), "Censored Semi-Bandits: A Framework for Resource
    Allocation with Censored Feedback", NeurIPS; section 3.2.

    Examples
    --------
    >>> learner = CSBST().learner(arms=4, resource=2.0)
    >>> for _ in range(50):
    ...     amounts = learner.ask()  # the threshold, unknown to the policy, is 0.6
    ...     learner.tell([int(amount < 0.6) for amount in amounts])
    >>> learner.rounds
    50
    """

    pending = ("wait",)
    randomness = (
        "a beta variate for each arm in every round of the second phase; the arms of each "
        "candidate, if random"
    )
    cost_per_round = "O(K) in the first phase, K beta variates and a sort in the second"

    delta: float = parameter(default=0.1, gt=0, lt=1, doc="chance of settling for too little")
    epsilon: float = parameter(default=0.1, gt=0, lt=1, doc="lower bound of the mean losses")
    loss_free_rounds: int = parameter(
        default=0, ge=0, le=2**40, doc="rounds without loss; 0: formula"
    )
    random_subset: int = parameter(default=0, ge=0, le=1, doc="whether to try on arms at random")

    class State(AllocationState):
        """Allocation state, the remaining candidates, and the candidate on trial."""

        searched = int_array()  # number of rounds of the search
        low = int_array()
        """Number, from 1, of the largest candidate that is too low; 0 if none is."""
        high = int_array()
        """Number of the smallest candidate that is sufficient."""
        index = int_array()
        """Number of the candidate on trial; `high` in the second phase."""
        clear_rounds = int_array()
        """Number of rounds without a loss at the arms on trial."""
        needed = int_array()
        """W, the number of such rounds after which the candidate is sufficient."""

    def search_rounds(self, arms: int, resource: float) -> int:
        """Return a bound on the rounds of the search: W for each candidate that is tried.

        The bound always holds (Verma et al. 2019, Lemma 2, with the steps rounded up).
        """
        count = count_candidates(arms, resource)
        if count == 1:
            return 0
        w = self.loss_free_rounds or clear_rounds_needed(self.delta, self.epsilon, resource, count)
        return w * math.ceil(math.log2(count))

    def caution(self, facts: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if thresholds differ, or the search may outlast the horizon."""
        rounds = self.search_rounds(facts["arms"], facts["resource"])
        if rounds > 0 and problem is not None and not problem.common:
            return f"{self} searches for one threshold for all arms, but thresholds differ"
        return unfinished_search_warning(self, rounds, facts)

    def init(p, s: State, rng: Stream) -> None:
        """Start the binary search in the middle."""
        s.high[0] = count_candidates(p.arms, p.resource)
        s.index[0] = (s.high[0] + 1) // 2
        s.needed[0] = p.loss_free_rounds
        if p.loss_free_rounds == 0 and s.high[0] > 1:
            s.needed[0] = clear_rounds_needed(p.delta, p.epsilon, p.resource, s.high[0])
        try_candidate(p, s, rng)

    def select(p, s: State, rng: Stream, allocation: FloatArray) -> None:
        """Try the candidate, or fund the arms with the largest draws."""
        if s.index[0] == s.high[0]:
            # The candidate Q / M has the number K - M + 1.
            fund_top_draws(p, s, rng, p.arms - s.index[0] + 1)
        write_allocation(p, s, allocation)

    def update(p, s: State, rng: Stream, losses: FloatArray) -> None:
        """Advance the search, or count the losses."""
        if s.index[0] == s.high[0]:
            count_losses(p, s, s.funded, losses)
            count_refuting_losses(p, s, s.funded, losses)
            return
        s.searched[0] += 1
        if has_loss(p, s, losses):
            s.low[0] = s.index[0]
            # Both branches go to the middle of the remaining candidates, rounded up.
            s.index[0] = s.low[0] + (s.high[0] - s.low[0] + 1) // 2
        else:
            s.clear_rounds[0] += 1
            if s.clear_rounds[0] < s.needed[0]:
                return
            s.high[0] = s.index[0]
            s.index[0] = s.high[0] - (s.high[0] - s.low[0]) // 2
        s.clear_rounds[0] = 0
        try_candidate(p, s, rng)

    def recommend(  # type: ignore[override]
        p, s: State, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report the smallest candidate that is sufficient."""
        for arm in range(p.arms):
            estimates[arm] = nth_candidate_threshold(p, s.high[0])
        searched[0] = s.searched[0]
        refuted[0] = sum_refuting_losses(s, p.arms)

    def describe(self, learner: Any) -> list[str]:
        """Return the phase with the candidate on trial, or with each arm's amount and losses."""
        state = learner.state
        if state["index"][0] == state["high"][0]:
            return [format_second_phase(state), *format_loss_counts(state)]
        bound = f"{self.search_rounds(learner.facts['arms'], learner.facts['resource']):,}"
        return [
            f"first phase, search of up to {bound} rounds: trying {state['amounts'][0]:.4g} on "
            f"{state['funded'].sum()} arms, {state['clear_rounds'][0]} of {state['needed'][0]} "
            f"rounds without a loss; {learner.recommend()[0]:.4g} is enough"
        ]


def count_candidates(arms: int, resource: float) -> int:
    """Return the number of candidates."""
    return int(arms - min(arms, max(1, integer_part(resource))) + 1)


def nth_candidate_threshold(p: Policy, index: int) -> float:
    """Return a candidate by its number, from 1."""
    return min(1.0, p.resource / (p.arms - index + 1))


def clear_rounds_needed(delta: float, epsilon: float, resource: float, count: int) -> int:
    """Return W, the number of rounds without a loss after which a candidate is sufficient."""
    whole_amounts = max(1, integer_part(resource))
    rounds = math.log(math.log2(count) / delta) / (-whole_amounts * math.log1p(-epsilon))
    return max(1, math.ceil(rounds))


def try_candidate(p: CSBST, s: CSBST.State, rng: Stream) -> None:
    """Give all arms the candidate's amount, and choose the arms on which it is tried."""
    for arm in range(p.arms):
        s.order[arm] = arm
        s.amounts[arm] = nth_candidate_threshold(p, s.index[0])
    if p.random_subset == 1:
        shuffle(s.order, p.arms, rng)
    for k in range(p.arms):
        s.funded[s.order[k]] = k < p.arms - s.index[0] + 1


def has_loss(p: Policy, s: CSBST.State, losses: FloatArray) -> bool:
    """Return whether one of the arms on trial has a loss."""
    # Losses of arms that get nothing say nothing about the candidate.
    total = 0.0
    for arm in range(p.arms):
        total += s.funded[arm] * losses[arm]
    return total > 0.0
