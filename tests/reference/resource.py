"""The policies for censored consumption, slow and obvious, written from the paper.

Nothing here comes from `keyhole`. A policy sees the list of all earlier rounds, each as (arm,
limit, reward, consumption), with reward and consumption None for a run that exceeded its limit,
and computes everything anew in every round. Thompson sampling keeps its posterior. Randomness is
handed in as functions. The lowest of equal arms wins, then the smallest of equal limits.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise


def play(policy, run, rounds):
    """Return the pairs played, and the one recommended; `run(arm, n)` is the n-th of an arm."""
    history, pulls = [], {}
    for _ in range(rounds):
        arm, limit = policy.choose(history)
        reward, consumption = run(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        seen = (reward, consumption) if consumption <= limit else (None, None)
        history.append((arm, limit, *seen))
        policy.learn(history)
    return [(arm, limit) for arm, limit, _, _ in history], policy.best(history)


def largest(pairs, value):
    """Return the pair with the largest value, the first of equals."""
    best = pairs[0]
    top = value(*best)
    for pair in pairs[1:]:
        if value(*pair) > top:
            best, top = pair, value(*pair)
    return best


@dataclass
class ForPairs:
    """What the policies know: arms, limits, cost and penalty."""

    arms: int
    limits: list
    cost: object
    penalty: object

    def learn(self, history):
        """Remember nothing beyond the history."""

    @property
    def pairs(self):
        return [(i, tau) for i in range(self.arms) for tau in self.limits]

    def listed(self, limit):
        """Return the smallest limit that is long enough, or the largest."""
        return next((tau for tau in self.limits if tau >= limit), self.limits[-1])

    def best(self, history):
        """Return the pair played most often."""
        played = [(arm, limit) for arm, limit, _, _ in history]
        return largest(self.pairs, lambda i, tau: played.count((i, tau)))

    def informative(self, history, i, tau):
        """Return N, the estimated gain and the estimated penalty: equations (8) and (9)."""
        told = [(r, c) for arm, limit, r, c in history if arm == i and limit >= tau]
        gains = [r - self.cost(c) for r, c in told if c is not None and c <= tau]
        exceeded = sum(c is None or c > tau for _, c in told)
        return len(told), sum(gains) / len(told), self.penalty(tau) * exceeded / len(told)

    def worth(self, reward, consumption, tau):
        """Return Z: equation (7) brought to [0, 1]."""
        top = self.penalty(self.limits[-1])
        if consumption is None or consumption > tau:
            return (top - self.penalty(tau)) / (1 + top)
        return (reward - self.cost(consumption) + top) / (1 + top)


@dataclass
class RCUCB(ForPairs):
    """Equation (12)."""

    alpha: float
    gain_range: float

    def choose(self, history):
        t = len(history) + 1
        for i in range(self.arms):
            if not any((arm, limit) == (i, self.limits[-1]) for arm, limit, _, _ in history):
                return i, self.limits[-1]

        def index(i, tau):
            n, gain, loss = self.informative(history, i, tau)
            length = (self.gain_range + self.penalty(tau)) * math.sqrt(
                self.alpha * math.log(t) / (2 * n)
            )
            return gain - loss + length

        return largest(self.pairs, index)


@dataclass
class ReductionUCB(ForPairs):
    """Equation (31)."""

    alpha: float

    def choose(self, history):
        t = len(history) + 1
        for pair in self.pairs:
            if not any((arm, limit) == pair for arm, limit, _, _ in history):
                return pair

        def index(i, tau):
            seen = [self.worth(r, c, tau) for a, limit, r, c in history if (a, limit) == (i, tau)]
            return sum(seen) / len(seen) + math.sqrt(self.alpha * math.log(t) / (2 * len(seen)))

        return largest(self.pairs, index)


@dataclass
class ReductionThompson(ForPairs):
    """Equation (32); `uniform()` and `beta(a, b)` are the policy's randomness."""

    uniform: object
    beta: object
    posterior: dict = field(default_factory=dict)

    def choose(self, history):
        t = len(history) + 1
        if t <= len(self.pairs):
            return self.pairs[t - 1]
        drawn = {pair: self.beta(*self.posterior.get(pair, (1, 1))) for pair in self.pairs}
        return largest(self.pairs, lambda i, tau: drawn[i, tau])

    def learn(self, history):
        arm, limit, reward, consumption = history[-1]
        for tau in self.limits:
            if tau <= limit:
                a, b = self.posterior.get((arm, tau), (1, 1))
                success = self.uniform() < self.worth(reward, consumption, tau)
                self.posterior[arm, tau] = (a + 1, b) if success else (a, b + 1)


@dataclass
class FixedLimit(ForPairs):
    """One limit; `base` is a reference policy of the classical bandit."""

    limit: float
    base: object

    def choose(self, history):
        return self.base.choose(len(history) + 1), self.limit

    def learn(self, history):
        arm, _, reward, consumption = history[-1]
        loss = self.penalty(self.limit)
        worth = -loss if consumption is None else reward - self.cost(consumption)
        self.base.learn(arm, (worth + loss) / (1 + loss))

    def best(self, history):
        played = [arm for arm, _, _, _ in history]
        return max(range(self.arms), key=lambda arm: (played.count(arm), -arm)), self.limit


@dataclass
class ZoomingRCUCB(ForPairs):
    """Algorithm 1; a grid is a dictionary from points to levels.

    An interval of level h is the h-th part of a part of ... of all limits: this is its width, as
    agreed for the package; from the difference of its ends, equal widths would not tie.
    """

    alpha: float
    delta: float
    refine: int
    lipschitz: float
    gain_range: float
    horizon: int
    grids: list = None
    played: dict = field(default_factory=dict)

    def __post_init__(self):
        self.grids = [{self.limits[-1]: 0} for _ in range(self.arms)]

    def length(self, history, i, tau):
        n, _, _ = self.informative(history, i, tau)
        log = math.log(self.horizon**2 / self.delta)
        return (self.gain_range + self.penalty(tau)) * math.sqrt(self.alpha * log / (2 * n))

    def below(self, i, tau):
        return max((x for x in self.grids[i] if x < tau), default=0.0)

    def bias(self, i, tau):
        return self.lipschitz * self.limits[-1] / self.refine ** self.grids[i][tau]

    def value(self, history, i, tau):
        _, gain, loss = self.informative(history, i, tau)
        return gain - loss

    def choose(self, history):
        seen = {arm for arm, _, _, _ in history}
        for arm in range(self.arms):
            if arm not in seen:
                return arm, self.limits[-1]

        def index(i, tau):
            value = self.value(history, i, tau)
            return value + self.length(history, i, tau) + self.bias(i, tau)

        pairs = [(i, tau) for i in range(self.arms) for tau in sorted(self.grids[i])]
        return largest(pairs, index)

    def learn(self, history):
        arm, limit, _, _ = history[-1]
        self.played[arm, limit] = self.grids[arm][limit]
        grid = dict(self.grids[arm])
        for tau, level in self.grids[arm].items():
            if self.bias(arm, tau) >= self.length(history, arm, tau):
                low = self.below(arm, tau)
                grid[tau] = level + 1
                for part in range(1, self.refine):
                    grid[low + (tau - low) * part / self.refine] = level + 1
        self.grids[arm] = grid

    def best(self, history):
        finest = max(self.played.values())
        pairs = sorted(pair for pair, level in self.played.items() if level == finest)
        return largest(pairs, lambda i, tau: self.value(history, i, tau))


@dataclass
class AnytimeZoomingRCUCB(ForPairs):
    """The doubling trick: z-RCUCB anew for 1, 2, 4, ... rounds."""

    alpha: float
    delta: float
    refine: int
    lipschitz: float
    gain_range: float
    begun: int = 0
    period: int = 1
    found: tuple = None
    inner: object = None

    def fresh(self):
        known = (self.arms, self.limits, self.cost, self.penalty)
        numbers = (self.alpha, self.delta, self.refine, self.lipschitz, self.gain_range)
        return ZoomingRCUCB(*known, *numbers, self.period)

    def choose(self, history):
        self.inner = self.inner or self.fresh()
        return self.inner.choose(history[self.begun :])

    def learn(self, history):
        recent = history[self.begun :]
        self.inner.learn(recent)
        if len(recent) == self.period:
            self.found = self.inner.best(recent)
            self.begun, self.period, self.inner = len(history), 2 * self.period, None

    def best(self, history):
        return self.found


@dataclass
class StoOO(ForPairs):
    """Munos (2014), section 3.4, a tree for each arm; cells are represented by their right ends."""

    alpha: float
    delta: float
    refine: int
    lipschitz: float
    horizon: int
    cells: list = None
    played: dict = field(default_factory=dict)

    def __post_init__(self):
        self.cells = [{self.limits[-1]: (0.0, 0)} for _ in range(self.arms)]  # left end, level

    def worths(self, history, i, tau):
        """Return the worth of every round with the pair: equation (7)."""
        seen = [(r, c) for arm, limit, r, c in history if (arm, limit) == (i, tau)]
        return [-self.penalty(tau) if c is None else r - self.cost(c) for r, c in seen]

    def length(self, history, i, tau):
        n = len(self.worths(history, i, tau))
        log = math.log(self.horizon**2 / self.delta)
        top = 1 + self.penalty(self.limits[-1])
        return math.inf if n == 0 else top * math.sqrt(self.alpha * log / (2 * n))

    def bias(self, i, tau):
        return self.lipschitz * self.limits[-1] / self.refine ** self.cells[i][tau][1]

    def mean(self, history, i, tau):
        worths = self.worths(history, i, tau)
        return sum(worths) / len(worths)

    def choose(self, history):
        pairs = [(i, tau) for i in range(self.arms) for tau in sorted(self.cells[i])]

        def index(i, tau):
            if not self.worths(history, i, tau):
                return math.inf
            return self.mean(history, i, tau) + self.length(history, i, tau) + self.bias(i, tau)

        return largest(pairs, index)

    def learn(self, history):
        arm, limit, _, _ = history[-1]
        self.played[arm, limit] = self.cells[arm][limit][1]
        for tau, (low, level) in list(self.cells[arm].items()):
            if self.bias(arm, tau) >= self.length(history, arm, tau):
                parts = range(self.refine)
                ends = [low + (tau - low) * part / self.refine for part in parts] + [tau]
                for left, right in pairwise(ends):
                    self.cells[arm][right] = (left, level + 1)

    def best(self, history):
        finest = max(self.played.values())
        pairs = sorted(pair for pair, level in self.played.items() if level == finest)
        return largest(pairs, lambda i, tau: self.mean(history, i, tau))


@dataclass
class Hazards(ForPairs):
    """What is estimated of runs that end in each interval between two limits."""

    strength: float

    @property
    def few(self):
        """Return b: 1 with one limit, 0 with ten or more."""
        return max(0, 1 - math.log10(len(self.limits)))

    @property
    def s(self):
        return self.strength * (1 - self.few / 2)

    def interval(self, consumption):
        return next(j for j, tau in enumerate(self.limits) if consumption <= tau)

    def ends(self, j):
        """Return where interval j begins and ends."""
        return (self.limits[j - 1] if j else 0), self.limits[j]

    def runs(self, history, i, j):
        """Return how many runs reached interval j, and what those were worth that ended in it."""
        reached, ended = 0, []
        for arm, limit, reward, consumption in history:
            if arm == i and self.limits.index(limit) >= j:
                if consumption is None or self.interval(consumption) >= j:
                    reached += 1
                if consumption is not None and self.interval(consumption) == j:
                    ended.append((reward, self.cost(consumption)))
        return reached, ended

    def seen(self, history):
        """Return, for each arm and interval, n, d, sums of rewards, costs, squared rewards."""
        found = {}
        for i in range(self.arms):
            for j in range(len(self.limits)):
                reached, ended = self.runs(history, i, j)
                sums = sum(r for r, _ in ended), sum(c for _, c in ended)
                found[i, j] = reached, len(ended), *sums, sum(r * r for r, _ in ended)
        return found

    def pool(self, seen, j):
        """Return the chance to end in interval j, and reward, squared reward and cost there.

        Each arm has one vote.
        """
        rows = [seen[i, j] for i in range(self.arms)]
        hazard = (0.5 + sum(d / (n + 2) for n, d, _, _, _ in rows)) / (
            1 + sum(n / (n + 2) for n, _, _, _, _ in rows)
        )
        votes = 1 + sum(d / (d + 2) for _, d, _, _, _ in rows)
        reward = (1 + sum(earned / (d + 2) for _, d, earned, _, _ in rows)) / votes
        square = (1 + sum(squares / (d + 2) for _, d, _, _, squares in rows)) / votes
        middle = self.cost(sum(self.ends(j)) / 2)
        cost = (middle + sum(spent / (d + 2) for _, d, _, spent, _ in rows)) / votes
        return hazard, reward, square, cost

    def means(self, seen, i, j):
        """Return the means of the posteriors of hazard, reward and cost."""
        n, d, earned, spent, _ = seen[i, j]
        hazard, reward, _, cost = self.pool(seen, j)
        return (
            (self.s * hazard + d) / (self.s + n),
            (2 * reward + earned) / (2 + d),
            (2 * cost + spent) / (2 + d),
        )

    def spread(self, seen, i, j):
        """Return the variance of rewards in an interval, at least a hundredth of a coin's."""
        _, d, _, _, squares = seen[i, j]
        _, _, pooled, _ = self.pool(seen, j)
        _, mean, _ = self.means(seen, i, j)
        variance = (2 * pooled + squares) / (2 + d) - mean**2
        return max(variance, 0.01 * mean * (1 - mean))

    def focus_at(self, t, first):
        """Return by what variances are divided in round t: `first`, and 1 in the end."""
        weight = t / (4000 * self.arms)
        return (first + weight) / (1 + weight)

    def gain(self, hazards, nets, j):
        """Return what a run up to limit j is worth."""
        alive = [math.prod(1 - h for h in hazards[:k]) for k in range(j + 2)]
        ended = sum(alive[k] * hazards[k] * nets[k] for k in range(j + 1))
        return ended - self.penalty(self.limits[j]) * alive[j + 1]

    def on_average(self, seen, i):
        """Return hazards and net rewards of an arm, as they are on average."""
        found = [self.means(seen, i, j) for j in range(len(self.limits))]
        return [h for h, _, _ in found], [reward - cost for _, reward, cost in found]

    def best_of(self, history, arms):
        """Return the pair, of these arms, that is worth the most on average."""
        seen = self.seen(history)
        distributions = {i: self.on_average(seen, i) for i in arms}
        pairs = [(i, tau) for i, tau in self.pairs if i in arms]
        return largest(pairs, lambda i, tau: self.gain(*distributions[i], self.limits.index(tau)))

    def untried(self, history):
        """Return the arms that were never run."""
        return [i for i in range(self.arms) if all(arm != i for arm, _, _, _ in history)]

    def best(self, history):
        return self.best_of(
            history, [i for i in range(self.arms) if i not in self.untried(history)]
        )

    def choose(self, history):
        untried = self.untried(history)
        if untried and len(history) % 2 == 0:
            return self.best_of(history, untried[:1])
        return self.among_all(history)


@dataclass
class HazardThompson(Hazards):
    """Hazards, rewards and costs are drawn; `beta(a, b)` is the policy's randomness."""

    focus: float
    beta: object

    def reward(self, seen, i, j, kappa):
        _, d, earned, _, _ = seen[i, j]
        _, pooled, _, _ = self.pool(seen, j)
        good, bad = 2 * pooled + earned, 2 * (1 - pooled) + (d - earned)
        if bad <= 0:
            return 1
        mean = good / (good + bad)
        sure = kappa * mean * (1 - mean) / self.spread(seen, i, j)
        return self.beta(sure * good, sure * bad)

    def spent(self, seen, i, j, kappa):
        _, d, _, _, _ = seen[i, j]
        _, _, mean = self.means(seen, i, j)
        low, high = (self.cost(end) for end in self.ends(j))
        if not low < mean < high:
            return mean
        share, runs = (mean - low) / (high - low), kappa * (3 * d + 2)
        return low + (high - low) * self.beta(runs * share, runs * (1 - share))

    def among_all(self, history):
        seen = self.seen(history)
        kappa = self.focus_at(len(history) + 1, max(1, self.focus / (1 + self.few / 2)))
        hazards, nets = {}, {}
        for i, j in seen:
            n, d, _, _, _ = seen[i, j]
            known = self.s * self.pool(seen, j)[0]
            hazards[i, j] = self.beta(kappa * (known + d), kappa * (self.s - known + n - d))
        for i, j in seen:
            reward = self.reward(seen, i, j, kappa)
            nets[i, j] = reward - self.spent(seen, i, j, kappa)

        def value(i, tau):
            places = range(len(self.limits))
            distribution = [hazards[i, j] for j in places], [nets[i, j] for j in places]
            return self.gain(*distribution, self.limits.index(tau))

        return largest(self.pairs, value)


@dataclass
class HazardUCB(Hazards):
    """The sum is written as it stands in the docstring."""

    alpha: float

    def variance(self, seen, i, j):
        hazards, nets = self.on_average(seen, i)
        total = 0
        for k in range(j + 1):
            n, d, _, _, _ = seen[i, k]
            h = hazards[k]
            alive = math.prod(1 - other for other in hazards[:k])
            later = -self.penalty(self.limits[j])  # what a run is worth that survives interval k
            for x in range(j, k, -1):
                later = hazards[x] * nets[x] + (1 - hazards[x]) * later
            low, high = (self.cost(end) for end in self.ends(k))
            of_hazard = (nets[k] - later) ** 2 * h * (1 - h) / (n + self.s)
            of_net = self.spread(seen, i, k) / (d + 2) + (high - low) ** 2 / 12 / (d + 1)
            total += alive**2 * (of_hazard + h**2 * of_net)
        return total

    def among_all(self, history):
        seen, t = self.seen(history), len(history) + 1
        distributions = [self.on_average(seen, i) for i in range(self.arms)]
        alpha = self.alpha * (1 + self.few / 2)

        def index(i, tau):
            j = self.limits.index(tau)
            if alpha == 0:
                return self.gain(*distributions[i], j)
            variance = self.variance(seen, i, j) / self.focus_at(t, 1 / alpha)
            return self.gain(*distributions[i], j) + math.sqrt(2 * math.log(t) * variance)

        return largest(self.pairs, index)


@dataclass
class SuccessiveHalving(ForPairs):
    """Karnin, Koren and Somekh (2013), Algorithm 1, with limits that rise from stage to stage."""

    share: float
    horizon: int
    left: list = None
    stage: int = 1
    runs: dict = field(default_factory=dict)

    @property
    def stages(self):
        return max(1, math.ceil(math.log2(self.arms)))

    def value(self, history, i, tau):
        """Return what a limit is worth on average, of runs that tell of it."""
        told = [(r, c) for arm, limit, r, c in history if arm == i and limit >= tau]
        gains = [-self.penalty(tau) if c is None or c > tau else r - self.cost(c) for r, c in told]
        return sum(gains) / len(gains) if gains else -math.inf

    def limit_of(self, history, i):
        return max(self.limits, key=lambda tau: (self.value(history, i, tau), -tau))

    def choose(self, history):
        self.left = self.left or list(range(self.arms))
        arm = min(self.left, key=lambda i: self.runs.get(i, 0))
        if len(self.left) == 1 and history:
            return arm, self.limit_of(history, arm)
        return arm, self.limits[math.ceil(self.stage * len(self.limits) / self.stages) - 1]

    def learn(self, history):
        arm = history[-1][0]
        self.runs[arm] = self.runs.get(arm, 0) + 1
        needed = max(1, math.floor(self.share * self.horizon / (self.stages * len(self.left))))
        if len(self.left) > 1 and all(self.runs.get(i, 0) >= needed for i in self.left):
            order = sorted(
                self.left, key=lambda i: (-self.value(history, i, self.limit_of(history, i)), i)
            )
            self.left = sorted(order[: math.ceil(len(order) / 2)])
            self.stage, self.runs = min(self.stage + 1, self.stages), {}

    def best(self, history):
        seen = [i for i in self.left if any(arm == i for arm, _, _, _ in history)]
        pairs = [(i, self.limit_of(history, i)) for i in seen]
        return largest(pairs, lambda i, tau: self.value(history, i, tau))


@dataclass
class LeapsAndBounds(ForPairs):
    """The program of its authors, step by step: `steps` is told what each run consumed."""

    epsilon: float
    delta: float
    zeta: float
    at_work: object = None
    asked: tuple = None
    answer: tuple = None

    def steps(self):
        theta, k = 16 / 7 * self.limits[0], 1
        while True:
            b = math.ceil(
                44
                * math.log(120 * self.arms * k * (k + 1) / self.zeta)
                / self.delta
                / self.epsilon**2
            )
            tau = 4 * theta / (3 * self.delta)
            means = []
            for i in range(self.arms):
                used, left = [], b * theta
                while len(used) < b and left > 0:
                    best = min(range(len(means)), key=means.__getitem__) if means else 0
                    self.answer = best, self.listed(tau)
                    used.append((yield i, self.listed(min(left, tau))))
                    left = b * theta - sum(used)
                means.append(theta if left <= 0 else sum(used) / b)
            if min(means) < theta:
                break
            theta, k = 2 * theta, k + 1
        self.answer = means.index(min(means)), self.listed(tau)
        while True:
            yield self.answer

    def choose(self, history):
        if self.at_work is None:
            self.at_work = self.steps()
            self.asked = next(self.at_work)
        return self.asked

    def learn(self, history):
        _, limit, _, consumption = history[-1]
        self.asked = self.at_work.send(limit if consumption is None else consumption)

    def best(self, history):
        return self.answer


@dataclass
class OUP(ForPairs):
    """The program of its authors, step by step: `steps` is told the utility of each run."""

    epsilon: float
    delta: float
    at_work: object = None
    asked: tuple = None
    answer: tuple = None

    def utility(self, reward, consumption):
        if consumption is None:
            return 0
        top = self.penalty(self.limits[-1])
        return (reward - self.cost(consumption) + top) / (1 + top)

    def most(self, tau):
        """Return u: what a run may still be worth that is stopped here."""
        return 0 if tau == self.limits[-1] else self.utility(1, tau)

    def alpha(self, m, k):
        squares = (math.pi**2 / 6) ** 2 * m**2 * (k + 1) ** 2
        return min(1, math.sqrt(math.log(4 * self.arms * squares / self.delta) / (2 * m)))

    def steps(self):
        everyone = range(self.arms)
        upper, lower = [1 for _ in everyone], [0 for _ in everyone]
        alpha, ended = [1 for _ in everyone], [0 for _ in everyone]
        tau, changes = [self.limits[0] for _ in everyone], [0 for _ in everyone]
        utilities = [[] for _ in everyone]
        while True:
            self.answer = lower.index(max(lower)), self.limits[-1]
            if max(upper) - max(lower) <= self.epsilon:
                break
            i, more = upper.index(max(upper)), 1
            u = self.most(tau[i])
            if 2 * (1 - u) * alpha[i] <= u * (1 - ended[i] + alpha[i]):
                # All instances so far are run again, and one more.
                tau[i], changes[i] = self.listed(2 * tau[i]), changes[i] + 1
                more, utilities[i] = len(utilities[i]) + 1, []
            for _ in range(more):
                utilities[i].append((yield i, tau[i]))
            u, m = self.most(tau[i]), len(utilities[i])
            mean = sum(max(w, u) for w in utilities[i]) / m
            ended[i] = sum(w >= u for w in utilities[i]) / m
            alpha[i] = self.alpha(m, changes[i])
            upper[i] = min(upper[i], mean + (1 - u) * alpha[i])
            lower[i] = max(lower[i], mean - alpha[i] - u * (1 - ended[i]))
        while True:
            yield self.answer

    def choose(self, history):
        if self.at_work is None:
            self.at_work = self.steps()
            self.asked = next(self.at_work)
        return self.asked

    def learn(self, history):
        _, _, reward, consumption = history[-1]
        self.asked = self.at_work.send(self.utility(reward, consumption))

    def best(self, history):
        return self.answer
