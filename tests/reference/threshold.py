"""Reference policies of the threshold bandit: slow and simple, written from the papers.

Nothing here comes from `keyhole`. A policy keeps the list of all pulls as (arm, threshold, seen)
and counts anew in every round. Levels go from 1 to m; `seen` is the sample, or where feedback is
censored the smaller of sample and threshold.
"""

import math


def play(policy, threshold, sample, rounds, *, censored):
    """Return the arms pulled, given the threshold of round t and the n-th sample of an arm."""
    pulls, asked = {}, []
    policy.hidden = censored
    for t in range(1, rounds + 1):
        c = threshold(t)
        arm = policy.choose(t, c)
        x = sample(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        policy.learn(arm, c, min(x, c) if censored else x)
        asked.append(arm)
    return asked


class ByIndex:
    """Base class: pull the first arm without samples, else the one with the largest index."""

    def __init__(self, arms, levels, horizon):
        self.arms, self.levels, self.horizon = arms, levels, horizon
        self.history = []

    def learn(self, arm, threshold, seen):
        self.history.append((arm, threshold, seen))

    def relevant(self, arm, c):
        """Return for the arm's pulls that are not censored at level c whether they reached it."""
        return [seen >= c for i, threshold, seen in self.history if i == arm and threshold >= c]

    def choose(self, t, c):
        known = [self.relevant(arm, c) for arm in range(self.arms)]
        for arm, reached in enumerate(known):
            if not reached:
                return arm
        values = [sum(reached) / len(reached) + self.width(t, c, len(reached)) for reached in known]
        return values.index(max(values))


class DKWUCB(ByIndex):
    """Section 4: every pull counts, delta = T^-2 / 2."""

    def relevant(self, arm, c):
        return [seen >= c for i, _, seen in self.history if i == arm]

    def log(self, t):
        return math.log(4 * self.horizon**2)

    def width(self, t, c, n):
        return math.sqrt(self.log(t) / (2 * n))


class AnytimeDKWUCB(DKWUCB):
    """The same with ln t + c ln ln t."""

    def __init__(self, *size, c):
        super().__init__(*size)
        self.c = c

    def log(self, t):
        return math.log(t) + self.c * (math.log(math.log(t)) if t >= 3 else 0.0)


class KaplanMeierUCB(ByIndex):
    """Eq. (8) and Lemma 4: pulls at thresholds of at least c count."""

    def log(self, t):
        return math.log(4 * self.horizon**2)

    def width(self, t, c, n):
        return math.sqrt(2 * self.log(t) / n)


class AnytimeKaplanMeierUCB(KaplanMeierUCB):
    """The same with Hoeffding's width and ln t + c ln ln t."""

    def __init__(self, *size, c):
        super().__init__(*size)
        self.c = c

    def width(self, t, c, n):
        log = math.log(t) + self.c * (math.log(math.log(t)) if t >= 3 else 0.0)
        return math.sqrt(log / (2 * n))


class OPTIM(KaplanMeierUCB):
    """Section 5.1: all pulls of the arm count, since all were at thresholds of at least c."""

    def relevant(self, arm, c):
        assert all(threshold >= c for _, threshold, _ in self.history)
        return [seen >= c for i, _, seen in self.history if i == arm]


class AnytimeOPTIM(OPTIM):
    """The same with ln t + c ln ln t."""

    def __init__(self, *size, c):
        super().__init__(*size)
        self.c = c

    def log(self, t):
        return math.log(t) + self.c * (math.log(math.log(t)) if t >= 3 else 0.0)


class PerThresholdUCB(ByIndex):
    """UCB1 of Auer et al. 2002, once for each threshold."""

    def relevant(self, arm, c):
        return [seen >= c for i, threshold, seen in self.history if i == arm and threshold == c]

    def width(self, t, c, n):
        before = sum(threshold == c for _, threshold, _ in self.history)
        return math.sqrt(2 * math.log(before) / n)


class MonotoneKLUCB(ByIndex):
    """The least of the KL-UCB bounds up to the threshold, each by bisection."""

    def __init__(self, *size, c):
        super().__init__(*size)
        self.c = c

    def choose(self, t, c):
        values = []
        for arm in range(self.arms):
            each = [self.bound(t, self.relevant(arm, j)) for j in range(1, c + 1)]
            values.append(min(each))
        return values.index(max(values))

    def bound(self, t, reached):
        """Return -ln(1 - q), which orders bounds as q does, and keeps its digits near 1."""
        level = math.log(t) + self.c * (math.log(math.log(t)) if t >= 3 else 0.0)
        if all(reached):  # also where nothing is known
            return math.inf
        n, mean = len(reached), sum(reached) / len(reached)
        high = math.log(1 - mean)
        low = high - 1
        while n * divergence(mean, low) <= level:
            low -= 2 * (high - low)
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):  # no float lies between
                break
            if n * divergence(mean, middle) <= level:
                high = middle
            else:
                low = middle
        return -high


def divergence(p, rest):
    """Return kl(p, q) for q = 1 - e^rest."""
    q = -math.expm1(rest)
    total = -(1 - p) * rest
    if p > 0:
        total += p * math.log(p / q)
    if p < 1:
        total += (1 - p) * math.log(1 - p)
    return total


class KaplanMeierThompson(ByIndex):
    """A beta posterior for each arm and level on the counts of eq. (8)."""

    def __init__(self, *size, a, b, beta):
        super().__init__(*size)
        self.a, self.b, self.beta = a, b, beta

    def choose(self, t, c):
        draws = []
        for arm in range(self.arms):
            reached = self.relevant(arm, c)
            hits = sum(reached)
            draws.append(self.beta(self.a + hits, self.b + len(reached) - hits))
        return draws.index(max(draws))


class SurvivalThompson(ByIndex):
    """A Dirichlet prior over {0, ..., m}: a beta factor for each level."""

    def __init__(self, *size, weight, beta):
        super().__init__(*size)
        self.weight, self.beta = weight, beta

    def choose(self, t, c):
        draws = []
        for arm in range(self.arms):
            value = 1.0
            for j in range(1, c + 1):
                went_on = [
                    seen >= j
                    for i, threshold, seen in self.history
                    # With uncensored feedback a sample above its threshold shows all levels.
                    if i == arm and seen >= j - 1 and (threshold >= j or not self.hidden)
                ]
                above = (self.levels + 1 - j) * self.weight
                value *= self.beta(above + sum(went_on), self.weight + len(went_on) - sum(went_on))
            draws.append(value)
        return draws.index(max(draws))


class RoundRobin(ByIndex):
    """The arms in turn."""

    def choose(self, t, c):
        return (t - 1) % self.arms


class KMUCB(ByIndex):
    """Algorithm 1, line by line; a test at the end of each epoch, with all of it included."""

    def __init__(self, arms, levels, horizon):
        super().__init__(arms, levels, horizon)
        self.left = {j: list(range(arms)) for j in range(1, levels + 1)}
        self.level, self.epoch = 1, 1
        self.count = dict.fromkeys(self.left, 0)

    def choose(self, t, c):
        self.count[c] += 1
        if c < self.level:
            assert len(self.left[c]) == 1
            return self.left[c][0]
        return self.count[c] - 1

    def learn(self, arm, threshold, seen):
        super().learn(arm, threshold, seen)
        if sum(self.count.values()) == self.arms * self.levels:
            if self.level <= self.levels:
                self.test()
            self.epoch += 1
            self.count = dict.fromkeys(self.left, 0)

    def test(self):
        j, k = self.level, self.epoch
        estimates = []
        for arm in self.left[j]:
            reached = self.relevant(arm, j)
            estimates.append(sum(reached) / len(reached))
        best = max(estimates)
        width = math.sqrt(16 * math.log(self.horizon * k) / ((self.levels - j + 1) * k))
        first = estimates.index(best)
        if all(best - e >= width for i, e in enumerate(estimates) if i != first):
            self.left[j] = [first]
            self.level += 1
