"""An estimate, such as of the cost of a command, with its 95 % interval."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray

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

    def __neg__(self) -> "Interval":
        """Return the interval of the negative number."""
        return Interval(-self.value, -self.high, -self.low)

    def __repr__(self) -> str:
        """Return it in as many digits as it is good for."""
        return f"Interval({self})"

    def __str__(self) -> str:
        """Return it in as many digits as it is good for."""
        from keyhole.results.estimate import format_estimate

        reach = (self.high - self.low) / 2
        value, low, high = (format_estimate(x, reach) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"
