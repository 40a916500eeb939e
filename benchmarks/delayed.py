"""The delayed setting: policies compared with Python loops, and long delays with short ones."""

import math
import random
import statistics

from benchmarks.default_policies import make_policies
from benchmarks.measure import Row, compare_with, seconds, time_in_turn
from keyhole import simulate
from keyhole.delayed import (
    ODAAF,
    ODAAFB,
    ODAAFV,
    Geometric,
    NaivePhases,
    Problem,
    RegressionUCB,
    Uniform,
)

MEANS = [0.5, 0.6]
ROUNDS = 20  # factor of the horizon over that of other settings, because phases are long
GIVEN = (
    ODAAF(expected_delay=2),
    ODAAFB(expected_delay=2, bound=4),
    ODAAFV(expected_delay=2, variance=2),
    NaivePhases(bound=4),
    RegressionUCB(expected_delay=2),
)
POLICIES = {
    name: (policy, "anonymous" if "anonymous" in policy.works_with else "named")
    for name, policy in make_policies("delayed", *GIVEN).items()
}


def player(policy, feedback, size, delay=None):
    """Return a call that simulates a policy."""
    problem = Problem(MEANS, delay or Uniform(0, 4), feedback=feedback)
    horizon, replications = ROUNDS * size.horizon, max(4, size.replications // ROUNDS)
    return lambda: simulate(
        problem, [policy], horizon=horizon, replications=replications, threads=1
    )


def python_odaaf(means, horizon, seed):
    """Play ODAAF once, in plain Python, with delays drawn from 0 to 4; return the regret."""
    rng, due, t, regret = random.Random(seed), [0.0] * (horizon + 5), 0, 0.0
    left, sums, before, m = list(range(len(means))), [0.0] * len(means), 0, 1
    while t < horizon:
        tolerance = 2.0**-m
        log = max(1.0, math.log(horizon * tolerance * tolerance))
        bias = 4 / 3 * log + 3 * m * 2.0
        root = (math.sqrt(2 * log) + math.sqrt(2 * log + 2 * bias * tolerance)) / tolerance
        length = math.ceil(root * root) if len(left) > 1 else horizon + before
        for arm in left:
            for _ in range(min(length - before, horizon - t)):
                due[t + int(rng.random() * 5)] += rng.random() < means[arm]
                sums[arm] += due[t]
                regret += max(means) - means[arm]
                t += 1
        best = max(sums[arm] / length for arm in left)
        left = [arm for arm in left if sums[arm] / length + tolerance >= best]
        before, m = length, m + 1
    return regret


def python_qpmd(means, horizon, seed):
    """Play QPM-D with UCB1 once, likewise."""
    rng, due, regret = random.Random(seed), [[] for _ in range(horizon + 5)], 0.0
    queues, pulls, totals, given = [[] for _ in means], [0] * len(means), [0.0] * len(means), 0

    def choose():
        for arm, n in enumerate(pulls):
            if n == 0:
                return arm
        bounds = [
            total / n + math.sqrt(2 * math.log(given) / n)
            for n, total in zip(pulls, totals, strict=True)
        ]
        return bounds.index(max(bounds))

    arm = choose()
    for t in range(horizon):
        while queues[arm]:
            totals[arm] += queues[arm].pop(0)
            pulls[arm] += 1
            given += 1
            arm = choose()
        due[t + int(rng.random() * 5)].append((arm, float(rng.random() < means[arm])))
        regret += max(means) - means[arm]
        for source, reward in due[t]:
            queues[source].append(reward)
    return regret


def rows(size):
    """Yield all lines of the setting."""
    horizon = ROUNDS * size.horizon
    rounds = horizon * max(4, size.replications // ROUNDS)
    for name, (policy, feedback) in POLICIES.items():
        ours = player(policy, feedback, size)
        ours()
        own = statistics.median(seconds(ours) for _ in range(size.repeats)) / rounds * 1e9
        yield Row(f"{name}: Keyhole, K = 2", own, "ns a round")
        plain = globals().get(f"python_{name.lower()}")
        if plain is not None:

            def theirs(loop=plain):
                for replication in range(max(1, size.python_replications // ROUNDS)):
                    loop(MEANS, horizon, replication)

            slow = horizon * max(1, size.python_replications // ROUNDS)
            yield from compare_with(f"{name}: plain Python", ours, theirs, rounds, slow, size, 100)
    for name in ("ODAAF", "QPMD"):
        policy, feedback = POLICIES[name]
        short = player(policy, feedback, size, Geometric(5))
        for mean in (50, 5000):
            long = player(policy, feedback, size, Geometric(mean))
            _, _, ratio = time_in_turn(short, long, size.repeats)
            yield Row(f"{name}: mean delay {mean} / 5", ratio, "x", "below 2", ratio < 2)
