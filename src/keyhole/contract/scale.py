"""The units in which a user has rewards, where policies have numbers from 0 to 1."""

from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from keyhole.validate import Range, check_number, check_unit_interval, short_repr

REWARD: Final = "reward"
"""Of what is itself a reward, such as a threshold of means."""
DIFFERENCE: Final = "difference"
"""Of differences of rewards, such as gaps."""
HARDNESS: Final = "difference**-2"
"""Of sums of 1 / difference**2."""

_OTHER_UNITS: Final = "for rewards in other units, make the learner or study with scale=(low, high)"

_POWERS: Final = {REWARD: 1, DIFFERENCE: 1, HARDNESS: -2}

_UNIT_RANGE: Final = Range(ge=0, le=1)

V = TypeVar("V", bound=Any)


class Scale(NamedTuple):
    """The least and the largest reward there can be: for policies 0 and 1.

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
        """Return what a user gave, checked."""
        if not isinstance(ends, tuple | list) or len(ends) != 2:
            raise TypeError(f"scale must be a pair (low, high), got {short_repr(ends)}")
        low, high = (check_number(f"scale[{i}]", end) for i, end in enumerate(ends))
        if not 0.0 < high - low < np.inf:
            raise ValueError(f"scale must have its low below its high, got {short_repr(ends)}")
        return cls(low, high)

    @property
    def span(self) -> float:
        """The distance of the ends."""
        return self.high - self.low

    def to_unit(self, value: V, unit: str = REWARD) -> V:
        """Return, as policies have it, what a user has."""
        low = self.low if unit == REWARD else 0.0
        found: V = (value - low) / self.span ** _POWERS[unit]
        return found

    def from_unit(self, value: V, unit: str = REWARD) -> V:
        """Return, as a user has it, what policies have."""
        low = self.low if unit == REWARD else 0.0
        found: V = low + value * self.span ** _POWERS[unit]
        return found

    def check_told(self, name: str, reward: Any) -> float:
        """Return a reward that a user told as policies have it; refuse what is none."""
        if self == UNIT:
            try:
                return check_unit_interval(name, reward)
            except ValueError as error:
                raise ValueError(f"{error}; {_OTHER_UNITS}") from None
        return self.to_unit(check_number(name, reward, self.range(_UNIT_RANGE)))

    def range(self, allowed: Range, unit: str = REWARD) -> Range:
        """Return, as a user has it, what policies allow."""
        ends = {"ge": allowed.ge, "gt": allowed.gt, "le": allowed.le, "lt": allowed.lt}
        return Range(**{n: None if e is None else self.from_unit(e, unit) for n, e in ends.items()})


UNIT: Final = Scale()
"""Rewards from 0 to 1, as policies have them."""
