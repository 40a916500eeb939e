"""Environments in which a resource is divided among arms; joint distributions of their losses."""

from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.distributions import Distribution
from keyhole.distributions.distribution import TRIAL_DRAWS, CustomSampler, check_moments
from keyhole.distributions.sampler_dispatch import environment_with_draw
from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.metric import PULLS, REGRET, Metric
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
from keyhole.semibandit.learner import check_binary_vector
from keyhole.semibandit.setting import SETTING, allocation_reaches_threshold
from keyhole.validation import Range, check_vector


def draw_recorded_day(rng: Stream, numbers: FloatArray, losses: FloatArray) -> None:
    """Write the losses of a recorded day, drawn uniformly."""
    day = int(uniform(rng) * (len(numbers) // len(losses)))
    for arm in range(len(losses)):
        losses[arm] = numbers[day * len(losses) + arm]


class DayDistribution(Distribution):
    """Joint distribution of all arms' losses in a round (a day).

    Its kernel ``draw(rng, numbers, losses)`` writes the losses.
    """

    mean_losses: FloatArray
    rounds: int | None = None
    """Number of days if they are replayed in order, else None."""


class Days(DayDistribution):
    """Empirical distribution of recorded days."""

    draw = staticmethod(draw_recorded_day)

    def __init__(self, losses: FloatArray, *, in_order: bool) -> None:
        self.mean_losses = losses.mean(axis=0)
        self.numbers = losses.ravel()
        self.days = len(losses)
        self.rounds = self.days if in_order else None


class CustomDistribution(CustomSampler, DayDistribution):
    """User-defined distribution: a compiled sampler of a round's losses, and their means.

    Parameters
    ----------
    draw : kernel
        ``draw(rng, numbers, losses)`` writes a loss of 0 or 1 for each arm, with plain arithmetic
        and the samplers of `keyhole.draws.samplers`.
    mean_losses : sequence of float, shape (arms,)
        Exact mean losses, from which regrets are computed.
    numbers : sequence of float, default [0]
        Parameters passed to `draw`.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or the means of 1,000 trial days are more than about 6 standard
        errors from `mean_losses`.

    Examples
    --------
    >>> def weather(rng, numbers, losses):
    ...     rain = uniform(rng) < numbers[0]
    ...     for arm in range(len(losses)):
    ...         losses[arm] = 1.0 if rain and uniform(rng) < 0.5 else 0.0
    >>> from keyhole.semibandit import Problem
    >>> distribution = CustomDistribution(weather, [0.2, 0.2, 0.2], numbers=[0.4])
    >>> Problem(distribution, thresholds=0.5, resource=1).mean_losses
    array([0.2, 0.2, 0.2])
    """

    def __init__(
        self, draw: Kernel, mean_losses: ArrayLike, *, numbers: ArrayLike = (0.0,)
    ) -> None:
        super().__init__(draw, numbers)
        self.mean_losses = check_vector("mean_losses", mean_losses, Range(ge=0, le=1))
        # The trial draws need the number of arms, which is the number of means.
        days = self.trial_draws()
        for day in days:
            check_binary_vector("draw's losses", day, len(self.mean_losses))
        for arm, mean in enumerate(self.mean_losses):
            check_moments(f"mean_losses[{arm}]", float(mean), days[:, arm])

    def trial_draws(self) -> FloatArray:
        """Return the losses of 1,000 trial days, shape (days, arms)."""
        rng = stream(0, 0, ENVIRONMENT)
        days = np.zeros((TRIAL_DRAWS, len(self.mean_losses)))
        for day in days:
            self.draw(rng, self.numbers, day)
        return days


class LossEnvironment(Environment):
    """Environment of arms with independent Bernoulli losses.

    The loss of an arm in round t is drawn at the position of this arm and round in the
    environment's stream (common random numbers), so it does not depend on earlier allocations.
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

    arms = int_input()
    means = float_array("arms")
    """Mean losses."""
    thresholds = float_array("arms")  # the least allocations with which losses are prevented
    least_loss = float_input()
    """The expected loss of a round under the best allocation."""

    class State:
        """Sums over the rounds."""

        regret = float_array()
        loss = float_array()
        """Sum of the observed losses."""
        seen = int_array()
        """Number of observations: pairs of round and arm with an insufficient allocation."""
        spent = float_array()
        pulls = int_array("arms")
        """Number of rounds with a positive allocation, for each arm."""

    def respond(
        e, s: State, t: int, rng: Stream, allocation: FloatArray, losses: FloatArray
    ) -> None:
        """Draw the observed losses, and add the expected regret."""
        expected = 0.0
        for arm in range(e.arms):
            losses[arm] = 0.0
            if count_allocation(s, arm, allocation[arm], e.thresholds[arm]):
                seek_pull(rng, arm, t - 1)
                losses[arm] = 1.0 if uniform(rng) < e.means[arm] else 0.0
                s.loss[0] += losses[arm]
                expected += e.means[arm]
        s.regret[0] += expected - e.least_loss

    def score(
        e, s: State, estimates: FloatArray, searched: int, refuted: int, metrics: Any
    ) -> None:
        """Write the regret, the length of the search, the errors of the estimates, and details."""
        error = too_low = 0.0
        for arm in range(e.arms):
            error = max(error, abs(estimates[arm] - e.thresholds[arm]))
            if not allocation_reaches_threshold(estimates[arm], e.thresholds[arm]):
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


class JointLossEnvironment(LossEnvironment, abstract=True):
    """Environment of arms with dependent losses: one distribution draws all losses of a round."""

    helpers = ("draw",)

    length = int_input()
    numbers = float_array("length")
    """Parameters of the distribution."""

    class State(LossEnvironment.State):
        """Sums over the rounds, and all losses of the round."""

        day = float_array("arms")  # each arm's loss in the round, observed or not

    def respond(  # type: ignore[override]
        e, s: State, t: int, rng: Stream, allocation: FloatArray, losses: FloatArray, draw: Kernel
    ) -> None:
        """Draw all losses of the round, return the observed losses, and add the expected regret."""
        # A round has one position in the stream, because the losses of all arms are drawn together.
        # Losses that the allocation hides are drawn too, because others may depend on them.
        seek_pull(rng, 0, t - 1)
        draw(e, rng, s.day)
        expected = 0.0
        for arm in range(e.arms):
            losses[arm] = 0.0
            if count_allocation(s, arm, allocation[arm], e.thresholds[arm]):
                losses[arm] = s.day[arm]
                s.loss[0] += losses[arm]
                expected += e.means[arm]
        s.regret[0] += expected - e.least_loss


@lru_cache(maxsize=256)
def make_joint_environment(name: str, draw: Kernel) -> type[JointLossEnvironment]:
    """Return the environment of a joint distribution with ``draw(rng, numbers, losses)``."""

    def draw_day(e: JointLossEnvironment, rng: Stream, losses: FloatArray) -> None:
        draw(rng, e.numbers, losses)

    return environment_with_draw(JointLossEnvironment, name, draw_day)


ENVIRONMENTS: Final = (make_joint_environment(Days.__name__, Days.draw),)
"""Environments that are compiled ahead of time."""


class ReplayEnvironment(LossEnvironment):
    """Environment that replays recorded days in order; regret is computed from recorded losses."""

    length = int_input()
    numbers = float_array("length")
    """Losses, day after day."""

    best = int_array("arms")
    """1 for the arms that the best fixed allocation for all days funds."""

    def respond(  # type: ignore[override]
        e, s: LossEnvironment.State, t: int, allocation: FloatArray, losses: FloatArray
    ) -> None:
        """Return the day's observed losses; add their excess over the best set's to the regret."""
        for arm in range(e.arms):
            loss = e.numbers[(t - 1) * e.arms + arm]
            losses[arm] = 0.0
            if count_allocation(s, arm, allocation[arm], e.thresholds[arm]):
                losses[arm] = loss
                s.loss[0] += loss
                s.regret[0] += loss
            # The losses are compared with the losses of one allocation for all days. So the regret
            # of a day may be negative.
            if e.best[arm] == 0:
                s.regret[0] -= loss


def count_allocation(s: LossEnvironment.State, arm: int, amount: float, threshold: float) -> bool:
    """Add an arm's allocation to the sums; return whether a loss of the arm would be observed."""
    if amount > 0.0:
        s.pulls[arm] += 1
        s.spent[0] += amount
    if allocation_reaches_threshold(amount, threshold):
        return False
    s.seen[0] += 1
    return True
