"""Reference policies of the thresholding bandit: slow and simple, written from the papers.

Nothing here comes from `keyhole`. A policy sees the pulls and the summed rewards of every arm and
names the next arm; it starts from nothing in every round. Distances from the threshold are kept as
|s - theta n| and the lowest of equal arms wins, as agreed for the package: with means in its place
0 of 3 and 3 of 3 would not be equally far from 1/2.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import betainc, betaincc

from tests.reference.bets import log_mean_wealth


def play(policy, reward, arms, rounds):
    """Return the arms pulled, and the labels at the end; `reward(arm, n)` is the n-th of an arm."""
    pulls, totals, asked = [0] * arms, [0.0] * arms, []
    for _ in range(rounds):
        arm = policy.choose(pulls, totals)
        totals[arm] += reward(arm, pulls[arm])
        pulls[arm] += 1
        asked.append(arm)
    return asked, [policy.label(n, s) for n, s in zip(pulls, totals, strict=True)]


def lowest(values):
    """Return the position of the smallest value, the first of equals."""
    return values.index(min(values))


class ByMean:
    """Base class: label by the empirical mean, with the threshold as an exact decimal."""

    def __init__(self, threshold):
        self.threshold = threshold

    def label(self, pulls, total):
        return Fraction(total) >= Fraction(str(self.threshold)) * pulls


class ByIndex(ByMean):
    """Base class: pull each arm once, then the one with the smallest index."""

    def choose(self, pulls, totals):
        if 0 in pulls:
            return pulls.index(0)
        return lowest([self.index(n, s) for n, s in zip(pulls, totals, strict=True)])


class LSA(ByIndex):
    """Tao et al. 2019, Algorithm 1: alpha T Delta^2 + 0.5 ln T."""

    def __init__(self, threshold, alpha):
        super().__init__(threshold)
        self.alpha = alpha

    def index(self, n, s):
        distance = abs(s - self.threshold * n)
        return self.alpha * distance * distance / n + 0.5 * math.log(n)


class APT(ByIndex):
    """Locatelli et al. 2016, Algorithm 1: sqrt(T) (Delta + epsilon); squared, so that ties tie."""

    def __init__(self, threshold, epsilon):
        super().__init__(threshold)
        self.epsilon = epsilon

    def index(self, n, s):
        distance = abs(s - self.threshold * n) + self.epsilon * n
        return distance * distance / n


class APGAI(ByMean):
    """Jourdan and Reda 2023, Algorithm 1: two kinds of evidence, by whether a mean is above."""

    def choose(self, pulls, totals):
        arms = range(len(pulls))
        if 0 in pulls:
            return pulls.index(0)
        distances = [totals[i] - self.threshold * pulls[i] for i in arms]
        good = [max(distances[i], 0.0) / math.sqrt(pulls[i]) for i in arms]
        bad = [max(-distances[i], 0.0) / math.sqrt(pulls[i]) for i in arms]
        return good.index(max(good)) if max(distances) > 0 else bad.index(min(bad))


class UCBE(ByIndex):
    """Tao et al. 2019, section 5: Delta - sqrt(a / T), a = 4^b (T - K) / H."""

    def __init__(self, threshold, b, means, horizon):
        super().__init__(threshold)
        hardness = sum(abs(mean - threshold) ** -2.0 for mean in means)
        self.a = 4.0**b * (horizon - len(means)) / hardness

    def index(self, n, s):
        return abs(s - self.threshold * n) / n - math.sqrt(self.a / n)


class RoundRobin(ByMean):
    """Round robin: the least pulled arm."""

    def choose(self, pulls, totals):
        return lowest(pulls)


class KnownGaps(ByMean):
    """Tao et al. 2019, section 3, algorithm O': T Delta^2 + ln(1 / Delta) with true gaps."""

    def __init__(self, threshold, means):
        super().__init__(threshold)
        self.gaps = [abs(mean - threshold) for mean in means]

    def choose(self, pulls, totals):
        return lowest([self.index(n, g) for n, g in zip(pulls, self.gaps, strict=True)])

    def index(self, n, gap):
        return math.inf if gap == 0 else n * gap * gap - math.log(gap)


class OptKG:
    """Chen et al. 2015: the largest possible gain in the probability of a right label.

    The gain is a difference of probabilities to be wrong, min(I, 1 - I): those are small numbers,
    whose difference keeps its digits. Gains that agree to nine digits are taken as equal, and so
    are I and 1/2.
    """

    def __init__(self, threshold, a, b):
        self.threshold, self.a, self.b = threshold, a, b

    def wrong(self, a, b):
        return np.minimum(betainc(a, b, self.threshold), betaincc(a, b, self.threshold))

    def scores(self, pulls, totals):
        a = self.a + np.array(totals)
        b = self.b + np.array(pulls) - np.array(totals)
        now = self.wrong(a, b)
        return np.maximum(now - self.wrong(a + 1, b), now - self.wrong(a, b + 1))

    def choose(self, pulls, totals):
        scores = self.scores(pulls, totals)
        return int(np.argmax(scores >= scores.max() * (1 - 1e-9)))

    def label(self, pulls, total):
        return bool(betaincc(self.a + total, self.b + pulls - total, self.threshold) >= 0.5 - 1e-9)


class PooledKG:
    """Keyhole's own: a beta prior by moments (Kleinman 1973) of all rates, ln q - 1.5 ln size.

    Scores that agree to nine digits are taken as equal.
    """

    def __init__(self, threshold, strength):
        self.threshold, self.strength = threshold, strength

    def fit(self, pulls, totals):
        """Fit the prior anew if it is due; `play` changes the lists, which are kept for labels."""
        self.lists = pulls, totals
        if sum(pulls) == 0:
            self.a, self.b, self.next_fit = 1, 1, None
        n, s = (np.array(values, dtype=float) for values in (pulls, totals))
        if sum(pulls) < (2 * len(pulls) if self.next_fit is None else self.next_fit):
            return
        self.next_fit = max(1.25 * sum(pulls), sum(pulls) + 1)
        n, s = n[n > 0], s[n > 0]
        w = n / (n + 2)
        m = (1 + np.sum(w * s / n)) / (2 + np.sum(w))
        extra = 1 / 12 + np.sum(w * ((s / n - m) ** 2 - m * (1 - m) / n))
        between = 1 / 4 + np.sum(w * m * (1 - m) * (1 - 1 / n))
        size = float(np.clip(between / extra - 1, 0.3, self.strength)) if extra > 0 else np.inf
        size = min(size, self.strength)
        self.a, self.b = size * m, size * (1 - m)

    def choose(self, pulls, totals):
        self.fit(pulls, totals)
        a, b = self.a + np.array(totals), self.b + np.array(pulls) - np.array(totals)
        wrong = np.minimum(betainc(a, b, self.threshold), betaincc(a, b, self.threshold))
        scores = np.log(wrong) - 1.5 * np.log(a + b)
        return int(np.argmax(scores >= scores.max() - 1e-9))

    def label(self, pulls, total):
        self.fit(*self.lists)
        above = betaincc(self.a + total, self.b + pulls - total, self.threshold)
        return bool(above >= 0.5 - 1e-9)


class Stopping:
    """The stopping policies, from the definition of the e-process as a mean over bets.

    `base` is a reference policy. Each arm has a list of its rewards; the bets are on the means on
    the other side of the null.
    """

    def __init__(self, threshold, base, arms, tolerance, needed):
        self.base, self.needed = base, needed
        self.verdicts, self.rewards = [None] * arms, [[] for _ in range(arms)]
        self.low, self.high = threshold - tolerance, threshold + tolerance

    def choose(self, pulls, totals):
        arm = self.base.choose(pulls, totals)
        if self.verdicts[arm] is None:
            return arm
        open_arms = [i for i, verdict in enumerate(self.verdicts) if verdict is None]
        return min(open_arms, key=lambda i: pulls[i])

    def learn(self, arm, reward):
        self.rewards[arm].append(reward)
        rewards = self.rewards[arm]
        if log_mean_wealth(rewards, self.low, low=self.low, steps=20) >= self.needed:
            self.verdicts[arm] = "above"
        elif log_mean_wealth(rewards, self.high, high=self.high, steps=20) >= self.needed:
            self.verdicts[arm] = "below"


class PerArmStopping(Stopping):
    """Each arm at level delta."""

    def __init__(self, threshold, base, arms, delta, tolerance):
        super().__init__(threshold, base, arms, tolerance, math.log(1 / delta))


class FamilywiseStopping(Stopping):
    """Each arm at level delta / K."""

    def __init__(self, threshold, base, arms, delta, tolerance):
        super().__init__(threshold, base, arms, tolerance, math.log(arms / delta))


class FalseDiscoveryStopping(Stopping):
    """e-BH by its definition, over the evidence at which arms were settled, or that of now."""

    def __init__(self, threshold, base, arms, delta, tolerance):
        super().__init__(threshold, base, arms, tolerance, None)
        self.delta, self.wealth = delta, {"above": [0.0] * arms, "below": [0.0] * arms}

    def learn(self, arm, reward):
        self.rewards[arm].append(reward)
        if self.verdicts[arm] is not None:
            return
        for verdict, null, low, high in (
            ("above", self.low, self.low, 1.0),
            ("below", self.high, 0.0, self.high),
        ):
            wealth = math.exp(log_mean_wealth(self.rewards[arm], null, low, high, steps=20))
            self.wealth[verdict][arm] = wealth
        arms = range(len(self.verdicts))
        for verdict in ("above", "below"):
            eligible = [i for i in arms if self.verdicts[i] in (None, verdict)]
            ranked = sorted(eligible, key=lambda i, v=verdict: -self.wealth[v][i])
            for k in range(len(ranked), 0, -1):
                if self.wealth[verdict][ranked[k - 1]] >= len(arms) / (k * self.delta):
                    for i in ranked[:k]:
                        self.verdicts[i] = verdict
                    break


class GoodArms:
    """Kano et al. 2019: each round from the rewards alone, with the sets of good and bad arms."""

    def __init__(self, threshold, arms, delta):
        self.threshold, self.delta = threshold, delta
        self.rewards, self.good, self.bad = [[] for _ in range(arms)], [], []

    def active(self):
        return [i for i in range(len(self.rewards)) if i not in self.good and i not in self.bad]

    def width(self, arm):
        n = len(self.rewards[arm])
        return math.sqrt(math.log(4 * len(self.rewards) * n * n / self.delta) / (2 * n))

    def choose(self, t):
        for arm in self.active():
            if not self.rewards[arm]:
                return arm
        hopes = {
            arm: sum(self.rewards[arm]) / len(self.rewards[arm]) + self.hope(arm, t)
            for arm in self.active()
        }
        return max(hopes, key=hopes.get)

    def learn(self, arm, reward):
        self.rewards[arm].append(reward)
        mean = sum(self.rewards[arm]) / len(self.rewards[arm])
        if mean - self.width(arm) >= self.threshold:
            self.good.append(arm)
        elif mean + self.width(arm) < self.threshold:
            self.bad.append(arm)


class HDoC(GoodArms):
    """Algorithm 1."""

    def hope(self, arm, t):
        return math.sqrt(math.log(t) / (2 * len(self.rewards[arm])))


class LUCBG(GoodArms):
    """Algorithm 2."""

    def hope(self, arm, t):
        return self.width(arm)
