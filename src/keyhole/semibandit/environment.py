"""What the environment answers: losses, except where enough was given."""

from functools import lru_cache
from typing import Any, ClassVar, Final, Protocol

from keyhole.distributions.combined_sampler import complete_environment
from keyhole.metric import PULLS, REGRET, Metric
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
    uniform,
)
from keyhole.semibandit.joint_losses import Days
from keyhole.semibandit.setting import SETTING, is_sufficient


class _Played(Protocol):
    regret: FloatArray
    loss: FloatArray
    seen: IntArray
    spent: FloatArray
    pulls: IntArray


class _Lived(_Played, Protocol):
    day: FloatArray


class Losses(Environment):
    """Arms with Bernoulli losses, independent of each other.

    The loss of an arm in round t is drawn from the stretch of the environment's stream that belongs
    to this arm and round: the same whatever was allocated before.
    """

    setting = SETTING
    metrics: ClassVar[tuple[Metric, ...]] = (
        REGRET,
        Metric("threshold_rounds", "length of the search for thresholds", unit="rounds"),
        Metric("threshold_error", "largest error of a threshold"),
        Metric("too_low", "thresholds estimated too low"),
        Metric("refuted", "losses that refuted a threshold", drawn="from 0", detail=True),
        Metric("cumulative_loss", "cumulative loss", drawn="from 0", detail=True),
        Metric("observations", "losses seen", drawn="from 0", detail=True),
        Metric("resource_spent", "resource spent", drawn="from 0", detail=True),
        PULLS,
        Metric("estimates", "estimated threshold", per_arm=True, detail=True),
    )

    arms = integer()
    means = float_array("arms")
    """Mean losses."""
    thresholds = float_array("arms")
    least = number()
    """The expected loss of a round under the best allocation."""

    class State:
        """What has happened so far."""

        regret = float_array()
        loss = float_array()
        """Losses that were incurred, and seen."""
        seen = int_array()
        """How often an arm was given too little: its loss, 0 or 1, was seen."""
        spent = float_array()
        pulls = int_array("arms")
        """In how many rounds each arm was given anything."""

    def respond(
        e, s: _Played, t: int, rng: Stream, allocation: FloatArray, losses: FloatArray
    ) -> None:
        """Draw the losses that show, and add up what they cost."""
        expected = 0.0
        for arm in range(e.arms):
            losses[arm] = 0.0
            if is_observed(s, arm, allocation[arm], e.thresholds[arm]):
                seek(rng, arm, t - 1)
                losses[arm] = 1.0 if uniform(rng) < e.means[arm] else 0.0
                s.loss[0] += losses[arm]
                expected += e.means[arm]
        s.regret[0] += expected - e.least

    def score(
        e, s: _Played, estimates: FloatArray, searched: int, refuted: int, metrics: Any
    ) -> None:
        """Write the regret, the length of the search, how wrong the estimates are, and details."""
        error, too_low = 0.0, 0.0
        for arm in range(e.arms):
            error = max(error, abs(estimates[arm] - e.thresholds[arm]))
            if not is_sufficient(estimates[arm], e.thresholds[arm]):
                too_low += 1.0
            metrics.pulls[arm] = s.pulls[arm]
            metrics.estimates[arm] = estimates[arm]
        metrics.regret[0] = s.regret[0]
        metrics.threshold_rounds[0] = searched
        metrics.threshold_error[0] = error
        metrics.too_low[0] = too_low
        metrics.refuted[0] = refuted
        metrics.cumulative_loss[0] = s.loss[0]
        metrics.observations[0] = s.seen[0]
        metrics.resource_spent[0] = s.spent[0]


class JointLosses(Losses, abstract=True):
    """Arms whose losses depend on each other: one distribution draws all losses of a day."""

    helpers = ("draw",)

    length = integer()
    numbers = float_array("length")
    """Of the distribution."""

    class State(Losses.State):
        """Beside it the losses of the day, shown or not."""

        day = float_array("arms")

    def respond(  # type: ignore[override]
        e, s: _Lived, t: int, rng: Stream, allocation: FloatArray, losses: FloatArray, draw: Kernel
    ) -> None:
        """Draw a day, show its losses, and add up the regret in expectation."""
        seek(rng, 0, t - 1)
        draw(e, rng, s.day)
        expected = 0.0
        for arm in range(e.arms):
            losses[arm] = 0.0
            if is_observed(s, arm, allocation[arm], e.thresholds[arm]):
                losses[arm] = s.day[arm]
                s.loss[0] += losses[arm]
                expected += e.means[arm]
        s.regret[0] += expected - e.least


@lru_cache(maxsize=256)
def make_replay_environment(name: str, draw: Kernel) -> type[JointLosses]:
    """Return the environment of a distribution of days, with ``draw(rng, numbers, losses)``."""

    def draw_day(e: JointLosses, rng: Stream, losses: FloatArray) -> None:
        draw(rng, e.numbers, losses)

    return complete_environment(JointLosses, name, draw_day)


ENVIRONMENTS: Final = (make_replay_environment(Days.__name__, Days.draw),)
"""Those that are compiled ahead."""


class ReplayEnvironment(Losses):
    """Recorded days, one after the other; regret is that of what happened on them."""

    length = integer()
    numbers = float_array("length")
    """The losses, day after day."""

    best = int_array("arms")
    """Which arms the best allocation for all the days together gives enough."""

    def respond(e, s: _Played, t: int, allocation: FloatArray, losses: FloatArray) -> None:  # type: ignore[override]
        """Show the losses of the day, and add up what the best allocation would have saved."""
        for arm in range(e.arms):
            loss, losses[arm] = e.numbers[(t - 1) * e.arms + arm], 0.0
            if is_observed(s, arm, allocation[arm], e.thresholds[arm]):
                losses[arm] = loss
                s.loss[0] += loss
                s.regret[0] += loss
            if e.best[arm] == 0:
                s.regret[0] -= loss


def is_observed(s: _Played, arm: int, allocation: float, threshold: float) -> bool:
    """Return whether an arm's loss is seen; take note of what it was given."""
    if allocation > 0.0:
        s.pulls[arm] += 1
        s.spent[0] += allocation
    if is_sufficient(allocation, threshold):
        return False
    s.seen[0] += 1
    return True
