"""Exact search for the k items whose sum less the square root of another sum is smallest (`ESCB`).

A square root lies below its tangents, so the sum less a tangent is a lower bound. Each item adds a
number to this bound, and the k items with the smallest numbers minimise the bound. The search takes
the tangent whose minimum is largest, and continues by branch and bound, depth first.
"""

import math
from typing import Final

from keyhole.contract.state_arrays import FloatArray, IntArray, float_array, int_array
from keyhole.semibandit.knapsack import sort_descending

TIE: Final = 1e-11
"""Tolerance for equal sums, which may have been added up in different orders."""

_HALVINGS: Final = 16  # bisection steps on the range of slopes


class SubsetSearch:
    """Working memory and result of `find_best_subset`."""

    best = int_array("arms")
    """1 for the items of the best set."""
    trial = int_array("arms")
    """1 for the items of the present set."""
    ranked = int_array("arms")
    """Items by contribution to the bound, the smallest first."""
    keys = float_array("arms")
    """Minus the contribution of each item to the bound."""
    sums = float_array("arms")
    """Prefix sums of the contributions, by rank."""
    chosen = int_array("arms")
    """Ranks of the items of the present set."""
    bounds = float_array("arms")
    """Entry k: contributions of the first k + 1 of `chosen`, less the tangent's height at 0."""


def find_best_subset(
    s: SubsetSearch, values: FloatArray, spreads: FloatArray, items: int, size: int, width: float
) -> None:
    r"""Write the set with the smallest :math:`\sum v_i - \sqrt{w \sum b_i}` into `s.best`.

    Here v are the `values` and b the `spreads`; w is `width`, at least 0. The spreads are above 0;
    if the width is 0, they may be 0. Of equally good sets the lexicographically first is chosen: of
    the items that only one of two sets has, the first set has the lowest.
    """
    slope = slope_of_best_tangent(s, values, spreads, items, size, width)
    take_smallest_items(s, values, spreads, items, size, slope)
    for item in range(items):
        s.best[item] = s.trial[item]
    if 0 < size < items:
        search_subsets(s, values, spreads, items, size, width, slope)


def slope_of_best_tangent(
    s: SubsetSearch, values: FloatArray, spreads: FloatArray, items: int, size: int, width: float
) -> float:
    """Return approximately the slope of the tangent with the largest lower bound."""
    smallest = largest = spreads[0]
    for item in range(items):
        smallest = min(smallest, spreads[item])
        largest = max(largest, spreads[item])
    # If the width is 0, there is no root: the sets are bounded by their sums alone, and the slope
    # is 0. Spreads of 0 occur only then.
    if width == 0.0 or size == 0 or smallest == 0.0:
        return 0.0
    # The root of w x has the slope sqrt(w / x) / 2. The slope that is sought lies between those at
    # the largest and the smallest possible sum x of spreads.
    low = 0.5 * math.sqrt(width / (size * largest))
    high = 0.5 * math.sqrt(width / (size * smallest))
    for _ in range(_HALVINGS):
        slope = 0.5 * (low + high)
        take_smallest_items(s, values, spreads, items, size, slope)
        spread = 0.0
        for item in range(items):
            spread += spreads[item] * s.trial[item]
        # If the tangent at this set's sum of spreads is steeper than `slope`, so is the best
        # tangent (concavity).
        if 4.0 * slope * slope * spread < width:
            low = slope
        else:
            high = slope
    return 0.5 * (low + high)


def take_smallest_items(
    s: SubsetSearch, values: FloatArray, spreads: FloatArray, items: int, size: int, slope: float
) -> None:
    """Rank the items by value less slope times spread; write the first `size` into `s.trial`."""
    for item in range(items):
        s.ranked[item] = item
        # Negated, since `sort_descending` sorts the largest first.
        s.keys[item] = slope * spreads[item] - values[item]
    sort_descending(s.ranked, s.keys, items)
    for k in range(items):
        s.trial[s.ranked[k]] = k < size


def search_subsets(
    s: SubsetSearch,
    values: FloatArray,
    spreads: FloatArray,
    items: int,
    size: int,
    width: float,
    slope: float,
) -> None:
    """Enumerate all sets whose lower bound does not exceed the best value, depth first."""
    total = 0.0
    for k in range(items):
        total -= s.keys[s.ranked[k]]
        s.sums[k] = total
    # The height of the tangent at 0, the part of the bound that no item contributes.
    tangent_at_0 = width / (4.0 * slope) if slope > 0.0 else 0.0
    best_value = objective(s.best, values, spreads, items, width)
    depth = 0  # the number of chosen items
    rank = 0  # the rank of the next candidate
    while True:
        bound = s.bounds[depth - 1] if depth > 0 else -tangent_at_0
        last = rank + size - depth - 1
        # The cheapest completion takes the next ranks in order. Sets as good as the best set are
        # visited as well, since items decide between equally good sets.
        if last < items and bound + s.sums[last] - prefix_sum(s, rank) <= best_value + TIE:
            if not is_same_as_skipped(s, values, spreads, depth, rank):
                s.chosen[depth] = rank
                s.bounds[depth] = bound - s.keys[s.ranked[rank]]
                depth += 1
            if depth == size:
                best_value = keep_better_set(s, values, spreads, items, size, width, best_value)
                depth -= 1
            rank += 1
            continue
        if depth == 0:
            return
        depth -= 1
        rank = s.chosen[depth] + 1


def prefix_sum(s: SubsetSearch, rank: int) -> float:
    """Return the sum of the contributions of the items below a rank."""
    return s.sums[rank - 1] if rank > 0 else 0.0


def is_same_as_skipped(
    s: SubsetSearch, values: FloatArray, spreads: FloatArray, depth: int, rank: int
) -> bool:
    """Return whether the item at a rank equals the item before it, which the search has skipped.

    Sets that differ only in equal items need to be searched once (symmetry breaking).
    """
    if rank == 0 or (depth > 0 and s.chosen[depth - 1] == rank - 1):
        return False
    item = s.ranked[rank]
    earlier_item = s.ranked[rank - 1]
    return bool(values[item] == values[earlier_item] and spreads[item] == spreads[earlier_item])


def keep_better_set(
    s: SubsetSearch,
    values: FloatArray,
    spreads: FloatArray,
    items: int,
    size: int,
    width: float,
    best_value: float,
) -> float:
    """Keep the present set if it is better, or as good and earlier; return the smallest value."""
    s.trial[:] = 0
    for k in range(size):
        s.trial[s.ranked[s.chosen[k]]] = 1
    # Summed by item and not by rank: equal sets then have values with equal bits.
    value = objective(s.trial, values, spreads, items, width)
    if value > best_value + TIE or (
        value >= best_value - TIE and not is_lexicographically_first(s, items)
    ):
        return best_value
    for item in range(items):
        s.best[item] = s.trial[item]
    return value


def is_lexicographically_first(s: SubsetSearch, items: int) -> bool:
    """Return whether the present set is lexicographically before the best one."""
    for item in range(items):
        if s.trial[item] != s.best[item]:
            return bool(s.trial[item] == 1)
    return False


def objective(
    is_member: IntArray, values: FloatArray, spreads: FloatArray, items: int, width: float
) -> float:
    """Return the sum of the values less the square root."""
    value = spread = 0.0
    for item in range(items):
        value += values[item] * is_member[item]
        spread += spreads[item] * is_member[item]
    return value - math.sqrt(width * spread)
