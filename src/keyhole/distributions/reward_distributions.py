"""Distributions of rewards, numbers in [0, 1]."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from keyhole.distributions.distribution import NumberDistribution
from keyhole.extras import require_extra
from keyhole.policy import FloatArray, Stream, beta, normal, uniform
from keyhole.validation import Range, check_number

UNIT: Final = Range(ge=0, le=1)
OPEN_UNIT: Final = Range(gt=0, lt=1)
SCALE: Final = Range(ge=1e-3, le=10)
# The centre of a truncated normal distribution may lie outside [0, 1] by at most this many scales.
# If it were farther away, rejection sampling would accept hardly any draw.
_MOST_SCALES_OUTSIDE: Final = 3.0
# Beyond this many standard deviations a normal density is below 1e-17 of its peak.
_REACH: Final = 9.0


def draw_bernoulli(rng: Stream, numbers: FloatArray) -> float:
    """Return 1 with the probability `numbers[0]`, else 0."""
    return 1.0 if uniform(rng) < numbers[0] else 0.0


def draw_beta(rng: Stream, numbers: FloatArray) -> float:
    """Draw a beta variate; `numbers` are its shapes."""
    return beta(rng, numbers[0], numbers[1])


def draw_truncated_normal(rng: Stream, numbers: FloatArray) -> float:
    """Draw a truncated normal variate by rejection.

    `numbers` are the centre and the scale before truncation, and 0 for normal proposals or 1 for
    uniform ones: see `_is_uniform_best`.
    """
    centre, scale = numbers[0], numbers[1]
    nearest = min(max(centre, 0.0), 1.0)  # the number in [0, 1] with the largest density
    while True:
        if numbers[2] == 0.0:
            x = centre + scale * normal(rng)
            if 0.0 <= x <= 1.0:
                return float(x)
        else:
            x = uniform(rng)
            # The probability to accept a proposal is its density divided by that at `nearest`.
            excess = (x - centre) * (x - centre) - (nearest - centre) * (nearest - centre)
            if uniform(rng) < math.exp(-0.5 * excess / (scale * scale)):
                return x


@dataclass(frozen=True)
class Bernoulli(NumberDistribution):
    """The Bernoulli distribution, of rewards 0 or 1.

    Parameters
    ----------
    mean : float
        The mean, in [0, 1].

    Examples
    --------
    >>> Bernoulli(0.25).variance
    0.1875
    """

    draw = staticmethod(draw_bernoulli)
    mean: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("mean", check_number, UNIT)
        variance = self.mean * (1.0 - self.mean)
        self._set(numbers=np.array([self.mean]), variance=variance, bound=1.0, whole=True)


@dataclass(frozen=True)
class Beta(NumberDistribution):
    """The beta distribution.

    Parameters
    ----------
    a, b : float
        The shapes, above 0.

    Examples
    --------
    >>> Beta(2, 6).mean
    0.25
    """

    draw = staticmethod(draw_beta)
    a: float
    b: float

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._set_checked_value("a", check_number, Range(gt=0))
        self._set_checked_value("b", check_number, Range(gt=0))
        concentration = self.a + self.b
        mean = self.a / concentration
        # The factors are in this order, since a product of two large shapes would overflow.
        variance = mean * (self.b / concentration) / (concentration + 1.0)
        self._set(numbers=np.array([self.a, self.b]), mean=mean, variance=variance, bound=1.0)


@dataclass(frozen=True)
class TruncatedNormal(NumberDistribution):
    """The normal distribution truncated to [0, 1].

    Parameters
    ----------
    mean : float
        Mean after truncation, in (0, 1).
    scale : float
        Standard deviation before truncation, in [0.001, 10].

    Examples
    --------
    >>> distribution = TruncatedNormal(0.9, scale=0.2)
    >>> round(distribution.centre, 3)  # the mean before truncation
    1.226
    """

    draw = staticmethod(draw_truncated_normal)
    mean: float
    scale: float

    def __post_init__(self) -> None:
        """Check the parameters, and find the centre."""
        require_extra("scipy", "TruncatedNormal")
        from scipy.optimize import brentq  # imported only here, as this takes a third of a second

        self._set_checked_value("mean", check_number, OPEN_UNIT)
        self._set_checked_value("scale", check_number, SCALE)
        # The mean rises with the centre, so the centre is a root between `low` and `high`. The mean
        # for the centre `low` is `smallest_mean`; for `high`, by symmetry, 1 - `smallest_mean`.
        low, high = -_MOST_SCALES_OUTSIDE * self.scale, 1.0 + _MOST_SCALES_OUTSIDE * self.scale
        smallest_mean = truncated_mean(low, self.scale)
        check_number("mean", self.mean, Range(ge=smallest_mean, le=1.0 - smallest_mean))
        centre = float(
            brentq(lambda c: truncated_mean(c, self.scale) - self.mean, low, high, xtol=1e-14)
        )
        numbers = np.array([centre, self.scale, _is_uniform_best(centre, self.scale)], np.float64)
        variance = _truncated_variance(centre, self.scale, self.mean)
        self._set(numbers=numbers, variance=variance, bound=1.0)

    @property
    def centre(self) -> float:
        """Mean before truncation."""
        return float(self.numbers[0])


def truncated_mean(centre: float, scale: float) -> float:
    """Return the mean of a normal distribution truncated to [0, 1], in (0, 1).

    Parameters
    ----------
    centre, scale : float
        Mean and standard deviation before truncation.

    Examples
    --------
    >>> truncated_mean(0.5, 2.0)
    0.5
    """
    require_extra("scipy", "truncated_mean()")
    from scipy.special import ndtr  # imported only here, since this takes a fifth of a second

    # The difference of two values of `ndtr` loses digits near 1, but not near 0. So a distribution
    # with a high centre is mirrored.
    if centre > 0.5:
        return 1.0 - truncated_mean(1.0 - centre, scale)
    low, high = -centre / scale, (1.0 - centre) / scale
    peak = math.exp(-0.5 * low * low) / math.sqrt(2.0 * math.pi)
    # The drop is the density at `low` less that at `high`. For a large scale they are nearly equal,
    # and their difference would lose digits, so the drop is computed by `expm1`.
    drop = -peak * math.expm1(-0.5 * (high - low) * (high + low))
    return centre + scale * drop / float(ndtr(-low) - ndtr(-high))


@cache
def _quadrature_nodes() -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(100)


def _truncated_variance(centre: float, scale: float, mean: float) -> float:
    """Return the variance after truncation, by quadrature, to a relative error of about 1e-12."""
    # The nodes lie where the mass is: spread over all of [0, 1], they could miss a narrow peak.
    low, high = max(0.0, centre - _REACH * scale), min(1.0, centre + _REACH * scale)
    nodes, weights = _quadrature_nodes()
    x = low + (high - low) * (nodes + 1.0) / 2.0
    nearest = min(max(centre, 0.0), 1.0)
    density = np.exp(-0.5 * ((x - centre) ** 2 - (nearest - centre) ** 2) / scale**2) * weights
    return float((density * (x - mean) ** 2).sum() / density.sum())


def _is_uniform_best(centre: float, scale: float) -> bool:
    """Return whether uniform proposals are accepted more often than normal proposals."""
    from scipy.special import ndtr

    # A normal proposal is accepted with probability `mass`. A uniform proposal is accepted with the
    # probability `mass / peak`: the mean density on [0, 1], divided by the largest.
    mass = float(ndtr((1.0 - centre) / scale) - ndtr(-centre / scale))
    nearest = min(max(centre, 0.0), 1.0)
    peak = math.exp(-0.5 * ((nearest - centre) / scale) ** 2) / (scale * math.sqrt(2.0 * math.pi))
    return mass / peak > mass
