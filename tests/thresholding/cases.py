"""Problems, samplers and references for the tests of the thresholding bandit."""

from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.thresholding import APGAI, APT, LSA, UCBE, KnownGaps, OptKG, PooledKG, RoundRobin
from tests.interpreted_draws import seek_pull, uniform
from tests.reference import thresholding as reference

SETUP_1 = [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8]
SETUP_2 = [0.405 + i / 100 for i in range(20)]
SETUP_3 = [0.45] * 5 + [0.505] * 5


def bernoulli(means, seed, replication):
    """Return the reward of the n-th pull of an arm, as the environment of `Problem` draws it."""
    rng = stream(seed, replication, ENVIRONMENT)

    def reward(arm, pull):
        seek_pull(rng, arm, pull)
        return 1.0 if uniform(rng) < means[arm] else 0.0

    return reward


def reference_of(policy, problem, horizon):
    """Return the reference implementation of a policy."""
    facts = {
        LSA: {},
        APGAI: {},
        APT: {},
        OptKG: {},
        PooledKG: {},
        RoundRobin: {},
        UCBE: {"means": problem.means.tolist(), "horizon": horizon},
        KnownGaps: {"means": problem.means.tolist()},
    }[type(policy)]
    make = getattr(reference, type(policy).__name__)
    return make(problem.threshold, **policy.parameters(), **facts)


def learner_of(policy, problem, horizon):
    """Return a learner with the known quantities that the policy needs."""
    told = {name: problem.fact(name) for name in policy.needs if name != "horizon"}
    return policy.learner(arms=problem.arms, threshold=problem.threshold, horizon=horizon, **told)


def drive(learner, reward, rounds):
    """Let a learner decide, and return the arms that it pulls."""
    pulls, asked = {}, []
    for _ in range(rounds):
        arm = learner.ask()
        learner.tell(reward(arm, pulls.get(arm, 0)))
        pulls[arm] = pulls.get(arm, 0) + 1
        asked.append(arm)
    return asked
