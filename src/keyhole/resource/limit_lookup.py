"""Kernels (compiled functions) that search and check a limit of a run among the allowed ones.

A policy chooses what to run (an arm, such as a solver) and the limit at which it is stopped;
allowed are the limits of a list, or all in an interval.
"""

from keyhole.contract.state_arrays import FloatArray


def limit_index(limits: FloatArray, limit: float) -> int:
    """Return the position of the smallest limit that is at least `limit`, or else of the last."""
    low, high = 0, len(limits) - 1
    while low < high:
        middle = (low + high) // 2
        if limits[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


def is_admissible(limits: FloatArray, continuous: int, limit: float) -> bool:
    """Return whether a limit is one of `limits`, or at most the largest if `continuous` is 1."""
    if continuous == 1:
        return bool(0.0 < limit <= limits[len(limits) - 1])
    # Exactly, since policies hand out entries of this array.
    return bool(limits[limit_index(limits, limit)] == limit)
