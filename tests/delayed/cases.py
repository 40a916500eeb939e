"""Policies, problems, samplers and references for the tests of delayed feedback."""

from dataclasses import fields

from keyhole.delayed import QPMD, Problem, Uniform
from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.experiment import setting_registry
from tests.interpreted_draws import seek_pull, uniform
from tests.reference import delayed as reference


def make_policy(kind, **known):
    """Return a policy of a class, with those of the known parameters that it takes."""
    names = [item.name for item in fields(kind)]
    return kind(**{name: value for name, value in known.items() if name in names})


POLICIES = [
    make_policy(kind, expected_delay=2.0, bound=4, variance=1.0)
    for kind in setting_registry.find_setting("delayed").policies.values()
]
PHASED = [policy for policy in POLICIES if hasattr(policy, "phase_lengths")]
NAMED = [policy for policy in POLICIES if policy.works_with == ("named",)]


def problem_for(policy, means, delay=None):
    feedback = policy.works_with[0]
    return Problem(list(means), delay or Uniform(0, 4), feedback=feedback)


def make_sampler(problem, seed, replication):
    """Return reward and delay of an arm's n-th pull, as the environment of `Problem` draws them."""
    rng, delay = stream(seed, replication, ENVIRONMENT), problem.delay

    def draw(arm, pull):
        seek_pull(rng, arm, pull)
        reward = 1.0 if uniform(rng) < problem.means[arm] else 0.0
        return reward, delay.draw(rng, delay.numbers)

    return draw


def reference_of(policy, arms, horizon):
    """Return the reference implementation of a policy."""
    make = getattr(reference, type(policy).__name__)
    if isinstance(policy, QPMD):
        return make(arms, reference.UCB1(arms))
    if hasattr(policy, "phase_lengths"):
        return make(arms, horizon, **policy.parameters())
    return make(arms, **policy.parameters())
