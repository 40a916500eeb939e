"""What a guarantee for configurations costs, on recorded training runs of random forests.

It prints the tables of "What a guarantee costs" in docs/resource.md, as Markdown, in some minutes:
``python -m benchmarks.configuration_guarantee``.
"""

from itertools import chain

import numpy as np

from keyhole import simulate
from keyhole.data import forests_problem
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.resource import (
    OUP,
    RCUCB,
    FixedLimit,
    HazardThompson,
    HazardUCB,
    LeapsAndBounds,
    Problem,
    ReductionThompson,
    ReductionUCB,
    SuccessiveHalving,
)
from keyhole.stochastic import KLUCB, ImprovedUCB

REPLICATIONS = 10
ROUNDS = (2_000, 20_000, 200_000)
EIGHT = forests_problem(8)
PROBLEMS = {
    "eight limits": EIGHT,
    "four limits": forests_problem(4),
    "the largest limit alone": Problem(EIGHT.distributions, [1.0], EIGHT.cost, EIGHT.penalty),
}
POLICIES = {
    "`OUP()`": OUP(),
    "`LeapsAndBounds()`": LeapsAndBounds(),
    "`FixedLimit(1, ImprovedUCB())`, a race": FixedLimit(limit=1, base=ImprovedUCB()),
    "`FixedLimit(1, KLUCB())`": FixedLimit(limit=1, base=KLUCB()),
    "`SuccessiveHalving()`": SuccessiveHalving(),
    "`RCUCB()`": RCUCB(),
    "`RCUCB(alpha=0.1)`": RCUCB(alpha=0.1),
    "`ReductionUCB()`": ReductionUCB(),
    "`ReductionThompson()`": ReductionThompson(),
    "`HazardUCB()`": HazardUCB(),
    "`HazardThompson()`": HazardThompson(),
}
GUARANTEES = {
    "`OUP(epsilon=0.3)`": OUP(epsilon=0.3),
    "`OUP(epsilon=0.2)`": OUP(epsilon=0.2),
    "`OUP()`": OUP(),
    "`LeapsAndBounds(epsilon=1/3, delta=0.9)`": LeapsAndBounds(epsilon=1 / 3, delta=0.9),
    "`LeapsAndBounds()`": LeapsAndBounds(),
}


def regrets(problem, policy):
    """Return the mean regret after each number of runs, as cells.

    Each has a simulation of its own: halving and races plan for the number that they are given.
    """
    cells = []
    for rounds in ROUNDS:
        curves = simulate(
            problem, {"it": policy}, horizon=rounds, replications=REPLICATIONS, seed=1
        )
        cells.append(curves.estimates("it", "regret")[-1].plus_minus())
    return cells


def until_kept(problem, policy):
    """Return the mean runs until the policy keeps an arm and what they consume, and what it loses.

    That is the largest gain with the largest limit less that of the arm: the most of all
    replications.
    """
    runs, consumed, lost = [], [], []
    for replication in range(REPLICATIONS):
        environment = InteractiveEnvironment(problem, seed=1, replication=replication)
        learner = policy.learner(
            arms=problem.arms, limits=problem.limits, cost=problem.cost, penalty=problem.penalty
        )
        while learner.state["kept"][0] == 0:
            environment.play_round(learner)
        runs.append(environment.rounds)
        consumed.append(environment.score({})["time_spent"])
        gains = problem.gains[:, -1]
        lost.append(gains.max() - gains[learner.recommend()[0]])
    return [f"{np.mean(runs):,.0f}", f"{np.mean(consumed):,.0f}", f"{max(lost):.3f}"]


def print_rows(header, rows):
    """Print a table, each row as soon as it is there."""
    for cells in chain([header, ["---"] * len(header)], rows):
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    print_rows(
        ["it keeps an arm after", "runs", "cut-offs consumed", "loses at most"],
        ([name, *until_kept(EIGHT, policy)] for name, policy in GUARANTEES.items()),
    )
    for title, problem in PROBLEMS.items():
        print_rows(
            [f"regret, {title}", *(f"{rounds:,} runs" for rounds in ROUNDS)],
            ([name, *regrets(problem, policy)] for name, policy in POLICIES.items()),
        )
