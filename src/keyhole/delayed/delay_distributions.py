"""Distributions of delays, in rounds from the choice of an option (arm) to its reward's arrival."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.distributions.distribution import Distribution, NumberDistribution
from keyhole.distributions.distribution_parser import parse_distribution
from keyhole.distributions.empirical_distribution import Replay, draw_recorded, draw_recorded_pair
from keyhole.extras import require_extra
from keyhole.policy import FloatArray, Kernel, Stream, exponential, normal, poisson, uniform
from keyhole.validation import Range, check_each, check_integer, check_number, check_vector

_UNIT: Final = Range(ge=0, le=1)
# Below 2**53, up to which float64 holds every whole number; and no run has so many rounds.
_LONGEST: Final = 2**52
_WHOLE: Final = Range(ge=0, le=_LONGEST)


def draw_uniform_integer(rng: Stream, numbers: FloatArray) -> float:
    """Return a uniform integer; `numbers` are the lowest integer and the number of integers."""
    return float(numbers[0] + math.floor(uniform(rng) * numbers[1]))


def draw_floored_exponential(rng: Stream, numbers: FloatArray) -> float:
    """Return the integer part of an exponential variate whose mean is `numbers[0]`."""
    return float(np.floor(exponential(rng) * numbers[0]))


def draw_poisson(rng: Stream, numbers: FloatArray) -> float:
    """Return a Poisson variate whose mean is `numbers[0]`."""
    return float(poisson(rng, numbers[0]))


def draw_half_normal(rng: Stream, numbers: FloatArray) -> float:
    """Return the integer part of ``|X|``; X is normal with standard deviation `numbers[0]`."""
    return float(np.floor(abs(normal(rng)) * numbers[0]))


def draw_one_of_two(rng: Stream, numbers: FloatArray) -> float:
    """Return `numbers[1]` with the probability `numbers[2]`, and else `numbers[0]`."""
    return float(numbers[1] if uniform(rng) < numbers[2] else numbers[0])


KERNELS: Final[tuple[Kernel, ...]] = (
    draw_uniform_integer, draw_floored_exponential, draw_poisson, draw_half_normal, draw_one_of_two,
    draw_recorded,
)  # fmt: skip
"""The kernels of this module's distributions, compiled together into one environment."""


class Delay(NumberDistribution):
    """Base class of the distributions of delays: whole numbers of rounds, at least 0."""

    whole = True


@dataclass(frozen=True)
class Constant(Delay):
    """A constant delay.

    Parameters
    ----------
    rounds : int
        The delay, at least 0.

    Examples
    --------
    >>> Constant(3).mean, Constant(3).variance, Constant(3).bound
    (3.0, 0.0, 3.0)
    """

    draw = staticmethod(draw_uniform_integer)
    rounds: int

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("rounds", check_integer, _WHOLE)
        rounds = float(self.rounds)
        # There is only one integer from which `draw_uniform_integer` can draw.
        self._set(numbers=np.array([rounds, 1.0]), mean=rounds, variance=0.0, bound=rounds)


@dataclass(frozen=True)
class Uniform(Delay):
    """A uniform variate on the whole numbers from `low` to `high`.

    Parameters
    ----------
    low, high : int
        The ends, both included; ``0 <= low <= high``.

    Examples
    --------
    >>> Uniform(0, 100).mean, Uniform(0, 100).variance, Uniform(0, 100).bound
    (50.0, 850.0, 100.0)
    """

    draw = staticmethod(draw_uniform_integer)
    low: int
    high: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._set_checked_value("low", check_integer, _WHOLE)
        self._set_checked_value("high", check_integer, Range(ge=self.low, le=_LONGEST))
        count = self.high - self.low + 1
        mean = (self.low + self.high) / 2
        variance = (count * count - 1) / 12
        numbers = np.array([self.low, count], np.float64)
        self._set(numbers=numbers, mean=mean, variance=variance, bound=float(self.high))


@dataclass(frozen=True)
class Geometric(Delay):
    """A geometric variate on 0, 1, 2, ..., the number of failures before the first success.

    Parameters
    ----------
    expected : float
        The mean, at least 0, at most 10**12; the probability of success is ``1 / (1 + expected)``.

    Examples
    --------
    >>> Geometric(50).mean, Geometric(50).variance
    (50.0, 2550.0)
    """

    draw = staticmethod(draw_floored_exponential)
    expected: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("expected", check_number, Range(ge=0, le=1e12))
        mean = self.expected
        # The integer part of an exponential variate of mean `scale` is geometric, with P(delay >=
        # 1) = exp(-1 / scale). This must be mean / (1 + mean), the probability of a failure. With a
        # scale of 0 every draw is 0.
        scale = 1.0 / math.log1p(1.0 / mean) if mean > 0.0 else 0.0
        self._set(numbers=np.array([scale]), mean=mean, variance=mean * (1.0 + mean))


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

    draw = staticmethod(draw_floored_exponential)
    scale: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("scale", check_number, Range(gt=0, le=1e12))
        # The rounded variate is geometric.
        mean = 1.0 / math.expm1(1.0 / self.scale)
        self._set(numbers=np.array([self.scale]), mean=mean, variance=mean * (1.0 + mean))


@dataclass(frozen=True)
class Poisson(Delay):
    """A Poisson variate.

    Parameters
    ----------
    expected : float
        The mean, which is also the variance; at least 0, at most 10**9.

    Examples
    --------
    >>> Poisson(50).mean, Poisson(50).variance
    (50.0, 50.0)
    """

    draw = staticmethod(draw_poisson)
    expected: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("expected", check_number, Range(ge=0, le=1e9))
        mean = self.expected
        self._set(numbers=np.array([mean]), mean=mean, variance=mean)


@dataclass(frozen=True)
class HalfNormal(Delay):
    """The absolute value of a normal variate, rounded down to a whole number.

    Parameters
    ----------
    scale : float
        The standard deviation of the normal variate, above 0, at most 10**6. The mean is at most
        ``scale * sqrt(2 / pi)``, the mean before rounding.

    Examples
    --------
    >>> distribution = HalfNormal(50)
    >>> round(distribution.mean, 4), round(distribution.variance, 2)
    (39.3956, 908.43)
    """

    draw = staticmethod(draw_half_normal)
    scale: float

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("scale", check_number, Range(gt=0, le=1e6))
        require_extra("scipy", "HalfNormal")
        from scipy.special import erfc

        # With C_k = P(delay >= k), the mean is the sum of C_k over k = 1, 2, ..., and the mean
        # square is the sum of (2 k - 1) C_k. Beyond 38 standard deviations C_k is below 1e-300.
        k = np.arange(1.0, math.ceil(38.0 * self.scale) + 2.0)
        chances = erfc(k / (self.scale * math.sqrt(2.0)))
        mean = float(chances.sum())
        variance = float(((2.0 * k - 1.0) * chances).sum()) - mean * mean
        self._set(numbers=np.array([self.scale]), mean=mean, variance=variance)


@dataclass(frozen=True)
class TwoPoint(Delay):
    """One of two delays, as when some packets are lost and must be sent again.

    Parameters
    ----------
    late : int
        The delay of a late reward, at least `early`.
    probability : float
        The probability of a late reward, in [0, 1].
    early : int, default 0
        The delay of a reward that is not late.

    Examples
    --------
    >>> distribution = TwoPoint(late=100, probability=0.5)
    >>> distribution.mean, distribution.variance, distribution.bound
    (50.0, 2500.0, 100.0)
    """

    draw = staticmethod(draw_one_of_two)
    late: int
    probability: float
    early: int = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._set_checked_value("early", check_integer, _WHOLE)
        self._set_checked_value("late", check_integer, Range(ge=self.early, le=_LONGEST))
        self._set_checked_value("probability", check_number, _UNIT)
        chance = self.probability
        gap = self.late - self.early
        mean = self.early + chance * gap
        variance = chance * (1.0 - chance) * gap * gap
        numbers = np.array([self.early, self.late, chance], np.float64)
        # The bound is the late delay even if its probability is 0.
        self._set(numbers=numbers, mean=mean, variance=variance, bound=float(self.late))


class Empirical(Replay):
    """The empirical distribution of recorded delays.

    Parameters
    ----------
    samples : sequence of int
        Delays in rounds, at least 0. There must be at least one.

    Examples
    --------
    >>> distribution = Empirical([0, 0, 1, 5])
    >>> distribution.mean, distribution.variance, distribution.bound
    (1.5, 4.25, 5.0)
    """

    def __init__(self, samples: ArrayLike | Sequence[int]) -> None:
        super().__init__(check_delays("samples", samples))

    def __repr__(self) -> str:
        """Return the number of delays and their mean."""
        return f"Empirical({len(self.samples)} delays, mean {self.mean:g})"


class Pairs(Distribution):
    """The empirical distribution of pairs of a reward and its delay.

    Parameters
    ----------
    rewards : sequence of float, shape (pairs,)
        The rewards, in [0, 1].
    delays : sequence of int, shape (pairs,)
        The delay of each reward in rounds, at least 0.
    """

    draw = staticmethod(draw_recorded_pair)

    def __init__(self, rewards: FloatArray, delays: FloatArray) -> None:
        self.mean = float(rewards.mean())
        self.numbers = np.concatenate([rewards, delays])

    def __repr__(self) -> str:
        """Return the number of pairs, and the mean reward."""
        return f"Pairs({len(self.numbers) // 2} pairs, mean reward {self.mean:g})"


def check_delays(name: str, delays: ArrayLike | Sequence[int]) -> FloatArray:
    """Return delays as floats; refuse any that is not a whole number of rounds, at least 0."""
    values = check_vector(name, delays, _WHOLE)
    check_each(name, values, values == np.floor(values), "be a whole number of rounds")
    return values


def parse_delay(value: Any) -> NumberDistribution:
    """Return a distribution of delays, given as such, as a distribution of SciPy, or in a spec.

    A distribution whose values may be below 0, or are not whole numbers, is refused.

    Examples
    --------
    >>> parse_delay({"distribution": "Uniform", "low": 0, "high": 4})
    Uniform(low=0, high=4)
    """
    distribution = parse_distribution("delay", value, NumberDistribution, _DISTRIBUTIONS)
    distribution.check("delay", Range(ge=0), whole=True)
    return distribution


_DISTRIBUTIONS: Final[dict[str, type[NumberDistribution]]] = {
    distribution.__name__: distribution
    for distribution in (
        Constant, Uniform, Geometric, Poisson, Exponential, HalfNormal, TwoPoint, Empirical,
    )
}  # fmt: skip
