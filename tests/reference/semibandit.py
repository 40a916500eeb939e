"""Censored semi-bandits, slowly: policies and knapsack as the paper has them, in plain Python.

Only the streams of random numbers, and the variates drawn from them, are Keyhole's.
"""

import itertools
import math

from tests.interpreted_draws import beta, uniform

ROUNDING = 1e-10
WHOLE = 1e-9  # a resource that is short of a whole number by less counts as it


def knapsack(values, weights, capacity):
    """Try every set: the best; of the best the lightest; of those the first by value for weight."""
    items = [i for i in range(len(values)) if values[i] > 0]
    items.sort(key=lambda i: (-values[i] / max(weights[i], 1e-12), i))
    best, chosen = (0.0, 0.0), []
    for bits in itertools.product((0, 1), repeat=len(items)):
        # The last item changes slowest, so that sets of the first items come first.
        those = [i for i, bit in zip(items, reversed(bits), strict=True) if bit]
        value, weight = sum(values[i] for i in those), sum(weights[i] for i in those)
        if weight > capacity + ROUNDING:
            continue
        better = value > best[0] + 1e-11
        if better or (value > best[0] - 1e-11 and weight < best[1] - 1e-11):
            best, chosen = (value, weight), those
    return set(chosen)


def shuffled(items, rng):
    items = list(items)
    for k in range(len(items) - 1, 0, -1):
        j = int(uniform(rng) * (k + 1))
        items[k], items[j] = items[j], items[k]
    return items


class Second:
    """The second phase: fund some arms, count the losses of the others."""

    def __init__(self, arms, resource):
        self.arms, self.resource = arms, resource
        self.losses, self.clears = [0] * arms, [0] * arms
        self.funded = set()

    def draws(self, rng):
        return [beta(rng, 1.0 + s, 1.0 + f) for s, f in zip(self.losses, self.clears, strict=True)]

    def count(self, losses):
        for arm, loss in enumerate(losses):
            if arm not in self.funded:
                self.losses[arm] += loss == 1
                self.clears[arm] += loss == 0


class MPTS(Second):
    """m arms play; each of the others gets its share."""

    def __init__(self, arms, resource, m):
        super().__init__(arms, resource)
        self.m = m

    def ask(self, rng, t):
        draws = self.draws(rng)
        worst_first = sorted(range(self.arms), key=lambda arm: (-draws[arm], arm))
        self.funded = set(worst_first[: self.arms - self.m])
        share = min(1.0, self.resource / max(1, self.arms - self.m))
        return [share if arm in self.funded else 0.0 for arm in range(self.arms)]

    def tell(self, losses, t, rng):
        self.count(losses)


class CSBST(MPTS):
    """Lines 1 to 11 of the pseudo-code; lines 12 to 19 are MP-TS."""

    def __init__(self, arms, resource, delta, epsilon, loss_free_rounds, random_subset):
        super().__init__(arms, resource, m=None)
        whole = math.floor(resource + WHOLE)
        self.numbers = sorted(range(min(max(1, whole), arms), arms + 1), reverse=True)
        self.theta = [min(1.0, resource / number) for number in self.numbers]
        self.low, self.high = 0, len(self.theta)
        self.i, self.clear = math.ceil(self.high / 2), 0
        self.random = random_subset
        self.needed = loss_free_rounds
        if not loss_free_rounds and self.high > 1:
            rate = max(1, whole) * math.log(1 / (1 - epsilon))
            self.needed = max(1, math.ceil(math.log(math.log2(self.high) / delta) / rate))
        self.tested = None

    def ask(self, rng, t):
        if self.tested is None:
            self.choose(rng)
        if self.i == self.high:
            self.m = self.arms - self.numbers[self.i - 1]
            return super().ask(rng, t)
        return [self.theta[self.i - 1] if arm in self.tested else 0.0 for arm in range(self.arms)]

    def choose(self, rng):
        order = shuffled(range(self.arms), rng) if self.random else list(range(self.arms))
        self.tested = order[: self.numbers[self.i - 1]]

    def tell(self, losses, t, rng):
        if self.i == self.high:
            self.count(losses)
            return
        if any(losses[arm] for arm in self.tested):
            self.low = self.i
            self.i = self.low + math.ceil((self.high - self.low) / 2)
        else:
            self.clear += 1
            if self.clear < self.needed:
                return
            self.high = self.i
            self.i = self.high - math.floor((self.high - self.low) / 2)
        self.clear = 0
        self.choose(rng)


class CTS(Second):
    """The knapsack by draws, with thresholds known."""

    def __init__(self, arms, resource, thresholds, solve_every):
        super().__init__(arms, resource)
        self.estimates, self.solve_every, self.played = list(thresholds), solve_every, 0

    def values(self, rng, t):
        return self.draws(rng)

    def ask(self, rng, t):
        if sum(self.estimates) <= self.resource + ROUNDING:
            self.funded = set(range(self.arms))
        elif self.played % self.solve_every == 0:
            self.funded = knapsack(self.values(rng, t), self.estimates, self.resource)
        self.played += 1
        return [self.estimates[arm] if arm in self.funded else 0.0 for arm in range(self.arms)]

    def tell(self, losses, t, rng):
        self.count(losses)


class CSBDT(CTS):
    """Lines 1 to 22 of the pseudo-code; lines 23 to 30 are the knapsack by draws.

    Unless as printed, line 14 comes after every move, and a loss in spite of an estimate takes the
    estimate back.
    """

    def __init__(
        self,
        arms,
        resource,
        delta,
        epsilon,
        gamma,
        round_decimals,
        solve_every,
        loss_free_rounds,
        as_printed,
        any_loss,
    ):
        super().__init__(arms, resource, [0.0] * arms, solve_every)
        self.gamma, self.decimals = gamma, round_decimals
        self.as_printed, self.any_loss = as_printed, any_loss
        self.low, self.high = [0.0] * arms, [min(1.0, resource)] * arms
        self.good, self.clear = [False] * arms, [0] * arms
        halves = math.floor(resource + WHOLE)
        for arm in range(arms):
            part = 0.5 if arm < halves else (resource - halves / 2) / (arms - halves)
            self.estimates[arm] = part if part < 1 else 0.5
        if arms == 1 or resource >= arms:
            self.good, self.estimates = [True] * arms, [min(1.0, resource)] * arms
        trials = math.log2(math.ceil(1 + 1 / gamma))
        self.needed = loss_free_rounds or max(
            1, math.ceil(math.log(arms * trials / delta) / math.log(1 / (1 - epsilon)))
        )

    def ask(self, rng, t):
        if all(self.good):
            return super().ask(rng, t)
        left, given = self.resource + ROUNDING, [0.0] * self.arms
        bad = [arm for arm in range(self.arms) if not self.good[arm]]
        good = [arm for arm in range(self.arms) if self.good[arm]]
        for arm in bad + shuffled(good, rng):
            if self.estimates[arm] <= left:
                given[arm] = self.estimates[arm]
                left -= given[arm]
        self.funded = {arm for arm in range(self.arms) if given[arm] > 0}
        return given

    def tell(self, losses, t, rng):
        if all(self.good):
            self.count(losses)
        for arm in range(self.arms):
            if not self.good[arm]:
                self.judge(arm, losses[arm], arm in self.funded)
            elif arm in self.funded and losses[arm] and not self.as_printed:
                self.take_back(arm)

    def judge(self, arm, loss, tried):
        # Line 8 as it stands, or of what was tried alone.
        loss = loss and (self.low[arm] < self.estimates[arm] if self.any_loss else tried)
        if loss:
            self.low[arm] = self.estimates[arm]
            untried = self.resource < 1 and self.high[arm] == self.resource
            if untried and self.resource - self.low[arm] <= self.gamma:
                self.good[arm], self.estimates[arm] = True, 1.0
                return
        elif not tried:  # line 11
            return
        else:
            self.clear[arm] += 1
            if self.clear[arm] < self.needed:
                return
            self.high[arm] = self.estimates[arm]
        near = self.high[arm] - self.low[arm] <= self.gamma
        if near and not (loss and self.as_printed):
            self.good[arm] = True
            self.estimates[arm] = self.high[arm]
            if self.decimals:
                units = 10.0**self.decimals
                rounded = max(1, math.floor(self.high[arm] * units + 0.5)) / units
                if self.as_printed or rounded > self.low[arm]:
                    self.estimates[arm] = rounded
            return
        self.clear[arm] = 0
        self.estimates[arm] = (self.low[arm] + self.high[arm]) / 2

    def take_back(self, arm):
        self.played = 0
        most = min(1.0, self.resource)
        if most - self.estimates[arm] <= self.gamma:
            self.estimates[arm] = 1.0
            return
        self.good[arm], self.clear[arm] = False, 0
        self.low[arm], self.high[arm] = self.estimates[arm], most
        self.estimates[arm] = (self.low[arm] + self.high[arm]) / 2


class CSBDTUCB(CSBDT):
    """The same with lower confidence bounds."""

    def values(self, rng, t):
        found = []
        for losses, clears in zip(self.losses, self.clears, strict=True):
            seen = 1 + losses + clears
            found.append(max(losses / seen - math.sqrt(1.5 * math.log(t) / seen), 0.0))
        return found


class SDCB(CTS):
    """The knapsack by lower confidence bounds, with thresholds known."""

    def values(self, rng, t):
        found = []
        for losses, clears in zip(self.losses, self.clears, strict=True):
            seen = losses + clears
            width = math.sqrt(1.5 * math.log(t) / seen) if seen else math.inf
            found.append(max(losses / max(1, seen) - width, 0.0))
        return found


class ESCB(MPTS):
    """Of all sets of m arms the one with the lowest bound is left alone."""

    def __init__(self, arms, resource, m, c):
        super().__init__(arms, resource, m)
        self.c = c

    def ask(self, rng, t):
        f = 0.0
        if t > 1:
            f = max(0.0, math.log(t) + self.c * self.m * math.log(math.log(t)))
        unseen = [arm for arm in range(self.arms) if self.losses[arm] + self.clears[arm] == 0]
        best, left_alone = math.inf, ()
        for those in itertools.combinations(range(self.arms), self.m):
            counts = [(self.losses[arm], self.losses[arm] + self.clears[arm]) for arm in those]
            bound = sum(losses / seen for losses, seen in counts if seen)
            if unseen:
                bound -= len(set(those) & set(unseen))
            else:
                bound -= math.sqrt(f / 2 * sum(1 / seen for _, seen in counts))
            if bound < best - 1e-11:
                best, left_alone = bound, those
        self.funded = set(range(self.arms)) - set(left_alone)
        share = min(1.0, self.resource / max(1, self.arms - self.m))
        return [share if arm in self.funded else 0.0 for arm in range(self.arms)]


class ThresholdThompson:
    """Thompson sampling on thresholds and mean losses, with logarithms of densities."""

    def __init__(self, arms, resource, delta):
        self.arms, self.resource, self.delta = arms, resource, delta
        self.beliefs = [Belief(resource) for _ in range(arms)]
        self.given, self.kept = None, 0

    def ask(self, rng, t):
        if self.kept:
            self.kept -= 1
        else:
            self.given, self.kept = self.draw(rng, t), t // 200
        return self.given

    def draw(self, rng, t):
        if self.resource >= self.arms:
            return [1.0] * self.arms
        chosen = uniform(rng)
        find = parts if chosen < 0.25 else rounded if chosen < 0.5 else None
        shortest = 0.001 * min(1, self.resource) / self.arms * min(1, 1000 / t)
        drawn, needs = [], []
        for belief in self.beliefs:
            number = belief.pick(uniform(rng))
            low, high = belief.range(number)
            share = uniform(rng)
            if high - low < shortest:
                share = 0
            found = find(low, high, self.resource, self.arms) if find else []
            found = found or [high - share * (high - low)]
            drawn.append(number)
            needs.append(found[int(share * len(found))])
        values = [
            beta(rng, 1.0 + belief.losses, 1.0 + belief.pieces[number].clears)
            for belief, number in zip(self.beliefs, drawn, strict=True)
        ]
        funded = knapsack(values, needs, self.resource)
        given = [needs[arm] if arm in funded else 0.0 for arm in range(self.arms)]
        ends = [
            belief.pieces[number].end for belief, number in zip(self.beliefs, drawn, strict=True)
        ]
        for arm in sorted(funded, key=lambda arm: (ends[arm] - needs[arm], arm)):
            if ends[arm] - needs[arm] <= self.resource - sum(given) + ROUNDING:
                given[arm] = ends[arm]
        for arm in sorted(range(self.arms), key=lambda arm: (-values[arm], arm)):
            left = self.resource - sum(given)
            if arm not in funded and self.beliefs[arm].low + WHOLE < left and left > WHOLE:
                given[arm] = min(left, 1.0)
        return given

    def tell(self, losses, t, rng):
        for belief, given, loss in zip(self.beliefs, self.given, losses, strict=True):
            if loss and given > belief.low + WHOLE:
                self.kept = 0
            belief.learn(given, loss)


class Piece:
    """A range of thresholds up to `end`, equally likely, and the rounds below it without a loss."""

    def __init__(self, end, log, clears):
        self.end, self.log, self.clears = end, log, clears


class Belief:
    """What is known of an arm's threshold: pieces from `low` on, with logarithms of densities."""

    def __init__(self, resource):
        self.low, self.losses, self.pieces = 0.0, 0, [Piece(1.0, 0.0, 0)]
        if resource < 1:
            beyond = min(0.0, math.log(resource / (1 - resource)))
            self.pieces = [Piece(resource, 0.0, 0), Piece(1.0, beyond, 0)]

    def range(self, number):
        return self.pieces[number - 1].end if number else self.low, self.pieces[number].end

    def mass(self, number):
        low, high = self.range(number)
        return math.exp(self.pieces[number].log) * (high - low)

    def pick(self, share):
        masses = [self.mass(number) for number in range(len(self.pieces))]
        sums = list(itertools.accumulate(masses))
        return next((n for n, mass in enumerate(sums) if share * sums[-1] < mass), len(sums) - 1)

    def learn(self, given, loss):
        below = given <= self.low + WHOLE
        if loss and given > self.low:
            above = [piece for piece in self.pieces if piece.end > given + WHOLE]
            self.pieces = above or self.pieces[-1:]
            self.low = min(given, 1 - WHOLE)
            self.compare()
        elif not below and all(abs(piece.end - given) > WHOLE for piece in self.pieces):
            number = next(n for n, piece in enumerate(self.pieces) if piece.end > given)
            whole = self.pieces[number]
            self.pieces.insert(number, Piece(given, whole.log, whole.clears))
        for number, piece in enumerate(self.pieces):
            seen = 2 + self.losses + piece.clears
            if loss:
                piece.log += math.log((1 + self.losses) / seen)
            elif below or self.range(number)[0] > given - WHOLE:
                piece.log += math.log((1 + piece.clears) / seen)
                piece.clears += 1
        self.losses += loss
        self.compare()
        if len(self.pieces) > 16:
            self.merge()

    def compare(self):
        first = self.pieces[0].log
        for piece in self.pieces:
            piece.log = min(0.0, max(math.log(1e-200), piece.log - first))

    def merge(self):
        def moved(n):
            one, two = (high - low for low, high in (self.range(n), self.range(n + 1)))
            step = abs(math.exp(self.pieces[n].log) - math.exp(self.pieces[n + 1].log))
            return step * one * two / (one + two)

        n = min(range(len(self.pieces) - 1), key=moved)
        one, two = self.mass(n), self.mass(n + 1)
        low, high = self.range(n)[0], self.range(n + 1)[1]
        clears = self.pieces[n + (two >= one)].clears
        self.pieces[n : n + 2] = [Piece(high, math.log((one + two) / (high - low)), clears)]
        self.compare()


def parts(low, high, resource, arms):
    """Return the equal parts of the resource in a range, the largest first."""
    shares = [resource / number for number in range(1, arms + 1)]
    return [min(high, share) for share in shares if low + WHOLE < share <= high + WHOLE]


def rounded(low, high, resource, arms):
    """Return the largest number of the coarsest decimal steps (1, 1/2, 1/5, ...) in a range."""
    for tens in range(10):
        for step in (1, 2, 5):
            number = math.floor((high + WHOLE) * step * 10**tens) / (step * 10**tens)
            if number > low + WHOLE and (tens, step) <= (9, 1):
                return [min(high, number)]
    return []
