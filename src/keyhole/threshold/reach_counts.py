"""Counts of samples that reached each level, from which policies estimate survival functions."""

from typing import Protocol

from keyhole.contract.state_arrays import FloatArray


class ReachCounts(Protocol):
    """Counts of samples for estimates, level j at position j - 1 of the second axis."""

    reached: FloatArray
    tried: FloatArray


def add_observation(s: ReachCounts, arm: int, threshold: int, value: int) -> None:
    """Add a pull to the counts of the levels up to its threshold, where its result is known.

    This is eq. (8) of Abernethy et al. (2016), term by term: `tried` counts N_i(j), the pulls at
    thresholds of at least j, and `reached` counts D_i(j), those of them whose sample, or the
    threshold of a censored sample, is at least j.
    """
    # Over all levels, since a loop of fixed length has no branch to predict (measured for m = 10
    # and thresholds in any order: 12 ns a round less).
    most = min(value, threshold)
    for j in range(s.tried.shape[1]):
        s.tried[arm, j] += 1.0 if j < threshold else 0.0
        s.reached[arm, j] += 1.0 if j < most else 0.0


def add_expected(reached: FloatArray, tried: FloatArray, arm: int, threshold: int) -> None:
    """Add a pending pull with its expected result: estimates stay as they are, 1/2 without any."""
    for j in range(threshold):
        # Also at levels without samples, since arms without samples come first: all pending
        # decisions would go to the same one.
        share = reached[arm, j] / tried[arm, j] if tried[arm, j] > 0.0 else 0.5
        reached[arm, j] += share
        tried[arm, j] += 1.0


def estimate(s: ReachCounts, level: int, arm: int) -> float:
    """Return the share of pulls that reached the level, 0 without pulls."""
    return float(s.reached[arm, level - 1] / max(s.tried[arm, level - 1], 1.0))


def find_best_arm(s: ReachCounts, level: int) -> int:
    """Return the arm with the highest estimate, arms without samples last, the lowest of equals."""
    best, highest = 0, -1.0
    for arm in range(s.tried.shape[0]):
        value = estimate(s, level, arm)
        if s.tried[arm, level - 1] > 0.0 and value > highest:
            best, highest = arm, value
    return best
