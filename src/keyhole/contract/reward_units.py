"""Conversion of rewards between the user's units, such as euros, and [0, 1]; means as text."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.confidence_sequences import beta_mixture_bounds
from keyhole.text_formatting import count_text
from keyhole.validation import Range, check_number, check_unit_interval, short_repr

REWARD: Final = "reward"
"""The unit of rewards and of their means and thresholds."""
DIFFERENCE: Final = "difference"
"""The unit of differences of rewards, such as gaps."""
HARDNESS: Final = "difference**-2"
"""The unit of sums of 1 / difference**2."""

_SCALE_HINT: Final = "for rewards in other units, make the learner or study with scale=(low, high)"
_CONVERSION_HINT: Final = "simulations have rewards from 0 to 1: convert yours by"

# For policies, a value in units of reward**k is divided by span**k. If it is a reward and not a
# difference, `low` is subtracted first.
_POWERS: Final = {REWARD: 1, DIFFERENCE: 1, HARDNESS: -2}

ALPHA: Final = 0.05
"""The error probability of the intervals that summaries show beside means."""

UNIT_RANGE: Final = Range(ge=0, le=1)
"""The range of the rewards that policies learn."""

Value = TypeVar("Value", bound=Any)


class Scale(NamedTuple):
    """The smallest and the largest reward in the user's units; for policies they are 0 and 1.

    Examples
    --------
    >>> stars = Scale.of((1, 5))
    >>> stars.to_unit(4), stars.from_unit(0.75)
    (0.75, 4.0)
    """

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, ends: Any) -> Self:
        """Check a pair (low, high), and return its scale."""
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise TypeError(f"scale must be a pair (low, high), got {short_repr(ends)}")
        low, high = (check_number(f"scale[{i}]", end) for i, end in enumerate(ends))
        if not 0.0 < high - low < np.inf:
            hint = f" (did you mean ({high:g}, {low:g})?)" if high < low else ""
            raise ValueError(
                f"scale must have its low below its high, got {short_repr(ends)}{hint}"
            )
        return cls(low, high)

    @property
    def span(self) -> float:
        """The distance from low to high."""
        return self.high - self.low

    def to_unit(self, value: Value, unit: str = REWARD) -> Value:
        """Convert a value of the kind `unit` from the user's units to the units of policies."""
        return cast(Value, (value - self._zero_in_user_units(unit)) / self.span ** _POWERS[unit])

    def from_unit(self, value: Value, unit: str = REWARD) -> Value:
        """Convert a value of the kind `unit` from the units of policies to the user's."""
        return cast(Value, self._zero_in_user_units(unit) + value * self.span ** _POWERS[unit])

    def _zero_in_user_units(self, unit: str) -> float:
        """Return the value, in the user's units, that is 0 for policies."""
        return self.low if unit == REWARD else 0.0

    def check_reward(self, name: str, reward: Any) -> float:
        """Return a reward in the units of policies; refuse one that is out of range."""
        if self == UNIT:
            with errors_with_scale_hint():
                return check_unit_interval(name, reward)
        return self.to_unit(check_number(name, reward, self.map_range(UNIT_RANGE)))

    def map_range(self, allowed: Range, unit: str = REWARD) -> Range:
        """Convert a range from the units of policies to the user's."""
        ends = {"ge": allowed.ge, "gt": allowed.gt, "le": allowed.le, "lt": allowed.lt}
        return Range(**{n: None if e is None else self.from_unit(e, unit) for n, e in ends.items()})


@contextmanager
def errors_with_scale_hint() -> Iterator[None]:
    """Extend errors about rewards outside of [0, 1] by the hint to give the `scale`."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}; {_SCALE_HINT}") from None


@contextmanager
def errors_with_conversion_hint(low: float = -np.inf, high: float = np.inf) -> Iterator[None]:
    """Extend errors about simulated rewards outside of [0, 1] by a formula that converts rewards.

    `low` and `high` are the smallest and the largest reward, if they are known.
    """
    try:
        yield
    except ValueError as error:
        formula = "(reward - low) / (high - low)"
        if -np.inf < low < high < np.inf:
            formula = f"(reward {'+' if low < 0 else '-'} {abs(low):g}) / {high - low:g}"
        raise ValueError(f"{error}; {_CONVERSION_HINT} {formula}") from None


UNIT: Final = Scale()
"""The scale of policies: rewards from 0 to 1."""


def mean_text(number: float, total: float, scale: Scale = UNIT, has_interval: bool = False) -> str:
    """Return the mean of `number` values that sum to `total`, as text; "" without values.

    The mean is in the user's units. With `has_interval` it has an interval that contains the true
    mean at all times at once, with 95 % confidence. The values must then be plain rewards of one
    arm, from 0 to 1. The interval is left out if `number` is not whole, or `total` is not from 0 to
    `number`.

    Examples
    --------
    >>> mean_text(4, 1.0), mean_text(0, 0.0)
    (', mean 0.25', '')
    >>> mean_text(100, 42.0, has_interval=True)
    ', mean 0.42 [0.27, 0.58] at any time'
    """
    if not number:
        return ""
    mean = scale.from_unit(float(total) / float(number))
    if not (has_interval and float(number).is_integer() and 0.0 <= total <= number):
        return f", mean {mean:.3g}"
    ends = mean_interval(float(number), float(total), scale)
    return f", mean {format_interval(mean, *ends)} at any time"


def format_arm_means(
    counts: NDArray[Any],
    totals: NDArray[Any],
    scale: Scale,
    noun: str = "pull",
    *,
    has_interval: bool = False,
) -> list[str]:
    """Return a line for each arm: the number of its values, named by `noun`, and their mean."""
    return [
        f"arm {arm}: {count_text(count, noun)}{mean_text(count, total, scale, has_interval)}"
        for arm, (count, total) in enumerate(zip(counts, totals, strict=True))
    ]


def mean_interval(number: float, total: float, scale: Scale = UNIT) -> tuple[float, float]:
    """Return the interval of the mean of rewards from 0 to 1, in the user's units."""
    low, high = beta_mixture_bounds(number, total, ALPHA)
    return scale.from_unit(low), scale.from_unit(high)


def format_interval(mean: float, low: float, high: float) -> str:
    """Return a mean and its interval as text, to two digits of the width; ends round outwards.

    Examples
    --------
    >>> format_interval(0.42, 0.27163, 0.57891), format_interval(3456.7, 3322.1, 3581.2)
    ('0.42 [0.27, 0.58]', '3457 [3322, 3582]')
    """
    digits = max(0, 1 - math.floor(math.log10(high - low))) if high > low else 3
    factor = 10.0**digits
    # A tolerance keeps 1.0000000000000002 from being rounded up to the next number.
    outer_low = math.floor(low * factor + 1e-6) / factor
    outer_high = math.ceil(high * factor - 1e-6) / factor
    return f"{mean:.{digits}f} [{outer_low:.{digits}f}, {outer_high:.{digits}f}]"
