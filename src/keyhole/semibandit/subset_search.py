"""The set of so many items whose sum, less the root of another sum, is least: exactly.

Since a root lies below its tangents, the sum less a tangent is a lower bound; for all sets at once
it is least for the items of the least keys. The tangent with the highest bound comes close to the
optimum, and the sets that could still be better are gone through depth first.
"""

import math
from typing import Final

from keyhole.contract.state_memory import FloatArray, IntArray, float_array, int_array
from keyhole.semibandit.knapsack import sort_down

TIE: Final = 1e-11
"""Sums that differ by no more are equal: they were added up in another order."""

_HALVINGS: Final = 16  # of the range of slopes


class Subsets:
    """Working memory; and what `best_subset` finds."""

    best = int_array("arms")
    """Whether each item is in the set."""
    trial = int_array("arms")
    """The same of the set that is looked at."""
    ranked = int_array("arms")
    """Items by key, the least first."""
    keys = float_array("arms")
    """Minus what each item adds to the bound."""
    sums = float_array("arms")
    """Of the keys, by rank."""
    chosen = int_array("arms")
    """Ranks of the items of the set that is looked at."""
    bounds = float_array("arms")
    """What the first of them add up to."""


def best_subset(
    s: Subsets, values: FloatArray, spreads: FloatArray, items: int, size: int, width: float
) -> None:
    r"""Find the set of the least :math:`\sum v_i - \sqrt{w \sum b_i}`.

    Of equal sets the first is taken: the one that has the lowest item that they do not share. Here
    v are `values`, b, at least 0, `spreads`, and w, at least 0, `width`; `s.best` is filled.
    """
    slope = best_slope(s, values, spreads, items, size, width)
    take_smallest(s, values, spreads, items, size, slope)
    for item in range(items):
        s.best[item] = s.trial[item]
    if 0 < size < items:
        search(s, values, spreads, items, size, width, slope)


def best_slope(
    s: Subsets, values: FloatArray, spreads: FloatArray, items: int, size: int, width: float
) -> float:
    """Return the slope of the tangent with the highest bound, nearly."""
    least = most = spreads[0]
    for item in range(items):
        least, most = min(least, spreads[item]), max(most, spreads[item])
    if width == 0.0 or size == 0 or least == 0.0:
        return 0.0
    low = 0.5 * math.sqrt(width / (size * most))
    high = 0.5 * math.sqrt(width / (size * least))
    for _ in range(_HALVINGS):
        slope = 0.5 * (low + high)
        take_smallest(s, values, spreads, items, size, slope)
        spread = 0.0
        for item in range(items):
            spread += spreads[item] * s.trial[item]
        # The tangent at the set's own sum is steeper: so is the best.
        if 4.0 * slope * slope * spread < width:
            low = slope
        else:
            high = slope
    return 0.5 * (low + high)


def take_smallest(
    s: Subsets, values: FloatArray, spreads: FloatArray, items: int, size: int, slope: float
) -> None:
    """Rank the items by value less slope times spread, and look at the set of the least."""
    for item in range(items):
        s.ranked[item] = item
        s.keys[item] = slope * spreads[item] - values[item]
    sort_down(s.ranked, s.keys, items)
    for k in range(items):
        s.trial[s.ranked[k]] = 1 if k < size else 0


def search(
    s: Subsets,
    values: FloatArray,
    spreads: FloatArray,
    items: int,
    size: int,
    width: float,
    slope: float,
) -> None:
    """Go through all sets that could be better."""
    total = 0.0
    for k in range(items):
        total -= s.keys[s.ranked[k]]
        s.sums[k] = total
    line = width / (4.0 * slope) if slope > 0.0 else 0.0
    least = objective(s.best, values, spreads, items, width)
    depth, rank = 0, 0  # how many items are chosen, and where the next is looked for
    while True:
        bound = s.bounds[depth - 1] if depth > 0 else -line
        last = rank + size - depth - 1
        if last < items and bound + s.sums[last] - is_before(s, rank) <= least + TIE:
            if not is_duplicate(s, values, spreads, depth, rank):
                s.chosen[depth] = rank
                s.bounds[depth] = bound - s.keys[s.ranked[rank]]
                depth += 1
            if depth == size:
                least = compare(s, values, spreads, items, size, width, least)
                depth -= 1
            rank += 1
            continue
        if depth == 0:
            return
        depth -= 1
        rank = s.chosen[depth] + 1


def is_before(s: Subsets, rank: int) -> float:
    """Return what the items below a rank add up to."""
    return s.sums[rank - 1] if rank > 0 else 0.0


def is_duplicate(
    s: Subsets, values: FloatArray, spreads: FloatArray, depth: int, rank: int
) -> bool:
    """Return whether the item is the same as the one before it, which was left out."""
    if rank == 0 or (depth > 0 and s.chosen[depth - 1] == rank - 1):
        return False
    item, other = s.ranked[rank], s.ranked[rank - 1]
    return bool(values[item] == values[other] and spreads[item] == spreads[other])


def compare(
    s: Subsets,
    values: FloatArray,
    spreads: FloatArray,
    items: int,
    size: int,
    width: float,
    least: float,
) -> float:
    """Keep the set that is looked at if it is better, or equal and first; return what is least."""
    for item in range(items):
        s.trial[item] = 0
    for k in range(size):
        s.trial[s.ranked[s.chosen[k]]] = 1
    value = objective(s.trial, values, spreads, items, width)
    if value > least + TIE or (value >= least - TIE and not is_first(s, items)):
        return least
    for item in range(items):
        s.best[item] = s.trial[item]
    return value


def is_first(s: Subsets, items: int) -> bool:
    """Return whether the set that is looked at comes before the best."""
    for item in range(items):
        if s.trial[item] != s.best[item]:
            return bool(s.trial[item] == 1)
    return False


def objective(
    taken: IntArray, values: FloatArray, spreads: FloatArray, items: int, width: float
) -> float:
    """Return the sum of the values less the root."""
    value, spread = 0.0, 0.0
    for item in range(items):
        value += values[item] * taken[item]
        spread += spreads[item] * taken[item]
    return value - math.sqrt(width * spread)
