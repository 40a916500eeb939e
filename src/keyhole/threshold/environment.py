"""What the world shows and answers: a threshold, then the sample of the arm that was pulled."""

import math
from typing import ClassVar, Final, Protocol

from keyhole.core.link import Kernel
from keyhole.core.memory import FloatArray, IntArray, counts, per, whole
from keyhole.core.streams import Stream, seek, uniform
from keyhole.core.world import World
from keyhole.threshold.setting import SETTING

DRAWN, STAGED, CYCLIC, LISTED = range(4)
"""How thresholds come: independently, in stages, in permutations, or as listed."""

# The chance that Lemma 4 leaves a miss, in the metric that counts misses.
_MISS: Final = 0.05


class _Played(Protocol):
    pulls: IntArray
    block: IntArray
    regret: FloatArray
    reached: FloatArray


class Arms(World):
    """Arms with independent samples; a subclass says how one is drawn.

    The n-th pull of an arm draws from the n-th stretch of the world's stream that belongs to this
    arm, so that it yields the same sample whatever a policy did before. Thresholds draw from the
    stretches of an arm beyond the last.
    """

    setting = SETTING
    metrics: ClassVar[tuple[str, ...]] = (
        "regret",
        "wrong_best",
        "settled_levels",
        "reached_share",
        "lemma_4_misses",
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw",)

    arms = whole()
    levels = whole()
    horizon = whole()
    censored = whole()
    survival = per("arms", "levels")
    """P(X >= j) of each arm, level j at position j - 1."""
    loss = per("arms", "levels")
    """How far that is below the best arm's."""
    order = whole()
    """How thresholds come."""
    rising = whole()
    """Of stages: whether the levels rise."""
    cumulated = per("levels")
    """Of drawn thresholds: the chance of this level or a lower one."""
    rounds = whole()
    listed = counts("rounds")

    class State:
        """Pulls, regret, and how often the threshold was reached; the permutation of a block."""

        pulls = counts("arms")
        regret = per()
        reached = per()
        block = counts("levels")

    def observe(e, s: _Played, t: int, rng: Stream) -> int:
        """Return the threshold of the round."""
        if e.order == DRAWN:
            seek(rng, e.arms, t)
            level = 1 + level_of(uniform(rng), e.cumulated)
        elif e.order == STAGED:
            stage = min((t - 1) // max(1, e.horizon // e.levels), e.levels - 1)
            level = 1 + stage if e.rising == 1 else e.levels - stage
        elif e.order == CYCLIC:
            place = (t - 1) % e.levels
            if place == 0:
                seek(rng, e.arms, t)
                shuffle(rng, s.block)
            level = s.block[place]
        else:
            level = e.listed[t - 1]
        return int(level)

    def respond(e, s: _Played, rng: Stream, threshold: int, arm: int, draw: Kernel) -> int:
        """Return what is seen of the sample of the arm's next pull."""
        seek(rng, arm, s.pulls[arm])
        s.pulls[arm] += 1
        s.regret[0] += e.loss[arm, threshold - 1]
        value = draw(e, rng, arm)
        if value < threshold:
            return int(value)
        s.reached[0] += 1.0
        return int(threshold if e.censored == 1 else value)

    def score(
        e, s: _Played, t: int, best: IntArray, settled: IntArray, survival: FloatArray,
        support: FloatArray, metrics: FloatArray,
    ) -> None:  # fmt: skip
        """Write the regret, and how good what the policy reports is."""
        wrong, closed, estimates, misses = 0.0, 0.0, 0.0, 0.0
        for j in range(e.levels):
            wrong += e.loss[best[j], j] > 0.0
            closed += settled[j]
            for arm in range(e.arms):
                if support[arm, j] > 0.0:
                    width = math.sqrt(2.0 * math.log(2.0 / _MISS) / support[arm, j])
                    estimates += 1.0
                    misses += abs(survival[arm, j] - e.survival[arm, j]) >= width
        metrics[0] = s.regret[0]
        metrics[1] = wrong
        metrics[2] = closed
        metrics[3] = s.reached[0] / t
        metrics[4] = misses / max(estimates, 1.0)


class TabledArms(Arms):
    """Samples that follow given survival functions."""

    def draw(e, rng: Stream, arm: int) -> int:
        """Return the highest level whose chance of being reached exceeds a uniform number."""
        u = uniform(rng)
        value = 0
        while value < e.levels and u < e.survival[arm, value]:
            value += 1
        return value


class ReplayArms(Arms):
    """Samples drawn with replacement from given ones."""

    length = whole()
    samples = counts("length")
    """All samples, arm after arm."""
    starts = counts("arms")
    sizes = per("arms")

    def draw(e, rng: Stream, arm: int) -> int:
        """Return one of the arm's samples, each equally likely."""
        return int(e.samples[e.starts[arm] + int(uniform(rng) * e.sizes[arm])])


def level_of(u: float, cumulated: FloatArray) -> int:
    """Return the position of the first entry above `u`, the last where none is."""
    place = 0
    while place < len(cumulated) - 1 and u >= cumulated[place]:
        place += 1
    return place


def shuffle(rng: Stream, block: IntArray) -> None:
    """Fill a block with a random permutation of 1, 2, ... (Fisher and Yates)."""
    for i in range(len(block)):
        j = int(uniform(rng) * (i + 1))
        block[i] = block[j]
        block[j] = i + 1
