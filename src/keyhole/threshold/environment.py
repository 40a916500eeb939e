"""Environment (simulator) of the threshold bandit: reward 1 if a sample reaches the threshold."""

import math
from typing import Any, ClassVar, Final

from keyhole.distributions import Replay
from keyhole.distributions.sampler_dispatch import SampledEnvironment, with_sampler
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.policy import (
    Environment,
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    float_array,
    int_array,
    int_input,
    seek_pull,
    uniform,
)
from keyhole.threshold.distributions import SurvivalTable
from keyhole.threshold.setting import SETTING

DRAWN, STAGED, CYCLIC, LISTED = range(4)
"""Kinds of sequences of thresholds: drawn independently, in stages, in permutations, or listed."""

# An error is a miss if it reaches a width that, by an inequality, errors reach with at most this
# probability.
_MISS_PROBABILITY: Final = 0.05


class ThresholdEnvironment(SampledEnvironment, Environment, abstract=True):
    """Environment in which a pull draws a sample from the distribution of its arm.

    The random numbers are common to all policies: the n-th pull of an arm reads the stream from a
    position that only the arm and n determine, so its sample is the same for every policy.
    Thresholds are drawn as if from one more arm, so they are the same for every policy, too. Levels
    are the possible thresholds 1, 2, ..., `levels`.
    """

    setting = SETTING
    # `drawn` says how charts show a metric.
    metrics: ClassVar[tuple[Metric, ...]] = (
        REGRET,
        Metric("wrong_best", "levels with a wrong best arm"),
        Metric("settled_levels", "levels settled", better="higher"),
        Metric("reached_share", "share of rounds that reached the threshold", better="higher"),
        Metric("lemma_4_misses", "share of estimates off by Lemma 4's width or more"),
        REWARD,
        Metric("observations", "samples seen whole", drawn="from 0", detail=True),
        Metric("wrong_settled", "levels settled wrongly", detail=True),
        Metric("lemma_3_misses", "share of arms off by Lemma 3's width or more", detail=True),
        Metric("hoeffding_misses", "share of errors at or beyond Hoeffding's width", detail=True),
        PULLS,
        Metric("wrong_pulls", "pulls of a wrong arm", drawn="from 0", per_arm=True, detail=True),
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw",)

    arms = int_input()
    levels = int_input()
    horizon = int_input()
    censored = int_input()
    survival = float_array("arms", "levels")
    """P(X >= j) for the sample X of each arm, level j at position j - 1."""
    loss = float_array("arms", "levels")
    """Suboptimality gap of each arm at each level."""
    order = int_input()
    """Kind of the sequence of thresholds: `DRAWN`, `STAGED`, `CYCLIC` or `LISTED`."""
    rising = int_input()
    """Whether the levels rise from stage to stage."""
    cumulated = float_array("levels")
    """Distribution function of drawn thresholds."""
    rounds = int_input()
    """The length of `listed`."""
    listed = int_array("rounds")
    """The thresholds of a listed sequence, one for each round."""

    class State:
        """Pulls, regret and reached thresholds so far; the position in the sequence."""

        pulls = int_array("arms")
        wrong = int_array("arms")
        """Pulls at thresholds for which another arm is better."""
        regret = float_array()
        reached = float_array()
        stage = int_array()
        """The number of stages that have begun."""
        left = int_array()
        """Rounds left in the stage, or in the permutation."""
        block = int_array("levels")
        """The present permutation of the thresholds, which is taken from its end."""

    def observe(e, s: State, t: int, rng: Stream) -> int:
        """Return the threshold of the round."""
        # Thresholds are drawn from the random numbers of arm number `e.arms`, which is no arm.
        if e.order == DRAWN:
            seek_pull(rng, e.arms, t)
            # The last cumulated chance may be rounded to less than 1, and the draw may exceed it.
            level = min(1 + count_at_most(e.cumulated, uniform(rng)), e.levels)
        elif e.order == STAGED:
            # The rounds of a stage are counted, since a division of t by the length of a stage
            # would cost as much as a sample.
            if s.left[0] == 0 and s.stage[0] < e.levels:
                s.stage[0] += 1
                s.left[0] = max(1, e.horizon // e.levels)
            s.left[0] = max(0, s.left[0] - 1)
            level = s.stage[0] if e.rising == 1 else e.levels + 1 - s.stage[0]
        elif e.order == CYCLIC:
            if s.left[0] == 0:
                seek_pull(rng, e.arms, t)
                fill_with_permutation(rng, s.block)
                s.left[0] = e.levels
            s.left[0] -= 1
            level = s.block[s.left[0]]
        else:
            level = e.listed[t - 1]
        return int(level)

    def respond(e, s: State, rng: Stream, threshold: int, arm: int, draw: Kernel) -> int:
        """Return the sample of the arm's next pull, or the threshold if the sample is censored."""
        seek_pull(rng, arm, s.pulls[arm])
        s.pulls[arm] += 1
        s.wrong[arm] += e.loss[arm, threshold - 1] > 0.0
        s.regret[0] += e.loss[arm, threshold - 1]
        value = draw(e, rng, arm)
        if value < threshold:
            return int(value)
        s.reached[0] += 1.0
        return int(threshold if e.censored == 1 else value)

    def score(
        e, s: State, t: int, best: IntArray, settled: IntArray, survival: FloatArray,
        support: FloatArray, metrics: Any,
    ) -> None:  # fmt: skip
        """Write the regret, the samples, and the errors of the policy's recommendation.

        `support` is the sample size of each estimate in `survival`.
        """
        wrong_best = settled_levels = wrong_settled = 0.0
        for j in range(e.levels):
            wrong_best += e.loss[best[j], j] > 0.0
            settled_levels += settled[j]
            wrong_settled += settled[j] == 1 and e.loss[best[j], j] > 0.0
        metrics.regret[0] = s.regret[0]
        metrics.wrong_best[0] = wrong_best
        metrics.settled_levels[0] = settled_levels
        metrics.reached_share[0] = s.reached[0] / t
        metrics.cumulative_reward[0] = s.reached[0]
        # A sample that reached the threshold is seen only if feedback is uncensored.
        metrics.observations[0] = t - s.reached[0] if e.censored == 1 else t
        metrics.wrong_settled[0] = wrong_settled
        estimate_count = lemma_4_misses = hoeffding_misses = sampled_arms = missed_arms = 0.0
        for arm in range(e.arms):
            largest_error = 0.0
            for j in range(e.levels):
                if support[arm, j] > 0.0:
                    # Errors are in units of the width of Hoeffding's inequality. For the same
                    # sample size, Lemma 3 has the same width, and Lemma 4 has twice this width.
                    width = math.sqrt(0.5 * math.log(2.0 / _MISS_PROBABILITY) / support[arm, j])
                    error = abs(survival[arm, j] - e.survival[arm, j]) / width
                    largest_error = max(largest_error, error)
                    estimate_count += 1.0
                    lemma_4_misses += error >= 2.0
                    hoeffding_misses += error >= 1.0
            # An arm that was pulled has samples at level 1, except with `PerThresholdUCB`.
            sampled_arms += support[arm, 0] > 0.0
            missed_arms += largest_error >= 1.0
            metrics.pulls[arm] = s.pulls[arm]
            metrics.wrong_pulls[arm] = s.wrong[arm]
        metrics.lemma_4_misses[0] = lemma_4_misses / max(estimate_count, 1.0)
        metrics.lemma_3_misses[0] = missed_arms / max(sampled_arms, 1.0)
        metrics.hoeffding_misses[0] = hoeffding_misses / max(estimate_count, 1.0)


def count_at_most(values: FloatArray, u: float) -> int:
    """Return how many of the values are at most `u`."""
    count = 0
    for j in range(len(values)):
        count += u >= values[j]
    return count


def fill_with_permutation(rng: Stream, block: IntArray) -> None:
    """Fill a block with a random permutation of 1, 2, ..., by a Fisher-Yates shuffle."""
    for i in range(len(block)):
        # The number i + 1 takes a random position from 0 to i, and the number that was there moves
        # to position i. So the block need not be filled before.
        j = int(uniform(rng) * (i + 1))
        block[i] = block[j]
        block[j] = i + 1


ENVIRONMENTS: Final = tuple(
    with_sampler(ThresholdEnvironment, distribution.__name__, distribution.draw)
    for distribution in (SurvivalTable, Replay)
)
"""Environments that `keyhole compile` compiles; in each all arms have one kind of distribution."""
