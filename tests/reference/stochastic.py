"""Reference policies of the stochastic bandit: slow and simple, written from the papers.

Nothing here comes from `keyhole`. A policy keeps the list of rewards of each arm.
"""

import math

from scipy.optimize import minimize_scalar

from tests.reference.bets import log_mean_wealth


def play(policy, reward, rounds):
    """Return the arms pulled; `reward(arm, n)` is the n-th of an arm."""
    asked = []
    for t in range(1, rounds + 1):
        arm = policy.choose(t)
        policy.learn(arm, reward(arm, len(policy.rewards[arm])))
        asked.append(arm)
    return asked


class Bandit:
    """Base class that keeps the rewards of each arm."""

    def __init__(self, arms, horizon):
        self.arms, self.horizon = arms, horizon
        self.rewards = [[] for _ in range(arms)]

    def learn(self, arm, reward):
        self.rewards[arm].append(reward)

    def mean(self, arm):
        return sum(self.rewards[arm]) / len(self.rewards[arm])


class ByIndex(Bandit):
    """Base class: pull each arm once, then the one with the largest index, the first of equals."""

    def choose(self, t):
        for arm, seen in enumerate(self.rewards):
            if not seen:
                return arm
        values = [self.index(t, arm, len(self.rewards[arm])) for arm in range(self.arms)]
        return values.index(max(values))


class UCB1(ByIndex):
    """Auer et al. 2002, Figure 1: n is the number of plays done so far."""

    def index(self, t, arm, n):
        done = sum(len(seen) for seen in self.rewards)
        return self.mean(arm) + math.sqrt(2 * math.log(done) / n)


class HoeffdingUCB(ByIndex):
    """Abernethy et al. 2016, section 2, with V written out."""

    def index(self, t, arm, n):
        return self.mean(arm) + math.sqrt(math.log(4 * self.horizon**2) / (2 * n))


class KnownVarianceUCB(ByIndex):
    """The same with Bernstein's inequality: V solves N eps^2 = L (2 v + 2 eps / 3)."""

    def __init__(self, *size, variance):
        super().__init__(*size)
        self.variance = variance

    def index(self, t, arm, n):
        log = math.log(4 * self.horizon**2)
        a, b, c = n, -2 * log / 3, -2 * self.variance * log
        return self.mean(arm) + (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)


class MOSS(ByIndex):
    """Audibert and Bubeck 2009."""

    def index(self, t, arm, n):
        log = math.log(self.horizon / (self.arms * n))
        return self.mean(arm) + math.sqrt(max(log, 0.0) / n)


def divergence(p, rest):
    """Return kl(p, q) for q = 1 - e^rest."""
    q = -math.expm1(rest)
    total = -(1 - p) * rest
    if p > 0:
        total += p * math.log(p / q)
    if p < 1:
        total += (1 - p) * math.log(1 - p)
    return total


class KLUCB(ByIndex):
    """Garivier and Cappe 2011: the largest q, by bisection in ln(1 - q)."""

    def __init__(self, *size, c):
        super().__init__(*size)
        self.c = c

    def index(self, t, arm, n):
        """Return -ln(1 - q), which orders arms as q does, and keeps its digits near 1."""
        level = math.log(t) + (self.c * math.log(math.log(t)) if t >= 3 else 0.0)
        mean = self.mean(arm)
        if mean == 1:
            return math.inf
        high = math.log(1 - mean)
        low = high - 1
        while n * divergence(mean, low) <= level:
            low -= 2 * (high - low)
        for _ in range(200):
            middle = (low + high) / 2
            if n * divergence(mean, middle) <= level:
                high = middle
            else:
                low = middle
        return -high


class ThompsonSampling(Bandit):
    """Agrawal and Goyal 2012; `beta` and `uniform` draw from the policy's stream."""

    def __init__(self, *size, a, b, beta, uniform):
        super().__init__(*size)
        self.a, self.b, self.beta, self.uniform = a, b, beta, uniform
        self.successes = [0] * self.arms

    def choose(self, t):
        draws = [
            self.beta(self.a + hits, self.b + len(seen) - hits)
            for hits, seen in zip(self.successes, self.rewards, strict=True)
        ]
        return draws.index(max(draws))

    def learn(self, arm, reward):
        super().learn(arm, reward)
        if reward in (0, 1):
            self.successes[arm] += int(reward)
        else:
            self.successes[arm] += self.uniform() < reward


class OptimisticThompson(ThompsonSampling):
    """May et al. 2012, OBS: no draw counts as less than the posterior mean."""

    def choose(self, t):
        values = []
        for hits, seen in zip(self.successes, self.rewards, strict=True):
            up, down = self.a + hits, self.b + len(seen) - hits
            values.append(max(self.beta(up, down), up / (up + down)))
        return values.index(max(values))


class TopTwoThompson(ThompsonSampling):
    """Russo 2020, with the challenger of least transportation cost (Jourdan et al. 2022)."""

    def __init__(self, *size, share, **more):
        super().__init__(*size, **more)
        self.share = share

    def choose(self, t):
        leader = super().choose(t)
        if self.uniform() < self.share or self.arms == 1:
            return leader
        others = [arm for arm in range(self.arms) if arm != leader]
        return min(others, key=lambda arm: self.cost(self.rewards[leader], self.rewards[arm]))

    def cost(self, best, other):
        if not other:
            return -math.inf
        penalty = math.log(len(other))
        if not best or sum(best) / len(best) <= sum(other) / len(other):
            return penalty
        pooled = math.log1p(-sum(best + other) / len(best + other))
        return penalty + sum(
            len(seen) * divergence(sum(seen) / len(seen), pooled) for seen in (best, other)
        )


class BestArmStopping(Bandit):
    """Give up an arm when the e-process "some other is no better than it" reaches (K - 1)/delta.

    The e-process is by its definition: the wealth of bets against both means, at the pair of means
    of the null where it is least. `base` is a reference policy.
    """

    def __init__(self, *size, base, delta):
        super().__init__(*size)
        self.base, self.needed = base, (self.arms - 1) / delta
        self.verdicts = [None] * self.arms

    def open_arms(self):
        return [arm for arm, verdict in enumerate(self.verdicts) if verdict is None]

    def choose(self, t):
        arm = self.base.choose(t)
        if self.verdicts[arm] is None:
            return arm
        return min(self.open_arms(), key=lambda i: len(self.rewards[i]))

    def learn(self, arm, reward):
        super().learn(arm, reward)
        self.base.learn(arm, reward)
        for other in range(self.arms):
            for high, low in ((arm, other), (other, arm)):
                may_fall = other != arm and self.verdicts[low] is None
                if may_fall and len(self.open_arms()) > 1 and self.evidence(high, low):
                    self.verdicts[low] = "not best"
        if len(self.open_arms()) == 1:
            self.verdicts[self.open_arms()[0]] = "best"

    def evidence(self, high, low):
        both = [self.rewards[high], self.rewards[low]]
        if not all(both) or self.mean(high) <= self.mean(low):
            return False

        # With the means in the order that the null denies, its worst case has both means equal.
        def against(mean):
            return sum(log_mean_wealth(rewards, mean, steps=20) for rewards in both)

        level = math.log(self.needed)
        if against(sum(map(sum, both)) / sum(map(len, both))) < level:
            return False
        return minimize_scalar(against, bounds=(0, 1), method="bounded").fun >= level


class RoundRobin(Bandit):
    """The arms in turn."""

    def choose(self, t):
        return (t - 1) % self.arms


class ImprovedUCB(Bandit):
    """Auer and Ortner 2010, Figure 1, as a script of arms to pull."""

    def __init__(self, *size):
        super().__init__(*size)
        self.script = self.phases()

    def phases(self):
        left, m = list(range(self.arms)), 0
        while self.horizon >= 3 and m <= math.floor(0.5 * math.log2(self.horizon / math.e)):
            log = math.log(self.horizon * 4.0**-m)
            n = math.ceil(2 * log / 4.0**-m)
            for arm in left:
                while len(self.rewards[arm]) < n:
                    yield arm
            width = math.sqrt(log / (2 * n))
            highest = max(self.mean(arm) - width for arm in left)
            left = [arm for arm in left if not self.mean(arm) + width < highest]
            m += 1
        while True:
            yield from left

    def choose(self, t):
        return next(self.script)
