"""What a distribution is."""

import math
from collections.abc import Callable

from keyhole.policy import FloatArray, Kernel
from keyhole.validate import Range


class Distribution:
    """How something is drawn.

    Attributes
    ----------
    draw : kernel
        ``draw(rng, numbers)`` returns what is drawn: a number, or several as a tuple.
    numbers : ndarray of float64
        What it is given.
    error : float
        By how much a chance P(X <= x) of what is drawn may be off from the distribution that is
        named; what Keyhole computes is exact for what is drawn.
    """

    draw: Kernel
    numbers: FloatArray
    error: float = 0.0


class Number(Distribution):
    """A distribution of single numbers.

    Attributes
    ----------
    mean, variance : float
        Exact.
    least, bound : float
        The least and the largest value, or bounds on them; may be infinite.
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
            What it is to be a distribution of.
        allowed : Range
            The values that are.
        whole : bool, default False
            Whether these must be whole numbers.

        Raises
        ------
        ValueError
            If there are others.
        """
        if self.least not in allowed or self.bound not in allowed:
            raise ValueError(
                f"{name} must be a distribution of values that {allowed}, got {self!r} with "
                f"values from {self.least:g} to {self.bound:g}"
            )
        if whole and not self.whole:
            raise ValueError(f"{name} must be a distribution of whole numbers, got {self!r}")

    def _check(self, name: str, convert: Callable[..., float], allowed: Range) -> None:
        object.__setattr__(self, name, convert(name, getattr(self, name), allowed))

    def _settle(self, **values: object) -> None:
        """Set attributes, also of a frozen dataclass."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
