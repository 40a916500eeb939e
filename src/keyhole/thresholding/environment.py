"""Environments (simulators) of thresholding: they draw rewards, and count wrong labels."""

import math
from typing import Any, ClassVar, Final

from keyhole.distributions import Bernoulli, Beta, Replay, TruncatedNormal
from keyhole.distributions.sampler_dispatch import SampledEnvironment, with_sampler
from keyhole.metric import PULLS, REWARD, Metric
from keyhole.policy import (
    Environment,
    FloatArray,
    Kernel,
    Stream,
    float_array,
    float_input,
    int_array,
    int_input,
    seek_pull,
    uniform,
)
from keyhole.thresholding.setting import SETTING


def write_label_errors(
    right_labels: FloatArray, s: "RewardEnvironment.State", labels: FloatArray, metrics: Any
) -> None:
    """Write the metrics of wrong labels, the pulls, and the sum of all rewards."""
    error_count = 0.0
    for arm in range(len(right_labels)):
        # A right label of -1 says that both labels are right.
        metrics.errors[arm] = right_labels[arm] >= 0.0 and labels[arm] != right_labels[arm]
        error_count += metrics.errors[arm]
        metrics.pulls[arm] = s.pulls[arm]
    metrics.aggregate_regret[0] = error_count
    metrics.simple_regret[0] = error_count > 0.0
    metrics.cumulative_reward[0] = s.reward[0]


class RewardEnvironment(SampledEnvironment, Environment, abstract=True):
    """Environment in which a pull draws a reward from the distribution of its arm.

    The random numbers are common to all policies: the n-th pull of an arm reads the stream from a
    position that only the arm and n determine, so its reward is the same for every policy.
    """

    setting = SETTING
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("aggregate_regret", "mean number of wrong labels", drawn="ln(mean / arms)"),
        Metric("simple_regret", "chance of any wrong label", drawn="share"),
        REWARD,
        PULLS,
        Metric("errors", "chance of a wrong label", drawn="share", per_arm=True, detail=True),
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw",)

    arms = int_input()
    right_labels = float_array("arms")
    """The right label of each arm: 1 for above, 0 for below, -1 if both are right."""

    class State:
        """Pulls of each arm, and the sum of all rewards."""

        pulls = int_array("arms")
        reward = float_array()

    def respond(e, s: State, rng: Stream, arm: int, draw: Kernel) -> float:
        """Return the reward of the arm's next pull."""
        pull = s.pulls[arm]
        s.pulls[arm] = pull + 1
        seek_pull(rng, arm, pull)
        reward = float(draw(e, rng, arm))
        s.reward[0] += reward
        return reward

    def score(e, s: State, labels: FloatArray, metrics: Any) -> None:
        """Write the number of wrong labels, whether there is any, and the details."""
        write_label_errors(e.right_labels, s, labels, metrics)


class FiniteSampleEnvironment(RewardEnvironment):
    """Environment that draws recorded rewards without replacement.

    `numbers` has all recorded rewards, arm by arm: see `SampledEnvironment`. An arm whose rewards
    are used up returns their mean. The empirical mean of the arm already equals it, and so does not
    change any more.
    """

    helpers = ()

    means = float_array("arms")

    class State(RewardEnvironment.State):
        """Pulls of each arm, the sum of all rewards, and the order of the samples."""

        stack = int_array("length")
        """The positions of all samples in `numbers`, arm by arm. Within an arm, the samples that
        were drawn come first, in the order of their draws."""

    def init(e, s: State) -> None:
        """Leave all samples in the order in which they were recorded."""
        for i in range(e.length):
            s.stack[i] = i

    def respond(e, s: State, rng: Stream, arm: int) -> float:  # type: ignore[override]
        """Return one of the arm's remaining rewards, each equally likely."""
        pull = s.pulls[arm]
        s.pulls[arm] = pull + 1
        remaining = e.ends[arm] - e.starts[arm] - pull
        if remaining > 0:
            # One step of a Fisher-Yates shuffle swaps a random remaining sample with the first one.
            seek_pull(rng, arm, pull)
            first = e.starts[arm] + pull
            chosen_index = first + int(uniform(rng) * remaining)
            s.stack[first], s.stack[chosen_index] = s.stack[chosen_index], s.stack[first]
            reward = e.numbers[s.stack[first]]
        else:
            reward = e.means[arm]
        s.reward[0] += reward
        return float(reward)


class GoldLabelEnvironment(RewardEnvironment, abstract=True):
    """Environment that also compares labels with gold labels, such as those of experts."""

    metrics = (
        *RewardEnvironment.metrics,
        Metric("gold_agreement", "share of gold labels met", better="higher"),
    )

    gold = float_array("arms")
    """The gold label of each arm: 1 for above, 0 for below, -1 for no label."""

    def score(e, s: RewardEnvironment.State, labels: FloatArray, metrics: Any) -> None:
        """Write the metrics of wrong labels, and the share of gold labels that were met."""
        write_label_errors(e.right_labels, s, labels, metrics)
        label_count = agreements = 0.0
        for arm in range(e.arms):
            if e.gold[arm] >= 0.0:
                label_count += 1.0
                agreements += labels[arm] == e.gold[arm]
        metrics.gold_agreement[0] = agreements / label_count


class FiniteSampleGoldEnvironment(GoldLabelEnvironment, FiniteSampleEnvironment):
    """Environment with gold labels that draws recorded rewards without replacement."""


class ConfidenceSequenceEnvironment(RewardEnvironment):
    """Environment that records whether the running means of Bernoulli arms leave their bounds."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("lemma_19_misses", "chance of ever leaving Lemma 19's bound", drawn="share"),
        Metric("third_width_misses", "chance of ever leaving a bound 1/3 as wide", drawn="share"),
        Metric(
            "maximal_misses", "chance of ever leaving Hoeffding's maximal inequality", drawn="share"
        ),
        Metric("narrower_share", "share of rounds in which Lemma 19 is the narrower"),
        Metric("radius_ratio", "Lemma 19's radius over the maximal inequality's"),
    )
    helpers = ()

    horizon = int_input()
    means = float_array("arms")
    a = float_input()
    b = float_input()
    failure = float_input()

    class State:
        """Pulls and summed rewards of each arm, and how the bounds have held so far."""

        pulls = int_array("arms")
        totals = float_array("arms")
        missed = float_array(3)
        """For each bound 1 if a running mean has ever left it, else 0. The bounds are those of
        Lemma 19, of a third of its radius, and of the maximal inequality."""
        narrower = float_array()
        """The number of rounds in which the bound of Lemma 19 was the narrower one."""
        ratio = float_array()
        """The radius of Lemma 19 over the maximal inequality's radius, at the last pull."""

    def respond(e, s: State, rng: Stream, arm: int) -> float:  # type: ignore[override]
        """Return the reward of the arm's next pull, and compare the mean so far with the bounds."""
        seek_pull(rng, arm, s.pulls[arm])
        reward = 1.0 if uniform(rng) < e.means[arm] else 0.0
        s.pulls[arm] += 1
        s.totals[arm] += reward
        # The bounds are on the mean of one arm, so the t of their formulas is the arm's pulls.
        pulls = float(s.pulls[arm])
        error = abs(s.totals[arm] / pulls - e.means[arm])
        radius = math.sqrt((e.a + e.b * math.log(e.horizon / pulls)) / pulls)
        maximal_radius = math.sqrt(e.horizon / 2.0 * math.log(2.0 / e.failure)) / pulls
        if error > radius:
            s.missed[0] = 1.0
        if error > radius / 3.0:
            s.missed[1] = 1.0
        if error > maximal_radius:
            s.missed[2] = 1.0
        if radius < maximal_radius:
            s.narrower[0] += 1.0
        s.ratio[0] = radius / maximal_radius
        return reward

    def score(e, s: State, t: int, metrics: Any) -> None:  # type: ignore[override]
        """Write which bounds were ever left, and how their radii compare."""
        metrics.lemma_19_misses[0] = s.missed[0]
        metrics.third_width_misses[0] = s.missed[1]
        metrics.maximal_misses[0] = s.missed[2]
        metrics.narrower_share[0] = s.narrower[0] / t
        metrics.radius_ratio[0] = s.ratio[0]


ENVIRONMENTS: Final = (
    *(
        with_sampler(RewardEnvironment, distribution.__name__, distribution.draw)
        for distribution in (Bernoulli, Beta, TruncatedNormal, Replay)
    ),
    with_sampler(GoldLabelEnvironment, Replay.__name__, Replay.draw),
)
"""Environments that `keyhole compile` compiles; in each all arms have one kind of distribution."""
