"""The groups in which the policies of the stochastic setting are checked."""

from keyhole.stochastic import (
    KLUCB,
    UCB1,
    BestArmStopping,
    OptimisticThompson,
    Problem,
    ThompsonSampling,
    TopTwoThompson,
)
from tests.conformance import INTERPRETED, ContractGroup
from tests.stochastic.cases import POLICIES

MEANS = [0.3, 0.8, 0.5]
BASIC = INTERPRETED[:5]
"""The checks up to the one that compares engine and learner."""


def bernoulli(policy):
    return Problem(MEANS)


def beta(policy):
    return Problem(MEANS, distribution="beta", concentration=3.0)


def replay(policy):
    return Problem.replay([[0.0, 1.0, 0.5], [0.9], [1.0, 0.25]])


GROUPS = [
    ContractGroup(
        bernoulli,
        [*POLICIES, BestArmStopping(), BestArmStopping(base=UCB1(), delta=0.5)],
        horizon=30,
        seed=2,
        slow=[
            BestArmStopping(base=UCB1(), delta=0.5),
            KLUCB(c=3.0),
            ThompsonSampling(a=0.5, b=2.0),
            OptimisticThompson(a=0.5, b=2.0),
            TopTwoThompson(a=0.5, b=2.0, share=0.25),
        ],
    ),
    ContractGroup(beta, [KLUCB(), ThompsonSampling()], horizon=30, seed=2, checks=BASIC),
    ContractGroup(replay, [KLUCB(), ThompsonSampling()], horizon=30, seed=2, checks=BASIC),
]
