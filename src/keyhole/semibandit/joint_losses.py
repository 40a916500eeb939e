"""Joint distributions of all arms' losses in a round, for losses that depend on each other.

An arm is a place that gets a part of a shared resource; with too little, a loss may occur there.
Losses at different arms are independent unless one of these distributions is given.
"""

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.distributions import Distribution
from keyhole.distributions.distribution import TRIAL_DRAWS, CustomSampler, check_moments
from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.kernels.fingerprint import Kernel
from keyhole.policy import Stream, uniform
from keyhole.semibandit.study_adapter import zeros_and_ones
from keyhole.validate import Range, check_vector

_UNIT = Range(ge=0, le=1)


def draw_recorded_day(rng: Stream, numbers: FloatArray, losses: FloatArray) -> None:
    """Write the losses of a recorded day, drawn uniformly."""
    day = int(uniform(rng) * (len(numbers) // len(losses)))
    for arm in range(len(losses)):
        losses[arm] = numbers[day * len(losses) + arm]


class DayDistribution(Distribution):
    """Joint distribution of all arms' losses: ``draw(rng, numbers, losses)`` writes them."""

    mean_losses: FloatArray
    rounds: int | None = None
    """Number of days, if they are replayed in order."""


class Days(DayDistribution):
    """Empirical distribution of recorded days."""

    draw = staticmethod(draw_recorded_day)

    def __init__(self, days: FloatArray, *, in_order: bool) -> None:
        self.mean_losses = days.mean(axis=0)
        self.numbers = days.ravel()
        self.days = len(days)
        self.rounds = len(days) if in_order else None


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
        If a value is not allowed, or 1,000 trial days do not fit `mean_losses` by 6 standard
        errors.

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
        self.mean_losses = check_vector("mean_losses", mean_losses, _UNIT)
        # After the means, whose number is that of the arms and so of the losses of a day.
        days = self.trial_draws()
        for day in days:
            zeros_and_ones("what draw draws", day, len(self.mean_losses))
        for arm, mean in enumerate(self.mean_losses):
            check_moments(f"mean_losses[{arm}]", float(mean), days[:, arm])

    def trial_draws(self) -> FloatArray:
        """Return the losses of 1,000 trial days, shape (days, arms)."""
        rng, days = stream(0, 0, ENVIRONMENT), np.zeros((TRIAL_DRAWS, len(self.mean_losses)))
        for day in days:
            self.draw(rng, self.numbers, day)
        return days
