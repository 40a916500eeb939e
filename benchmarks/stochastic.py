"""The stochastic setting: policies compared with NumPy and with Python loops."""

import math
import random
import statistics

import numpy as np

from benchmarks.default_policies import make_policies
from benchmarks.measure import Row, compare_with, seconds
from keyhole import simulate
from keyhole.stochastic import (
    KnownVarianceUCB,
    Problem,
)

MEANS = [0.5, 0.6, 0.4, 0.3, 0.2]
POLICIES = make_policies("stochastic", KnownVarianceUCB(variance=0.25))


def player(policy, size, means=MEANS):
    """Return a call that simulates a policy."""
    problem = Problem(means)
    return lambda: simulate(
        problem, [policy], horizon=size.horizon, replications=size.replications, threads=1
    )


def numpy_ucb1(means, horizon, replications, seed):
    """Play UCB1 in many replications at once, and return their regrets."""

    def bounds(pulls, totals, t):
        return totals / pulls + np.sqrt(2 * math.log(t - 1) / pulls)

    return _vectorised(means, horizon, replications, seed, bounds)


def numpy_klucb(means, horizon, replications, seed):
    """Play KL-UCB likewise; the bounds by Newton's method in ln(1 - q), 4 steps for all."""

    def bounds(pulls, totals, t):
        mean, allowed = totals / pulls, math.log(t) / pulls
        inner = np.clip(mean, 1e-12, 1 - 1e-12)
        miss = 1 - inner
        entropy = -inner * np.log(inner) - miss * np.log(miss)
        x = np.maximum(
            -(allowed + entropy) / miss,
            np.log(np.maximum(miss - np.sqrt(allowed / 2), 1e-300)),
        )
        for _ in range(4):
            q = -np.expm1(x)
            slope = np.minimum(inner * (1 - q) / q - miss, -1e-300)
            x = x - np.minimum((-entropy - inner * np.log(q) - miss * x - allowed) / slope, 0)
        return np.where(mean >= 1, 1.0, -np.expm1(x))

    return _vectorised(means, horizon, replications, seed, bounds)


def numpy_thompsonsampling(means, horizon, replications, seed):
    """Play Thompson sampling likewise."""
    rng = np.random.default_rng(seed + 1)

    def draws(pulls, totals, t):
        return rng.beta(1 + totals, 1 + pulls - totals)

    return _vectorised(means, horizon, replications, seed, draws)


def _vectorised(means, horizon, replications, seed, bounds):
    rng, means = np.random.default_rng(seed), np.array(means)
    arms, rows = len(means), np.arange(replications)
    pulls, totals = np.zeros((replications, arms)), np.zeros((replications, arms))
    regret = np.zeros(replications)
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = np.full(replications, t - 1)
        else:
            arm = np.argmax(bounds(pulls, totals, t), axis=1)
        totals[rows, arm] += rng.random(replications) < means[arm]
        pulls[rows, arm] += 1
        regret += means.max() - means[arm]
    return regret


def python_ucb1(means, horizon, seed):
    """Play UCB1 once, in plain Python, and return the regret."""

    def bound(n, total, t):
        return total / n + math.sqrt(2 * math.log(t - 1) / n)

    return _plain(means, horizon, seed, bound)


def python_klucb(means, horizon, seed):
    """Play KL-UCB once; the bound by 30 bisection steps."""

    def bound(n, total, t):
        mean, allowed = total / n, math.log(t) / n
        low, high = mean, 1.0
        for _ in range(30):
            q = (low + high) / 2
            divergence = 0.0
            if mean > 0:
                divergence += mean * math.log(mean / q)
            if mean < 1:
                divergence += (1 - mean) * math.log((1 - mean) / (1 - q))
            if divergence > allowed:
                high = q
            else:
                low = q
        return low

    return _plain(means, horizon, seed, bound)


def _plain(means, horizon, seed, bound):
    rng, arms, regret = random.Random(seed), len(means), 0.0
    pulls, totals = [0] * arms, [0.0] * arms
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = t - 1
        else:
            bounds = [bound(n, total, t) for n, total in zip(pulls, totals, strict=True)]
            arm = bounds.index(max(bounds))
        totals[arm] += rng.random() < means[arm]
        pulls[arm] += 1
        regret += max(means) - means[arm]
    return regret


def rows(size):
    """Yield all lines of the setting."""
    rounds = size.horizon * size.replications
    for name, policy in POLICIES.items():
        ours = player(policy, size)
        ours()
        own = statistics.median(seconds(ours) for _ in range(size.repeats)) / rounds * 1e9
        yield Row(f"{name}: Keyhole, K = 5", own, "ns a round")
        if name == "ThompsonSampling":
            draw = own / len(MEANS)
            yield Row(f"{name}: a round / arms", draw, "ns a draw", "below 60", draw < 60)
        if name in ("UCB1", "KLUCB"):
            yield from compare_with_yardsticks(name, ours, globals(), MEANS, size)


def compare_with_yardsticks(name, ours, yardsticks, instance, size):
    """Yield rows that compare a policy with NumPy (target 2x) and plain Python (target 50x)."""
    vectorised = yardsticks[f"numpy_{name.lower()}"]
    plain = yardsticks[f"python_{name.lower()}"]
    rounds = size.horizon * size.replications

    def in_numpy():
        vectorised(instance, size.horizon, size.replications, 0)

    def in_python():
        for replication in range(size.python_replications):
            plain(instance, size.horizon, replication)

    yield from compare_with(f"{name}: NumPy", ours, in_numpy, rounds, rounds, size, 2)
    slow = size.horizon * size.python_replications
    yield from compare_with(f"{name}: plain Python", ours, in_python, rounds, slow, size, 50)
