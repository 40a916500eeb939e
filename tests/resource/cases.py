"""Calibrated instances and helpers for the tests of the resource setting."""

from functools import cache

import numpy as np

from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.resource import BetaExponential, Power, Problem, TruncatedNormal

COST = Power(slope=0.1)
PENALTY = Power(slope=0.1, factor=0.2, power=4)
GRIDS = {
    "main": np.linspace(0.1, 1.0, 11),
    "small": np.array([0.3, 0.6, 0.9]),
    "large": np.linspace(0.001, 1.0, 30),
}


def normal_arm(reward, consumption, sd, correlation):
    variance, shared = 0.5, correlation * sd * np.sqrt(0.5)
    return TruncatedNormal((reward, consumption), ((sd * sd, shared), (shared, variance)))


def arm_of(instance, k):
    if instance == "Indep":
        return BetaExponential(5, 5 + k, 1 - 0.03 * k)
    if instance == "PosCorr":
        return normal_arm(0.45 - 0.03 * k, 0.90 + 0.03 * k, 0.25, 0.5)
    return normal_arm(0.70 - 0.03 * k, 1.20 + 0.03 * k, 0.20, -0.6)


@cache
def reconstructed_problem(instance, grid="main", arms=10, **more):
    distributions = [arm_of(instance, k) for k in range(arms)]
    return Problem(distributions, GRIDS[grid], COST, PENALTY, **more)


def runs_of(problem, seed, replication):
    """Return (reward, consumption) of the n-th pull of an arm, whatever the limit.

    The environment of a problem with the same arms and one huge limit tells all. Asked for in any
    order.
    """
    open_ended = Problem(problem.distributions, [1e9], Power(), Power())
    environments, seen = {}, {}

    def run(arm, pull):
        if arm not in environments:
            environments[arm] = InteractiveEnvironment(
                open_ended, seed=seed, replication=replication
            )
            seen[arm] = []
        while len(seen[arm]) <= pull:
            answer = environments[arm].respond({"arm": arm, "limit": 1e9})
            seen[arm].append((answer["reward"].item(), answer["consumption"].item()))
        return seen[arm][pull]

    return run


def drive(learner, run, rounds):
    """Let a learner decide, and return the pairs that it plays."""
    pulls, asked = {}, []
    for _ in range(rounds):
        arm, limit = learner.ask()
        reward, consumption = run(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        if consumption > limit:
            learner.tell(exceeded=True)
        else:
            learner.tell(reward, consumption)
        asked.append((arm, limit))
    return asked


def learner_of(policy, problem, horizon, seed=0):
    return policy.learner(
        arms=problem.arms,
        limits=problem.limits,
        cost=problem.cost,
        penalty=problem.penalty,
        continuous=problem.continuous,
        horizon=horizon,
        seed=seed,
    )
