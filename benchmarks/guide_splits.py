"""Where two situations of the guide are split: ratios of two policies on problems drawn afresh.

It prints the tables of "Where situations are split" in docs/benchmark.md, as Markdown, in some
minutes: ``python -m benchmarks.guide_splits``.
"""

import math
from pathlib import Path
from random import Random

from keyhole import simulate, threshold
from keyhole.experiment.objects_from_spec import make_problem
from keyhole.semibandit import CSBST, ThresholdThompson
from keyhole.threshold import AnytimeDKWUCB, SurvivalThompson
from tools.draw_problems import draw_common_allocation, draw_survival

SEED = 1
ARMS = (4, 8, 12, 16, 24, 32)
WIDTHS = (0.05, 0.1, 0.2, 0.4, 0.8)
PROBLEMS = 8
REPLICATIONS = 25


def seen_problem(rng, arms, shape, width):
    """Return a problem whose samples are all seen, and its horizon."""
    survival = draw_survival(rng, arms, shape, width)
    return threshold.Problem(survival, feedback="uncensored"), 10_000


def common_problem(rng, arms):
    """Return a problem with a common threshold, and its horizon."""
    drawn = draw_common_allocation(rng, arms)
    return make_problem({"setting": "semibandit", **drawn["problem"]}, Path()), drawn["horizon"]


def ratio(policies, draw, *arguments):
    """Return how many times the regret of the second policy the first has: a geometric mean."""
    rng = Random(f"{SEED} {arguments}")
    total = 0.0
    for _ in range(PROBLEMS):
        problem, horizon = draw(rng, *arguments)
        curves = simulate(problem, policies, horizon=horizon, replications=REPLICATIONS, seed=SEED)
        first, second = (curves.values(label, "regret")[-1].mean() for label in policies)
        total += math.log(first / second)
    return f"{math.exp(total / PROBLEMS):.2f}"


def main():
    """Print the tables."""
    arms_head = " | ".join(f"{arms} arms" for arms in ARMS)
    seen = {"SurvivalThompson": SurvivalThompson(), "AnytimeDKWUCB": AnytimeDKWUCB()}
    common = {"ThresholdThompson": ThresholdThompson(), "CSBST": CSBST()}
    print(f"| {' / '.join(seen)} | {arms_head} |\n|{'---|' * (len(ARMS) + 1)}")
    for shape in ("ordered", "crossing"):
        for width in WIDTHS:
            cells = [ratio(seen, seen_problem, arms, shape, width) for arms in ARMS]
            print(f"| {shape}, within {width} | {' | '.join(cells)} |", flush=True)
    cells = [ratio(common, common_problem, arms) for arms in ARMS]
    print(f"\n| {' / '.join(common)} | {arms_head} |\n|{'---|' * (len(ARMS) + 1)}")
    print(f"| a common threshold | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
