"""Instances and helpers for the tests of the semi-bandit setting."""

from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.semibandit import (
    CSBDT,
    CSBDTUCB,
    CSBST,
    CTS,
    ESCB,
    MPTS,
    SDCB,
    Problem,
    ThresholdThompson,
)
from tests.interpreted_draws import seek_pull, uniform
from tests.reference import semibandit as reference

POLICIES = [
    CSBST(),
    CSBST(delta=0.3, epsilon=0.4, random_subset=1),
    CSBST(loss_free_rounds=3),
    CSBDT(gamma=0.05, epsilon=0.4, as_printed=0),
    CSBDT(gamma=0.02, loss_free_rounds=4, round_decimals=2, solve_every=3, as_printed=0),
    CSBDT(gamma=0.01, loss_free_rounds=2),
    CSBDT(gamma=0.01, loss_free_rounds=2, any_loss=1),
    CSBDT(gamma=0.02, loss_free_rounds=3, as_printed=0, any_loss=1),
    CSBDTUCB(gamma=0.05, epsilon=0.4, as_printed=0),
    CSBDTUCB(gamma=0.02, loss_free_rounds=2, round_decimals=1, as_printed=0),
    CSBDTUCB(gamma=0.02, loss_free_rounds=4, round_decimals=2),
    MPTS(m=1),
    ESCB(m=1),
    ESCB(m=1, c=0.5),
    CTS(),
    CTS(solve_every=4),
    SDCB(),
    SDCB(solve_every=3),
    ThresholdThompson(),
]
SAME = Problem([0.9, 0.3, 0.6, 0.5, 0.75], 0.55, resource=1.7)
OWN = Problem([0.9, 0.89, 0.87, 0.58, 0.3], [0.7, 0.7, 0.7, 0.6, 0.35], resource=2.02)


def told(policy, problem):
    """Return what a policy is told beside arms and resource."""
    return {"thresholds": problem.thresholds} if policy.oracle else {}


def reference_of(policy, problem):
    """Return the reference implementation of a policy."""
    make = getattr(reference, type(policy).__name__)
    told_too = told(policy, problem)
    return make(problem.arms, problem.resource, **told_too, **policy.parameters())


def losses_of(problem, seed, replication, t):
    """Return every arm's loss in round t, hidden or not, as the environment draws it."""
    rng, found = stream(seed, replication, ENVIRONMENT), []
    for arm in range(problem.arms):
        seek_pull(rng, arm, t - 1)
        found.append(1 if uniform(rng) < problem.mean_losses[arm] else 0)
    return found


def shown(problem, allocation, losses):
    """Return the losses that show."""
    return [
        0 if given >= threshold - 1e-9 else loss
        for given, threshold, loss in zip(allocation, problem.thresholds, losses, strict=True)
    ]
