"""The threshold setting: policies compared with NumPy and Python loops, K = 5, m = 10."""

import math
import random
import statistics

import numpy as np

from benchmarks.default_policies import make_policies
from benchmarks.measure import Row, seconds
from benchmarks.stochastic import compare_with_yardsticks
from keyhole import simulate
from keyhole.threshold import (
    Problem,
)

SURVIVAL = [
    [0.95, 0.9, 0.85, 0.8, 0.75, 0.3, 0.25, 0.2, 0.15, 0.1],
    [0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35],
    [0.7, 0.69, 0.68, 0.67, 0.66, 0.65, 0.64, 0.63, 0.62, 0.61],
    [0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15],
    [0.45, 0.42, 0.39, 0.36, 0.33, 0.3, 0.27, 0.24, 0.21, 0.18],
]
ORDERS = {"OPTIM": "optimistic", "AnytimeOPTIM": "optimistic", "KMUCB": "cyclic"}
POLICIES = {
    name: (
        policy,
        "censored" if "censored" in policy.works_with else "uncensored",
        ORDERS.get(name, "iid"),
    )
    for name, policy in make_policies("threshold").items()
}


def player(policy, feedback, order, size):
    """Return a call that simulates a policy."""
    problem = Problem(SURVIVAL, feedback=feedback, order=order)
    return lambda: simulate(
        problem, [policy], horizon=size.horizon, replications=size.replications, threads=1
    )


def drawn(levels, horizon, rng):
    """Return thresholds drawn uniformly."""
    return [int(rng.random() * levels) + 1 for _ in range(horizon)]


def falling(levels, horizon, rng):
    """Return thresholds in stages, from the highest down."""
    return [levels - min(t // (horizon // levels), levels - 1) for t in range(horizon)]


def numpy_dkwucb(survival, horizon, replications, seed):
    """Play DKWUCB in many replications at once, and return their regrets."""
    return _vectorised(survival, horizon, replications, seed, drawn, censored=False)


def numpy_optim(survival, horizon, replications, seed):
    """Play OPTIM likewise."""
    return _vectorised(survival, horizon, replications, seed, falling, censored=True)


def numpy_kaplanmeierucb(survival, horizon, replications, seed):
    """Play the index of the modified Kaplan-Meier estimator likewise."""
    return _vectorised(survival, horizon, replications, seed, drawn, censored=True)


def _vectorised(survival, horizon, replications, seed, order, *, censored):
    rng, survival = np.random.default_rng(seed), np.array(survival)
    (arms, levels), rows = survival.shape, np.arange(replications)
    tried = np.zeros((replications, arms, levels))
    reached = np.zeros((replications, arms, levels))
    regret, log = np.zeros(replications), math.log(4 * horizon**2)
    scale, steps = (2 * log if censored else log / 2), np.arange(1, levels + 1)
    # One sequence of thresholds for all replications, which is faster in NumPy.
    for c in order(levels, horizon, random.Random(seed)):
        n = tried[:, :, c - 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            index = np.where(n > 0, reached[:, :, c - 1] / n + np.sqrt(scale / n), np.inf)
        arm = np.argmax(index, axis=1)
        value = (rng.random((replications, 1)) < survival[arm]).sum(axis=1)
        known = c if censored else levels
        tried[rows, arm, :known] += 1
        reached[rows, arm, :known] += value[:, None] >= steps[:known]
        regret += survival[:, c - 1].max() - survival[arm, c - 1]
    return regret


def python_dkwucb(survival, horizon, seed):
    """Play DKWUCB once, in plain Python, and return the regret."""
    return _plain(survival, horizon, seed, drawn, censored=False)


def python_optim(survival, horizon, seed):
    """Play OPTIM likewise."""
    return _plain(survival, horizon, seed, falling, censored=True)


def python_kaplanmeierucb(survival, horizon, seed):
    """Play the index of the modified Kaplan-Meier estimator likewise."""
    return _plain(survival, horizon, seed, drawn, censored=True)


def _plain(survival, horizon, seed, order, *, censored):
    rng, arms, levels, regret = random.Random(seed), len(survival), len(survival[0]), 0.0
    tried = [[0] * levels for _ in range(arms)]
    reached = [[0] * levels for _ in range(arms)]
    log = math.log(4 * horizon**2)
    scale = 2 * log if censored else log / 2
    for c in order(levels, horizon, rng):
        best, highest = 0, -1.0
        for arm in range(arms):
            n = tried[arm][c - 1]
            index = reached[arm][c - 1] / n + math.sqrt(scale / n) if n else math.inf
            if index > highest:
                best, highest = arm, index
        u, value = rng.random(), 0
        while value < levels and u < survival[best][value]:
            value += 1
        for j in range(c if censored else levels):
            tried[best][j] += 1
            reached[best][j] += value > j
        regret += max(row[c - 1] for row in survival) - survival[best][c - 1]
    return regret


def rows(size):
    """Yield all lines of the setting."""
    rounds = size.horizon * size.replications
    for name, (policy, feedback, order) in POLICIES.items():
        ours = player(policy, feedback, order, size)
        ours()
        own = statistics.median(seconds(ours) for _ in range(size.repeats)) / rounds * 1e9
        yield Row(f"{name}: Keyhole, K = 5, m = 10", own, "ns a round")
        if f"numpy_{name.lower()}" in globals():
            yield from compare_with_yardsticks(name, ours, globals(), SURVIVAL, size)
