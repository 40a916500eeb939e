"""Environments (simulators) of rewards that are drawn in one round and seen in a later round."""

from functools import lru_cache
from typing import Any, ClassVar, Final, cast

from keyhole.delayed.delay_distributions import KERNELS, Pairs
from keyhole.delayed.setting import SETTING
from keyhole.distributions import Bernoulli, Beta, Replay, TruncatedNormal
from keyhole.distributions.sampler_dispatch import (
    CombinedSampler,
    SampledEnvironment,
    dispatch_kernel,
    environment_with_draw,
    with_sampler,
)
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.policy import (
    Environment,
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    float_array,
    float_input,
    int_array,
    int_input,
    seek_pull,
)


class _CommonState:
    """Pulls, regret and rewards so far; the same for both kinds of feedback."""

    pulls = int_array("arms")
    regret = float_array()
    earned = float_array()
    """The sum of all rewards, whether or not they have arrived."""
    seen = int_array()
    """The number of sums (anonymous feedback) or rewards (named feedback) that have arrived."""


# Arms are below 2**24, as in `keyhole.draws.streams.seek_pull`. A pull therefore fits into one
# 64-bit word: its round times 2**24, plus its arm.
_ARM_BITS: Final = 24


class AnonymousEnvironment(SampledEnvironment, Environment, abstract=True):
    """Environment with anonymous feedback; a subclass draws rewards and delays.

    The random numbers are common to all policies: the n-th pull of an arm draws reward and delay
    from a position of the stream that only the arm and n determine. Rewards that would arrive after
    the horizon are not stored, so the state does not grow with the delays.
    """

    setting = SETTING
    metrics: ClassVar[tuple[Metric, ...]] = (
        REGRET,
        Metric("phase"),
        Metric("eliminated_at", "round in which an arm was first given up"),
        REWARD,
        Metric("observations", "sums or rewards handed out", drawn="from 0", detail=True),
        PULLS,
        Metric(
            "estimate_errors",
            "error of the estimate, divided by what its phase allows",
            per_arm=True,
            detail=True,
        ),
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw",)

    arms = int_input()
    horizon = int_input()
    memory = int_input()
    best = float_input()
    """The largest mean reward."""
    means = float_array("arms")
    """The mean rewards."""
    span = int_input()
    """The length of `delay`."""
    delay = float_array("span")
    """The parameters of the distribution of delays."""

    class State(_CommonState):
        """The common state, and the sum that arrives in each round."""

        due = float_array("horizon")
        """For each round the sum of the rewards of the pulls so far that arrive at its end."""

    def respond(
        e, s: State, t: int, rng: Stream, arm: int, total: FloatArray, count: IntArray,
        draw: Kernel,
    ) -> None:  # fmt: skip
        """Draw the reward and delay of a pull, and return the sum of what arrives."""
        reward, delay = draw_pull(e, s, rng, arm, draw)
        # Floats are compared, since a delay may be too large for an integer.
        if delay <= e.horizon - t:
            s.due[t - 1 + int(delay)] += reward
        total[0] = s.due[t - 1]
        count[0] = 0
        s.seen[0] += 1

    def score(
        e, s: _CommonState, phase: int, eliminated: IntArray, estimates: FloatArray,
        judged: IntArray, metrics: Any,
    ) -> None:  # fmt: skip
        """Write the regret, the phase, the first elimination and the details."""
        first_elimination = e.horizon + 1
        for arm in range(e.arms):
            if 0 < eliminated[arm] < first_elimination:
                first_elimination = eliminated[arm]
            metrics.pulls[arm] = s.pulls[arm]
            error = abs(estimates[arm] - e.means[arm]) if judged[arm] > 0 else 0.0
            # Phase m has the tolerance 2**-m, and its estimate may be off by half of that.
            metrics.estimate_errors[arm] = error / (0.5 * 0.5 ** judged[arm])
        metrics.regret[0] = s.regret[0]
        metrics.phase[0] = phase
        metrics.eliminated_at[0] = first_elimination
        metrics.cumulative_reward[0] = s.earned[0]
        metrics.observations[0] = s.seen[0]


class NamedEnvironment(AnonymousEnvironment, abstract=True):
    """Environment with named feedback: each reward arrives with its arm."""

    class State(_CommonState):
        """The common state, and a linked list of arriving rewards for each round."""

        # The linked lists are arrays of fixed lengths, since kernels cannot allocate. A pull is
        # given as its round, which is at least 1, times 2**24, plus its arm. A 0 ends a list.
        newest = int_array("horizon")
        """For each round the last pull whose reward arrives in it, or 0."""
        earlier = int_array("horizon")
        """For each pull the previous pull whose reward arrives in the same round, or 0."""
        reward = float_array("horizon")
        """The reward of each pull."""

    def respond(  # type: ignore[override]
        e, s: State, t: int, rng: Stream, arm: int, total: FloatArray, count: IntArray,
        sources: IntArray, rewards: FloatArray, draw: Kernel,
    ) -> None:  # fmt: skip
        """Draw the reward and delay of a pull, and return all that arrives."""
        reward, delay = draw_pull(e, s, rng, arm, draw)
        # The reward is stored before this round's list is read, since with a delay of 0 it arrives
        # in the round of its pull.
        if delay <= e.horizon - t:
            due_index = t - 1 + int(delay)
            s.reward[t - 1] = reward
            s.earlier[t - 1] = s.newest[due_index]
            s.newest[due_index] = (t << _ARM_BITS) + arm
        # The list begins with the newest pull, and the feedback with the oldest. So the pulls are
        # counted first, and the feedback is filled backwards.
        arrived_count = 0
        pull = s.newest[t - 1]
        while pull > 0:
            arrived_count += 1
            pull = s.earlier[(pull >> _ARM_BITS) - 1]
        pull = s.newest[t - 1]
        for i in range(arrived_count - 1, -1, -1):
            index = (pull >> _ARM_BITS) - 1
            sources[i] = pull & (2**_ARM_BITS - 1)
            rewards[i] = s.reward[index]
            pull = s.earlier[index]
        count[0] = arrived_count
        total[0] = 0.0
        for i in range(arrived_count):
            total[0] += rewards[i]
        s.seen[0] += arrived_count


def draw_pull(
    e: AnonymousEnvironment, s: _CommonState, rng: Stream, arm: int, draw: Kernel
) -> tuple[float, float]:
    """Draw reward and delay of the arm's next pull; update pulls, regret and rewards."""
    seek_pull(rng, arm, s.pulls[arm])
    s.pulls[arm] += 1
    # Regret and reward count in the round of the pull, whether or not the reward ever arrives.
    s.regret[0] += e.best - e.means[arm]
    reward, delay = draw(e, rng, arm)
    s.earned[0] += reward
    return reward, delay


def make_environment(
    base: type[AnonymousEnvironment], sampler: CombinedSampler, draw_delay: Kernel | None
) -> type[AnonymousEnvironment]:
    """Return the environment class for these distributions.

    Parameters
    ----------
    base : Environment class
        `AnonymousEnvironment` or `NamedEnvironment`.
    sampler : CombinedSampler
        The distributions of rewards, or of pairs of a reward and its delay if `draw_delay` is None.
    draw_delay : kernel or None
        ``draw_delay(rng, numbers)`` draws a delay, independent of the reward.
    """
    environment_class: type[AnonymousEnvironment] = (
        with_sampler(base, sampler.name, sampler.draw)
        if draw_delay is None
        else _environment_with_delay(cast(Any, base), sampler.name, sampler.draw, draw_delay)
    )
    return environment_class


@lru_cache(maxsize=256)
def _environment_with_delay(base: Any, name: str, draw_reward: Kernel, draw_delay: Kernel) -> Any:
    # The reward is drawn first, so that it does not depend on the random numbers of the delay.
    def draw(e: AnonymousEnvironment, rng: Stream, arm: int) -> tuple[float, float]:
        reward = float(draw_reward(rng, e.numbers[e.starts[arm] : e.ends[arm]]))
        return reward, float(draw_delay(rng, e.delay))

    return environment_with_draw(base, name, draw)


ENVIRONMENTS: Final = tuple(
    make_environment(
        base, CombinedSampler(distribution.__name__, distribution.draw, []), draw_delay
    )
    for base in (AnonymousEnvironment, NamedEnvironment)
    for distribution, draw_delay in (
        *(
            (distribution, dispatch_kernel(KERNELS))
            for distribution in (Bernoulli, Beta, TruncatedNormal, Replay)
        ),
        (Pairs, None),
    )
)
"""Environments that `keyhole compile` compiles; in each all arms have one kind of distribution."""
