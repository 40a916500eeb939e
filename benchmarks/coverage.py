"""How often an interval ever misses the mean, for who looks after every value.

``python -m benchmarks.coverage`` prints a table of docs/confidence_sequences.md, as Markdown, in a
quarter of an hour.
"""

import math

import numpy as np
from numba import types

from keyhole.confidence_sequences import add_value, beta_mixture_bounds, empirical_bernstein_bounds
from keyhole.draws.e_process import (
    GRID,
    add_to_histogram,
    log_evidence_against,
    log_largest_wealth,
)
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import compiled_copy, fingerprint
from keyhole.kernels.interpreted_mode import interpreted

ALPHA, RUNS, ROUNDS, BATCH = 0.05, 10_000, 10_000, 100
INTERVALS = (
    "`beta_mixture_interval`",
    "`BetaMixture`",
    "`EmpiricalBernstein`",
    "1.96 standard errors, from the 11th value on",
)


def draw_dependent(rng, shape):
    """Draw 0/1 or 1/2 values whose spread depends on the past, but not their mean, 1/2."""
    values = (rng.random(shape) < 0.5).astype(float)
    for i in range(1, shape[1]):
        values[:, i] = np.where(values[:, i - 1] == 1.0, 0.5, values[:, i])
    return values


DISTRIBUTIONS = {  # how values are drawn, and their mean
    "0/1, mean .5": (lambda rng, shape: rng.random(shape) < 0.5, 0.5),
    "0/1, mean .05": (lambda rng, shape: rng.random(shape) < 0.05, 0.05),
    "0/1, mean .9": (lambda rng, shape: rng.random(shape) < 0.9, 0.9),
    "skewed (beta .1, .9), mean .1": (lambda rng, shape: rng.beta(0.1, 0.9, shape), 0.1),
    "skewed (beta .1, .1), mean .5": (lambda rng, shape: rng.beta(0.1, 0.1, shape), 0.5),
    "five stars, mean .5": (lambda rng, shape: rng.binomial(4, 0.5, shape) / 4, 0.5),
    "five stars, mean .9": (lambda rng, shape: rng.binomial(4, 0.9, shape) / 4, 0.9),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    ".3, or 1 with probability .02": (
        lambda rng, shape: np.where(rng.random(shape) < 0.02, 1.0, 0.3),
        0.314,
    ),
    "mean of three 0/1 values, mean .1": (lambda rng, shape: rng.binomial(3, 0.1, shape) / 3, 0.1),
    "1/2 after each 1, else 0/1": (draw_dependent, 0.5),
}


def bound_evidence(histogram, count, total, mean, value, earlier):
    """Return a bound on the logarithm of the evidence against the mean (a kernel).

    It is the evidence itself where the bounds that take less time would exclude the mean: that
    of an earlier time plus what the value multiplies the wealth of any bet by at most, and the
    largest wealth.
    """
    bound = earlier + math.log(max(value / mean, (1.0 - value) / (1.0 - mean)))
    if bound >= -math.log(ALPHA):
        bound = log_largest_wealth(histogram, 0, count, total, mean)
    if bound >= -math.log(ALPHA):
        bound = log_evidence_against(histogram, 0, count, total, mean)
    return bound


def count_missed_runs(values, histogram, sums, mean, misses):
    """Count in `misses` the runs in which each of `INTERVALS` ever misses the mean (a kernel).

    `mean` has the mean alone. `BetaMixture` misses it where the evidence against it reaches
    1 / alpha, or where `beta_mixture_interval` does, which is never narrower but for rounding.
    """
    level = -math.log(ALPHA)
    for run in range(values.shape[0]):
        sums[:] = 0.0
        histogram[:] = 0.0
        wide = narrow = variance = normal = evidence = 0.0
        for i in range(values.shape[1]):
            value = values[run, i]
            add_value(sums, value, ALPHA)
            add_to_histogram(histogram, 0, value)
            count = sums[0]
            total = sums[1]
            distance = abs(total / count - mean[0])
            squares = count * distance * distance / (mean[0] * (1.0 - mean[0]))
            # A divergence is at most a chi-square.
            if wide == 0.0 and squares >= level:
                low, high = beta_mixture_bounds(count, total, ALPHA)
                if mean[0] < low or mean[0] > high:
                    wide = narrow = 1.0
            if narrow == 0.0 and histogram[0, 0] > 0.0:
                evidence = bound_evidence(histogram, count, total, mean[0], value, evidence)
                narrow += evidence >= level
            low, high = empirical_bernstein_bounds(sums, ALPHA)
            if mean[0] < low or mean[0] > high:
                variance = 1.0
            if i >= 10 and squares > 1.96 * 1.96:
                normal = 1.0
        misses[0] += wide
        misses[1] += narrow
        misses[2] += variance
        misses[3] += normal


def compile_count():
    """Return `count_missed_runs`, compiled."""
    matrix = types.float64[:, ::1]
    vector = types.float64[::1]

    def build():
        linked = compiled_copy(count_missed_runs)

        def entry(values, histogram, sums, mean, misses):
            linked(values, histogram, sums, mean, misses)

        return entry

    signature = types.void(matrix, matrix, vector, vector, vector)
    with interpreted(False):
        return compile_cached("count_missed_runs", fingerprint(count_missed_runs), build, signature)


def missed_shares(draw, mean, runs, rounds, seed=1):
    """Return the shares of runs in which each of `INTERVALS` ever missed the mean."""
    rng = np.random.default_rng(seed)
    count = compile_count()
    misses = np.zeros(len(INTERVALS))
    batch = min(runs, BATCH)  # the values of all runs at once would be too many
    for _ in range(0, runs, batch):
        values = np.ascontiguousarray(draw(rng, (batch, rounds)), float)
        count(values, np.zeros((1, GRID)), np.zeros(6), np.array([mean]), misses)
    return misses / runs


if __name__ == "__main__":
    print("| values | " + " | ".join(INTERVALS) + " |")
    print("|---" * (len(INTERVALS) + 1) + "|")
    for name, (draw, mean) in DISTRIBUTIONS.items():
        shares = missed_shares(draw, mean, RUNS, ROUNDS)
        assert max(shares[:3]) <= ALPHA + 3.0 * math.sqrt(ALPHA * (1.0 - ALPHA) / RUNS), name
        cells = [f"{share:.4f}" for share in shares[:3]]
        cells.append(f"{shares[3]:.3f}" if name.startswith("0/1") else "")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
