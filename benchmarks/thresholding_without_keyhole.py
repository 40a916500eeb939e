"""Reference programs of the thresholding setting, as one would write them without Keyhole."""

import math
import random

import numpy as np

THETA = 0.5


# A plain Python loop over one replication.


def python_index(index, means, horizon, seed):
    """Play an index policy; return the number of wrong labels."""
    draw = random.Random(seed).random
    arms = len(means)
    pulls, totals = [0] * arms, [0.0] * arms
    keys = [-math.inf] * arms
    for _ in range(horizon):
        arm = keys.index(min(keys))
        pulls[arm] += 1
        totals[arm] += draw() < means[arm]
        keys[arm] = index(pulls[arm], totals[arm])
    return wrong(means, pulls, totals)


def python_lsa(means, horizon, seed):
    def index(n, s):
        d = s - THETA * n
        return 1.35 * d * d / n + 0.5 * math.log(n)

    return python_index(index, means, horizon, seed)


def python_apt(means, horizon, seed):
    return python_index(
        lambda n, s: math.sqrt(n) * (abs(s / n - THETA) + 0.05), means, horizon, seed
    )


def exploration(means, horizon):
    """Return UCBE's a for b = 0."""
    return (horizon - len(means)) / sum((m - THETA) ** -2 for m in means)


def python_ucbe(means, horizon, seed):
    a = exploration(means, horizon)
    return python_index(lambda n, s: abs(s / n - THETA) - math.sqrt(a / n), means, horizon, seed)


def python_roundrobin(means, horizon, seed):
    draw = random.Random(seed).random
    arms = len(means)
    pulls, totals = [0] * arms, [0.0] * arms
    for t in range(horizon):
        arm = t % arms
        pulls[arm] += 1
        totals[arm] += draw() < means[arm]
    return wrong(means, pulls, totals)


def python_optkg(means, horizon, seed):
    """Play Opt-KG(1, 1) with the incremental update, for a threshold of 1/2."""
    draw = random.Random(seed).random
    arms = len(means)
    a, b = [1.0] * arms, [1.0] * arms
    above, weight = [0.5] * arms, [0.25] * arms
    keys = [0.25] * arms
    for _ in range(horizon):
        arm = keys.index(max(keys))
        if draw() < means[arm]:
            above[arm] += weight[arm] / a[arm]
            weight[arm] *= 0.5 * (a[arm] + b[arm]) / a[arm]
            a[arm] += 1.0
        else:
            above[arm] -= weight[arm] / b[arm]
            weight[arm] *= 0.5 * (a[arm] + b[arm]) / b[arm]
            b[arm] += 1.0
        up, down, now = above[arm], above[arm], above[arm]
        up += weight[arm] / a[arm]
        down -= weight[arm] / b[arm]
        keys[arm] = max(max(up, 1 - up), max(down, 1 - down)) - max(now, 1 - now)
    return sum((m >= THETA) != (i >= 0.5) for m, i in zip(means, above, strict=True))


def wrong(means, pulls, totals):
    return sum(
        (m >= THETA) != (s >= THETA * n) for m, n, s in zip(means, pulls, totals, strict=True)
    )


# NumPy over all replications at once: in a round one index per replication changes.


def numpy_index(index, means, horizon, replications, seed):
    """Play an index policy; return the number of wrong labels of each replication."""
    means = np.asarray(means)
    arms, draw = len(means), np.random.default_rng(seed)
    pulls, totals = np.ones((replications, arms)), np.empty((replications, arms))
    totals[:] = draw.random((replications, arms)) < means
    keys = index(pulls, totals)
    flat_pulls, flat_totals, flat_keys = pulls.ravel(), totals.ravel(), keys.ravel()
    first = np.arange(replications) * arms
    u = np.empty(replications)
    for _ in range(horizon - arms):
        arm = keys.argmin(axis=1)
        place = first + arm
        draw.random(out=u)
        n = flat_pulls[place] + 1.0
        s = flat_totals[place] + (u < means[arm])
        flat_pulls[place] = n
        flat_totals[place] = s
        flat_keys[place] = index(n, s)
    return ((means >= THETA) != (totals >= THETA * pulls)).sum(axis=1)


def numpy_lsa(means, horizon, replications, seed):
    def index(n, s):
        d = s - THETA * n
        return 1.35 * d * d / n + 0.5 * np.log(n)

    return numpy_index(index, means, horizon, replications, seed)


def numpy_apt(means, horizon, replications, seed):
    def index(n, s):
        root = np.sqrt(n)
        return np.abs(s - THETA * n) / root + 0.05 * root

    return numpy_index(index, means, horizon, replications, seed)


def numpy_ucbe(means, horizon, replications, seed):
    a = exploration(means, horizon)
    return numpy_index(
        lambda n, s: np.abs(s / n - THETA) - np.sqrt(a / n), means, horizon, replications, seed
    )


def numpy_roundrobin(means, horizon, replications, seed):
    """Draw every arm's total at once, since the decisions do not depend on the feedback."""
    means = np.asarray(means)
    arms, draw = len(means), np.random.default_rng(seed)
    pulls = np.full(arms, horizon // arms) + (np.arange(arms) < horizon % arms)
    totals = np.zeros((replications, arms))
    for n in range(pulls.max()):
        totals += (draw.random((replications, arms)) < means) & (n < pulls)
    return ((means >= THETA) != (totals >= THETA * pulls)).sum(axis=1)
