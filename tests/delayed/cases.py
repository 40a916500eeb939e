"""What the tests of this room share."""

from keyhole.delayed import QPMD
from keyhole.draws.streams import WORLD, seek, stream, uniform
from tests.reference import delayed as reference


def drawer(problem, seed, replication):
    """Return reward and delay of the n-th pull of an arm, as the world of `Problem` draws them."""
    rng, delay = stream(seed, replication, WORLD), problem.delay

    def draw(arm, pull):
        seek(rng, arm, pull)
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
    return make(arms)
