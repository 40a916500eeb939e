"""Errors of stopping policies at the edge of what they promise, and pulls on graded rewards.

``python -m benchmarks.stopping_errors`` prints figures of docs/stopping.md, as Markdown. It plays
10,000 runs of each rule, kind of reward and base, for some minutes.
"""

import math

import numpy as np
from scipy.special import betaln
from scipy.stats import beta, rv_discrete

from keyhole import simulate, stochastic
from keyhole.policy import FloatArray, float_array
from keyhole.thresholding import (
    LSA,
    FalseDiscoveryStopping,
    FamilywiseStopping,
    IndexPolicy,
    PerArmStopping,
    Problem,
    RoundRobin,
)

DELTA, TOLERANCE, RUNS, HORIZON = 0.05, 0.05, 10_000, 2_000
RULES = (PerArmStopping, FamilywiseStopping, FalseDiscoveryStopping)


def stars(mean):
    """Return a distribution of five grades with a mean: binomial."""
    chances = [math.comb(4, k) * mean**k * (1 - mean) ** (4 - k) for k in range(5)]
    return rv_discrete(values=(np.linspace(0.0, 1.0, 5), chances))


KINDS = {  # the distribution with a given mean
    "0/1": lambda mean: mean,
    "skewed": lambda mean: beta(0.1, 0.1 * (1 - mean) / mean),
    "beta, concentration 2": lambda mean: beta(2 * mean, 2 * (1 - mean)),
    "beta, concentration 8": lambda mean: beta(8 * mean, 8 * (1 - mean)),
    "five stars": stars,
}


class MostLikelyWrong(IndexPolicy):
    """An adversary: tries the arm that is nearest to a verdict for "above", and leaves the rest."""

    def index(p, pulls, total):
        """Return how many standard errors the mean is above the threshold."""
        return (total - p.threshold * pulls) / math.sqrt(pulls)


class Spoiler(stochastic.Policy):
    """An adversary: leaves the first arm, the best, as soon as it is behind."""

    off_policy = True

    class State:
        """The pulls and rewards of each arm."""

        pulls: FloatArray = float_array("arms")
        totals: FloatArray = float_array("arms")

    def select(p, s: State) -> int:
        """Return the first arm while it is ahead."""
        for arm in range(p.arms):
            if s.pulls[arm] < 5.0:
                return arm
        return 0 if s.totals[0] * s.pulls[1] >= s.totals[1] * s.pulls[0] else 1

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the reward."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


def error_row(policy, problem, kind, horizon=HORIZON):
    """Return a row: the error that the guarantee bounds, with three standard errors."""
    curves = simulate(problem, {"rule": policy}, horizon=horizon, replications=RUNS, seed=11)
    errors = curves.values("rule", policy.guarantee().metric)[-1]
    slack = 3.0 * errors.std(ddof=1) / math.sqrt(RUNS)
    assert errors.mean() <= DELTA + slack, (policy, kind)
    base = type(policy.base).__name__
    rule = type(policy).__name__
    return f"| `{rule}` | {base} | {kind} | {errors.mean():.4f} | {DELTA + slack:.4f} |"


def shipped_pulls(draw, mean):
    """Return the mean number of pulls with the evidence of rewards that are 0 or 1 by chance."""
    null, pulls = 0.5 - TOLERANCE, np.arange(1, HORIZON + 1)
    totals = np.cumsum(draw.rvs(size=(400, HORIZON), random_state=7), axis=1)
    zeros = pulls - totals
    evidence = betaln(totals + 1, zeros + 1) + beta.logsf(null, totals + 1, zeros + 1)
    evidence -= math.log1p(-null) + totals * math.log(null) + zeros * math.log1p(-null)
    return float((np.argmax(evidence >= -math.log(DELTA), axis=1) + 1).mean())


def pulls_row(kind, distribution, mean=0.6):
    """Return a row: pulls to settle an arm, by bets and as if rewards were 0 or 1 by chance."""
    problem = Problem([distribution(mean)], 0.5)
    curves = simulate(problem, [PerArmStopping()], horizon=HORIZON, replications=4_000, seed=3)
    pulls = curves.estimates(curves.labels[0], "rounds_used")[-1].plus_minus()
    draw = distribution(mean) if kind != "0/1" else rv_discrete(values=([0, 1], [1 - mean, mean]))
    return f"| {kind} | {pulls} | {shipped_pulls(draw, mean):.0f} |"


def finds_row(rule, good, pulls, runs=10, arms=200, count=20):
    """Return a row: of 20 good arms among 200, the others at the edge, the share that is found.

    Beside it is the share of wrong arms among those called above.
    """
    means = np.array([good] * count + [0.5 - TOLERANCE] * (arms - count))
    found, wrong = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        learner = rule(base=RoundRobin()).learner(arms=arms, threshold=0.5)
        while learner.rounds < arms * pulls and not learner.is_done:
            learner.tell(float(rng.random() < means[learner.ask()]))
        above = [arm for arm, verdict in learner.settled.items() if verdict == "above"]
        found.append(sum(arm < count for arm in above) / count)
        wrong.append(sum(arm >= count for arm in above) / max(len(above), 1))
    name = f"| `{rule.__name__}` | {good} | {pulls} "
    return name + f"| {np.mean(found):.2f} | {np.mean(wrong):.3f} |"


if __name__ == "__main__":
    print("| rewards, mean .6 | pulls to settle an arm | as 0 or 1 by chance |\n|---|---|---|")
    for kind, distribution in KINDS.items():
        print(pulls_row(kind, distribution), flush=True)
    print("\n| rule | base | rewards | error | at most |\n|---|---|---|---|---|")
    for kind in ("0/1", "skewed", "five stars"):
        distribution = KINDS[kind]
        edge = Problem([distribution(0.45)] * 3 + [distribution(0.55)] * 2, 0.5)
        for rule in RULES:
            for base in (LSA(), MostLikelyWrong()):
                print(error_row(rule(base=base), edge, kind), flush=True)
        # Two best arms would be right: the first is the better one by next to nothing.
        close = stochastic.Problem([distribution(0.5), distribution(0.5 - 1e-9)])
        for base in (stochastic.TopTwoThompson(), Spoiler()):
            policy = stochastic.BestArmStopping(base=base)
            print(error_row(policy, close, kind, horizon=500), flush=True)
    print("\n| rule | good arms | pulls an arm | found | of those called above wrong |")
    print("|---|---|---|---|---|")
    for rule in RULES:
        print(finds_row(rule, good=0.6, pulls=200), flush=True)
