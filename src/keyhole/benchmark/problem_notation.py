"""Short forms of long lists in the benchmark's files of problems, such as ``{ spread = ... }``."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

_PARETO_QUANTILES: Final = 2000
_GEOMETRIC_QUANTILES: Final = 100
_LEAST_SHARE: Final = 1000  # means of arms with recorded pairs are multiples of its inverse


def expand(value: Any) -> Any:
    """Return a value of a file with all short forms written out."""
    if isinstance(value, list):
        return [expand(element) for element in value]
    match value:
        case {"spread": [low, high, count]}:
            return [round(float(mean), 4) for mean in np.linspace(low, high, count)]
        case {"repeat": pairs}:
            return [mean for mean, count in pairs for _ in range(count)]
        case {"pareto": [power, scale]}:  # a heavy tail, for powers below 2
            return _quantiles(lambda above: scale * (above ** (-1 / power) - 1), _PARETO_QUANTILES)
        case {"geometric": mean}:
            slope = math.log1p(-1 / (1 + mean))
            return _quantiles(lambda above: math.log(above) / slope, _GEOMETRIC_QUANTILES)
        case {"arms_with_delays": arms}:
            return _recorded_pairs(expand(arms), prompt_zeros=value.get("prompt_zeros", False))
        case dict():
            return {name: expand(field) for name, field in value.items()}
    return value


def _recorded_pairs(
    arms: Sequence[tuple[float, Sequence[int]]], *, prompt_zeros: bool
) -> dict[str, Any]:
    """Return the table of a problem whose arms have a mean reward and delays of their own.

    With `prompt_zeros` only rewards of 1 are late.
    """
    rewards = []
    delays = []
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
