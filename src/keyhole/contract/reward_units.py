"""Conversion of rewards between the user's units, such as euros, and the [0, 1] of policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from keyhole.validate import Range, check_number, check_unit_interval, short_repr

REWARD: Final = "reward"
"""The unit of rewards and of their means and thresholds."""
DIFFERENCE: Final = "difference"
"""The unit of differences of rewards, such as gaps."""
HARDNESS: Final = "difference**-2"
"""The unit of sums of 1 / difference**2."""

_OTHER_UNITS: Final = "for rewards in other units, make the learner or study with scale=(low, high)"
_SIMULATED: Final = "simulations have rewards from 0 to 1: convert yours by"

# A value in units of reward**k is divided by span**k; only rewards themselves have `low` taken off.
_POWERS: Final = {REWARD: 1, DIFFERENCE: 1, HARDNESS: -2}

_UNIT_RANGE: Final = Range(ge=0, le=1)

V = TypeVar("V", bound=Any)


class Scale(NamedTuple):
    """The least and the largest reward, in the user's units: 0 and 1 for policies.

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
        """Return the scale for a pair (low, high), checked."""
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise TypeError(f"scale must be a pair (low, high), got {short_repr(ends)}")
        low, high = (check_number(f"scale[{i}]", end) for i, end in enumerate(ends))
        if not 0.0 < high - low < np.inf:
            meant = f" (did you mean ({high:g}, {low:g})?)" if high < low else ""
            raise ValueError(
                f"scale must have its low below its high, got {short_repr(ends)}{meant}"
            )
        return cls(low, high)

    @property
    def span(self) -> float:
        """The distance from low to high."""
        return self.high - self.low

    def to_unit(self, value: V, unit: str = REWARD) -> V:
        """Convert a value from the user's units to those of policies."""
        low = self.low if unit == REWARD else 0.0
        found: V = (value - low) / self.span ** _POWERS[unit]
        return found

    def from_unit(self, value: V, unit: str = REWARD) -> V:
        """Convert a value from the units of policies to the user's."""
        low = self.low if unit == REWARD else 0.0
        found: V = low + value * self.span ** _POWERS[unit]
        return found

    def check_reward(self, name: str, reward: Any) -> float:
        """Return a reward in the units of policies; refuse one that is out of range."""
        if self == UNIT:
            with suggested_scale():
                return check_unit_interval(name, reward)
        return self.to_unit(check_number(name, reward, self.range(_UNIT_RANGE)))

    def range(self, allowed: Range, unit: str = REWARD) -> Range:
        """Convert a range from the units of policies to the user's."""
        ends = {"ge": allowed.ge, "gt": allowed.gt, "le": allowed.le, "lt": allowed.lt}
        return Range(**{n: None if e is None else self.from_unit(e, unit) for n, e in ends.items()})


@contextmanager
def suggested_scale() -> Iterator[None]:
    """Add to the error about a value in units of reward that is not in [0, 1] what to do."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}; {_OTHER_UNITS}") from None


@contextmanager
def suggested_conversion(low: float = -np.inf, high: float = np.inf) -> Iterator[None]:
    """Add to the error about simulated rewards that are not in [0, 1] how to convert them.

    `low` and `high` are the least and the largest reward, where they are known.
    """
    try:
        yield
    except ValueError as error:
        known = -np.inf < low < high < np.inf
        formula = "(reward - low) / (high - low)"
        if known:
            formula = f"(reward {'+' if low < 0 else '-'} {abs(low):g}) / {high - low:g}"
        raise ValueError(f"{error}; {_SIMULATED} {formula}") from None


UNIT: Final = Scale()
"""The scale of policies: rewards from 0 to 1."""
