"""The thresholding setting: policies compared with NumPy and Python loops, threads, many arms."""

import statistics
import time

import numpy as np

from benchmarks import thresholding_without_keyhole as yardsticks
from benchmarks.default_policies import make_policies
from benchmarks.measure import Row, Size, compare_with, seconds, time_in_turn
from keyhole import simulate
from keyhole.thresholding import APT, LSA, Problem, RoundRobin

SETUP1 = [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8]
POLICIES = make_policies("thresholding", APT(epsilon=0.05))


def player(policy, size, *, means=SETUP1, threads=1, replications=None):
    """Return a call that simulates a policy."""
    problem = Problem(means=means, threshold=0.5)
    return lambda: simulate(
        problem,
        [policy],
        horizon=size.horizon,
        replications=replications or size.replications,
        threads=threads,
    )


def against_yardsticks(size):
    """Compare every policy with NumPy and with a Python loop."""
    for name, policy in POLICIES.items():
        ours, rounds = player(policy, size), size.horizon * size.replications
        ours()
        own = statistics.median(seconds(ours) for _ in range(size.repeats))
        yield Row(f"{name}: Keyhole", own / rounds * 1e9, "ns a round")
        vectorised = getattr(yardsticks, f"numpy_{name.lower()}", None)
        if vectorised is not None:

            def theirs(loop=vectorised):
                loop(SETUP1, size.horizon, size.replications, 0)

            least = 2.5 if name in ("LSA", "APT", "UCBE") else None
            yield from compare_with(f"{name}: NumPy", ours, theirs, rounds, rounds, size, least)
        plain = getattr(yardsticks, f"python_{name.lower()}", None)
        if plain is not None:

            def theirs(loop=plain):
                for replication in range(size.python_replications):
                    loop(SETUP1, size.horizon, replication)

            slow = size.horizon * size.python_replications
            least = 20 if name == "OptKG" else None
            yield from compare_with(
                f"{name}: plain Python", ours, theirs, rounds, slow, size, least
            )


def scaling(size):
    """Compare RoundRobin with LSA, two threads with one, many arms with few."""
    lsa = player(LSA(), size)
    _, _, ratio = time_in_turn(player(RoundRobin(), size), lsa, size.repeats)
    yield Row("LSA / RoundRobin", ratio, "x", "above 1", ratio > 1)
    _, _, ratio = time_in_turn(player(LSA(), size, threads=2), lsa, size.repeats, time.perf_counter)
    yield Row("LSA: one thread / two", ratio, "x", "at least 1.7", ratio >= 1.7)
    many = Size(10 * size.horizon, max(4, size.replications // 50), 0, size.repeats)
    few_arms = player(LSA(), many)
    many_arms = player(LSA(), many, means=np.linspace(0.1, 0.9, 1000))
    _, _, ratio = time_in_turn(few_arms, many_arms, size.repeats)
    yield Row("LSA: K = 1,000 / K = 10", ratio, "x", "below 10 (linear: 100)", ratio < 10)


def rows(size):
    """Yield all lines of the setting."""
    yield from against_yardsticks(size)
    yield from scaling(size)
