"""What the world answers: rewards that are earned now and arrive later."""

from typing import Any, ClassVar, Final, Protocol

from keyhole.delayed.delays import draw_delay
from keyhole.delayed.setting import SETTING
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.policy import (
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    World,
    counts,
    per,
    real,
    seek,
    uniform,
    whole,
)
from keyhole.stochastic.laws import Bernoulli, Beta, Replay, TruncatedNormal


class _Earned(Protocol):
    pulls: IntArray
    regret: FloatArray
    earned: FloatArray
    seen: IntArray
    due: FloatArray


class _Listed(_Earned, Protocol):
    arriving: IntArray
    newest: IntArray
    earlier: IntArray
    source: IntArray
    reward: FloatArray


class Anonymous(World, abstract=True):
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
    helpers: ClassVar[tuple[str, ...]] = ("draw", "wait")

    arms = whole()
    horizon = whole()
    memory = whole()
    best = real()
    """The largest mean reward."""
    means = per("arms")
    """The mean rewards."""

    class State:
        """Pulls, regret and rewards so far, and what arrives in each round to come."""

        pulls = counts("arms")
        regret = per()
        earned = per()
        seen = counts()
        """Sums, or rewards, that have been handed out."""
        due = per("horizon")

    def respond(
        e, s: _Earned, t: int, rng: Stream, arm: int, total: FloatArray, count: IntArray,
        draw: Kernel, wait: Kernel,
    ) -> None:  # fmt: skip
        """Earn the reward of the arm's next pull, and hand out the sum of what arrives."""
        reward, delay = earn(e, s, rng, arm, draw, wait)
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

    class State(Anonymous.State):
        """Beside it, for each round the list of what arrives, the last pull first."""

        arriving = counts("horizon")
        newest = counts("horizon")
        """The round, from 1, of the last pull whose reward arrives in this round."""
        earlier = counts("horizon")
        """For each pull the one before it whose reward arrives in the same round, or 0."""
        source = counts("horizon")
        reward = per("horizon")

    def respond(  # type: ignore[override]
        e, s: _Listed, t: int, rng: Stream, arm: int, total: FloatArray, count: IntArray,
        sources: IntArray, rewards: FloatArray, draw: Kernel, wait: Kernel,
    ) -> None:  # fmt: skip
        """Earn the reward of the arm's next pull, and hand out what arrives."""
        reward, delay = earn(e, s, rng, arm, draw, wait)
        if delay <= e.horizon - t:
            due = t - 1 + int(delay)
            s.due[due] += reward
            s.source[t - 1] = arm
            s.reward[t - 1] = reward
            s.earlier[t - 1] = s.newest[due]
            s.newest[due] = t
            s.arriving[due] += 1
        total[0] = s.due[t - 1]
        count[0] = s.arriving[t - 1]
        s.seen[0] += count[0]
        pull = s.newest[t - 1]
        for i in range(count[0] - 1, -1, -1):
            sources[i] = s.source[pull - 1]
            rewards[i] = s.reward[pull - 1]
            pull = s.earlier[pull - 1]


def earn(
    e: Anonymous, s: _Earned, rng: Stream, arm: int, draw: Kernel, wait: Kernel
) -> tuple[float, float]:
    """Return reward and delay of the arm's next pull, and add up regret and rewards."""
    seek(rng, arm, s.pulls[arm])
    s.pulls[arm] += 1
    s.regret[0] += e.best - e.means[arm]
    reward, delay = wait(e, rng, arm, draw)
    s.earned[0] += reward
    return reward, delay


class SameDelay:
    """Rewards of some law, delays of one law for all arms."""

    kind = whole()
    first = real()
    second = real()
    third = real()
    recorded = whole()
    delays = per("recorded")

    def wait(e, rng: Stream, arm: int, draw: Kernel) -> tuple[float, float]:
        """Return a reward and a delay, independent of each other."""
        reward = draw(e, rng, arm)
        return reward, draw_delay(rng, e.kind, e.first, e.second, e.third, e.delays)


class RecordedPairs:
    """Rewards with their delays, drawn with replacement from those recorded for each arm."""

    length = whole()
    rewards = per("length")
    """All rewards, arm after arm."""
    delays = per("length")
    starts = counts("arms")
    sizes = per("arms")

    def draw(e, rng: Stream, arm: int) -> int:
        """Return the position of one of the arm's pairs, each equally likely."""
        return int(e.starts[arm] + int(uniform(rng) * e.sizes[arm]))

    def wait(e, rng: Stream, arm: int, draw: Kernel) -> tuple[float, float]:
        """Return one of the arm's pairs."""
        i = draw(e, rng, arm)
        return float(e.rewards[i]), float(e.delays[i])


def _worlds() -> dict[tuple[type, bool], type[World]]:
    """Return a world for every law of rewards and kind of feedback."""
    made: dict[tuple[type, bool], type[World]] = {}
    for named, kind in ((False, Anonymous), (True, Named)):
        for law in (Bernoulli, Beta, TruncatedNormal, Replay):
            name = f"{law.__name__}{kind.__name__}"
            made[law, named] = type(name, (law, SameDelay, kind), {"__doc__": kind.__doc__})
        name = f"Recorded{kind.__name__}"
        made[RecordedPairs, named] = type(name, (RecordedPairs, kind), {"__doc__": kind.__doc__})
    return made


WORLDS: Final = _worlds()
"""The world for each law of rewards, anonymous or named; `RecordedPairs` has its own delays."""
