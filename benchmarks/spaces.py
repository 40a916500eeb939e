"""Tuning over parameter spaces: the model and racing of `keyhole.tune`, and a list of 30 arms.

``python -m benchmarks.spaces KIND FIRST-LAST SHARES METHOD...`` plays problems of a kind with the
seeds of a range and budgets such as ``.01,.03``, and appends lines of JSON to ``spaces.jsonl``;
``python -m benchmarks.spaces table`` prints them as Markdown. Kinds are those of
`SyntheticProblem`, and of recordings ``"minisat recorded"``, ``"minisat surrogate"``, and so on
with ``cadical`` and ``forests``. Times are in full cut-offs, replayed: nothing is run.
"""

import json
import math
import sys
import zlib
from collections import defaultdict
from pathlib import Path
from statistics import NormalDist

import numpy as np

from benchmarks.recorded_times import PROBLEMS
from keyhole.resource import HazardUCB, Power
from keyhole.tune.parameter_space import ParameterSpace, configuration_key
from keyhole.tune.space_decider import SpaceDecider, SpaceExhaustedError

LIMITS = np.geomspace(0.01, 1.0, 10)
TRAINING = 50
TEST = 400
NUMBER = {"range": [0.0, 1.0], "default": 0.5}
SPACE = ParameterSpace({
    **{f"x{k}": NUMBER for k in (0, 1, 2, 4, 5)},
    "c3": {"categories": [0, 1, 2], "default": 1},
    "c6": {"categories": ["off", "on"], "default": "off"},
    "x7": NUMBER | {"when": {"c6": "on"}},
})  # fmt: skip
_FIRST_OWN_PROBLEM = 300
_PHI = np.vectorize(NormalDist().cdf)


class SyntheticProblem:
    """Eight parameters, of which four matter; most variance is between instances.

    Kinds: "plain" (log-normal times), "heavy" (Pareto times, whose tail differs by configuration),
    "heavysame" (with one tail), "crash" (some configurations always crash, others now and then),
    "one" (one deterministic instance), "noise" (instances are repetitions of one), "dear" (a start
    costs a twentieth of the cut-off).
    """

    space = SPACE

    def __init__(self, kind, seed):
        rng = np.random.default_rng(900 + seed)
        self.kind = kind
        self.seed = seed
        self.training = 1 if kind == "one" else TRAINING
        self.start = 0.05 if kind == "dear" else 0.001
        count = 1 if kind == "one" else TRAINING + TEST
        spread = 0.0 if kind in ("noise", "one") else 1.5
        self.instance_effects = spread * rng.standard_normal(count)
        self.optimum = rng.uniform(0.15, 0.85, 4)

    def times(self, values):
        """Return times on all instances, negative where the run crashes then."""
        x = values
        category = x["c3"]
        third = (self.optimum[2], 1 - self.optimum[2], 0.5)[category]
        effect = 4 * (x["x0"] - self.optimum[0]) ** 2 + 1.5 * abs(x["x1"] - self.optimum[1])
        effect += (5, 5, 1)[category] * (x["x2"] - third) ** 2 + (0, 0.3, 0.7)[category]
        normals = self._normals(values, 0)
        log_times = effect + math.log(0.07) + self.instance_effects
        if self.kind.startswith("heavy"):
            index = 0.6 + 2.4 * x["x4"] if self.kind == "heavy" else 0.9
            return np.exp(log_times - np.log1p(-_PHI(normals)) / index - 0.5)
        times = np.exp(log_times + 0.6 * normals)
        if self.kind == "crash":
            chance = 1.0 if x["x5"] < 0.2 else 0.7 * x["x4"] ** 2
            crash_times = np.minimum(times, 0.02 * _PHI(-normals) + 0.001)
            times = np.where(_PHI(self._normals(values, 1)) < chance, -crash_times, times)
        return times

    def _normals(self, values, number):
        key = zlib.crc32(configuration_key(values).encode())
        rng = np.random.default_rng([key, self.seed, number])
        return rng.standard_normal(len(self.instance_effects))


class Budget:
    """Runs at a price, until all budgets are spent; at each the recommendation is scored.

    Budgets are shares of the time of 200 configurations on all training instances.
    """

    def __init__(self, problem, shares):
        self.problem = problem
        rng = np.random.default_rng(4242)
        times = [problem.times(problem.space.sample(rng)) for _ in range(200)]
        matrix = sum(np.minimum(np.abs(row[: problem.training]), 1.0).sum() for row in times)
        self.ends = [share * matrix for share in shares]
        self.spent = 0.0
        self.runs = 0
        self.scores = []
        self._times = {}

    def run(self, values, instance, limit):
        """Return outcome and seconds of a run."""
        key = configuration_key(values)
        if key not in self._times:
            self._times[key] = self.problem.times(values)
        time = self._times[key][instance]
        seconds = min(abs(time), limit)
        self.spent += seconds + self.problem.start
        self.runs += 1
        if abs(time) >= min(limit, 1.0):
            return "out of time", limit
        return ("ok" if time > 0 else "failed"), seconds

    def score(self, recommend):
        """Score a recommendation if a budget is spent; return whether any is left."""
        while self.ends and self.spent >= self.ends[0]:
            self.ends.pop(0)
            values, limit = recommend()
            times = self.problem.times(values)
            times = times[self.problem.training :] if self.problem.kind != "one" else times
            is_solved = (times > 0) & (times < 1)
            value = (is_solved & (times < limit)).mean() - np.minimum(np.abs(times), limit).mean()
            par10 = np.where(is_solved, times, 10.0).mean()
            self.scores.append([value, par10, limit, self.runs])
        return bool(self.ends)


def play_decider(problem, seed, budget, **options):
    """Play a decider of a parameter space."""
    decider = SpaceDecider(
        problem.space, LIMITS, problem.training, seed=seed, cost_per_second=1.0, **options
    )

    def recommend():
        incumbent = decider.recommend().incumbent
        return incumbent.parameters, incumbent.limit

    while budget.score(recommend):
        try:
            trial = decider.ask()
        except SpaceExhaustedError:  # recommendations remain what they are
            budget.spent = math.inf
            continue
        outcome = budget.run(trial.parameters, trial.instance, trial.limit)
        decider.tell(trial, *outcome)


def play_list(problem, seed, budget):
    """Play a list of the default and 29 random configurations, as of tunes without a space."""
    rng = np.random.default_rng([seed, 30])
    arms = [problem.space.default, *(problem.space.sample(rng) for _ in range(29))]
    orders = [rng.permutation(problem.training) for _ in arms]
    counts = [0] * len(arms)
    costs = Power(slope=1.0)
    learner = HazardUCB().learner(arms=30, limits=LIMITS, cost=costs, penalty=costs, seed=seed)

    def recommend():
        arm, limit = learner.recommend()
        return arms[arm], limit

    while budget.score(recommend):
        arm, limit = learner.ask()
        instance = orders[arm][counts[arm] % problem.training]
        counts[arm] += 1
        outcome, seconds = budget.run(arms[arm], instance, limit)
        if outcome == "out of time":
            learner.tell(exceeded=True)
        else:
            learner.tell(reward=float(outcome == "ok"), consumption=seconds)


METHODS = {
    "model": play_decider,
    "racing": lambda *args: play_decider(*args, policy="racing"),
    "model, full": lambda *args: play_decider(*args, learns_limit=False),
    "list": play_list,
}


def make_problem(kind, seed):
    """Return the problem of a seed; synthetic ones below `_FIRST_OWN_PROBLEM` share ten."""
    recording, _, problem = kind.partition(" ")
    if problem:
        return PROBLEMS[problem](recording, seed)
    return SyntheticProblem(kind, seed if seed >= _FIRST_OWN_PROBLEM else seed % 10)


def play(kind, seeds, shares, methods):
    """Append the scores of methods on problems of a kind to ``spaces.jsonl``."""
    with Path("spaces.jsonl").open("a") as file:
        for seed in seeds:
            for method in methods:
                problem = make_problem(kind, seed)
                budget = Budget(problem, shares)
                METHODS[method](problem, seed, budget)
                for share, scores in zip(shares, budget.scores, strict=True):
                    row = [kind, share, method, seed, *scores]
                    file.write(json.dumps(row) + "\n")
                file.flush()


def print_table():
    """Print the mean value of each method, and differences from the model, as Markdown."""
    values = defaultdict(dict)
    for line in Path("spaces.jsonl").read_text().splitlines():
        kind, share, method, seed, value, par10, *_ = json.loads(line)
        values[kind, share][method, seed] = value, par10
    print("| problems | budget | seeds | model | - racing | - list | PAR10: model, racing, list |")
    print("|---|---|---|---|---|---|---|")
    for (kind, share), scores in values.items():
        seeds = [seed for method, seed in scores if method == "list"]
        seeds = [seed for seed in seeds if ("model", seed) in scores]
        model = np.array([scores["model", seed] for seed in seeds])
        cells = [f"{model[:, 0].mean():.3f}"]
        par10 = [f"{model[:, 1].mean():.2f}"]
        for method in ("racing", "list"):
            others = np.array([scores.get((method, seed), (math.nan,) * 2) for seed in seeds])
            differences = model[:, 0] - others[:, 0]
            error = differences.std(ddof=1) / math.sqrt(len(seeds))
            cells.append(f"{differences.mean():+.3f} ± {error:.3f}")
            par10.append(f"{others[:, 1].mean():.2f}")
        print(f"| {kind} | {share:.0%} | {len(seeds)} | {' | '.join(cells)} | {', '.join(par10)} |")


def main(kind, seeds="", shares="", *methods):
    """Play a kind of problems, or print the table of all that were played."""
    if kind == "table":
        print_table()
        return
    first, last = map(int, seeds.split("-"))
    play(kind, range(first, last + 1), list(map(float, shares.split(","))), methods)


if __name__ == "__main__":
    main(*sys.argv[1:])
