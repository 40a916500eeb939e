"""Base classes of distributions: a compiled function that draws, its parameters, its moments."""

import math
from collections.abc import Callable

from keyhole.policy import FloatArray, Kernel
from keyhole.validate import Range


class Distribution:
    """Probability distribution with a compiled sampler.

    Attributes
    ----------
    draw : kernel
        ``draw(rng, numbers)`` returns a number, or a tuple of several.
    numbers : ndarray of float64
        Parameters passed to `draw`.
    error : float
        Bound on the difference of the probability P(X <= x) between the sampler and the
        distribution that it approximates. Moments and regrets are exact for the sampler.
    """

    draw: Kernel
    numbers: FloatArray
    error: float = 0.0


class NumberDistribution(Distribution):
    """Distribution of a single number.

    Attributes
    ----------
    mean, variance : float
        Exact.
    least, bound : float
        The smallest and the largest value, or bounds on them; may be infinite.
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

    def _check(self, name: str, convert: Callable[..., float], allowed: Range) -> None:
        # Most distributions are frozen dataclasses, which refuse an ordinary assignment.
        object.__setattr__(self, name, convert(name, getattr(self, name), allowed))

    def _settle(self, **values: object) -> None:
        """Set attributes, also of a frozen dataclass."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
