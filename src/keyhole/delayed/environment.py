"""What the environment answers: rewards that are earned now and arrive later."""

from functools import lru_cache
from typing import Any, ClassVar, Final, Protocol, cast

from keyhole.delayed.delays import KERNELS, Pairs
from keyhole.delayed.setting import SETTING
from keyhole.distributions import Bernoulli, Beta, Replay, TruncatedNormal
from keyhole.distributions.combined_sampler import (
    CombinedSampler,
    SampledEnvironment,
    complete_environment,
    environment_of,
    one_of,
)
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.policy import (
    Environment,
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    float_array,
    int_array,
    integer,
    number,
    seek,
)


class _Earned(Protocol):
    pulls: IntArray
    regret: FloatArray
    earned: FloatArray
    seen: IntArray


class _Summed(_Earned, Protocol):
    due: FloatArray


class _Listed(_Earned, Protocol):
    newest: IntArray
    earlier: IntArray
    reward: FloatArray


# Arms are below 2**24, as in `keyhole.draws.streams.seek`.
_ARM_BITS: Final = 24


class Anonymous(SampledEnvironment, Environment, abstract=True):
    """Arms whose rewards arrive summed up; a subclass says how reward and delay are drawn.

    The n-th pull of an arm draws its reward, then its delay, from the n-th stretch of the world's
    stream that belongs to this arm. Rewards that would arrive after the horizon are counted in the
    regret, and never stored: memory is one number a round, whatever the delays.
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
            "error of the estimate, of what its phase allows",
            per_arm=True,
            detail=True,
        ),
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw",)

    arms = integer()
    horizon = integer()
    memory = integer()
    best = number()
    """The largest mean reward."""
    means = float_array("arms")
    """The mean rewards."""
    span = integer()
    delay = float_array("span")
    """The numbers of the distribution of delays."""

    class State:
        """Pulls, regret and rewards so far, and what arrives in each round to come."""

        pulls = int_array("arms")
        regret = float_array()
        earned = float_array()
        seen = int_array()
        """Sums, or rewards, that have been handed out."""
        due = float_array("horizon")

    def respond(
        e, s: _Summed, t: int, rng: Stream, arm: int, total: FloatArray, count: IntArray,
        draw: Kernel,
    ) -> None:  # fmt: skip
        """Earn the reward of the arm's next pull, and hand out the sum of what arrives."""
        reward, delay = earn(e, s, rng, arm, draw)
        if delay <= e.horizon - t:
            s.due[t - 1 + int(delay)] += reward
        total[0] = s.due[t - 1]
        count[0] = 0
        s.seen[0] += 1

    def score(
        e, s: _Earned, phase: int, eliminated: IntArray, estimates: FloatArray, judged: IntArray,
        metrics: Any,
    ) -> None:  # fmt: skip
        """Write regret, phase, first elimination; rewards, what was seen; and of each arm."""
        first = e.horizon + 1
        for arm in range(e.arms):
            if 0 < eliminated[arm] < first:
                first = eliminated[arm]
            metrics.pulls[arm] = s.pulls[arm]
            error = abs(estimates[arm] - e.means[arm]) if judged[arm] > 0 else 0.0
            metrics.estimate_errors[arm] = error / (0.5 * 0.5 ** judged[arm])
        metrics.regret[0] = s.regret[0]
        metrics.phase[0] = phase
        metrics.eliminated_at[0] = first
        metrics.cumulative_reward[0] = s.earned[0]
        metrics.observations[0] = s.seen[0]


class Named(Anonymous, abstract=True):
    """Arms whose rewards arrive one by one, each with the arm that earned it."""

    class State:
        """Pulls, regret and rewards so far; for each round the list of what arrives in it."""

        pulls = int_array("arms")
        regret = float_array()
        earned = float_array()
        seen = int_array()
        newest = int_array("horizon")
        """The last pull whose reward arrives in this round: how many had been before, and which arm
        it was; 0 for none."""
        earlier = int_array("horizon")
        """For each pull the same of the one before it whose reward arrives in the same round."""
        reward = float_array("horizon")

    def respond(  # type: ignore[override]
        e, s: _Listed, t: int, rng: Stream, arm: int, total: FloatArray, count: IntArray,
        sources: IntArray, rewards: FloatArray, draw: Kernel,
    ) -> None:  # fmt: skip
        """Earn the reward of the arm's next pull, and hand out what arrives."""
        reward, delay = earn(e, s, rng, arm, draw)
        if delay <= e.horizon - t:
            due = t - 1 + int(delay)
            s.reward[t - 1] = reward
            s.earlier[t - 1] = s.newest[due]
            s.newest[due] = (t << _ARM_BITS) + arm
        arrived, pull = 0, s.newest[t - 1]
        while pull > 0:
            arrived += 1
            pull = s.earlier[(pull >> _ARM_BITS) - 1]
        pull = s.newest[t - 1]
        for i in range(arrived - 1, -1, -1):
            place = (pull >> _ARM_BITS) - 1
            sources[i] = pull & (2**_ARM_BITS - 1)
            rewards[i] = s.reward[place]
            pull = s.earlier[place]
        count[0], total[0] = arrived, 0.0
        for i in range(arrived):
            total[0] += rewards[i]
        s.seen[0] += arrived


def earn(e: Anonymous, s: _Earned, rng: Stream, arm: int, draw: Kernel) -> tuple[float, float]:
    """Return reward and delay of the arm's next pull, and add up regret and rewards."""
    seek(rng, arm, s.pulls[arm])
    s.pulls[arm] += 1
    s.regret[0] += e.best - e.means[arm]
    reward, delay = draw(e, rng, arm)
    s.earned[0] += reward
    return reward, delay


def make_environment(
    base: type[Anonymous], drawn: CombinedSampler, wait: Kernel | None
) -> type[Anonymous]:
    """Return the environment of arms with these distributions.

    Parameters
    ----------
    base : Environment class
        `Anonymous` or `Named`.
    drawn : Gathered
        The distributions of rewards; of rewards and delays where there is no `wait`.
    wait : kernel, optional
        ``wait(rng, numbers)`` draws a delay, independent of the reward.
    """
    made: type[Anonymous] = (
        environment_of(base, drawn.name, drawn.draw)
        if wait is None
        else _waiting(cast(Any, base), drawn.name, drawn.draw, wait)
    )
    return made


@lru_cache(maxsize=256)
def _waiting(base: Any, name: str, reward: Kernel, wait: Kernel) -> Any:
    def draw(e: Anonymous, rng: Stream, arm: int) -> tuple[float, float]:
        earned = float(reward(rng, e.numbers[e.starts[arm] : e.ends[arm]]))
        return earned, float(wait(rng, e.delay))

    return complete_environment(base, name, draw)


ENVIRONMENTS: Final = tuple(
    make_environment(base, CombinedSampler(distribution.__name__, distribution.draw, []), wait)
    for base in (Anonymous, Named)
    for distribution, wait in (
        *(
            (distribution, one_of(KERNELS))
            for distribution in (Bernoulli, Beta, TruncatedNormal, Replay)
        ),
        (Pairs, None),
    )
)
"""Those that are compiled ahead: of arms whose distributions are of one kind."""
