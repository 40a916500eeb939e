"""Kernels that choose which arms to fund, and count the losses of the other arms."""

import math
from collections.abc import Mapping
from typing import Any, Final

from keyhole.contract.state_arrays import (
    FloatArray,
    IntArray,
    float_array,
    int_array,
    scratch_array,
)
from keyhole.draws.samplers import betas
from keyhole.draws.streams import Stream, uniform
from keyhole.kernels.fingerprint import Kernel
from keyhole.semibandit.knapsack import SLACK, Scratch, choose_items, sort_descending
from keyhole.semibandit.setting import Facts, clip_to_budget, sum_up

# `fund_top_draws` seeks a cut, a number with as many draws above it as arms are to be funded, by
# this many bisection steps in (0, 1). If draws differ by less than 2**-20, it may find none, and
# sorts the draws.
_HALVINGS: Final = 20


class AllocationState:
    """State of each arm: its amount, whether it is funded, and its losses when it got nothing."""

    amounts = float_array("arms")  # what an arm is given if it is funded
    funded = int_array("arms")
    losses = float_array("arms")
    """Rounds with a loss, among those in which the arm was given nothing."""
    clears = float_array("arms")
    """Rounds without a loss, among those in which the arm was given nothing."""
    values = float_array("arms")
    """Mean loss of each arm: an estimate, a bound, or a draw from its posterior."""
    order = int_array("arms")
    """Working memory of sorts and shuffles of arms."""
    refuted = int_array("arms")
    """Losses observed although the arm was given its estimated threshold."""
    up = scratch_array("arms")
    down = scratch_array("arms")
    """Shapes of the arms' posteriors."""


class KnapsackState(Scratch, AllocationState):
    """Allocation state with the working memory of the knapsack."""

    since_solved = int_array()
    """Rounds for which the funded arms have been kept."""


def draw_mean_losses(p: Any, s: AllocationState, rng: Stream) -> None:
    """Set every arm's value to a draw from the posterior of its mean loss (uniform prior)."""
    for arm in range(p.arms):
        s.up[arm] = 1.0 + s.losses[arm]
        s.down[arm] = 1.0 + s.clears[arm]
    betas(rng, s.up, s.down, p.arms, s.values)


def mean_loss_lower_bound(losses: float, rounds: float, log: float) -> float:
    """Return the lower confidence bound of a mean loss, at least 0; `log` is ln t."""
    # At least 0, since the knapsack takes no negative values.
    return float(max(losses / rounds - math.sqrt(1.5 * log / rounds), 0.0))


def fund_top_draws(p: Facts, s: AllocationState, rng: Stream, number: int) -> None:
    """Fund the `number` arms with the largest posterior draws; ties go to the lower arm."""
    draw_mean_losses(p, s, rng)
    # Bisection for a cut with exactly `number` draws above it: usually cheaper than a sort.
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        cut = 0.5 * (low + high)
        above_count = 0
        for arm in range(p.arms):
            above_count += s.values[arm] > cut
        if above_count == number:
            for arm in range(p.arms):
                s.funded[arm] = s.values[arm] > cut
            return
        if above_count > number:
            low = cut
        else:
            high = cut
    for arm in range(p.arms):
        s.order[arm] = arm
    sort_descending(s.order, s.values, p.arms)
    for rank in range(p.arms):
        s.funded[s.order[rank]] = rank < number


def fund_best_knapsack(p: Any, s: KnapsackState, t: int, rng: Stream, fill: Kernel) -> None:
    """Of the sets of arms that the resource allows, fund the set with the largest sum of values.

    The kernel `fill` sets the arms' values. The set is chosen anew every `solve_every` rounds.
    """
    # If all amounts fit, all arms are funded, and there is no knapsack to solve.
    if sum_up(s.amounts, p.arms) <= p.resource + SLACK:
        s.funded[:] = 1
    elif s.since_solved[0] == 0:
        fill(p, s, t, rng)
        choose_items(s, s.values, s.amounts, p.arms, p.resource, s.funded)
    # If `since_solved` is 0, the next round solves the knapsack. Policies also set it to 0 when an
    # estimated threshold is refuted.
    s.since_solved[0] = (s.since_solved[0] + 1) % p.solve_every


def write_allocation(p: Facts, s: AllocationState, allocation: FloatArray) -> None:
    """Write the funded arms' amounts, and 0 for the others, into the allocation."""
    for arm in range(p.arms):
        allocation[arm] = s.amounts[arm] if s.funded[arm] == 1 else 0.0
    clip_to_budget(allocation, p.arms, p.resource)


def count_losses(
    p: Facts, s: AllocationState, allocation: FloatArray | IntArray, losses: FloatArray
) -> None:
    """Count the losses of the arms with a 0 in `allocation`, which were given nothing.

    `allocation` has the amounts, or is 1 for each funded arm.
    """
    for arm in range(p.arms):
        # Only these rounds are a fair sample of an arm's losses, because an allocation may prevent
        # losses.
        if allocation[arm] == 0:
            s.losses[arm] += losses[arm]
            s.clears[arm] += 1.0 - losses[arm]


def format_second_phase(state: Mapping[str, Any]) -> str:
    """Return a line that says that the search for thresholds, of `searched` rounds, is over."""
    return f"second phase, after {state['searched'][0]} rounds of search"


def format_loss_counts(state: Mapping[str, Any]) -> list[str]:
    """Return a line for each arm: its amount, and its losses in rounds in which it got nothing."""
    return [
        f"arm {arm}: takes {amount:.4g}, {losses:g} losses in {losses + clears:g} unfunded rounds"
        f"{format_refuting_losses(state, arm)}"
        for arm, (amount, losses, clears) in enumerate(
            zip(state["amounts"], state["losses"], state["clears"], strict=True)
        )
    ]


def format_refuting_losses(state: Mapping[str, Any], arm: int) -> str:
    """Return a text on an arm's losses that refuted its estimated threshold; empty if none did."""
    losses = state["refuted"][arm]
    return f"; losses when given its estimated threshold: {losses}" if losses else ""


def count_refuting_losses(
    p: Facts, s: AllocationState, funded: FloatArray | IntArray, losses: FloatArray
) -> None:
    """Count losses of the arms with a number above 0 in `funded`, which got their estimates."""
    for arm in range(p.arms):
        if funded[arm] > 0 and losses[arm] > 0.0:
            s.refuted[arm] += 1


def sum_refuting_losses(s: AllocationState, arms: int) -> int:
    """Return the number of losses that refuted estimated thresholds, over all arms."""
    total = 0
    for arm in range(arms):
        total += s.refuted[arm]
    return total


def shuffle(order: IntArray, count: int, rng: Stream) -> None:
    """Shuffle the first `count` entries uniformly (Fisher-Yates)."""
    for k in range(count - 1, 0, -1):
        j = int(uniform(rng) * (k + 1))
        order[k], order[j] = order[j], order[k]
