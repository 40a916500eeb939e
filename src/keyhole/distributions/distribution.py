"""Base classes of distributions: a compiled sampler, its parameters, and its moments."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.draws.streams import ENVIRONMENT, stream
from keyhole.kernels.fingerprint import python_function
from keyhole.policy import FloatArray, Kernel
from keyhole.validation import ANY, Range, check_number, check_vector


class Distribution:
    """Probability distribution with a compiled sampler.

    Attributes
    ----------
    draw : kernel
        ``draw(rng, numbers)`` returns a number, or a tuple of several.
    numbers : ndarray of float64
        Parameters passed to `draw`.
    error : float
        If the sampler approximates another distribution: the largest difference, at any x, between
        their probabilities P(X <= x). Moments and regrets are exact for the sampler.
    """

    draw: Kernel
    numbers: FloatArray
    error: float = 0.0


class NumberDistribution(Distribution):
    """Distribution of a single number.

    Attributes
    ----------
    mean, variance : float
        Both are exact, with one exception: the variance of a `CustomDistribution` that is given
        none is computed from 1,000 draws.
    least, bound : float
        The smallest and the largest value, or bounds below and above all values. Both may be
        infinite.
    whole : bool
        Whether all values are whole numbers.
    """

    mean: float
    variance: float
    least: float = 0.0
    bound: float = math.inf
    whole: bool = False

    def check(self, name: str, allowed: Range, *, whole: bool = False) -> None:
        """Refuse a distribution with values that are not allowed.

        Parameters
        ----------
        name : str
            Name of the field, for errors.
        allowed : Range
            The allowed values.
        whole : bool, default False
            Whether the values must be whole numbers.

        Raises
        ------
        ValueError
            If a value is not allowed.
        """
        if self.least not in allowed or self.bound not in allowed:
            raise ValueError(
                f"{name} must be a distribution of values that {allowed}, got {self!r} with "
                f"values from {self.least:g} to {self.bound:g}"
            )
        if whole and not self.whole:
            raise ValueError(f"{name} must be a distribution of whole numbers, got {self!r}")

    def _set_checked_value(self, name: str, check: Callable[..., float], allowed: Range) -> None:
        """Check a parameter, and set it to the value that `check` returns."""
        self._set(**{name: check(name, getattr(self, name), allowed)})

    def _set(self, **values: object) -> None:
        """Set attributes, also of a frozen dataclass, which refuses an ordinary assignment."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


TRIAL_DRAWS: Final = 1000
_MOST_STANDARD_ERRORS: Final = 6.0  # by which stated moments may differ from those of the draws


class CustomSampler(Distribution):
    """Base class of user-defined distributions, whose samplers are checked with trial draws.

    Parameters
    ----------
    draw : kernel
        ``draw(rng, numbers)``, which may use plain arithmetic and the samplers of
        `keyhole.draws.samplers`.
    numbers : sequence of float
        Parameters passed to `draw`.
    """

    def __init__(self, draw: Kernel, numbers: ArrayLike) -> None:
        python_function(draw)  # raises an error if `draw` is not a kernel
        self.draw = draw
        self.numbers = check_vector("numbers", numbers)

    def trial_draws(self) -> FloatArray:
        """Return 1,000 draws, one per row."""
        # The stream is always the same, since chance must not decide whether a distribution is
        # accepted.
        rng = stream(0, 0, ENVIRONMENT)
        draws = [self.draw(rng, self.numbers) for _ in range(TRIAL_DRAWS)]
        return np.array(draws, np.float64)

    def __repr__(self) -> str:
        """Return the name of the sampler and its numbers."""
        name = python_function(self.draw).__name__
        return f"{type(self).__name__}({name}, numbers={self.numbers.tolist()})"


def check_moments(name: str, stated_mean: float, values: FloatArray) -> None:
    """Refuse a stated mean that differs from the mean of drawn values by over 6 standard errors.

    The standard error is increased a little, for rare values that no draw has shown. A variance is
    checked as the mean of squared deviations.

    Raises
    ------
    ValueError
        If the stated mean is refused.

    Examples
    --------
    >>> check_moments("mean", 0.3, np.array([0.0, 1.0] * 500))
    Traceback (most recent call last):
    ValueError: mean must agree with the draws, got 0.3; of 1,000 draws it was 0.5
    """
    mean = float(values.mean())
    # A value of probability 1 / n may be missing among n draws, and the standard error does not
    # show this. The second term is what such a value would add to the mean, if its size is about
    # 1 + |stated_mean|.
    error = float(values.std()) / np.sqrt(len(values)) + (1.0 + abs(stated_mean)) / len(values)
    # Not written with `>`, so that a mean that is NaN is refused, too.
    if not abs(mean - stated_mean) <= _MOST_STANDARD_ERRORS * error:
        raise ValueError(
            f"{name} must agree with the draws, got {stated_mean:g}; of {len(values):,} draws it "
            f"was {mean:.4g}"
        )


class CustomDistribution(CustomSampler, NumberDistribution):
    """User-defined distribution: a compiled sampler and its mean.

    Parameters
    ----------
    draw : kernel
        ``draw(rng, numbers)`` returns a float. It may use plain arithmetic and the samplers of
        `keyhole.draws.samplers`.
    mean : float
        The exact mean, from which regrets are computed.
    variance : float, optional
        By default the variance of 1,000 draws.
    numbers : sequence of float, default [0]
        Parameters passed to `draw`. With different numbers, distributions may share one `draw` and
        its compiled code.
    bound : float, default infinity
        The largest value, if it is known.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or if mean or variance of 1,000 trial draws differ from `mean` or
        `variance` by more than 6 standard errors.

    Examples
    --------
    >>> from keyhole.draws.streams import uniform
    >>> def larger(rng, numbers):
    ...     return max(uniform(rng), uniform(rng))
    >>> from keyhole.stochastic import Problem
    >>> Problem([CustomDistribution(larger, mean=2 / 3), 0.5]).gaps.round(3)
    array([0.   , 0.167])
    """

    def __init__(
        self,
        draw: Kernel,
        *,
        mean: float,
        variance: float | None = None,
        numbers: ArrayLike = (0.0,),
        bound: float = np.inf,
    ) -> None:
        super().__init__(draw, numbers)
        self.mean = check_number("mean", mean)
        self._trials = self.trial_draws()
        if self._trials.ndim != 1:
            raise TypeError("draw must return a number, got several")
        check_moments("mean", self.mean, self._trials)
        squares = (self._trials - self.mean) ** 2
        if variance is None:
            self.variance = float(squares.mean())
        else:
            self.variance = check_number("variance", variance, Range(ge=0))
            check_moments("variance", self.variance, squares)
        self.bound = bound if bound == np.inf else check_number("bound", bound)
        self.whole = bool((self._trials == np.floor(self._trials)).all())

    def check(self, name: str, allowed: Range = ANY, *, whole: bool = False) -> None:
        """Refuse a sampler whose trial draws have values that are not allowed."""
        # It suffices to check the smallest and the largest value, since a range is an interval.
        for value in (self._trials.min(), self._trials.max()):
            check_number(f"{name}: what draw draws", float(value), allowed)
        if whole and not self.whole:
            raise ValueError(f"{name} must be a distribution of whole numbers, got {self!r}")
