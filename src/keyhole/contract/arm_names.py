"""Names of arms: hashable values that stand for the arms' numbers from 0."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from keyhole import validation
from keyhole.cached_property import cached_property

Names: TypeAlias = list[Any] | tuple[Any, ...] | NDArray[Any] | type[Enum]
"""The type of names of arms for type checkers; not `Sequence`, which would allow a text."""

_MAX_LISTED_NAMES: Final = 100  # in a message


class ArmNames(Sequence[Hashable]):
    """The names of arms by number, and their numbers by name.

    Equal names count as one name, as in a `dict`: 1, 1.0 and True are one.

    Parameters
    ----------
    field : str
        The name of the field, for errors.
    values : sequence of hashable values, column of a data frame, or enumeration
        The distinct names. Scalars of NumPy become plain values; a text must fit on one line.

    Raises
    ------
    TypeError, ValueError
        If a value cannot be a name, or two names are equal.

    Examples
    --------
    >>> names = ArmNames("arms", ["red", ("dark", 2)])
    >>> names[1], names.find_number("arm", "red"), names.text(1)
    (('dark', 2), 0, "('dark', 2)")
    """

    def __init__(self, field: str, values: Any) -> None:
        entries = validation.check_sequence(field, values, "a number, or a sequence of names")
        self.names = tuple(_check_arm_name(f"{field}[{i}]", name) for i, name in enumerate(entries))
        validation.check_distinct(field, self.names[:1])  # refuses an empty sequence
        self._numbers: dict[Hashable, int] = {}
        for number, name in enumerate(self.names):
            if (first_number := self._numbers.setdefault(name, number)) != number:
                old, new = map(validation.short_repr, (self.names[first_number], name))
                reason = f"got {new} twice" if old == new else f"but {old} and {new} are equal"
                raise ValueError(f"{field} must differ, {reason}")

    def __len__(self) -> int:
        """Return the number of arms."""
        return len(self.names)

    def __getitem__(self, number: Any) -> Any:
        """Return the name of an arm."""
        return self.names[number]

    def __repr__(self) -> str:
        """Return the names, shortened."""
        return validation.short_repr(list(self.names))

    def find_number(self, field: str, name: Any) -> int:
        """Return the number of an arm by its name; errors begin with `field`."""
        try:
            return self._numbers[name]
        except (KeyError, TypeError):  # a value without a hash raises a TypeError
            text_names = [text for text in self.names if isinstance(text, str)]
            hint = validation.suggestion(name, text_names) if isinstance(name, str) else ""
            got = f"got {validation.short_repr(name)}{hint}"
            raise ValueError(f"{field} must be one of {self._list_names()}; {got}") from None

    def find_numbers(self, field: str, names: Any) -> NDArray[np.int64]:
        """Return the numbers of the arms in a column of names."""
        entries = validation.check_sequence(field, names)
        try:
            return np.array([self._numbers[name] for name in entries], np.int64)
        except (KeyError, TypeError):
            # Look the names up again one by one, so that the error names the row.
            numbers = (self.find_number(f"{field}[{i}]", name) for i, name in enumerate(entries))
            return np.fromiter(numbers, np.int64)

    def text(self, number: int) -> str:
        """Return an arm's name as text. Different arms have different texts, even 1 and '1'."""
        return self._name_texts[number]

    @cached_property
    def _name_texts(self) -> list[str]:
        texts = list(map(name_text, self.names))
        counts = Counter(texts)
        pairs = zip(self.names, texts, strict=True)
        texts = [validation.short_repr(name) if counts[text] > 1 else text for name, text in pairs]
        # Representations of long names may be equal, too, since they are cut off.
        while len(counts := Counter(texts)) < len(texts):
            texts = [
                f"{text} (number {number})" if counts[text] > 1 else text
                for number, text in enumerate(texts)
            ]
        return texts

    def _list_names(self) -> str:
        names_text = ", ".join(self._name_texts[:_MAX_LISTED_NAMES])
        hidden_count = len(self) - _MAX_LISTED_NAMES
        return names_text + (f" and {hidden_count:,} more" if hidden_count > 0 else "")


def name_text(name: Any) -> str:
    """Return the name of an arm as text, for printing.

    Examples
    --------
    >>> name_text("red"), name_text(3), name_text(("dark", 2))
    ('red', '3', "('dark', 2)")
    """
    if isinstance(name, Enum):
        return f"{type(name).__name__}.{name.name}"
    # Not `str(name)`, since a subclass may return any text from it, such as several lines.
    return str.__str__(name) if isinstance(name, str) else validation.short_repr(name)


def split_named_arms(field: str, arms: Any) -> tuple[Any, tuple[Any, ...] | None]:
    """Return the values of arms, and their names: None unless `arms` is a mapping by name.

    The names must have different texts, since the metrics of an arm are named after its text.

    Examples
    --------
    >>> split_named_arms("means", {"red": 0.04, "blue": 0.05})
    ([0.04, 0.05], ('red', 'blue'))
    >>> split_named_arms("means", [0.04, 0.05])
    ([0.04, 0.05], None)
    """
    if not isinstance(arms, Mapping):
        return arms, None
    return list(arms.values()), check_distinct_arm_texts(field, arms) if arms else None


def check_distinct_arm_texts(field: str, names: Iterable[Any]) -> tuple[Any, ...]:
    """Return the names of arms; refuse two with the same text, such as 1 and "1"."""
    plain_names = ArmNames(f"the arms of {field}", list(names)).names
    validation.check_names(f"the names of arms of {field}", map(name_text, plain_names))
    return plain_names


def entry_names_for_errors(field: str, arms: Any) -> list[str]:
    """Return what errors call the values of arms: ``means[0]``, or ``means['red']``.

    Examples
    --------
    >>> entry_names_for_errors("means", {"red": 0.04, "blue": 0.05})
    ["means['red']", "means['blue']"]
    """
    keys = arms if isinstance(arms, Mapping) else range(len(arms))
    return [f"{field}[{validation.short_repr(key)}]" for key in keys]


def order_by_name(field: str, values: Any, names: Sequence[Any] | None) -> Any:
    """Sort values into the order of the arms if they are given by name; else return them unchanged.

    Examples
    --------
    >>> order_by_name("thresholds", {"blue": 0.5, "red": 0.7}, ("red", "blue"))
    [0.7, 0.5]
    """
    if names is None or not isinstance(values, Mapping):
        return values
    if values.keys() != set(names):
        names_text = ", ".join(map(name_text, names[:_MAX_LISTED_NAMES]))
        raise ValueError(
            f"{field} must have a value of each arm, {names_text}; "
            f"got {validation.short_repr(values)}"
        )
    return [values[name] for name in names]


def _check_arm_name(field: str, name: Any) -> Any:
    """Return an arm's name, as a plain value if it is a scalar of NumPy; refuse other values."""
    plain = name.item() if isinstance(name, np.generic) else name
    try:
        hash(plain)
    except TypeError:
        raise TypeError(
            f"{field} must be hashable, such as a text, got {validation.short_repr(plain)}"
        ) from None
    if isinstance(plain, str) and not isinstance(plain, Enum):
        return validation.check_line(field, plain)
    if name != name:  # not `plain`, which is None for NumPy's "not a time"
        raise ValueError(f"{field} must be equal to itself, got {validation.short_repr(name)}")
    return plain
