"""Censored semi-bandits: policies compared with Python loops, and the knapsack with HiGHS."""

import itertools
import random
import statistics
from collections import namedtuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.default_policies import make_policies
from benchmarks.measure import Row, compare_with, seconds, time_in_turn
from keyhole import simulate
from keyhole.kernels.fingerprint import compiled_copy
from keyhole.semibandit import CSBDT, CSBDTUCB, CTS, ESCB, MPTS, Problem
from keyhole.semibandit.knapsack import choose_items, make_scratch

INSTANCE_1 = Problem([round(0.25 + i / 50, 2) for i in range(20)], 0.7, resource=7)
INSTANCE_2 = Problem([0.9, 0.89, 0.87, 0.58, 0.3], [0.7, 0.7, 0.7, 0.6, 0.35], resource=2.02)
GIVEN = (
    CSBDT(loss_free_rounds=19, as_printed=0),
    CSBDTUCB(loss_free_rounds=19, as_printed=0),
    ESCB(m=10),
    MPTS(m=10),
)
ONE_THRESHOLD = ("CSBST", "ESCB", "MPTS")
POLICIES = {
    name: (policy, INSTANCE_1 if name in ONE_THRESHOLD else INSTANCE_2)
    for name, policy in make_policies("semibandit", *GIVEN).items()
}


def player(policy, problem, size, parts=5):
    """Return a call that simulates a policy, and its number of rounds."""
    replications = max(min(8, size.replications), size.replications // parts)
    return (
        lambda: simulate(
            problem, [policy], horizon=size.horizon, replications=replications, threads=1
        ),
        size.horizon * replications,
    )


def python_mpts(problem, horizon, seed):
    """Play MP-TS once, in plain Python; return the regret."""
    rng, means, arms = random.Random(seed), problem.mean_losses.tolist(), problem.arms
    losses, clears, regret = [1] * arms, [1] * arms, 0.0
    for _ in range(horizon):
        draws = [rng.betavariate(losses[i], clears[i]) for i in range(arms)]
        watched = sorted(range(arms), key=draws.__getitem__)[:10]
        for arm in watched:
            loss = rng.random() < means[arm]
            losses[arm] += loss
            clears[arm] += not loss
            regret += means[arm]
        regret -= problem.least_loss
    return regret


def python_cts(problem, horizon, seed):
    """Play CTS once, trying every set that fits, in plain Python."""
    rng, means, arms = random.Random(seed), problem.mean_losses.tolist(), problem.arms
    losses, clears, regret = [1] * arms, [1] * arms, 0.0
    sets = [
        [i for i in range(arms) if bits[i]]
        for bits in itertools.product((0, 1), repeat=arms)
        if np.dot(bits, problem.thresholds) <= problem.resource
    ]
    for _ in range(horizon):
        draws = [rng.betavariate(losses[i], clears[i]) for i in range(arms)]
        funded = max(sets, key=lambda some: sum(draws[i] for i in some))
        for arm in range(arms):
            if arm not in funded:
                loss = rng.random() < means[arm]
                losses[arm] += loss
                clears[arm] += not loss
                regret += means[arm]
        regret -= problem.least_loss
    return regret


def knapsacks(size):
    """Time single knapsacks, and HiGHS on the same; then a round with 200 arms."""
    solve, rng = compiled_copy(choose_items), np.random.default_rng(1)
    for items in (20, 200):
        means = np.linspace(0.25, 0.65, items)
        weights = 0.2 + 0.7 * rng.random(items)
        many = max(1, size.horizon // 10)
        values = rng.beta(200 * means, 200 * (1 - means), (many, items))
        capacity, chosen = 0.4 * weights.sum(), np.zeros(items, np.int64)
        memory = _as_tuple(items)

        def ours(values=values, weights=weights, capacity=capacity, chosen=chosen, memory=memory):
            for row in values:
                solve(memory, row, weights, len(weights), capacity, chosen)

        def theirs(values=values, weights=weights, capacity=capacity):
            for row in values[:2]:
                milp(
                    -row,
                    constraints=LinearConstraint(weights[None], ub=capacity),
                    integrality=np.ones(len(row)),
                    bounds=Bounds(0, 1),
                )

        own, _, ratio = time_in_turn(ours, theirs, size.repeats)
        yield Row(f"knapsack of {items}: Keyhole", own / len(values) * 1e6, "us")
        yield Row(f"knapsack of {items}: HiGHS / Keyhole", ratio * len(values) / 2, "x")
    means, thresholds = np.linspace(0.25, 0.65, 200), 0.2 + 0.7 * rng.random(200)
    large = Problem(means, thresholds, resource=float(0.4 * thresholds.sum()))
    call, rounds = player(CTS(), large, size, parts=500)
    call()
    own = statistics.median(seconds(call) for _ in range(size.repeats)) / rounds * 1e6
    yield Row("CTS, knapsack every round, K = 200", own, "us a round")


def _as_tuple(items):
    """Return the working memory as a named tuple, for compiled code."""
    parts = vars(make_scratch(items))
    return namedtuple("Scratch", parts)(**parts)


def rows(size):
    """Yield all lines of the setting."""
    for name, (policy, problem) in POLICIES.items():
        ours, rounds = player(policy, problem, size)
        ours()
        own = statistics.median(seconds(ours) for _ in range(size.repeats)) / rounds * 1e9
        yield Row(f"{name}: Keyhole, K = {problem.arms}", own, "ns a round")
        plain = globals().get(f"python_{name.lower()}")
        if plain is not None:

            def theirs(loop=plain, problem=problem):
                for replication in range(size.python_replications):
                    loop(problem, size.horizon, replication)

            slow = size.horizon * size.python_replications
            yield from compare_with(f"{name}: plain Python", ours, theirs, rounds, slow, size, 100)
    yield from knapsacks(size)
