"""Reference policies for delayed feedback: slow and simple, written from the papers.

Nothing here comes from `keyhole`. An environment is a function that returns the reward and the
delay of the n-th pull of an arm; arrivals are kept in a dictionary by round.
"""

import math
from collections import deque
from fractions import Fraction


def play(policy, draw, arms, horizon):
    """Return the arms pulled, and what arrived in each round as (arm, reward) pairs."""
    due, pulls, asked, arrivals = {}, [0] * arms, [], []
    for t in range(1, horizon + 1):
        arm = policy.choose(t)
        reward, delay = draw(arm, pulls[arm])
        pulls[arm] += 1
        due.setdefault(t + int(delay), []).append((arm, reward))
        arrived = due.pop(t, [])
        policy.learn(arm, arrived)
        asked.append(arm)
        arrivals.append(arrived)
    return asked, arrivals


class Phased:
    """Algorithm 1 of Pike-Burke et al. 2018; a subclass knows the bias B and how to bridge.

    n_m is found as the smallest n whose confidence width is at most half the tolerance, by
    looking; not by the closed form.
    """

    bridge = False

    def __init__(self, arms, horizon, **told):
        self.horizon, self.told = horizon, told
        self.sums = [0.0] * arms
        self.given_up = {}
        self.script = self.phases(arms)
        self.now = next(self.script)
        self.round = 0

    def log(self, tolerance):
        return max(1.0, math.log(self.horizon * tolerance**2))

    def narrow(self, n, m, tolerance):
        """Return whether n pulls are enough in phase m."""
        log = self.log(tolerance)
        return math.sqrt(2 * log / n) + self.bias(m, log) / n <= tolerance / 2

    def enough(self, m):
        """Return the smallest n that is enough in phase m."""
        tolerance, low, high = 2.0**-m, 0, 1
        while not self.narrow(high, m, tolerance):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            if self.narrow(middle, m, tolerance):
                high = middle
            else:
                low = middle
        return high

    def phases(self, arms):
        """Yield (arm, whether what arrives counts) for every round."""
        left, before, m = list(range(arms)), 0, 1
        while len(left) > 1:
            n = max(self.enough(m), before + 1)
            for arm in left:
                for _ in range(n - before):
                    yield arm, True
            averages = {arm: Fraction(self.sums[arm]) / n for arm in left}
            best = max(averages.values())
            for arm in left:
                if averages[arm] + Fraction(1, 2**m) < best:
                    self.given_up[arm] = self.round
            left = [arm for arm in left if arm not in self.given_up]
            if self.bridge and len(left) > 1:
                leader = max(left, key=lambda arm: averages[arm])
                for _ in range(n - before):
                    yield leader, False
            before, m = n, m + 1
        while True:
            yield left[0], True

    def choose(self, t):
        return self.now[0]

    def learn(self, arm, arrived):
        self.round += 1
        if self.now[1]:
            self.sums[arm] += sum(reward for _, reward in arrived)
        self.now = next(self.script)


class ODAAF(Phased):
    """Appendix C: B = 4/3 L + 3 m E."""

    def bias(self, m, log):
        return 4 / 3 * log + 3 * m * self.told["expected_delay"]


class ODAAFB(Phased):
    """Appendix D: B = 4/3 L + 2 E, and at least min(m d, n_m of Appendix C)."""

    bridge = True

    def bias(self, m, log):
        return 4 / 3 * log + 2 * self.told["expected_delay"]

    def enough(self, m):
        without = ODAAF.__new__(ODAAF)
        without.horizon, without.told = self.horizon, self.told
        return max(super().enough(m), min(m * self.told["bound"], without.enough(m)))


class ODAAFV(Phased):
    """Appendix E: B = 4/3 L + 2 E + 4 V."""

    bridge = True

    def bias(self, m, log):
        return 4 / 3 * log + 2 * self.told["expected_delay"] + 4 * self.told["variance"]


class NaivePhases(Phased):
    """Appendix B: sqrt(L / 2 n) + m d / n."""

    def narrow(self, n, m, tolerance):
        width = math.sqrt(self.log(tolerance) / (2 * n)) + m * self.told["bound"] / n
        return width <= tolerance / 2


class UCB1:
    """Auer et al. 2002, on its own clock."""

    def __init__(self, arms):
        self.rewards = [[] for _ in range(arms)]

    def choose(self):
        for arm, seen in enumerate(self.rewards):
            if not seen:
                return arm
        n = sum(len(seen) for seen in self.rewards)
        bounds = [
            sum(seen) / len(seen) + math.sqrt(2 * math.log(n) / len(seen)) for seen in self.rewards
        ]
        return bounds.index(max(bounds))

    def learn(self, arm, reward):
        self.rewards[arm].append(reward)


class QPMD:
    """Joulani et al. 2013: a base that is fed from queues."""

    def __init__(self, arms, base):
        self.queues = [deque() for _ in range(arms)]
        self.base = base
        self.wanted = None

    def choose(self, t):
        if self.wanted is None:
            self.wanted = self.base.choose()
        while self.queues[self.wanted]:
            self.base.learn(self.wanted, self.queues[self.wanted].popleft())
            self.wanted = self.base.choose()
        return self.wanted

    def learn(self, arm, arrived):
        for source, reward in arrived:
            self.queues[source].append(reward)


class DelayedUCB1:
    """Joulani et al. 2013: UCB1 on arrived rewards; of arms without any the least pulled."""

    def __init__(self, arms):
        self.pulls = [0] * arms
        self.rewards = [[] for _ in range(arms)]

    def choose(self, t):
        blank = [arm for arm, seen in enumerate(self.rewards) if not seen]
        if blank:
            return min(blank, key=lambda arm: self.pulls[arm])
        bounds = [
            sum(seen) / len(seen) + math.sqrt(2 * math.log(t) / len(seen)) for seen in self.rewards
        ]
        return bounds.index(max(bounds))

    def learn(self, arm, arrived):
        self.pulls[arm] += 1
        for source, reward in arrived:
            self.rewards[source].append(reward)


class ARSUCB:
    """ARS-UCB of Wang et al. 2021, from a list of all its rounds: arm, pulls, sum of arrivals."""

    def __init__(self, arms, alpha=4.0, growth=1.0):
        self.arms, self.alpha, self.growth = range(arms), alpha, growth
        self.rounds = []
        self.wanted = 0

    def bound(self, arm, t):
        own = [round for round in self.rounds if round[0] == arm]
        if not own:
            return math.inf
        pulls = sum(n for _, n, _ in own)
        mean = sum(total for _, _, total in own) / pulls
        return mean + math.sqrt(self.alpha * math.log(t) / pulls)

    def choose(self, t):
        if not self.rounds or self.rounds[-1][1] >= self.wanted:
            bounds = [self.bound(arm, t) for arm in self.arms]
            arm = bounds.index(max(bounds))
            earlier = sum(other == arm for other, _, _ in self.rounds)
            self.wanted = (earlier + 1) ** self.growth
            self.rounds.append([arm, 0, 0.0])
        return self.rounds[-1][0]

    def learn(self, arm, arrived):
        self.rounds[-1][1] += 1
        self.rounds[-1][2] += sum(reward for _, reward in arrived)


class Regression:
    """The regressions of Keyhole's own rule for one delay: every row of each is kept.

    Each reward that would be due, were delays geometric, is a number of its own; each round takes
    the share from it that would arrive.
    """

    def __init__(self, arms, delay):
        self.arms, self.delay = range(arms), delay
        self.due = [[] for _ in self.arms]
        self.rows = [[] for _ in self.arms]  # of each arm: weight, share, what is left to explain
        self.squares = []  # of each batch: squared residual, by its variance
        self.variances = []
        self.shares = []  # of each round of a batch: arrivals due to each arm

    def information(self, arm):
        return 1 + sum(weight * share**2 for weight, share, _ in self.rows[arm])

    def estimate(self, arm):
        explained = sum(weight * share * rest for weight, share, rest in self.rows[arm])
        return (0.5 + explained) / self.information(arm)

    def bound(self, arm, t):
        known, mean = self.information(arm), min(max(self.estimate(arm), 0), 1)
        variance = min(1 / 4, mean * (1 - mean) + 2 * math.log(t) / known)
        variance = max(variance, sum(self.squares) / len(self.squares))
        return self.estimate(arm) + math.sqrt(2 * variance * math.log(t) / known)

    def add_round(self, arm):
        self.due[arm].append(1.0)
        chance = 1 / (1 + self.delay)
        self.shares.append([chance * sum(due) for due in self.due])
        self.due = [[(1 - chance) * share for share in due] for due in self.due]

    def learn_batch(self, total):
        rounds = len(self.shares)
        shares = [sum(shares[arm] for shares in self.shares) for arm in self.arms]
        self.shares = []
        means = [min(max(self.estimate(arm), 0), 1) for arm in self.arms]
        spreads = [shares[arm] ** 2 / self.information(arm) for arm in self.arms]
        residual = total - sum(shares[arm] * means[arm] for arm in self.arms)
        rows = []
        for arm in self.arms:
            others = [other for other in self.arms if other != arm]
            weight = 1 / (rounds + sum(spreads[other] for other in others))
            rest = total - sum(shares[other] * means[other] for other in others)
            rows.append((weight, shares[arm], rest))
        for arm, row in enumerate(rows):
            self.rows[arm].append(row)
        self.variances.append(rounds + sum(spreads))
        self.squares.append(residual**2 / self.variances[-1])

    def surprise(self):
        """Return -2 log of the likelihood of the sums, were they normal, less a constant."""
        return sum(map(math.log, self.variances)) + sum(self.squares) / (1 / 4)


class RegressionUCB:
    """Keyhole's own rule, from its definition: regressions for each delay that is compared."""

    def __init__(self, arms, expected_delay=50, correct_delay=2, horizon=0):
        self.arms, self.told, self.rounds = range(arms), expected_delay, 0
        self.powers = [0, 1, 2, 3, 4, 5, -1, -2] if correct_delay else [0]
        self.margin = 6 if correct_delay == 2 else 0
        self.again = [*self.arms] if correct_delay == 2 else []
        self.most = horizon / (8 * arms) if horizon else math.inf
        self.regressions = [Regression(arms, expected_delay * 2.0**k) for k in self.powers]
        self.pulls, self.total = [0] * arms, 0
        self.arm, self.left = None, 0

    def plausible(self):
        """Return the regressions that may be right, from the best on, in the order of delays."""
        scores = [
            regression.surprise() + 3 * abs(power)
            for power, regression in zip(self.powers, self.regressions, strict=True)
        ]
        best = scores.index(min(scores))
        if not self.margin:
            return [self.regressions[best]]
        longer = [k for k, power in enumerate(self.powers) if power > self.powers[best]]
        order = [best, *sorted(longer, key=lambda k: (k < best, k))]
        return [self.regressions[k] for k in order if scores[k] <= scores[best] + self.margin]

    def choose(self, t):
        if self.left == 0:
            delays = self.plausible()
            used = delays[0]
            if 0 in self.pulls:
                self.arm = self.pulls.index(0)
            elif self.again:
                self.arm = self.again.pop()
            else:
                pairs = [(delay, arm) for delay in delays for arm in self.arms]
                used, self.arm = max(pairs, key=lambda pair: pair[0].bound(pair[1], t))
            wait = 2 * max(self.told, min(used.delay, 0.05 * self.rounds / 2))
            wait = min(wait, self.most)
            self.left = max(1, math.ceil(wait), math.ceil(0.1 * self.pulls[self.arm]))
        return self.arm

    def learn(self, arm, arrived):
        for regression in self.regressions:
            regression.add_round(arm)
        self.total += sum(reward for _, reward in arrived)
        self.pulls[arm] += 1
        self.rounds += 1
        self.left -= 1
        if self.left == 0:
            for regression in self.regressions:
                regression.learn_batch(self.total)
            self.total = 0
