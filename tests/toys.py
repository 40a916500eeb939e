"""Toy settings, a few lines each, that stretch the contract as the published ones will."""

from keyhole.contract.policy import Policy, parameter
from keyhole.contract.problem import Environment, Problem
from keyhole.contract.setting import Setting, fact
from keyhole.contract.state_arrays import Field, float_array, float_input, int_array, int_input
from keyhole.draws.streams import seek_pull, uniform
from keyhole.metric import Metric


class ArmsOnly:
    arms = fact(int, ge=1, doc="number of arms")


class Toy(Problem):
    """A problem made of an environment and numbers."""

    environment = setting = None

    def __init__(self, environment, values):
        self.environment, self.setting, self.values = environment, environment.setting, values

    def truth(self):
        return self.values

    def fact(self, name):
        return self.values[name]


# (a) A context arrives before the decision: a level to be reached, known before an arm is chosen.


def arm_exists(p, arm):
    return 0 <= arm < p.arms


class LevelFacts(ArmsOnly):
    levels = fact(int, ge=1, doc="number of levels")


LEVELS = Setting(
    name="levels",
    declarations=LevelFacts,
    context={"level": Field("int64")},
    decision={"arm": Field("int64")},
    feedback={"value": Field("int64"), "censored": Field("int64")},
    report={},
    allowed=arm_exists,
)


class LevelEnvironment(Environment):
    setting = LEVELS
    metrics = (Metric("missed"),)
    arms = int_input()
    levels = int_input()
    speed = float_array("arms")

    class State:
        missed = float_array()
        pulls = int_array("arms")

    def observe(e, t):
        return t % e.levels

    def respond(e, s, rng, level, arm):
        seek_pull(rng, arm, s.pulls[arm])
        s.pulls[arm] += 1
        value = int(uniform(rng) * e.speed[arm] * e.levels)
        if value < level:
            s.missed[0] += 1.0
            return value, 0
        return level, 1

    def score(s, metrics):
        metrics.missed[0] = s.missed[0]


class BestAtLevel(Policy):
    """Pulls the arm that has reached the level most often."""

    setting = LEVELS

    class State:
        tried = float_array("arms", "levels")
        reached = float_array("arms", "levels")

    def select(p, s, level):
        best, arm = -1.0, 0
        for i in range(p.arms):
            rate = (s.reached[i, level] + 1.0) / (s.tried[i, level] + 1.0)
            if rate > best:
                best, arm = rate, i
        return arm

    def update(p, s, level, arm, value, censored):
        top = level if censored == 1 else value
        for j in range(level + 1):
            s.tried[arm, j] += 1.0
            if top >= j:
                s.reached[arm, j] += 1.0


# (b) The decision is a vector (an allocation), and so is the feedback.


def affordable(p, allocation):
    total = 0.0
    for i in range(p.arms):
        if not (0.0 <= allocation[i] <= 1.0):
            return False
        total += allocation[i]
    return total <= p.resource + 1e-12


class PatrolFacts(ArmsOnly):
    resource = fact(float, gt=0, doc="resource")


PATROLS = Setting(
    name="patrols",
    declarations=PatrolFacts,
    decision={"allocation": Field("float64", ("arms",))},
    feedback={"losses": Field("float64", ("arms",))},
    report={"guess": Field("float64", ("arms",))},
    allowed=affordable,
)


class PatrolEnvironment(Environment):
    setting = PATROLS
    metrics = (Metric("loss"), Metric("guess_error"))
    arms = int_input()
    resource = float_input()
    means = float_array("arms")
    thresholds = float_array("arms")

    class State:
        rounds = int_array()
        loss = float_array()

    def respond(e, s, rng, allocation, losses):
        for i in range(e.arms):
            seek_pull(rng, i, s.rounds[0])
            hit = uniform(rng) < e.means[i] and allocation[i] < e.thresholds[i]
            losses[i] = 1.0 if hit else 0.0
            s.loss[0] += losses[i]
        s.rounds[0] += 1

    def score(e, s, guess, metrics):
        metrics.loss[0] = s.loss[0]
        metrics.guess_error[0] = 0.0
        for i in range(e.arms):
            metrics.guess_error[0] = max(metrics.guess_error[0], abs(guess[i] - e.means[i]))


class Spread(Policy):
    """Gives an equal share to `parts` arms, drawn at random."""

    setting = PATROLS
    parts: int = parameter(default=2, ge=1)

    class State:
        seen = float_array("arms")
        losses = float_array("arms")

    def select(p, s, rng, allocation):
        for i in range(p.arms):
            allocation[i] = 0.0
        for _ in range(p.parts):
            allocation[int(uniform(rng) * p.arms)] = p.resource / p.parts

    def update(p, s, allocation, losses):
        for i in range(p.arms):
            if allocation[i] == 0.0:
                s.seen[i] += 1.0
                s.losses[i] += losses[i]

    def recommend(p, s, guess):
        for i in range(p.arms):
            guess[i] = s.losses[i] / max(s.seen[i], 1.0)


# (c) The decision is a pair (arm, limit); above the limit only that much is known.


def pair_exists(p, arm, limit):
    return 0 <= arm < p.arms and 0.0 < limit <= 1.0


RUNS = Setting(
    name="runs",
    declarations=ArmsOnly,
    decision={"arm": Field("int64"), "limit": Field("float64")},
    feedback={
        "reward": Field("float64"),
        "consumption": Field("float64"),
        "exceeded": Field("int64"),
    },
    report={},
    allowed=pair_exists,
)


class RunEnvironment(Environment):
    setting = RUNS
    metrics = (
        Metric("gain", "reward less what it took", unit="hours", better="higher"),
        Metric("censored"),
    )
    arms = int_input()

    class State:
        gain = float_array()
        censored = float_array()
        pulls = int_array("arms")

    def respond(e, s, rng, arm, limit):
        seek_pull(rng, arm, s.pulls[arm])
        s.pulls[arm] += 1
        consumption, reward = uniform(rng) * (arm + 1), uniform(rng)
        if consumption > limit:
            s.censored[0] += 1.0
            return 0.0, 0.0, 1
        s.gain[0] += reward - consumption
        return reward, consumption, 0

    def score(s, metrics):
        metrics.gain[0] = s.gain[0]
        metrics.censored[0] = s.censored[0]


class Halving(Policy):
    """Raises the limit of an arm after it was exceeded, and lowers it otherwise."""

    setting = RUNS

    class State:
        limits = float_array("arms")
        gain = float_array("arms")

    def init(p, s):
        for i in range(p.arms):
            s.limits[i] = 0.5

    def select(p, s, t):
        arm = (t - 1) % p.arms
        return arm, s.limits[arm]

    def update(p, s, arm, limit, reward, consumption, exceeded):
        if exceeded == 1:
            s.limits[arm] = min(1.0, limit * 1.5)
        else:
            s.limits[arm] = max(0.05, 0.5 * (limit + consumption))
            s.gain[arm] += reward - consumption


# (d) Rewards arrive rounds later, summed over whoever earned them.


class AdvertFacts(ArmsOnly):
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


ADVERTS = Setting(
    name="adverts",
    declarations=AdvertFacts,
    decision={"arm": Field("int64")},
    feedback={"total": Field("float64")},
    report={},
    allowed=arm_exists,
)


class LateEnvironment(Environment):
    setting = ADVERTS
    metrics = (Metric("generated"), Metric("arrived"))
    arms = int_input()
    longest = int_input()

    class State:
        due = float_array("longest")  # a ring: what arrives in the rounds to come
        generated = float_array()
        arrived = float_array()
        pulls = int_array("arms")

    def respond(e, s, t, rng, arm):
        seek_pull(rng, arm, s.pulls[arm])
        s.pulls[arm] += 1
        reward = uniform(rng) * (arm + 1) / e.arms
        delay = int(uniform(rng) * e.longest)
        s.due[(t + delay) % e.longest] += reward
        s.generated[0] += reward
        total = s.due[t % e.longest]
        s.due[t % e.longest] = 0.0
        s.arrived[0] += total
        return total

    def score(s, metrics):
        metrics.generated[0] = s.generated[0]
        metrics.arrived[0] = s.arrived[0]


class Greedy(Policy):
    """Credits what arrives to the arm just played."""

    setting = ADVERTS

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, s, t):
        if t <= p.arms:
            return t - 1
        return best_mean(s.totals, s.pulls)

    def update(p, s, arm, total):
        s.pulls[arm] += 1.0
        s.totals[arm] += total


def best_mean(totals, pulls):
    best, arm = -1.0, 0
    for i in range(len(totals)):
        if totals[i] / pulls[i] > best:
            best, arm = totals[i] / pulls[i], i
    return arm


# (e) A policy in phases that uses everything it has seen.


class Phases(Policy):
    """Plays arms in blocks; after each phase averages the second half of each block."""

    setting = ADVERTS
    needs = ("horizon",)
    length: int = parameter(default=5, ge=1)

    class State:
        history = float_array("horizon")
        played = int_array("horizon")
        phase = int_array()
        means = float_array("arms")

    def select(p, s, t):
        return ((t - 1) // (p.length * (s.phase[0] + 1))) % p.arms

    def update(p, s, t, arm, total):
        s.history[t - 1] = total
        s.played[t - 1] = arm
        if t % (p.arms * p.length) == 0:
            s.phase[0] += 1
            for i in range(p.arms):
                count, value = 0, 0.0
                for past in range(t // 2, t):
                    if s.played[past] == i:
                        count += 1
                        value += s.history[past]
                s.means[i] = value / max(count, 1)


# (f) What comes depends on how long the run is; a policy that cannot play every round.


class LastHalfEnvironment(LateEnvironment):
    """Pays nothing before half the run is over."""

    horizon = int_input()

    def respond(e, s, t, arm):
        reward = 1.0 if 2 * t > e.horizon else 0.0
        s.generated[0] += reward
        return reward


class Impatient(Greedy):
    """Cannot stand a third reward."""

    requires = "at most two rewards"

    def select(p, s):
        return -1 if s.totals[0] > 1.0 else 0


TOYS = {
    "context": (
        BestAtLevel(),
        Toy(LevelEnvironment, {"arms": 3, "levels": 6, "speed": [0.6, 0.9, 1.0]}),
    ),
    "vector": (
        Spread(parts=2),
        Toy(
            PatrolEnvironment,
            {
                "arms": 4,
                "resource": 1.0,
                "means": [0.2, 0.5, 0.7, 0.9],
                "thresholds": [0.3, 0.4, 0.5, 0.6],
            },
        ),
    ),
    "pair": (Halving(), Toy(RunEnvironment, {"arms": 3})),
    "delayed": (Greedy(), Toy(LateEnvironment, {"arms": 3, "longest": 7})),
    "phases": (Phases(length=4), Toy(LateEnvironment, {"arms": 2, "longest": 5})),
    "horizon": (Greedy(), Toy(LastHalfEnvironment, {"arms": 2, "longest": 1})),
}
