"""Policies, samplers and references for the tests of the stochastic bandit."""

from keyhole.draws.streams import ENVIRONMENT, POLICY, stream
from keyhole.stochastic import (
    KLUCB,
    MOSS,
    UCB1,
    HoeffdingUCB,
    ImprovedUCB,
    KnownVarianceUCB,
    OptimisticThompson,
    RoundRobin,
    ThompsonSampling,
    TopTwoThompson,
)
from tests.interpreted_draws import beta, seek_pull, uniform
from tests.reference import stochastic as reference

FIVE = [0.5, 0.6, 0.4, 0.3, 0.2]
POLICIES = [
    UCB1(),
    HoeffdingUCB(),
    KnownVarianceUCB(variance=0.05),
    KLUCB(),
    KLUCB(c=3.0),
    MOSS(),
    ThompsonSampling(),
    ThompsonSampling(a=0.5, b=2.0),
    OptimisticThompson(),
    OptimisticThompson(a=0.5, b=2.0),
    TopTwoThompson(),
    TopTwoThompson(a=0.5, b=2.0, share=0.25),
    ImprovedUCB(),
    RoundRobin(),
]


def bernoulli(means, seed, replication):
    """Return the reward of the n-th pull of an arm, as the environment of `Problem` draws it."""
    rng = stream(seed, replication, ENVIRONMENT)

    def reward(arm, pull):
        seek_pull(rng, arm, pull)
        return 1.0 if uniform(rng) < means[arm] else 0.0

    return reward


def fractional(means, seed, replication):
    """Return rewards that are multiples of 1/8, near the means."""
    rng = stream(seed, replication, ENVIRONMENT)

    def reward(arm, pull):
        seek_pull(rng, arm, pull)
        return int(uniform(rng) * (16 * means[arm] + 1)) / 16 if means[arm] < 0.5 else 1.0

    return reward


def reference_of(policy, arms, horizon, seed):
    """Return the reference implementation of a policy; it draws from the policy's stream."""
    more = {}
    if isinstance(policy, (ThompsonSampling, OptimisticThompson, TopTwoThompson)):
        rng = stream(seed, 0, POLICY)
        more = {"beta": lambda a, b: beta(rng, a, b), "uniform": lambda: uniform(rng)}
    make = getattr(reference, type(policy).__name__)
    return make(arms, horizon, **policy.parameters(), **more)


def drive(learner, reward, rounds):
    """Let a learner decide, and return the arms that it pulls."""
    pulls, asked = {}, []
    for _ in range(rounds):
        arm = learner.ask()
        learner.tell(reward(arm, pulls.get(arm, 0)))
        pulls[arm] = pulls.get(arm, 0) + 1
        asked.append(arm)
    return asked
