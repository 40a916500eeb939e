"""Laws of the delay: how many rounds after its pull a reward arrives; exact moments.

A delay of 0 means that the reward arrives at the end of the round of its pull. All laws live on
the whole numbers from 0 on.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfc

from keyhole.contract.memory import FloatArray
from keyhole.draws.samplers import exponential, normal, poisson
from keyhole.draws.streams import Stream, uniform
from keyhole.validate import Range, integer, number, vector

_UNIT: Final = Range(ge=0, le=1)
# Above this, float64 no longer holds every whole number; no run is that long.
_LONGEST: Final = 2**52
_WHOLE: Final = Range(ge=0, le=_LONGEST)

# How a law is drawn: see `draw_delay`.
_STEPS, _FALLING, _POISSON, _HALF_NORMAL, _TWO_POINTS, _RECORDED = range(6)


def draw_delay(
    rng: Stream, kind: int, first: float, second: float, third: float, samples: FloatArray
) -> float:
    """Draw a delay.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    kind : int
        How; one of the constants of this module, as `Delay.law` gives them.
    first, second, third : float
        Numbers that mean what the kind says.
    samples : ndarray of float64
        Recorded delays, for the kind that needs them.

    Returns
    -------
    float
        A whole number, at least 0; as a float since it may exceed any integer.
    """
    if kind == _STEPS:
        return first + math.floor(uniform(rng) * second)
    if kind == _FALLING:
        return float(np.floor(exponential(rng) * first))
    if kind == _POISSON:
        return float(poisson(rng, first))
    if kind == _HALF_NORMAL:
        return float(np.floor(abs(normal(rng)) * first))
    if kind == _TWO_POINTS:
        return second if uniform(rng) < third else first
    return float(samples[int(uniform(rng) * first)])


class Law(NamedTuple):
    """How a delay is drawn, and its moments.

    Attributes
    ----------
    kind : int
        One of the kinds of `draw_delay`.
    numbers : tuple of float
        The three numbers that it takes.
    mean, variance : float
        Exact.
    bound : float
        The longest delay; infinite where there is none.
    """

    kind: int
    numbers: tuple[float, float, float]
    mean: float
    variance: float
    bound: float = math.inf


@dataclass(frozen=True)
class Delay(ABC):
    """Base of the laws: all have a mean, a variance and a bound, and can be drawn."""

    @property
    @abstractmethod
    def law(self) -> Law:
        """How it is drawn, and its moments."""

    @property
    def mean(self) -> float:
        """The expected delay, in rounds."""
        return self.law.mean

    @property
    def variance(self) -> float:
        """The variance of the delay, in squared rounds."""
        return self.law.variance

    @property
    def bound(self) -> float:
        """The longest delay, in rounds; infinite where there is none."""
        return self.law.bound

    @property
    def samples(self) -> FloatArray:
        """The recorded delays; a single 0 where there are none."""
        return np.zeros(1)

    def _check(self, name: str, convert: Callable[..., float], allowed: Range) -> None:
        object.__setattr__(self, name, convert(name, getattr(self, name), allowed))


@dataclass(frozen=True)
class Constant(Delay):
    """Always the same delay.

    Parameters
    ----------
    rounds : int
        At least 0.

    Examples
    --------
    >>> Constant(3).mean, Constant(3).variance, Constant(3).bound
    (3.0, 0.0, 3.0)
    """

    rounds: int

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("rounds", integer, _WHOLE)

    @property
    def law(self) -> Law:
        """Always the same step."""
        return Law(_STEPS, (self.rounds, 1.0, 0.0), float(self.rounds), 0.0, float(self.rounds))


@dataclass(frozen=True)
class Uniform(Delay):
    """Every whole number from `low` to `high`, each equally likely.

    Parameters
    ----------
    low, high : int
        The ends, both included; ``0 <= low <= high``.

    Examples
    --------
    >>> Uniform(0, 100).mean, Uniform(0, 100).variance, Uniform(0, 100).bound
    (50.0, 850.0, 100.0)
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check("low", integer, _WHOLE)
        self._check("high", integer, Range(ge=self.low, le=_LONGEST))

    @property
    def law(self) -> Law:
        """Equally likely steps; n of them have the variance (n^2 - 1) / 12."""
        count = self.high - self.low + 1
        mean, variance = (self.low + self.high) / 2, (count * count - 1) / 12
        return Law(_STEPS, (self.low, count, 0.0), mean, variance, float(self.high))


@dataclass(frozen=True)
class Geometric(Delay):
    """How often a coin fails before it succeeds for the first time: 0, 1, 2, ...

    Parameters
    ----------
    expected : float
        The mean, at least 0, at most 10**12; the coin succeeds with probability
        ``1 / (1 + expected)``.

    Examples
    --------
    >>> Geometric(50).mean, Geometric(50).variance
    (50.0, 2550.0)
    """

    expected: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("expected", number, Range(ge=0, le=1e12))

    @property
    def law(self) -> Law:
        """The whole part of an exponential variate; the variance is mean (1 + mean)."""
        mean = self.expected
        if mean == 0.0:
            return Law(_STEPS, (0.0, 1.0, 0.0), 0.0, 0.0)
        scale = 1.0 / math.log1p(1.0 / mean)
        return Law(_FALLING, (scale, 0.0, 0.0), mean, mean * (1.0 + mean))


@dataclass(frozen=True)
class Exponential(Delay):
    """An exponential variate rounded down to a whole number.

    Parameters
    ----------
    scale : float
        The mean before rounding, above 0, at most 10**12.

    Examples
    --------
    >>> round(Exponential(50).mean, 4), round(Exponential(50).variance, 1)
    (49.5017, 2499.9)
    """

    scale: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("scale", number, Range(gt=0, le=1e12))

    @property
    def law(self) -> Law:
        """The rounded variate is geometric: its mean is 1 / (e^(1 / scale) - 1)."""
        mean = 1.0 / math.expm1(1.0 / self.scale)
        return Law(_FALLING, (self.scale, 0.0, 0.0), mean, mean * (1.0 + mean))


@dataclass(frozen=True)
class Poisson(Delay):
    """The Poisson law.

    Parameters
    ----------
    expected : float
        The mean, which is also the variance; at least 0, at most 10**9.

    Examples
    --------
    >>> Poisson(50).mean, Poisson(50).variance
    (50.0, 50.0)
    """

    expected: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("expected", number, Range(ge=0, le=1e9))

    @property
    def law(self) -> Law:
        """The mean is also the variance."""
        return Law(_POISSON, (self.expected, 0.0, 0.0), self.expected, self.expected)


@dataclass(frozen=True)
class HalfNormal(Delay):
    """The distance from 0 of a normal variate, rounded down to a whole number.

    Parameters
    ----------
    scale : float
        The standard deviation of the normal variate, above 0, at most 10**6. Before rounding the
        mean is ``scale * sqrt(2 / pi)``, which bounds the mean after it.

    Examples
    --------
    >>> law = HalfNormal(50)
    >>> round(law.mean, 4), round(law.variance, 2)
    (39.3956, 908.43)
    """

    scale: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("scale", number, Range(gt=0, le=1e6))

    @property
    def law(self) -> Law:
        """The moments are sums over P(delay >= k), of 1 and of 2 k - 1."""
        steps = np.arange(1.0, math.ceil(38.0 * self.scale) + 2.0)  # beyond, below 1e-300
        chances = erfc(steps / (self.scale * math.sqrt(2.0)))
        mean = float(chances.sum())
        variance = float(((2.0 * steps - 1.0) * chances).sum()) - mean * mean
        return Law(_HALF_NORMAL, (self.scale, 0.0, 0.0), mean, variance)


@dataclass(frozen=True)
class TwoPoint(Delay):
    """Mostly prompt, sometimes late: a packet that is lost must be sent again.

    Parameters
    ----------
    late : int
        The delay of a late reward, at least `early`.
    probability : float
        How often that happens, in [0, 1].
    early : int, default 0
        The delay of the others.

    Examples
    --------
    >>> law = TwoPoint(late=100, probability=0.5)
    >>> law.mean, law.variance, law.bound
    (50.0, 2500.0, 100.0)
    """

    late: int
    probability: float
    early: int = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check("early", integer, _WHOLE)
        self._check("late", integer, Range(ge=self.early, le=_LONGEST))
        self._check("probability", number, _UNIT)

    @property
    def law(self) -> Law:
        """Two steps; the bound is that of a late reward, whether or not one ever is."""
        chance, gap = self.probability, self.late - self.early
        mean, variance = self.early + chance * gap, chance * (1.0 - chance) * gap * gap
        return Law(_TWO_POINTS, (self.early, self.late, chance), mean, variance, float(self.late))


class Empirical(Delay):
    """Recorded delays, each drawn equally often.

    Parameters
    ----------
    samples : sequence of int
        Delays in rounds, at least 0; at least one.

    Examples
    --------
    >>> law = Empirical([0, 0, 1, 5])
    >>> law.mean, law.variance, law.bound
    (1.5, 4.25, 5.0)
    """

    def __init__(self, samples: ArrayLike | Sequence[int]) -> None:
        values = vector("samples", samples, _WHOLE)
        uneven = np.flatnonzero(values != np.floor(values))
        if len(uneven):
            i = int(uneven[0])
            raise ValueError(f"samples[{i}] must be a whole number of rounds, got {values[i]:g}")
        object.__setattr__(self, "_samples", values)

    def __repr__(self) -> str:
        """Return how many delays there are, and their mean."""
        return f"Empirical({len(self.samples)} delays, mean {self.mean:g})"

    def __eq__(self, other: object) -> bool:
        """Return whether the other law has the same samples."""
        return isinstance(other, Empirical) and np.array_equal(self.samples, other.samples)

    def __hash__(self) -> int:
        """Return a hash of the samples."""
        return hash(self.samples.tobytes())

    @property
    def samples(self) -> FloatArray:
        """The recorded delays."""
        samples: FloatArray = self.__dict__["_samples"]
        return samples

    @property
    def law(self) -> Law:
        """One of the samples, each equally likely."""
        values = self.samples
        numbers = (float(len(values)), 0.0, 0.0)
        return Law(
            _RECORDED, numbers, float(values.mean()), float(values.var()), float(values.max())
        )
