"""Kernels (compiled functions) for grids of limits that grow, with statistics of each grid point.

A policy that chooses an arm (a thing to run, such as a solver) and the limit at which it is stopped
tries few limits at first, and adds others near the best.

`s` is the state of a `keyhole.resource.refined_grid_policy.RefinedGridPolicy`, `p` its parameters
and facts, `width` its kernel of that name, and `spread` the factor shared by all confidence lengths
of a round (`common_spread`). An arm's points are kept in increasing order.
"""

import math
from typing import Any

from keyhole.kernels.fingerprint import Kernel
from keyhole.resource.cost_functions import value_at


def log_ratio(horizon: int, delta: float) -> float:
    """Return ln(T^2 / delta).

    Examples
    --------
    >>> round(log_ratio(10, 0.1), 3)
    6.908
    """
    return 2.0 * math.log(horizon) - math.log(delta)


def common_spread(p: Any, rounds: int) -> float:
    """Return alpha ln(T^2 / delta) / 2, with T the number of planned rounds."""
    return float(0.5 * p.alpha * log_ratio(rounds, p.delta))


def confidence_length(p: Any, s: Any, arm: int, k: int, width: Kernel, spread: float) -> float:
    """Return the confidence length of a point that has informative rounds."""
    return float(width(p, s, arm, k) * math.sqrt(spread / s.told[arm, k]))


def start_grids(p: Any, s: Any) -> None:
    """Start every grid with the largest limit alone, without statistics."""
    largest = p.limits[p.limit_count - 1]
    for arm in range(p.arms):
        s.sizes[arm] = 1
        s.settled[arm] = 0.0
        add_point(p, s, arm, 0, largest, 0)
        s.best_index[arm] = math.inf
        s.best_point[arm] = largest


def record_round(s: Any, t: int, arm: int, limit: float, used: float, gain: float) -> None:
    """Append round t to the arm's history, a linked list through `s.following`."""
    s.limits[t - 1] = limit
    s.consumptions[t - 1] = used
    s.gains[t - 1] = gain
    if s.first[arm] == 0:
        s.first[arm] = t
    else:
        s.following[s.last[arm] - 1] = t
    s.last[arm] = t


def update_statistics(s: Any, arm: int, k: int, used: float, gain: float) -> None:
    """Count a round whose limit was at least point k."""
    s.told[arm, k] += 1.0
    # A run that was stopped has an infinite consumption, and is over every point.
    if used > s.points[arm, k]:
        s.over[arm, k] += 1.0
    else:
        s.net[arm, k] += gain


def estimate(s: Any, arm: int, k: int) -> float:
    """Return the estimated gain of point k: equation (10)."""
    return float((s.net[arm, k] - s.penalties[arm, k] * s.over[arm, k]) / s.told[arm, k])


def bias(p: Any, s: Any, arm: int, k: int) -> float:
    """Return L times the width of point k's interval, which bounds its gains above the point's.

    The width is computed from the level, so that intervals of equal width tie exactly.
    """
    parts = float(p.refine) ** s.levels[arm, k]
    return float(p.lipschitz * (p.limits[p.limit_count - 1] / parts))


def update_grid(
    p: Any, s: Any, arm: int, first: int, stop: int, width: Kernel, spread: float
) -> int:
    """Update an arm's indices after a round and refine its grid; return the number of new points.

    The round was informative about points `first` to `stop` - 1. Index and split condition of the
    others have not changed since the arm's last round, unless that round split an interval.
    """
    # After a split positions have moved, and nothing cached is valid.
    if s.settled[arm] == 0.0:
        first, stop = 0, s.sizes[arm]
        write_biases(p, s, arm)
    s.settled[arm] = 1.0
    if not recompute_bounds(p, s, arm, first, stop, width, spread):
        return 0
    s.settled[arm] = 0.0
    fresh = refine_grid(p, s, arm, width, spread)
    write_biases(p, s, arm)
    return fresh


def write_biases(p: Any, s: Any, arm: int) -> None:
    """Write the bias of every point of an arm."""
    for k in range(s.sizes[arm]):
        s.reach[arm, k] = bias(p, s, arm, k)


def choose_best(s: Any, arm: int) -> None:
    """Write the arm's point with the largest index, (13); among equals the smallest."""
    best = 0
    for k in range(1, s.sizes[arm]):
        if s.index[arm, k] > s.index[arm, best]:
            best = k
    s.best_index[arm] = s.index[arm, best]
    s.best_point[arm] = s.points[arm, best]


def recompute_bounds(
    p: Any, s: Any, arm: int, first: int, stop: int, width: Kernel, spread: float
) -> bool:
    """Compute the indices of some points, (13); return whether an interval is wide, (14).

    The index of a point without informative rounds is infinite, and its interval is not wide.
    """
    wide = False
    for k in range(first, stop):
        # A point without rounds divides by 0; its result is discarded here, so that the loop needs
        # no branch.
        known = s.told[arm, k] > 0.0
        radius = confidence_length(p, s, arm, k, width, spread)
        index = estimate(s, arm, k) + radius + s.reach[arm, k]
        s.index[arm, k] = index if known else math.inf
        wide |= known & (s.reach[arm, k] >= radius)
    return wide


def is_wide(p: Any, s: Any, arm: int, k: int, width: Kernel, spread: float) -> bool:
    """Return whether an interval's bias reaches its point's confidence length: equation (14)."""
    if s.told[arm, k] == 0.0:
        return False
    return bool(bias(p, s, arm, k) >= confidence_length(p, s, arm, k, width, spread))


def refine_grid(p: Any, s: Any, arm: int, width: Kernel, spread: float) -> int:
    """Split the wide intervals; return the number of new points.

    Their positions are written to `s.fresh`, in decreasing order.
    """
    size = s.sizes[arm]
    grown = size
    # All are judged before one is split: new points are split in a later round at the earliest.
    for k in range(size):
        s.cut[k] = is_wide(p, s, arm, k, width, spread)
        grown += s.cut[k] * (p.refine - 1)
    if grown == size:
        return 0
    fresh, place = 0, grown
    # Points move to the right, in place: from the back, so that none is overwritten first.
    for k in range(size - 1, -1, -1):
        high = s.points[arm, k]
        low = s.points[arm, k - 1] if k > 0 else 0.0
        place -= 1
        move_point(s, arm, k, place)
        if s.cut[k] == 0:
            continue
        s.levels[arm, place] += 1
        level = s.levels[arm, place]
        for part in range(p.refine - 1, 0, -1):
            place -= 1
            add_point(p, s, arm, place, low + (high - low) * part / p.refine, level)
            s.fresh[fresh] = place
            fresh += 1
    s.sizes[arm] = grown
    return fresh


def move_point(s: Any, arm: int, k: int, place: int) -> None:
    """Copy point k to another position."""
    s.points[arm, place] = s.points[arm, k]
    s.penalties[arm, place] = s.penalties[arm, k]
    s.levels[arm, place] = s.levels[arm, k]
    s.played[arm, place] = s.played[arm, k]
    s.told[arm, place] = s.told[arm, k]
    s.net[arm, place] = s.net[arm, k]
    s.over[arm, place] = s.over[arm, k]


def add_point(p: Any, s: Any, arm: int, place: int, point: float, level: int) -> None:
    """Write a new point, without statistics."""
    s.points[arm, place] = point
    s.penalties[arm, place] = value_at(p.penalty, point)
    s.levels[arm, place] = level
    s.played[arm, place] = 0
    s.told[arm, place] = 0.0
    s.net[arm, place] = 0.0
    s.over[arm, place] = 0.0


def count_earlier_rounds(s: Any, arm: int, fresh: int) -> None:
    """Count all earlier rounds of the arm for its new points, given in decreasing order."""
    t = s.first[arm]
    while t > 0:
        # From the smallest new point up: a run says nothing on points above its limit.
        for i in range(fresh - 1, -1, -1):
            k = s.fresh[i]
            if s.points[arm, k] > s.limits[t - 1]:
                break
            update_statistics(s, arm, k, s.consumptions[t - 1], s.gains[t - 1])
        t = s.following[t - 1]


def finest_pair(p: Any, s: Any) -> tuple[int, float]:
    """Return the pair played on the finest level; among several, the one with the best estimate."""
    level, largest = 0, -math.inf
    best_arm, best_limit = 0, p.limits[p.limit_count - 1]
    for arm in range(p.arms):
        for k in range(s.sizes[arm]):
            played = s.played[arm, k]
            # Points that were never played, only split off, have no claim to be the best.
            if played == 0 or played < level:
                continue
            value = estimate(s, arm, k)
            if played > level or value > largest:
                level, largest = played, value
                best_arm, best_limit = arm, s.points[arm, k]
    return best_arm, best_limit
