"""An estimate, such as of the cost of a command, with its 95 % interval."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.durations import duration_unit

_ENDS: Final = (0.025, 0.975)


@dataclass(frozen=True, repr=False)
class Interval:
    """A posterior mean with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def from_draws(
        cls,
        draws: FloatArray,
        least: float = 0.0,
        within: tuple[float, float] = (-math.inf, math.inf),
    ) -> "Interval":
        """Return mean and quantiles of draws: at least `least` apart, and `within` a range."""
        low, high = np.quantile(draws, _ENDS)
        mean = float(draws.mean())
        low, high = min(float(low), mean - least), max(float(high), mean + least)
        return cls(mean, max(low, within[0]), min(high, within[1]))

    def as_duration(self) -> str:
        """Return seconds in the unit of `keyhole.durations.format_duration`.

        Examples
        --------
        >>> Interval(1.5, 1.2, 1.8).as_duration(), Interval(300.0, 240.0, 360.0).as_duration()
        ('1.50 [1.20, 1.80] s', '5.0 [4.0, 6.0] min')
        """
        length, unit = duration_unit(self.value)
        return f"{Interval(self.value / length, self.low / length, self.high / length)} {unit}"

    def __repr__(self) -> str:
        """Return it in as many digits as it is good for."""
        return f"Interval({self})"

    def __str__(self) -> str:
        """Return it in as many digits as it is good for."""
        from keyhole.results.estimate import format_estimate

        reach = (self.high - self.low) / 2
        value, low, high = (format_estimate(x, reach) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"
