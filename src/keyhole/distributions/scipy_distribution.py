"""Distributions of SciPy as tables of quantiles, from which compiled code can draw."""

from typing import Any, Final

import numpy as np

from keyhole.distributions.distribution import NumberDistribution
from keyhole.policy import FloatArray, Stream, uniform

CELLS: Final = 4096
"""Number of equally likely cells of a continuous distribution, each with a constant density."""
# Probabilities of the tails that are cut off from unbounded distributions.
_DISCRETE_TAIL: Final = 1e-15
_CONTINUOUS_TAIL: Final = 2.0**-20
_MOST_WHOLE_NUMBERS: Final = 2**20


def draw_tabulated_value(rng: Stream, numbers: FloatArray) -> float:
    """Draw a value by inversion; `numbers` are the values, then their cumulative probabilities."""
    count = len(numbers) // 2
    u = uniform(rng)
    # The value is found by bisection, since a table has up to 2**20 values.
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if u < numbers[count + middle]:
            high = middle
        else:
            low = middle + 1
    return float(numbers[low])


def draw_between_quantiles(rng: Stream, numbers: FloatArray) -> float:
    """Draw by inversion; `numbers` are quantiles at equally spaced probabilities.

    Between two quantiles a draw is interpolated linearly.
    """
    position = uniform(rng) * (len(numbers) - 1)
    i = int(position)
    return float(numbers[i] + (position - i) * (numbers[i + 1] - numbers[i]))


class TabulatedSciPyDistribution(NumberDistribution):
    """Table of a distribution of SciPy.

    Keyhole converts distributions of SciPy to this class. A discrete distribution is exact, except
    that unbounded tails are cut off where they have a probability of 1e-15. A continuous one is
    divided at quantiles into 4,096 cells, each with a constant density. Its probabilities P(X <= x)
    are off by at most 1/4096 (`error`), and the moments are those of the table.

    Parameters
    ----------
    distribution : frozen distribution of scipy.stats
        A distribution with its parameters, such as ``scipy.stats.beta(2, 5)``.

    Raises
    ------
    TypeError, ValueError
        If it is not a frozen distribution of SciPy, has infinite quantiles, or is spread over more
        than 2**20 whole numbers.

    Examples
    --------
    >>> from scipy import stats
    >>> table = TabulatedSciPyDistribution(stats.nbinom(3, 0.25))
    >>> round(table.mean, 9), round(table.variance, 9), table.whole
    (9.0, 36.0, True)
    """

    def __init__(self, distribution: Any) -> None:
        if not is_scipy_distribution(distribution):
            raise TypeError(
                f"distribution must be a frozen distribution of scipy.stats, got {distribution!r}"
            )
        self.distribution = distribution
        generic = getattr(distribution, "dist", distribution)  # without the frozen parameters
        if hasattr(distribution, "pmf") and hasattr(generic, "pmf"):
            self._tabulate_discrete(generic)
        else:
            self._tabulate_continuous()

    def _tabulate_discrete(self, generic: Any) -> None:
        if hasattr(generic, "xk"):  # an `rv_discrete` made of values and their probabilities
            values = np.asarray(generic.xk, np.float64)
            order = np.argsort(values)
            values = values[order]
            cumulative = np.cumsum(np.asarray(generic.pk)[order])
        else:
            # SciPy searches for a quantile in a heavy tail step by step, which takes too long. So a
            # distribution with such a tail is refused before a quantile is computed.
            middle = self.distribution.median()
            reach = _MOST_WHOLE_NUMBERS / 2
            tails = self.distribution.cdf(middle - reach) + self.distribution.sf(middle + reach)
            if tails > _DISCRETE_TAIL:
                raise ValueError(
                    f"distribution must have all but {_DISCRETE_TAIL:g} of its mass on at most "
                    f"2**20 whole numbers, got {self!r}"
                )
            low, high = self.distribution.support()
            low = low if np.isfinite(low) else self.distribution.ppf(_DISCRETE_TAIL)
            high = high if np.isfinite(high) else self.distribution.isf(_DISCRETE_TAIL)
            values = np.arange(low, high + 1.0)
            cumulative = np.asarray(self.distribution.cdf(values))
        self.error = float(max(1.0 - cumulative[-1], 0.0))
        # The last value gets the tail that is cut off, so that every uniform number has a value.
        cumulative[-1] = 1.0
        probabilities = np.diff(cumulative, prepend=0.0)
        self.draw = draw_tabulated_value
        self.numbers = np.concatenate([values, cumulative])
        self.mean = float((values * probabilities).sum())
        self.variance = float(((values - self.mean) ** 2 * probabilities).sum())
        self.least = float(values[0])
        self.bound = float(values[-1])
        self.whole = bool((values == np.floor(values)).all())

    def _tabulate_continuous(self) -> None:
        probabilities = np.arange(CELLS + 1) / CELLS
        low, high = self.distribution.support()
        probabilities[0] = 0.0 if np.isfinite(low) else _CONTINUOUS_TAIL
        probabilities[-1] = 1.0 if np.isfinite(high) else 1.0 - _CONTINUOUS_TAIL
        ends = np.asarray(self.distribution.ppf(probabilities), np.float64)
        if not np.isfinite(ends).all():
            raise ValueError(f"distribution must have finite quantiles, got {self!r}")
        self.error = 1.0 / CELLS
        self.draw = draw_between_quantiles
        self.numbers = ends
        lower_ends, upper_ends = ends[:-1], ends[1:]
        self.mean = float(((lower_ends + upper_ends) / 2.0).mean())
        # The mean square of a variate that is uniform between a and b is (a^2 + a b + b^2) / 3.
        a, b = lower_ends - self.mean, upper_ends - self.mean
        self.variance = float((a**2 + a * b + b**2).mean() / 3.0)
        self.least = float(ends[0])
        self.bound = float(ends[-1])
        self.whole = False

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the table of a continuous distribution."""
        cell = np.searchsorted(self.numbers, x, side="right") - 1
        is_inside = (cell >= 0) & (cell < CELLS)
        with np.errstate(divide="ignore"):  # a cell may have no width, but then no `x` is in it
            densities = 1.0 / (CELLS * np.diff(self.numbers))
        return np.where(is_inside, densities[np.clip(cell, 0, CELLS - 1)], 0.0)

    def __repr__(self) -> str:
        """Return the distribution's name with its parameters."""
        name = getattr(getattr(self.distribution, "dist", None), "name", None) or "discrete"
        arguments = [f"{value!r}" for value in getattr(self.distribution, "args", ())]
        arguments += [
            f"{key}={value!r}" for key, value in getattr(self.distribution, "kwds", {}).items()
        ]
        return f"{type(self).__name__}({name}({', '.join(arguments)}))"


def is_scipy_distribution(value: object) -> bool:
    """Return whether a value is a frozen distribution of SciPy."""
    # The class is recognised by its module's name: importing SciPy would slow down every start.
    is_in_scipy = type(value).__module__.startswith("scipy.stats")
    return is_in_scipy and (hasattr(value, "dist") or hasattr(value, "xk"))


TabulatedDistribution = TabulatedSciPyDistribution  # the name in what was pickled before
