"""Distributions of durations: how long a simulated worker takes from a decision to feedback."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from keyhole.distributions.distribution import Distribution, NumberDistribution
from keyhole.distributions.distribution_parser import parse_distribution
from keyhole.distributions.empirical_distribution import Replay
from keyhole.distributions.sampler_dispatch import dispatch_kernel
from keyhole.policy import FloatArray, Kernel, Problem, Stream, exponential, uniform
from keyhole.validation import Range, check_number, check_vector

_ALLOWED_MEANS: Final = Range(gt=0, le=1e12)
_NOT_NEGATIVE: Final = Range(ge=0)


def draw_constant(rng: Stream, numbers: FloatArray) -> float:
    """Return the constant, `numbers[0]`."""
    return float(numbers[0])


def draw_exponential(rng: Stream, numbers: FloatArray) -> float:
    """Draw an exponential variate whose mean is `numbers[0]`."""
    return float(exponential(rng) * numbers[0])


def draw_pareto(rng: Stream, numbers: FloatArray) -> float:
    """Draw a Pareto variate; `numbers` are its smallest value, and -1 divided by its shape."""
    # A uniform number u may be 0, which would give infinity; 1 - u lies in (0, 1].
    return float(numbers[0] * (1.0 - uniform(rng)) ** numbers[1])


_KERNELS: Final[tuple[Kernel, ...]] = (draw_constant, draw_exponential, draw_pareto)
"""Samplers of this module's distributions, compiled together."""


def capped_consumption(limit: float, consumption: float, exceeded: int) -> float:
    """Return a run's consumption, or its limit if that was exceeded (`exceeded` is 1)."""
    return limit if exceeded == 1 else consumption


@dataclass(frozen=True)
class Constant(NumberDistribution):
    """Distribution of one constant duration.

    Parameters
    ----------
    length : float, default 1
        The duration, above 0, at most 10**12.
    """

    draw = staticmethod(dispatch_kernel(_KERNELS))
    length: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("length", check_number, _ALLOWED_MEANS)
        x = self.length
        # The first number, also in the classes below, is the position of the sampler in `_KERNELS`.
        # The kernel of `dispatch_kernel` passes the other numbers to this sampler.
        self._set(numbers=np.array([0.0, x]), mean=x, variance=0.0, least=x, bound=x)


@dataclass(frozen=True)
class Exponential(NumberDistribution):
    """The exponential distribution, which is memoryless.

    Parameters
    ----------
    mean : float, default 1
        The mean, above 0, at most 10**12.
    """

    draw = staticmethod(dispatch_kernel(_KERNELS))
    mean: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameter."""
        self._set_checked_value("mean", check_number, _ALLOWED_MEANS)
        self._set(numbers=np.array([1.0, self.mean]), variance=self.mean**2)


@dataclass(frozen=True)
class Pareto(NumberDistribution):
    r"""The Pareto distribution, :math:`P(X > x) = (l / x)^a` from the smallest value l on.

    Parameters
    ----------
    shape : float, default 1.5
        The exponent a, above 1, at most 100. If it is at most 2, the variance is infinite.
    mean : float, default 1
        The mean, above 0, at most 10**12. The smallest value l is :math:`(a - 1) / a` times it.

    Examples
    --------
    >>> Pareto(shape=1.5, mean=3).least
    1.0
    """

    draw = staticmethod(dispatch_kernel(_KERNELS))
    shape: float = 1.5
    mean: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        self._set_checked_value("shape", check_number, Range(gt=1, le=100))
        self._set_checked_value("mean", check_number, _ALLOWED_MEANS)
        a = self.shape
        smallest = self.mean * (a - 1.0) / a
        variance = self.mean**2 / (a * (a - 2.0)) if a > 2.0 else np.inf
        self._set(numbers=np.array([2.0, smallest, -1.0 / a]), least=smallest, variance=variance)


class Scaled(Distribution):
    """Durations drawn from a distribution, times a factor that depends on the reward or the arm.

    Exactly one of `rewards` and `arms` is given.

    Parameters
    ----------
    of : distribution, distribution of SciPy, or mapping, default Exponential()
        The distribution; see `parse_duration`.
    rewards : (float, float), optional
        The factors at rewards of 0 and of 1. In between the factor is linear in the reward.
    arms : sequence of float, shape (arms,), optional
        The factor of each arm.

    Examples
    --------
    >>> Scaled(rewards=[0.2, 2])  # a success takes ten times as long as a failure
    Scaled(Exponential(mean=1.0), rewards=[0.2, 2.0])
    """

    def __init__(
        self,
        of: object = None,
        *,
        rewards: Sequence[float] | None = None,
        arms: Sequence[float] | None = None,
    ) -> None:
        if (rewards is None) == (arms is None):
            raise TypeError("rewards or arms must be given, and not both")
        self.of = Exponential() if of is None else parse_duration(of, "of")
        self._scaled_by = "arms" if rewards is None else "rewards"
        factors = arms if rewards is None else rewards
        self.factors = check_vector(self._scaled_by, factors, _NOT_NEGATIVE)
        if rewards is not None and len(self.factors) != 2:
            raise ValueError(f"rewards must be two factors, got {len(self.factors)}")
        self.draw = _make_scaling_kernel(self.of.draw, self._scaled_by)
        # The kernel finds the numbers of the distribution by the number of factors before them.
        self.numbers = np.concatenate([[len(self.factors)], self.factors, self.of.numbers])

    def fits(self, problem: Problem) -> None:
        """If the factors are by arm, refuse a problem with another number of arms than factors."""
        if self._scaled_by == "arms" and len(self.factors) != problem.arms:
            raise ValueError(
                f"arms of the duration must be {problem.arms} factors, got {len(self.factors)}"
            )

    def __repr__(self) -> str:
        """Return the distribution and the factors."""
        return f"Scaled({self.of}, {self._scaled_by}={self.factors.tolist()})"


class Consumption(Distribution):
    """Durations for the setting `resource`: a run takes as long as it consumes, up to its limit.

    With these durations, a run that is still pending has consumed at least its age. Policies may
    use this bound.
    """

    draw = staticmethod(capped_consumption)
    numbers = np.zeros(1)
    age_bounds_feedback = True

    def __repr__(self) -> str:
        """Return the name."""
        return "Consumption()"


@lru_cache(maxsize=64)
def _make_scaling_kernel(draw: Kernel, scaled_by: str) -> Kernel:
    """Return a kernel that multiplies a draw by the factor of the reward, or of the arm.

    `scaled_by` is "rewards" or "arms".
    """

    def scale_by_reward(rng: Stream, numbers: FloatArray, reward: float) -> float:
        factor = numbers[1] + (numbers[2] - numbers[1]) * reward
        return float(factor * draw(rng, numbers[3:]))

    def scale_by_arm(rng: Stream, numbers: FloatArray, arm: int) -> float:
        return float(numbers[1 + arm] * draw(rng, numbers[1 + int(numbers[0]) :]))

    return scale_by_reward if scaled_by == "rewards" else scale_by_arm


def parse_duration(value: object, name: str = "duration") -> Distribution:
    """Return the distribution of durations that a value or a spec's table describes.

    Parameters
    ----------
    value : distribution, distribution of SciPy, or mapping
        See `keyhole.distributions.distribution_parser.parse_distribution`. The durations must not
        be negative. The kernel of a `CustomDistribution` may have parameters with the names of
        fields of the setting's decision and feedback.
    name : str
        Name of the field, for errors.

    Examples
    --------
    >>> parse_duration({"distribution": "Pareto", "shape": 3})
    Pareto(shape=3.0, mean=1.0)
    """
    distribution = parse_distribution(name, value, Distribution, _DURATIONS)
    if isinstance(distribution, NumberDistribution):
        distribution.check(name, _NOT_NEGATIVE)
    return distribution


_DURATIONS: Final[dict[str, type[Distribution]]] = {
    distribution.__name__: distribution
    for distribution in (Constant, Exponential, Pareto, Replay, Scaled, Consumption)
}
