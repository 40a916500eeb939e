"""Delays of the benchmark that no distribution of `keyhole.delayed` has, as recorded values."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

_PARETO_QUANTILES: Final = 2000
_GEOMETRIC_QUANTILES: Final = 100
_LEAST_SHARE: Final = 1000  # means of arms with recorded pairs are multiples of its inverse


def told_delay(expected: float, bound: int, variance: float) -> dict[str, Any]:
    """Return what policies may be told of the delays."""
    return {"expected_delay": expected, "bound": bound, "variance": variance}


def pareto_delays(power: float, scale: float) -> list[int]:
    """Return quantiles of Pareto delays, as recorded ones: a heavy tail, for powers below 2."""
    return _quantiles(lambda above: scale * (above ** (-1 / power) - 1), _PARETO_QUANTILES)


def geometric_delays(expected: float) -> list[int]:
    """Return quantiles of geometric delays, as recorded ones."""
    return _quantiles(
        lambda above: math.log(above) / math.log1p(-1 / (1 + expected)), _GEOMETRIC_QUANTILES
    )


def arms_with_delays(
    arms: Sequence[tuple[float, Sequence[int]]], *, prompt_zeros: bool = False
) -> dict[str, Any]:
    """Return the table of a problem whose arms have a mean reward and delays of their own.

    With `prompt_zeros` only rewards of 1 are late.
    """
    rewards, delays = [], []
    for mean, late in arms:
        share = Fraction(mean).limit_denominator(_LEAST_SHARE)
        values = [1] * share.numerator + [0] * (share.denominator - share.numerator)
        pairs = [(x, 0 if prompt_zeros and not x else d) for x in values for d in late]
        rewards.append([x for x, _ in pairs])
        delays.append([d for _, d in pairs])
    return {"rewards": rewards, "delays": delays}


def _quantiles(inverse: Callable[[float], float], count: int) -> list[int]:
    """Return the quantiles of a delay, given the function of the chance to be above."""
    return [math.floor(inverse((i + 0.5) / count)) for i in range(count)]
