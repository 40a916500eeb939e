"""The resource setting: RCUCB compared with NumPy and a Python loop, all policies, long lists."""

import math
import random
import statistics

import numpy as np

from benchmarks.default_policies import make_policies
from benchmarks.measure import Row, seconds, time_in_turn
from keyhole import simulate
from keyhole.resource import (
    RCUCB,
    BetaExponential,
    FixedLimit,
    Power,
    Problem,
    ZoomingRCUCB,
)

ARMS = 10
LIMITS = np.linspace(0.1, 1.0, 11)
DISTRIBUTIONS = [BetaExponential(5, 5 + k, 1 - 0.03 * k) for k in range(ARMS)]
COST, PENALTY = Power(slope=0.1), Power(slope=0.1, factor=0.2, power=4)
POLICIES = make_policies("resource", FixedLimit(limit=1.0))
FOR_ALL_LIMITS = ("ZoomingRCUCB", "AnytimeZoomingRCUCB", "StoOO")
# A round costs 0.2 to 3 us: a fifth of the other settings' replications takes as long as theirs.
_SHARE = 5


def problem(limits=LIMITS, *, continuous=False):
    return Problem(DISTRIBUTIONS, limits, COST, PENALTY, continuous=continuous)


def player(policy, where, horizon, replications):
    """Return a call that simulates a policy."""
    return lambda: simulate(where, [policy], horizon=horizon, replications=replications, threads=1)


def rows(size):
    """Yield rows that time all policies, and compare RCUCB with reference programs."""
    replications = max(4, size.replications // _SHARE)
    rounds = size.horizon * replications
    for name, policy in POLICIES.items():
        where = problem(continuous=name in FOR_ALL_LIMITS)
        call = player(policy, where, size.horizon, replications)
        call()
        own = statistics.median(seconds(call) for _ in range(max(2, size.repeats // 2)))
        yield Row(f"{name}: Keyhole", own / rounds * 1e9, "ns a round")
    ours = player(RCUCB(), problem(), size.horizon, replications)
    slow = size.horizon * size.python_replications

    def vectorised():
        numpy_rcucb(size.horizon, replications, 0)

    def plain():
        for replication in range(size.python_replications):
            python_rcucb(size.horizon, replication)

    for what, theirs, their_rounds, least in (
        ("NumPy", vectorised, rounds, 2),
        ("plain Python", plain, slow, 50),
    ):
        _, other, ratio = time_in_turn(ours, theirs, 2)
        ratio *= rounds / their_rounds
        yield Row(f"RCUCB: {what}", other / their_rounds * 1e9, "ns a round")
        yield Row(f"RCUCB: {what} / Keyhole", ratio, "x", f"at least {least}", ratio >= least)
    yield from long_runs(size)


def long_runs(size):
    """Time single replications that are long, with short and long lists of limits."""
    for count, horizon in ((11, 100 * size.horizon), (100, 1000 * size.horizon)):
        where = problem(np.linspace(0.01, 1.0, count))
        call = player(RCUCB(), where, horizon, 1)
        value = seconds(call)
        yield Row(f"RCUCB: {count} limits, T = {horizon:.0e}", value, "s a replication")
    zooming = player(ZoomingRCUCB(), problem(continuous=True), 100 * size.horizon, 1)
    yield Row(f"ZoomingRCUCB: T = {100 * size.horizon:.0e}", seconds(zooming), "s a replication")


# Reference programs, as one would write them without Keyhole; they return the regret.


def python_rcucb(horizon, seed):
    """Play RCUCB in one replication, in plain Python."""
    draw = random.Random(seed)
    gaps = problem().gaps.tolist()
    limits, last = LIMITS.tolist(), len(LIMITS) - 1
    penalties = [0.1 * x + 0.2 * x**4 for x in limits]
    told, net, over = ([[0.0] * len(limits) for _ in range(ARMS)] for _ in range(3))
    regret = 0.0
    for t in range(1, horizon + 1):
        arm, place = t - 1, last
        if t > ARMS:
            half, best = 0.25 * math.log(t), -math.inf
            for i in range(ARMS):
                for j in range(len(limits)):
                    n = told[i][j]
                    index = (net[i][j] - penalties[j] * over[i][j]) / n
                    index += (1 + penalties[j]) * math.sqrt(half / n)
                    if index > best:
                        best, arm, place = index, i, j
        regret += gaps[arm][place]
        consumption = draw.expovariate(DISTRIBUTIONS[arm].rate)
        gain = draw.betavariate(5, 5 + arm) - 0.1 * consumption
        for j in range(place + 1):
            told[arm][j] += 1.0
            if consumption > limits[j]:
                over[arm][j] += 1.0
            else:
                net[arm][j] += gain
    return regret


def numpy_rcucb(horizon, replications, seed):
    """Play RCUCB in all replications at once, with new square roots only for the played arm."""
    draw = np.random.default_rng(seed)
    gaps = problem().gaps.ravel()
    penalties = PENALTY(LIMITS)
    rates = np.array([distribution.rate for distribution in DISTRIBUTIONS])
    shape = (replications, ARMS, len(LIMITS))
    told, net, over, estimate, spread = (np.zeros(shape) for _ in range(5))
    index = np.empty(shape)
    flat = index.reshape(replications, -1)
    every, regret = np.arange(replications), np.zeros(replications)
    for t in range(1, horizon + 1):
        if t <= ARMS:
            pair = np.full(replications, t * len(LIMITS) - 1)
        else:
            np.multiply(spread, math.sqrt(math.log(t)), out=index)
            index += estimate
            pair = flat.argmax(axis=1)
        regret += gaps[pair]
        arm, place = np.divmod(pair, len(LIMITS))
        consumption = draw.exponential(size=replications) / rates[arm]
        gain = draw.beta(5, 5 + arm) - 0.1 * consumption
        known = np.arange(len(LIMITS)) <= place[:, None]
        exceeded = consumption[:, None] > LIMITS
        n = told[every, arm] + known
        s = net[every, arm] + (known & ~exceeded) * gain[:, None]
        k = over[every, arm] + (known & exceeded)
        told[every, arm], net[every, arm], over[every, arm] = n, s, k
        estimate[every, arm] = (s - penalties * k) / n
        spread[every, arm] = (1 + penalties) * np.sqrt(0.25 / n)
    return regret
