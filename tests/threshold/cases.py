"""Problems, policies, samplers and references for the tests of the threshold bandit."""

from keyhole.draws.streams import ENVIRONMENT, POLICY, stream
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.threshold import (
    DKWUCB,
    KMUCB,
    OPTIM,
    AnytimeDKWUCB,
    AnytimeKaplanMeierUCB,
    AnytimeOPTIM,
    KaplanMeierThompson,
    KaplanMeierUCB,
    MonotoneKLUCB,
    PerThresholdUCB,
    Problem,
    RoundRobin,
    SurvivalThompson,
)
from tests.interpreted_draws import beta, seek_pull, uniform
from tests.reference import threshold as reference

FIVE = [
    [0.95, 0.9, 0.85, 0.8, 0.75, 0.3, 0.25, 0.2, 0.15, 0.1],
    [0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35],
    [0.7, 0.69, 0.68, 0.67, 0.66, 0.65, 0.64, 0.63, 0.62, 0.61],
    [0.6, 0.55, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15],
    [0.45, 0.42, 0.39, 0.36, 0.33, 0.3, 0.27, 0.24, 0.21, 0.18],
]
"""Five arms, ten levels; arm 0 is the best up to level 5, arm 2 from level 6 on."""

POLICIES = [
    DKWUCB(),
    AnytimeDKWUCB(),
    AnytimeDKWUCB(c=3.0),
    OPTIM(),
    AnytimeOPTIM(c=3.0),
    KMUCB(),
    KaplanMeierUCB(),
    PerThresholdUCB(),
    AnytimeKaplanMeierUCB(),
    MonotoneKLUCB(),
    MonotoneKLUCB(c=3.0),
    KaplanMeierThompson(),
    KaplanMeierThompson(a=0.5, b=2.0),
    SurvivalThompson(),
    SurvivalThompson(weight=0.2),
    RoundRobin(),
]
FITTING = {
    DKWUCB: ("uncensored", "iid"),
    AnytimeDKWUCB: ("uncensored", "iid"),
    OPTIM: ("censored", "optimistic"),
    AnytimeOPTIM: ("censored", "optimistic"),
    KMUCB: ("censored", "cyclic"),
    KaplanMeierUCB: ("censored", "iid"),
    PerThresholdUCB: ("censored", "adversarial"),
    AnytimeKaplanMeierUCB: ("censored", "iid"),
    MonotoneKLUCB: ("censored", "adversarial"),
    KaplanMeierThompson: ("censored", "iid"),
    SurvivalThompson: ("censored", "iid"),
    RoundRobin: ("uncensored", "cyclic"),
}
"""For each policy a feedback and an order that it works with."""


def problem_for(policy, survival=FIVE):
    feedback, order = FITTING[type(policy)]
    return Problem(survival, feedback=feedback, order=order)


def sampler(survival, seed, replication):
    """Return the n-th sample of an arm, as the environment of `Problem` draws it."""
    rng = stream(seed, replication, ENVIRONMENT)

    def sample(arm, pull):
        seek_pull(rng, arm, pull)
        u = uniform(rng)
        return sum(u < chance for chance in survival[arm])

    return sample


def thresholds_of(problem, rounds, seed, replication):
    """Return the thresholds that the environment shows."""
    environment = InteractiveEnvironment(
        problem, seed=seed, replication=replication, horizon=rounds
    )
    return [int(environment.observe()["threshold"].item()) for _ in range(rounds)]


def reference_of(policy, problem, horizon, seed=0):
    """Return the reference implementation of a policy; it draws from the policy's stream."""
    more = {}
    if isinstance(policy, KaplanMeierThompson | SurvivalThompson):
        rng = stream(seed, 0, POLICY)
        more = {"beta": lambda a, b: beta(rng, a, b)}
    make = getattr(reference, type(policy).__name__)
    return make(problem.arms, problem.levels, horizon, **policy.parameters(), **more)


def learner_of(policy, problem, horizon, **more):
    return policy.learner(
        arms=problem.arms,
        levels=problem.levels,
        feedback=problem.feedback,
        horizon=horizon,
        **more,
    )


def drive(learner, problem, thresholds, sample):
    """Let a learner decide through its public calls, and return the arms that it pulls."""
    pulls, asked = {}, []
    for c in thresholds:
        arm = learner.ask(threshold=c)
        value = sample(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        if problem.censored and value >= c:
            learner.tell(censored=True)
        else:
            learner.tell(value)
        asked.append(arm)
    return asked
