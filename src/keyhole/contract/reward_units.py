"""Conversion of rewards between the user's units, such as euros, and the [0, 1] of policies."""

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
            raise ValueError(f"scale must have its low below its high, got {short_repr(ends)}")
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
            try:
                return check_unit_interval(name, reward)
            except ValueError as error:
                raise ValueError(f"{error}; {_OTHER_UNITS}") from None
        return self.to_unit(check_number(name, reward, self.range(_UNIT_RANGE)))

    def range(self, allowed: Range, unit: str = REWARD) -> Range:
        """Convert a range from the units of policies to the user's."""
        ends = {"ge": allowed.ge, "gt": allowed.gt, "le": allowed.le, "lt": allowed.lt}
        return Range(**{n: None if e is None else self.from_unit(e, unit) for n, e in ends.items()})


UNIT: Final = Scale()
"""The scale of policies: rewards from 0 to 1."""
