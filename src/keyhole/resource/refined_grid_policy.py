"""Base class of policies for a continuum of limits, which refine a grid of limits for each arm.

In the kernels `p` has the policy's parameters and facts, `s` is its state, `factor` is the policy's
kernel of that name, and `log_term` is the value of `scaled_log_term` in this round. An arm's points
are kept in increasing order.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from keyhole.contract.policy import parameter
from keyhole.contract.state_arrays import (
    Field,
    FloatArray,
    IntArray,
    float_array,
    int_array,
    scratch_array,
)
from keyhole.kernels.fingerprint import Kernel
from keyhole.resource.cost_functions import value_at
from keyhole.resource.policy_base import Policy

# The most grid points that all arms together may have. Nine arrays of the state have 8 bytes for
# each point: 72 MiB per concurrent replication.
_MOST_POINTS: Final = 2**20


class RefinedGridPolicy(Policy, abstract=True):
    r"""Base class of policies that keep a grid of limits for each arm, and refine it where it pays.

    Every grid starts as the largest limit alone. A grid point :math:`\tau` stands for the limits
    between the next smaller point and itself, an interval of width :math:`h`. The index of the
    point is the sum of its estimated gain, a confidence length, and the bias L h, where L is
    `lipschitz`. An interval is split into equal parts once its bias is at least the confidence
    length of its point.

    The confidence length of a point is :math:`f \sqrt{\alpha \ln(T^2 / \delta) / (2 n)}`. Here n is
    the number of informative rounds: the subclass decides which rounds are informative about a
    point. T is the number of rounds for which the bounds hold. A subclass defines the kernel
    ``factor(p, s, arm, k)``, which returns f of point k, and the method `least_factor`, which
    returns a lower bound of f. If T is not the horizon, the subclass also defines the kernel
    ``planned_rounds(p, s)``, which returns T.
    """

    needs = ("horizon",)
    # Decisions wait for all feedback. Otherwise the feedback of one could split the interval of
    # another that is pending, and `played` would get a finer level than the pending one had.
    pending = ("wait",)
    helpers: ClassVar[tuple[str, ...]] = ("factor", "planned_rounds")

    alpha: float = parameter(default=1.0, gt=0, doc="exploration")
    delta: float = parameter(default=0.05, gt=0, lt=1, doc="confidence level")
    refine: int = parameter(default=2, ge=2, le=64, doc="parts into which an interval is cut")
    lipschitz: float = parameter(default=1.0, gt=0, doc="how fast gains fall near the best limit")
    grid_size: ClassVar[int]

    class State:
        """Grids with sums for each point, and the best point of each arm."""

        sizes = int_array("arms")
        points = float_array("arms", "grid_size")
        penalties = float_array("arms", "grid_size")
        levels = int_array("arms", "grid_size")  # how often the point's interval has been split
        played = int_array("arms", "grid_size")  # 1 + the level at the last play, 0 for never
        told = float_array("arms", "grid_size")  # n: number of informative rounds
        # Sums over the informative rounds.
        net = float_array("arms", "grid_size")  # of (R - c(C)) 1{C <= point}
        over = float_array("arms", "grid_size")  # of 1{C > point}
        cut = int_array("grid_size")  # 1 if a point's interval is to be split
        fresh = int_array("grid_size")  # positions of new points
        # The bias and the index of each point after the arm's last round. They are valid for the
        # arms with `settled` = 1.
        bias = scratch_array("arms", "grid_size")
        index = scratch_array("arms", "grid_size")
        settled = scratch_array("arms")
        best_index = float_array("arms")
        best_point = float_array("arms")
        plays = int_array("arms")

    @abstractmethod
    def least_factor(self, facts: Mapping[str, Any]) -> float:
        """Return a lower bound of f, the factor of a confidence length."""

    @classmethod
    def input_fields(cls) -> dict[str, Field]:
        """Return the fields of `p`, with the largest possible number of points of a grid."""
        return super().input_fields() | {"grid_size": Field("int64")}

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        r"""Return the checked facts, and the largest possible size of a grid.

        Let c be the smallest confidence length. No interval shorter than :math:`c / L` is split, so
        no interval becomes shorter than :math:`c / L` divided by `refine`.
        """
        facts = super().check_facts(values)
        if facts["continuous"] != 1:
            raise ValueError(
                f"continuous must be True for {type(self).__name__}, which chooses among all "
                "limits up to the largest, got False"
            )
        largest = float(facts["limits"][-1])
        # Arrays of a state have fixed lengths: the finest possible grid is allocated at the start.
        shortest = self.least_factor(facts) * self._least_length(facts["horizon"]) / self.lipschitz
        grid_size = max(self.refine, math.ceil(largest / shortest * self.refine)) + 1
        if grid_size * facts["arms"] > _MOST_POINTS:
            raise ValueError(
                f"lipschitz must be smaller, got {self.lipschitz:g}: the grids may need "
                f"{grid_size} points per arm, and {_MOST_POINTS} for all arms are allowed"
            )
        return facts | {"grid_size": grid_size}

    def _least_length(self, horizon: int) -> float:
        """Return the smallest confidence length if f is 1; it is reached at n = T."""
        return math.sqrt(0.5 * self.alpha * log_confidence_ratio(horizon, self.delta) / horizon)

    def planned_rounds(p, s: State) -> int:
        """Return T, the number of rounds for which bounds hold: by default the horizon."""
        return int(p.horizon)

    def init(p, s: State) -> None:
        """Start every grid with the largest limit alone."""
        start_grids(p, s)

    def select(p, s: State) -> tuple[int, float]:
        """Return the pair with the largest index."""
        best = int(np.argmax(s.best_index))
        return best, s.best_point[best]

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the pair played on the finest level; ties go to the best estimated gain."""
        best_arm[0], best_limit[0] = find_finest_pair(p, s)


GridState: TypeAlias = RefinedGridPolicy.State


def log_confidence_ratio(horizon: int, delta: float) -> float:
    """Return ln(T^2 / delta).

    Examples
    --------
    >>> round(log_confidence_ratio(10, 0.1), 3)
    6.908
    """
    return 2.0 * math.log(horizon) - math.log(delta)


def scaled_log_term(p: Any, rounds: int) -> float:
    """Return alpha ln(T^2 / delta) / 2, with T the number of planned rounds."""
    return float(0.5 * p.alpha * log_confidence_ratio(rounds, p.delta))


def confidence_length(
    p: Any, s: GridState, arm: int, k: int, factor: Kernel, log_term: float
) -> float:
    """Return the confidence length of a point that has informative rounds."""
    return float(factor(p, s, arm, k) * math.sqrt(log_term / s.told[arm, k]))


def start_grids(p: Any, s: GridState) -> None:
    """Start every grid with the largest limit alone, without statistics."""
    largest = p.limits[p.limit_count - 1]
    for arm in range(p.arms):
        s.sizes[arm] = 1
        s.settled[arm] = 0.0
        write_point(p, s, arm, 0, largest, 0)
        s.best_index[arm] = math.inf
        s.best_point[arm] = largest


def append_round(s: Any, t: int, arm: int, limit: float, used: float, gain: float) -> None:
    """Append round t to the arm's history, a linked list through `s.following`.

    `s` is the state of a policy that keeps the history in arrays of its own. `used` is the
    consumption, infinite for a stopped run; `gain` is the net reward.
    """
    s.limits[t - 1] = limit
    s.consumptions[t - 1] = used
    s.gains[t - 1] = gain
    if s.first[arm] == 0:
        s.first[arm] = t
    else:
        s.following[s.last[arm] - 1] = t
    s.last[arm] = t


def update_statistics(s: GridState, arm: int, k: int, used: float, gain: float) -> None:
    """Count a round whose limit was at least point k."""
    s.told[arm, k] += 1.0
    # For a run that was stopped, `used` is infinite.
    if used > s.points[arm, k]:
        s.over[arm, k] += 1.0
    else:
        s.net[arm, k] += gain


def gain_estimate(s: GridState, arm: int, k: int) -> float:
    """Return the estimated gain of point k: equation (10)."""
    return float((s.net[arm, k] - s.penalties[arm, k] * s.over[arm, k]) / s.told[arm, k])


def interval_bias(p: Any, s: GridState, arm: int, k: int) -> float:
    """Return L times the width of point k's interval.

    If the best limit lies in the interval, its gain exceeds the point's gain by at most this bias.
    The width is computed from the level, so that intervals of equal width tie exactly.
    """
    intervals = float(p.refine) ** s.levels[arm, k]
    return float(p.lipschitz * (p.limits[p.limit_count - 1] / intervals))


def update_grid(
    p: Any, s: GridState, arm: int, first: int, stop: int, factor: Kernel, log_term: float
) -> int:
    """Update an arm's indices after a round and refine its grid; return the number of new points.

    The round was informative about points `first` to `stop` - 1. If it splits an interval, only the
    biases are right afterwards, and the caller has to compute the indices anew.
    """
    # If the arm's last round split an interval, positions have moved: compute all indices anew.
    if s.settled[arm] == 0.0:
        first = 0
        stop = s.sizes[arm]
        write_biases(p, s, arm)
    s.settled[arm] = 1.0
    if not recompute_indices(p, s, arm, first, stop, factor, log_term):
        return 0
    s.settled[arm] = 0.0
    fresh_count = refine_grid(p, s, arm, factor, log_term)
    write_biases(p, s, arm)
    return fresh_count


def write_biases(p: Any, s: GridState, arm: int) -> None:
    """Write the bias of every point of an arm."""
    for k in range(s.sizes[arm]):
        s.bias[arm, k] = interval_bias(p, s, arm, k)


def write_best_point(s: GridState, arm: int) -> None:
    """Write the arm's point with the largest index (equation 13); among equals the smallest."""
    best = int(np.argmax(s.index[arm, : s.sizes[arm]]))
    s.best_index[arm] = s.index[arm, best]
    s.best_point[arm] = s.points[arm, best]


def recompute_indices(
    p: Any, s: GridState, arm: int, first: int, stop: int, factor: Kernel, log_term: float
) -> bool:
    """Write the indices of points `first` to `stop` - 1; return whether one has a wide interval.

    These are equations (13) and (14). The index of a point without informative rounds is infinite,
    and its interval is not wide.
    """
    has_wide = False
    for k in range(first, stop):
        # For a point without rounds this divides by 0, and the result is discarded: a branch would
        # make the loop slower.
        has_rounds = s.told[arm, k] > 0.0
        length = confidence_length(p, s, arm, k, factor, log_term)
        index = gain_estimate(s, arm, k) + length + s.bias[arm, k]
        s.index[arm, k] = index if has_rounds else math.inf
        has_wide |= has_rounds & (s.bias[arm, k] >= length)
    return has_wide


def is_wide(p: Any, s: GridState, arm: int, k: int, factor: Kernel, log_term: float) -> bool:
    """Return whether an interval's bias reaches its point's confidence length: equation (14)."""
    if s.told[arm, k] == 0.0:
        return False
    return bool(interval_bias(p, s, arm, k) >= confidence_length(p, s, arm, k, factor, log_term))


def refine_grid(p: Any, s: GridState, arm: int, factor: Kernel, log_term: float) -> int:
    """Split the wide intervals; return the number of new points.

    The positions of the new points are written to `s.fresh`, in decreasing order.
    """
    size = s.sizes[arm]
    new_size = size
    # All intervals are judged before any is split: a new interval is not split in the same round.
    for k in range(size):
        s.cut[k] = is_wide(p, s, arm, k, factor, log_term)
        new_size += s.cut[k] * (p.refine - 1)
    if new_size == size:
        return 0
    fresh_count = 0
    position = new_size
    # Points move to the right within their arrays. The last one moves first, so that none is
    # overwritten before it has moved.
    for k in range(size - 1, -1, -1):
        high = s.points[arm, k]
        low = s.points[arm, k - 1] if k > 0 else 0.0
        position -= 1
        copy_point(s, arm, k, position)
        if s.cut[k] == 0:
            continue
        s.levels[arm, position] += 1
        level = s.levels[arm, position]
        for division in range(p.refine - 1, 0, -1):
            position -= 1
            write_point(p, s, arm, position, low + (high - low) * division / p.refine, level)
            s.fresh[fresh_count] = position
            fresh_count += 1
    s.sizes[arm] = new_size
    return fresh_count


def copy_point(s: GridState, arm: int, k: int, position: int) -> None:
    """Copy point k to another position."""
    s.points[arm, position] = s.points[arm, k]
    s.penalties[arm, position] = s.penalties[arm, k]
    s.levels[arm, position] = s.levels[arm, k]
    s.played[arm, position] = s.played[arm, k]
    s.told[arm, position] = s.told[arm, k]
    s.net[arm, position] = s.net[arm, k]
    s.over[arm, position] = s.over[arm, k]


def write_point(p: Any, s: GridState, arm: int, position: int, point: float, level: int) -> None:
    """Write a new point, without statistics."""
    s.points[arm, position] = point
    s.penalties[arm, position] = value_at(p.penalty, point)
    s.levels[arm, position] = level
    s.played[arm, position] = 0
    s.told[arm, position] = 0.0
    s.net[arm, position] = 0.0
    s.over[arm, position] = 0.0


def count_earlier_rounds(s: Any, arm: int, fresh_count: int) -> None:
    """Count all earlier rounds of the arm for its new points, whose positions are in `s.fresh`."""
    t = s.first[arm]
    while t > 0:
        # A run says nothing about points above its limit, so the loop goes from the smallest new
        # point (the last in `s.fresh`) up to the limit.
        for i in range(fresh_count - 1, -1, -1):
            k = s.fresh[i]
            if s.points[arm, k] > s.limits[t - 1]:
                break
            update_statistics(s, arm, k, s.consumptions[t - 1], s.gains[t - 1])
        t = s.following[t - 1]


def find_finest_pair(p: Any, s: GridState) -> tuple[int, float]:
    """Return the pair played on the finest level; of several, the pair with the best estimate."""
    finest_played = 0
    best_estimate = -math.inf
    best_arm, best_limit = 0, p.limits[p.limit_count - 1]
    for arm in range(p.arms):
        for k in range(s.sizes[arm]):
            played_level = s.played[arm, k]
            # A point that was split off but never played is not recommended.
            if played_level == 0 or played_level < finest_played:
                continue
            estimate = gain_estimate(s, arm, k)
            if played_level > finest_played or estimate > best_estimate:
                finest_played = played_level
                best_estimate = estimate
                best_arm, best_limit = arm, s.points[arm, k]
    return best_arm, best_limit
