"""The arms of a study: their names, whether they are in use, and their positions in arrays."""

from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np

from keyhole.contract.state_arrays import IntArray
from keyhole.study.errors import UnknownArmError
from keyhole.validation import Range, check_choice, check_distinct, check_integer, check_line


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Return arm numbers as packed bits: bit n is 1 if n is among the numbers."""
    # A decision may exclude hundreds of arms, and 8 bytes for each would be most of the log.
    bits = np.zeros(max(numbers, default=-1) + 1, bool)
    bits[list(numbers)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def unpack_numbers(data: bytes) -> list[int]:
    """Return the numbers that `pack_numbers` packed, in ascending order."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


class Arms:
    """All arms that a study ever had, in the order in which they were added.

    Each arm has a permanent *number*, which the log uses. While it is in use it also has a
    *position* in the policy's arrays. Adding and retiring take constant time, since
    `numbers_in_use` and `positions` are computed when they are first read after a change.

    Parameters
    ----------
    names : iterable of str
        The names of the first arms.

    Attributes
    ----------
    names : list of str
        The names by number, also of retired arms.
    has_retired_arms : bool
        Whether an arm is not in use: it was retired, or left out by `without`. Only then may
        positions differ from numbers.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names: list[str] = []
        self.restore(names)

    def restore(self, names: Iterable[str], in_use: Iterable[int] | None = None) -> None:
        """Replace all arms; `in_use` has the numbers of the arms in use, by default all."""
        # The list is changed in place, since the study's vocabulary has the same list.
        self.names[:] = check_distinct("arms", [check_line("arm", name) for name in names])
        self._numbers = {name: number for number, name in enumerate(self.names)}
        numbers = list(range(len(self.names)) if in_use is None else in_use)
        allowed = Range(ge=0, lt=len(self.names))
        # A dictionary without values serves as an ordered set.
        self._in_use = {check_integer("an arm in use", n, allowed): None for n in numbers}
        if len(self._in_use) < len(numbers):
            raise ValueError("each arm in use must be listed once")
        self._reset_derived_values()

    def _reset_derived_values(self) -> None:
        self.has_retired_arms = len(self._in_use) < len(self.names)
        self._numbers_in_use: IntArray | None = None
        self._positions: IntArray | None = None

    def add(self, name: str) -> None:
        """Add an arm."""
        self._numbers[name] = number = len(self.names)
        self.names.append(name)
        self._in_use[number] = None
        self._reset_derived_values()

    def retire(self, name: str) -> None:
        """Take an arm out of use."""
        del self._in_use[self._numbers[name]]
        self._reset_derived_values()

    def check_new(self, field: str, name: str) -> None:
        """Refuse the name of an arm in use or of a retired arm."""
        if name in self._numbers:
            reason = "was retired, for good"
            if self._numbers[name] in self._in_use:
                reason = "is an arm"
            raise ValueError(f"{field} must be new, but {name!r} {reason}")

    def check_in_use(self, field: str, name: object) -> None:
        """Refuse a name that is no arm in use."""
        if isinstance(name, str) and self._numbers.get(name) in self._in_use:
            return
        try:
            check_choice(field, name, self.names_in_use)
        except ValueError as error:
            raise UnknownArmError(*error.args) from None

    def check_can_retire(self, field: str, name: object) -> None:
        """Refuse a name that is no arm in use; refuse the last arm in use, too."""
        self.check_in_use(field, name)
        if len(self._in_use) == 1:
            raise ValueError(f"{name!r} is the last arm, and cannot be retired")

    def is_in_use(self, number: int) -> bool:
        """Return whether an arm is in use."""
        return number in self._in_use

    def find_excluded(self, field: str, names: Iterable[object]) -> list[int]:
        """Return the numbers of the arms in use among `names`, the arms that a decision excludes.

        Retired arms are ignored, since no new decision is about them. Any other name is refused.
        """
        for name in names:
            if not isinstance(name, str) or name not in self._numbers:
                self.check_in_use(f"an arm of {field}", name)
        return sorted(self._in_use.keys() & {self._numbers[str(name)] for name in names})

    def without(self, numbers: Iterable[int]) -> "Arms":
        """Return a copy that shares the names, but in which these arms are not in use."""
        arms = copy(self)
        arms._in_use = dict.fromkeys(self._in_use)
        for number in numbers:
            del arms._in_use[number]
        arms._reset_derived_values()
        return arms

    @property
    def names_in_use(self) -> tuple[str, ...]:
        """The names of the arms in use, in the order of their positions."""
        return tuple(self.names[number] for number in self._in_use)

    @property
    def numbers_in_use(self) -> IntArray:
        """The numbers of the arms in use, by position."""
        if self._numbers_in_use is None:
            self._numbers_in_use = np.fromiter(self._in_use, np.int64, len(self._in_use))
        return self._numbers_in_use

    @property
    def positions(self) -> IntArray:
        """The positions of all arms, by number; -1 for retired arms."""
        if self._positions is None:
            self._positions = np.full(len(self.names), -1)
            self._positions[self.numbers_in_use] = np.arange(len(self._in_use))
        return self._positions
