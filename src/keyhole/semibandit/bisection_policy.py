"""Base class of policies that find each arm's threshold by bisection, then divide the resource."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

from keyhole.policy import FloatArray, IntArray, Kernel, Stream, float_array, int_array, parameter
from keyhole.semibandit.allocation_kernels import (
    KnapsackState,
    count_losses,
    format_loss_counts,
    format_refuting_losses,
    format_second_phase,
    fund_best_knapsack,
    shuffle,
    sum_refuting_losses,
    write_allocation,
)
from keyhole.semibandit.knapsack import SLACK
from keyhole.semibandit.policy_base import Policy, unfinished_search_warning
from keyhole.semibandit.setting import integer_part

_LARGEST_THRESHOLD: Final = 1.0  # the estimate if no larger amount is left to try


class BisectionPolicy(Policy, abstract=True):
    r"""Base class of policies that search for thresholds, then fund the best set of arms that fits.

    The first phase keeps bounds :math:`\theta_l < \theta_i \le \theta_u` for each arm, at first 0
    and min{1, Q}, and tries values :math:`\hat\theta_i` in between. A loss at an arm that was given
    :math:`\hat\theta_i` raises its lower bound to :math:`\hat\theta_i`. After W rounds without a
    loss in which the arm was given :math:`\hat\theta_i`, its upper bound falls to
    :math:`\hat\theta_i`. Then the middle of the two bounds is tried. Here

    .. math:: W = \Big\lceil \frac{\ln(K \log_2(\lceil 1 + 1/\gamma \rceil) / \delta)}
        {\ln(1 / (1 - \epsilon))} \Big\rceil

    When the bounds are within :math:`\gamma` of each other, the upper bound becomes the estimate
    (with ``as_printed=1``, only if the upper bound has just fallen). The phase ends when every arm
    has an estimate.

    A loss at an arm that was given its estimate proves the estimate too low. With ``as_printed=0``
    the search for this arm starts again between the refuted estimate and min{1, Q}, and the first
    phase goes on until this search ends, too.

    The second phase funds the set that fits with the largest sum of :math:`\tilde\mu_i`, the exact
    knapsack :math:`KP(\tilde\mu, \hat\theta, Q)`. Here :math:`\tilde\mu_i` is the value of arm i,
    such as a draw of its mean loss. A subclass defines the kernel ``fill(p, s, t, rng)``, which
    writes the values into ``s.values``.
    """

    delta: float = parameter(default=0.1, gt=0, lt=1, doc="chance that some estimate is wrong")
    epsilon: float = parameter(default=0.1, gt=0, lt=1, doc="lower bound of the mean losses")
    gamma: float = parameter(default=1e-3, gt=0, lt=1, doc="how much estimates may be too high")
    round_decimals: int = parameter(default=0, ge=0, le=9, doc="decimals of the estimates; 0: all")
    solve_every: int = parameter(
        default=1, ge=1, le=2**40, doc="rounds from one knapsack to the next"
    )
    loss_free_rounds: int = parameter(
        default=0, ge=0, le=2**40, doc="rounds without loss; 0: formula"
    )
    as_printed: int = parameter(
        default=1, ge=0, le=1, doc="whether to search as the paper prints it"
    )
    any_loss: int = parameter(
        default=0, ge=0, le=1, doc="whether losses at less than the trial count, too"
    )

    helpers: ClassVar[tuple[str, ...]] = ("fill",)
    helper_arguments = MappingProxyType({"fill": ("p", "s", "t", "rng")})

    class State(KnapsackState):
        """Knapsack state, and the bounds and trial of each arm's bisection."""

        searched = int_array()
        """Number of rounds of the search."""
        low = float_array("arms")
        high = float_array("arms")
        settled = int_array("arms")
        """1 if `amounts` is an estimate, 0 if it is an amount on trial."""
        clear_rounds = int_array("arms")
        """Number of rounds without a loss in which the arm was given its trial."""
        unsettled = int_array()
        """Number of arms without an estimate."""
        needed = int_array()
        """W: after this number of rounds without a loss, an upper bound falls."""

    def search_rounds(self, arms: int, resource: float) -> int:
        r"""Return a bound on the rounds of the search, with K arms and the resource Q.

        .. math:: \Big\lceil \frac{K W \log_2(\lceil 1 + 1/\gamma \rceil)}
            {\max\{1, \lfloor Q \rfloor\}} \Big\rceil

        The search is longer with probability at most `delta` (Verma et al. 2019, Lemma 4).
        """
        if not is_search_needed(arms, resource):
            return 0
        w = self.loss_free_rounds or clear_rounds_needed(arms, self.delta, self.epsilon, self.gamma)
        return math.ceil(arms * w * bisection_steps(self.gamma) / max(1, integer_part(resource)))

    def caution(self, facts: Mapping[str, Any], problem: object) -> str:
        """Return a warning if the search may outlast the horizon."""
        return unfinished_search_warning(
            self, self.search_rounds(facts["arms"], facts["resource"]), facts
        )

    def init(p, s: State) -> None:
        """Set the first trials; without a search, the largest amount is every arm's estimate."""
        # An arm is never given more than this, so no trial can find a higher threshold.
        largest_amount = min(1.0, p.resource)
        has_search = is_search_needed(p.arms, p.resource)
        for arm in range(p.arms):
            s.high[arm] = largest_amount
            s.settled[arm] = not has_search
            s.amounts[arm] = first_tried_amount(p, arm) if has_search else largest_amount
        s.unsettled[0] = p.arms if has_search else 0
        s.needed[0] = p.loss_free_rounds
        if p.loss_free_rounds == 0:
            s.needed[0] = clear_rounds_needed(p.arms, p.delta, p.epsilon, p.gamma)

    def select(p, s: State, t: int, rng: Stream, allocation: FloatArray, fill: Kernel) -> None:
        """Allocate the trials in the first phase, the best knapsack in the second."""
        if s.unsettled[0] > 0:
            fund_trials_first(p, s, rng)
        else:
            fund_best_knapsack(p, s, t, rng, fill)
        write_allocation(p, s, allocation)

    def update(p, s: State, losses: FloatArray) -> None:
        """Move the bounds or count the losses; in both phases count refuted estimates."""
        # Means are learnt in the second phase only, which begins with uniform priors.
        if s.unsettled[0] == 0:
            count_losses(p, s, s.funded, losses)
        else:
            s.searched[0] += 1
        for arm in range(p.arms):
            if s.settled[arm] == 0:
                if s.funded[arm] == 1 or p.any_loss == 1:
                    move_bound(p, s, arm, losses[arm])
            elif s.funded[arm] == 1 and losses[arm] > 0.0:
                s.refuted[arm] += 1
                if p.as_printed == 0:
                    reset_bounds(p, s, arm)

    def recommend(  # type: ignore[override]
        p, s: State, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report the estimates; for arms without an estimate, the upper bounds."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm] if s.settled[arm] == 1 else s.high[arm]
        searched[0] = s.searched[0]
        refuted[0] = sum_refuting_losses(s, p.arms)

    def describe(self, learner: Any) -> list[str]:
        """Return the phase, and for each arm its threshold, or its losses in the second phase."""
        state = learner.state
        arms = learner.facts["arms"]
        resource = learner.facts["resource"]
        if state["unsettled"][0] == 0:
            return [format_second_phase(state), *format_loss_counts(state)]
        phase_text = (
            f"first phase, search of up to {self.search_rounds(arms, resource):,} rounds: "
            f"{arms - state['unsettled'][0]} of {arms} thresholds settled"
        )
        return [phase_text, *(f"arm {arm}: {format_bounds(state, arm)}" for arm in range(arms))]


def is_search_needed(arms: int, resource: float) -> bool:
    """Return whether there are several arms, and too little of the resource to give each 1."""
    return arms > 1 and resource < arms


def first_tried_amount(p: BisectionPolicy, arm: int) -> float:
    """Return the first trial: 1/2 for floor(Q) arms; the others share what is left equally.

    If a share would be 1 or more, the first trial is 1/2 for all arms.
    """
    half_count = integer_part(p.resource)
    if arm < half_count:
        return 0.5
    share = float((p.resource - 0.5 * half_count) / (p.arms - half_count))
    return share if share < 1.0 else 0.5


def clear_rounds_needed(arms: int, delta: float, epsilon: float, gamma: float) -> int:
    """Return W, the number of rounds without a loss after which an upper bound falls."""
    rounds = math.log(arms * bisection_steps(gamma) / delta) / -math.log1p(-epsilon)
    return max(1, math.ceil(rounds))


def bisection_steps(gamma: float) -> float:
    """Return the number of halvings, not rounded, that bring two bounds from 1 apart to gamma."""
    return math.log2(math.ceil(1.0 + 1.0 / gamma))


def fund_trials_first(p: BisectionPolicy, s: BisectionPolicy.State, rng: Stream) -> None:
    """Fund the trials that fit, in the order of the arms, then the settled arms in random order."""
    remaining = p.resource + SLACK
    settled_count = 0
    for arm in range(p.arms):
        s.funded[arm] = 0
        if s.settled[arm] == 1:
            s.order[settled_count] = arm
            settled_count += 1
        elif s.amounts[arm] <= remaining:
            s.funded[arm] = 1
            remaining -= s.amounts[arm]
    shuffle(s.order, settled_count, rng)
    for k in range(settled_count):
        arm = s.order[k]
        if s.amounts[arm] <= remaining:
            s.funded[arm] = 1
            remaining -= s.amounts[arm]


def move_bound(p: BisectionPolicy, s: BisectionPolicy.State, arm: int, loss: float) -> None:
    """Raise an arm's lower bound after a loss, or lower its upper bound after W clear rounds."""
    # With `any_loss`, line 8 of the paper's pseudo-code is followed to the letter: a loss counts
    # whatever the arm was given. But no loss counts if the trial equals the lower bound, because a
    # loss at that amount has been counted before.
    loss_counts = loss > 0.0 and (p.any_loss == 0 or s.low[arm] < s.amounts[arm])
    if loss_counts:
        s.low[arm] = s.amounts[arm]
        # No allocation exceeds a resource below 1, so the bisection cannot reach a threshold above
        # the resource.
        if p.resource < 1.0 and s.high[arm] == p.resource and p.resource - s.low[arm] <= p.gamma:
            finish_bisection(s, arm, _LARGEST_THRESHOLD)
            return
    elif s.funded[arm] == 0:
        return
    else:
        s.clear_rounds[arm] += 1
        if s.clear_rounds[arm] < s.needed[0]:
            return
        s.high[arm] = s.amounts[arm]
    if s.high[arm] - s.low[arm] <= p.gamma and (not loss_counts or p.as_printed == 0):
        estimate = round_to_decimals(s.high[arm], p.round_decimals)
        # Rounding must not bring an estimate back to a value that was proved too low.
        is_refuted = estimate <= s.low[arm] and p.as_printed == 0
        finish_bisection(s, arm, s.high[arm] if is_refuted else estimate)
    else:
        s.clear_rounds[arm] = 0
        s.amounts[arm] = 0.5 * (s.low[arm] + s.high[arm])


def reset_bounds(p: BisectionPolicy, s: BisectionPolicy.State, arm: int) -> None:
    """Restart the bisection above a refuted estimate, unless no larger allocation is possible."""
    largest_amount = min(1.0, p.resource)
    # The funded set was chosen by the refuted amount, so the next round must solve the knapsack
    # anew.
    s.since_solved[0] = 0
    if largest_amount - s.amounts[arm] <= p.gamma:
        s.amounts[arm] = _LARGEST_THRESHOLD
        return
    s.low[arm] = s.amounts[arm]
    s.high[arm] = largest_amount
    s.amounts[arm] = 0.5 * (s.low[arm] + s.high[arm])
    s.settled[arm] = s.clear_rounds[arm] = 0
    s.unsettled[0] += 1


def finish_bisection(s: BisectionPolicy.State, arm: int, estimate: float) -> None:
    """Set the arm's estimate and end its bisection."""
    s.amounts[arm] = estimate
    s.settled[arm] = 1
    s.unsettled[0] -= 1


def format_bounds(state: Mapping[str, Any], arm: int) -> str:
    """Return an arm's threshold, or its bounds and trial, as text."""
    amount = state["amounts"][arm]
    if state["settled"][arm]:
        return f"threshold {amount:.4g}{format_refuting_losses(state, arm)}"
    return (
        f"threshold above {state['low'][arm]:.4g}, at most {state['high'][arm]:.4g}; trying "
        f"{amount:.4g}, {state['clear_rounds'][arm]} of {state['needed'][0]} rounds without a loss"
        f"{format_refuting_losses(state, arm)}"
    )


def round_to_decimals(value: float, decimals: int) -> float:
    """Round a value to `decimals` (0 for no rounding), but not below the smallest unit."""
    if decimals == 0:
        return value
    units_per_1 = 10.0**decimals
    return float(max(1.0, math.floor(value * units_per_1 + 0.5)) / units_per_1)
