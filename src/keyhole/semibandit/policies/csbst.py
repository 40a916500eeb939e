"""CSB-ST: one threshold for all arms, unknown."""

import math
from collections.abc import Mapping
from typing import Any

from keyhole.policy import FloatArray, IntArray, Stream, int_array, parameter
from keyhole.semibandit.allocation_kernels import (
    AllocationState,
    allocate_top,
    count_all_violations,
    count_losses,
    count_violations,
    counts_of,
    second_phase,
    shuffle,
    write_allocation,
)
from keyhole.semibandit.setting import Policy, integer_part, warn_unfinished_search


class CSBST(Policy):
    r"""Search for the threshold that all arms have in common, then fund the worst arms.

    The first phase is a binary search among the thresholds that matter,
    :math:`\Theta = \{Q/K, Q/(K-1), \dots, \min\{1, Q\}\}` (see `candidate_thresholds`): a candidate
    Q/M is given to M arms. A loss at one of them shows that it is too low; it counts as enough
    after W rounds in a row without one,

    .. math:: W = \Big\lceil \frac{\ln(\log_2 |\Theta| / \delta)}
        {\max\{1, \lfloor Q \rfloor\} \ln(1 / (1 - \epsilon))} \Big\rceil

    The second phase is multiple-play Thompson sampling: for each arm draw
    :math:`\tilde\mu_i \sim \mathrm{Beta}(1 + S_i, 1 + F_i)` and give :math:`\hat\theta = Q/M` to
    the M arms with the largest draws. The others get nothing, and their losses :math:`S_i` and
    rounds without :math:`F_i` are counted.

    Parameters
    ----------
    delta : float, default 0.1
        The chance, in (0, 1), that the search may settle for too little.
    epsilon : float, default 0.1
        A lower bound of all mean losses, in (0, 1). It cannot be checked beforehand: with an arm
        whose mean loss is lower, the search fails more often than delta says. A learner warns when
        a loss proves what it settled for too low; the search is not taken up again.
    loss_free_rounds : int, default 0
        W, at least 1; 0 for the formula above.
    random_subset : {0, 1}, default 0
        Whether each candidate is tried on arms drawn at random, instead of on the first ones.

    Notes
    -----
    Departures from the paper: none. Readings: W is rounded up; candidates are in rising order and
    counted from 1; of the arms only those under test count; when the search ends the threshold is
    the upper end of what is left, not the candidate tried last; the second phase begins with
    uniform priors; where Q is no whole number the last candidate is 1 all the same, tried on
    :math:`\lfloor Q \rfloor` arms.
    The programs behind the paper's figures take :math:`W = \lceil \ln(K/\delta) / (Q \ln(1/(1 -
    \epsilon))) \rceil`, to be given as `loss_free_rounds`, and random subsets. With a resource for
    all arms or a single arm there is nothing to search for. Lemma 1 takes the threshold to be at
    most Q; where a resource below 1 is not enough for any arm, the last candidate, Q, is settled
    for all the same, untried.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), "Censored Semi-Bandits: A Framework for Resource
    Allocation with Censored Feedback", NeurIPS; section 3.2.

    Examples
    --------
    >>> learner = CSBST().learner(arms=4, resource=2.0)
    >>> for _ in range(50):
    ...     given = learner.ask()  # what is enough here, without our saying so: 0.6
    ...     learner.tell([int(amount < 0.6) for amount in given])
    >>> print("\n".join(repr(learner).splitlines()[1:]))
      second phase, after 15 rounds of search
      arm 0: takes 0.6667, 9 losses in 9 rounds without
      arm 1: takes 0.6667, 8 losses in 8 rounds without
      arm 2: takes 0.6667, 7 losses in 7 rounds without
      arm 3: takes 0.6667, 11 losses in 11 rounds without
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
        """Beside the arms': the candidates left, the one on trial, and how the trial goes."""

        searched = int_array()
        low = int_array()
        """The candidates up to this one, counted from 1, are too low."""
        high = int_array()
        """This candidate is enough."""
        index = int_array()
        """The candidate on trial; `high` in the second phase."""
        clear_rounds = int_array()
        needed = int_array()

    def search_rounds(self, arms: int, resource: float) -> int:
        """Return for how many rounds the threshold may be searched for: W for each candidate tried.

        It never takes longer, with K arms and the resource Q (Verma et al. 2019, Lemma 2, with
        whole steps).
        """
        count = candidates(arms, resource)
        if count == 1:
            return 0
        needed = self.loss_free_rounds or rounds_needed(self.delta, self.epsilon, resource, count)
        return needed * math.ceil(math.log2(count))

    def caution(self, told: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if thresholds differ, or the search may outlast the horizon."""
        rounds = self.search_rounds(told["arms"], told["resource"])
        if rounds > 0 and problem is not None and not problem.common:
            return f"{self} searches for one threshold for all arms, but theirs differ"
        return warn_unfinished_search(self, rounds, told)

    def init(p, s: State, rng: Stream) -> None:
        """Begin in the middle."""
        s.high[0] = candidates(p.arms, p.resource)
        s.index[0] = (s.high[0] + 1) // 2
        s.needed[0] = p.loss_free_rounds
        if p.loss_free_rounds == 0 and s.high[0] > 1:
            s.needed[0] = rounds_needed(p.delta, p.epsilon, p.resource, s.high[0])
        try_candidate(p, s, rng)

    def select(p, s: State, rng: Stream, allocation: FloatArray) -> None:
        """Try the candidate, or fund the arms with the largest samples."""
        if s.index[0] == s.high[0]:
            allocate_top(p, s, rng, p.arms - s.index[0] + 1)
        write_allocation(p, s, allocation)

    def update(p, s: State, rng: Stream, losses: FloatArray) -> None:
        """Move the search on, or count the losses."""
        if s.index[0] == s.high[0]:
            count_losses(p, s, s.funded, losses)
            count_violations(p, s, s.funded, losses)
            return
        s.searched[0] += 1
        if shows_loss(p, s, losses):
            s.low[0] = s.index[0]
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
        """Report the lowest candidate known to be enough."""
        for arm in range(p.arms):
            estimates[arm] = candidate(p, s.high[0])
        searched[0], refuted[0] = s.searched[0], count_all_violations(s, p.arms)

    def describe(self, learner: Any) -> list[str]:
        """Return the phase: the candidate on trial, or of each arm what it takes and its losses."""
        state = learner.state
        if state["index"][0] == state["high"][0]:
            return [second_phase(state), *counts_of(state)]
        limit = f"{self.search_rounds(learner.facts['arms'], learner.facts['resource']):,}"
        return [
            f"first phase, search of up to {limit} rounds: trying {state['amounts'][0]:.4g} on "
            f"{state['funded'].sum()} arms, {state['clear_rounds'][0]} of {state['needed'][0]} "
            f"rounds without a loss; {learner.recommend()[0]:.4g} is enough"
        ]


def candidates(arms: int, resource: float) -> int:
    """Return how many candidates there are."""
    return int(arms - min(arms, max(1, integer_part(resource))) + 1)


def candidate(p: Policy, index: int) -> float:
    """Return a candidate by its number, from 1."""
    return min(1.0, p.resource / (p.arms - index + 1))


def rounds_needed(delta: float, epsilon: float, resource: float, count: int) -> int:
    """Return W."""
    most = max(1, integer_part(resource))
    exact = math.log(math.log2(count) / delta) / (-most * math.log1p(-epsilon))
    return max(1, math.ceil(exact))


def try_candidate(p: CSBST, s: CSBST.State, rng: Stream) -> None:
    """Choose the arms that the candidate is tried on."""
    for arm in range(p.arms):
        s.order[arm] = arm
        s.amounts[arm] = candidate(p, s.index[0])
    if p.random_subset == 1:
        shuffle(s.order, p.arms, rng)
    for k in range(p.arms):
        s.funded[s.order[k]] = 1 if k < p.arms - s.index[0] + 1 else 0


def shows_loss(p: Policy, s: CSBST.State, losses: FloatArray) -> bool:
    """Return whether one of the arms under trial has a loss."""
    shown = 0.0
    for arm in range(p.arms):
        shown += s.funded[arm] * losses[arm]
    return shown > 0.0
