"""What policies do once thresholds are known: fund some arms, and watch the others."""

import math
from collections.abc import Mapping
from typing import Any, Final

from keyhole.contract.state_memory import (
    FloatArray,
    IntArray,
    float_array,
    int_array,
    scratch_array,
)
from keyhole.draws.beta_batch import betas
from keyhole.draws.streams import Stream, uniform
from keyhole.kernels.fingerprint import Kernel
from keyhole.semibandit.knapsack import knapsack, sort_down
from keyhole.semibandit.knapsack_search import SLACK, Scratch
from keyhole.semibandit.setting import Policy, clip_to_budget, sum_up

# Of (0, 1), for a number between draws: all but equal ones, or ones near 0, are apart by then.
_HALVINGS: Final = 20


class AllocationState:
    """Of each arm: what it takes, whether it is funded, and the losses seen when it was not."""

    amounts = float_array("arms")
    funded = int_array("arms")
    losses = float_array("arms")
    """Rounds in which a loss was seen."""
    clears = float_array("arms")
    """Rounds in which none was."""
    values = float_array("arms")
    """What funding the arm is taken to be worth."""
    order = int_array("arms")
    refuted = int_array("arms")
    """Losses seen although the arm was given what it is taken to need."""
    up = scratch_array("arms")
    down = scratch_array("arms")
    """Shapes of the arms' posteriors."""


class KnapsackState(Scratch, AllocationState):
    """Beside it, what the knapsack needs."""

    since_solved = int_array()
    """Rounds for which the funded arms have been kept."""


def draw_posteriors(p: Any, s: AllocationState, rng: Stream) -> None:
    """Value every arm by a mean loss drawn from its posterior, from a uniform prior."""
    for arm in range(p.arms):
        s.up[arm] = 1.0 + s.losses[arm]
        s.down[arm] = 1.0 + s.clears[arm]
    betas(rng, s.up, s.down, p.arms, s.values)


def lower_bound(losses: float, seen: float, log: float) -> float:
    """Return the lower confidence bound of a mean loss, at least 0; `log` is that of the round."""
    return float(max(losses / seen - math.sqrt(1.5 * log / seen), 0.0))


def allocate_top(p: Policy, s: AllocationState, rng: Stream, number: int) -> None:
    """Fund the arms with the largest samples, so many of them; the lower of equal ones."""
    draw_posteriors(p, s, rng)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        cut = 0.5 * (low + high)
        above = 0
        for arm in range(p.arms):
            above += s.values[arm] > cut
        if above == number:
            for arm in range(p.arms):
                s.funded[arm] = 1 if s.values[arm] > cut else 0
            return
        if above > number:
            low = cut
        else:
            high = cut
    for arm in range(p.arms):
        s.order[arm] = arm
    sort_down(s.order, s.values, p.arms)
    for rank in range(p.arms):
        s.funded[s.order[rank]] = 1 if rank < number else 0


def allocate_best(p: Any, s: KnapsackState, t: int, rng: Stream, fill: Kernel) -> None:
    """Fund the best knapsack by the arms' values, every so many rounds anew; all, if all fit."""
    if sum_up(s.amounts, p.arms) <= p.resource + SLACK:
        for arm in range(p.arms):
            s.funded[arm] = 1
    elif s.since_solved[0] == 0:
        fill(p, s, t, rng)
        knapsack(s, s.values, s.amounts, p.arms, p.resource, s.funded)
    s.since_solved[0] = (s.since_solved[0] + 1) % p.solve_every


def write_allocation(p: Policy, s: AllocationState, allocation: FloatArray) -> None:
    """Give the funded arms what they take, the others nothing."""
    for arm in range(p.arms):
        allocation[arm] = s.amounts[arm] if s.funded[arm] == 1 else 0.0
    clip_to_budget(allocation, p.arms, p.resource)


def count_losses(
    p: Policy, s: AllocationState, given: FloatArray | IntArray, losses: FloatArray
) -> None:
    """Learn from the arms that were given nothing: `given` says that by a 0."""
    for arm in range(p.arms):
        if given[arm] == 0:
            s.losses[arm] += losses[arm]
            s.clears[arm] += 1.0 - losses[arm]


def second_phase(state: Mapping[str, Any]) -> str:
    """Return the line that says how long the search took."""
    return f"second phase, after {state['searched'][0]} rounds of search"


def counts_of(state: Mapping[str, Any]) -> list[str]:
    """Return a line for each arm: what it takes, and the losses seen when it was not funded."""
    return [
        f"arm {arm}: takes {amount:.4g}, {losses:g} losses in {losses + clears:g} rounds without"
        f"{evidence_against(state, arm)}"
        for arm, (amount, losses, clears) in enumerate(
            zip(state["amounts"], state["losses"], state["clears"], strict=True)
        )
    ]


def evidence_against(state: Mapping[str, Any], arm: int) -> str:
    """Return what speaks against the estimates of an arm's threshold; nothing if nothing does."""
    seen = state["refuted"][arm]
    return f"; {seen} loss{'es' if seen > 1 else ''} in spite of an estimate" if seen else ""


def count_violations(
    p: Policy, s: AllocationState, given: FloatArray | IntArray, losses: FloatArray
) -> None:
    """Take note of losses at arms that were given what they are taken to need."""
    for arm in range(p.arms):
        if given[arm] > 0 and losses[arm] > 0.0:
            s.refuted[arm] += 1


def count_all_violations(s: AllocationState, arms: int) -> int:
    """Return how many losses have proven an estimate too low."""
    total = 0
    for arm in range(arms):
        total += s.refuted[arm]
    return total


def shuffle(order: IntArray, count: int, rng: Stream) -> None:
    """Put the first entries into a random order, each equally likely."""
    for k in range(count - 1, 0, -1):
        j = int(uniform(rng) * (k + 1))
        order[k], order[j] = order[j], order[k]
