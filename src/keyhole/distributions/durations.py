"""Distributions of durations: for how long a worker is busy with a decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from keyhole.distributions.combined_sampler import one_of
from keyhole.distributions.distribution import Distribution, Number
from keyhole.distributions.replay import Replay
from keyhole.distributions.reward_problem import parse_distribution
from keyhole.policy import FloatArray, Kernel, Problem, Stream, exponential, uniform
from keyhole.validate import Range, check_number, check_vector

_LONG: Final = Range(gt=0, le=1e12)
_NOT_NEGATIVE: Final = Range(ge=0)


def draw_constant(rng: Stream, numbers: FloatArray) -> float:
    """Return the number."""
    return float(numbers[0])


def draw_exponential(rng: Stream, numbers: FloatArray) -> float:
    """Return an exponential variate with this mean."""
    return float(exponential(rng) * numbers[0])


def draw_pareto(rng: Stream, numbers: FloatArray) -> float:
    """Return a Pareto variate with this least value, and with this power, negative, of a chance."""
    return float(numbers[0] * (1.0 - uniform(rng)) ** numbers[1])


_KERNELS: Final[tuple[Kernel, ...]] = (draw_constant, draw_exponential, draw_pareto)
"""Those of the distributions of this module: one machine code has them all."""


def draw_consumed(limit: float, consumption: float, exceeded: int) -> float:
    """Return what a run consumed, up to its limit."""
    return limit if exceeded == 1 else consumption


@dataclass(frozen=True)
class Constant(Number):
    """Always the same.

    Parameters
    ----------
    length : float, default 1
        Above 0, at most 10**12.
    """

    draw = staticmethod(one_of(_KERNELS))
    length: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("length", check_number, _LONG)
        x = self.length
        self._settle(numbers=np.array([0.0, x]), mean=x, variance=0.0, least=x, bound=x)


@dataclass(frozen=True)
class Exponential(Number):
    """The exponential distribution: the time left is always the same, however long it has been.

    Parameters
    ----------
    mean : float, default 1
        Above 0, at most 10**12.
    """

    draw = staticmethod(one_of(_KERNELS))
    mean: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._check("mean", check_number, _LONG)
        self._settle(numbers=np.array([1.0, self.mean]), variance=self.mean**2)


@dataclass(frozen=True)
class Pareto(Number):
    r"""A heavy tail: :math:`P(X > x) = (l / x)^a` from the least value l on.

    Parameters
    ----------
    shape : float, default 1.5
        a, above 1, at most 100; up to 2 the variance is infinite.
    mean : float, default 1
        Above 0, at most 10**12; :math:`l = (a - 1) / a` of it.

    Examples
    --------
    >>> Pareto(shape=1.5, mean=3).least
    1.0
    """

    draw = staticmethod(one_of(_KERNELS))
    shape: float = 1.5
    mean: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._check("shape", check_number, Range(gt=1, le=100))
        self._check("mean", check_number, _LONG)
        a = self.shape
        least = self.mean * (a - 1.0) / a
        variance = self.mean**2 / (a * (a - 2.0)) if a > 2.0 else np.inf
        self._settle(numbers=np.array([2.0, least, -1.0 / a]), least=least, variance=variance)


class Scaled(Distribution):
    """Durations that depend on the outcome, or on the arm: those of a distribution, times a factor.

    Exactly one of `rewards` and `arms` is given.

    Parameters
    ----------
    of : distribution, distribution of SciPy, or mapping, default Exponential()
        The distribution; see `parse_duration`.
    rewards : (float, float), optional
        The factor at a reward of 0, and at a reward of 1; in proportion in between.
    arms : sequence of float, shape (arms,), optional
        The factor of each arm.

    Examples
    --------
    >>> Scaled(rewards=[0.2, 2])  # a success takes ten times as long as a failure
    Scaled(Exponential(mean=1.0), rewards=[0.2, 2.0])
    """

    def __init__(
        self,
        of: Any = None,
        *,
        rewards: Sequence[float] | None = None,
        arms: Sequence[float] | None = None,
    ) -> None:
        if (rewards is None) == (arms is None):
            raise TypeError("rewards or arms must be given, and not both")
        self.of = Exponential() if of is None else parse_duration(of, "of")
        self._by = "arms" if rewards is None else "rewards"
        given = arms if rewards is None else rewards
        self.factors = check_vector(self._by, given, _NOT_NEGATIVE)
        if rewards is not None and len(self.factors) != 2:
            raise ValueError(f"rewards must be two factors, got {len(self.factors)}")
        self.draw = _scaled(self.of.draw, self._by)
        self.numbers = np.concatenate([[len(self.factors)], self.factors, self.of.numbers])

    def fits(self, problem: Problem) -> None:
        """Refuse a problem with another number of arms."""
        if self._by == "arms" and len(self.factors) != problem.arms:
            raise ValueError(
                f"arms of the duration must be {problem.arms} factors, got {len(self.factors)}"
            )

    def __repr__(self) -> str:
        """Return the distribution and the factors."""
        return f"Scaled({self.of}, {self._by}={self.factors.tolist()})"


class Consumption(Distribution):
    """A run takes what it consumes, up to its limit: in the setting `resource`.

    A run that is open for so long has consumed so much: policies that look at its age know that.
    """

    draw = staticmethod(draw_consumed)
    numbers = np.zeros(1)
    aged = True

    def __repr__(self) -> str:
        """Return the name."""
        return "Consumption()"


@lru_cache(maxsize=64)
def _scaled(draw: Kernel, by: str) -> Kernel:
    """Return the kernel that multiplies with the factor of the reward, or the arm."""

    def by_reward(rng: Stream, numbers: FloatArray, reward: float) -> float:
        factor = numbers[1] + (numbers[2] - numbers[1]) * reward
        return float(factor * draw(rng, numbers[3:]))

    def by_arm(rng: Stream, numbers: FloatArray, arm: int) -> float:
        return float(numbers[1 + arm] * draw(rng, numbers[1 + int(numbers[0]) :]))

    return by_reward if by == "rewards" else by_arm


def parse_duration(value: Any, name: str = "duration") -> Distribution:
    """Return a distribution of durations, also from how SciPy or a spec writes it.

    Parameters
    ----------
    value : distribution, distribution of SciPy, or mapping
        See `keyhole.distributions.reward_problem.parse_distribution`; the values of a distribution
        must not be negative. A `CustomDistribution`'s kernel may also name what the setting's
        decision and feedback have.
    name : str
        For errors.

    Examples
    --------
    >>> parse_duration({"distribution": "Pareto", "shape": 3})
    Pareto(shape=3.0, mean=1.0)
    """
    distribution = parse_distribution(name, value, Distribution, _LAWS)
    if isinstance(distribution, Number):
        distribution.check(name, _NOT_NEGATIVE)
    return distribution


_LAWS: Final[dict[str, type[Distribution]]] = {
    distribution.__name__: distribution
    for distribution in (Constant, Exponential, Pareto, Replay, Scaled, Consumption)
}
