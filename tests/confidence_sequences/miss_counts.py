"""Counts of runs in which an interval, seen after every value, ever misses the mean (a kernel)."""

import math

import numpy as np
from numba import types

from keyhole.confidence_sequences import add_value, beta_mixture_bounds, empirical_bernstein_bounds
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import compiled_copy, fingerprint
from keyhole.kernels.interpreted_mode import interpreted

_ARRAYS = types.float64[:, ::1], types.float64[::1], types.float64[::1]
ALPHA = 0.05


def look(values, sums, found):
    """Count in `found` the runs in which each of three intervals ever misses the mean.

    They are the two confidence sequences, and the interval of the normal distribution, which holds
    at one time that is fixed beforehand: the first entry of `found` is the mean, the second alpha.
    """
    mean, alpha = found[0], found[1]
    for run in range(values.shape[0]):
        sums[:] = 0.0
        first = second = third = 0.0
        for i in range(values.shape[1]):
            add_value(sums, values[run, i], alpha)
            count, total = sums[0], sums[1]
            low, high = beta_mixture_bounds(count, total, alpha)
            if mean < low or mean > high:
                first = 1.0
            low, high = empirical_bernstein_bounds(sums, alpha)
            if mean < low or mean > high:
                second = 1.0
            if i >= 10 and abs(total / count - mean) > 1.96 * math.sqrt(mean * (1 - mean) / count):
                third = 1.0
        found[2] += first
        found[3] += second
        found[4] += third


def compiled_look():
    """Return `look`, compiled."""

    def build():
        linked = compiled_copy(look)

        def entry(values, sums, found):
            linked(values, sums, found)

        return entry

    with interpreted(False):
        return compile_cached("look", fingerprint(look), build, types.void(*_ARRAYS))


def count_misses(draw, mean, runs, rounds, seed=1):
    """Return the shares of runs in which each of the three intervals ever missed the mean."""
    rng, entry = np.random.default_rng(seed), compiled_look()
    found, sums = np.array([mean, ALPHA, 0.0, 0.0, 0.0]), np.zeros(6)
    for _ in range(0, runs, 100):  # the values of all runs at once would be too many
        entry(np.ascontiguousarray(draw(rng, (100, rounds)), float), sums, found)
    return found[2:] / runs
