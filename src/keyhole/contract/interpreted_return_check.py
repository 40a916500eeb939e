"""Check of what a kernel (a function to be compiled) returns when Python runs it instead."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from keyhole.contract.state_arrays import Field

_KINDS: Final = {"int64": "a whole number", "float64": "a number", "bool": "True or False"}


def describe_wanted(wanted: Mapping[str, Field]) -> str:
    """Return the description of what a kernel must return."""
    if not wanted:
        return "nothing"
    words = [
        f"{_KINDS[field.dtype]}, {name}" if name else _KINDS[field.dtype]
        for name, field in wanted.items()
    ]
    return words[0] if len(words) == 1 else f"({'; '.join(words)})"


def make_value_check(wanted: Mapping[str, Field]) -> Callable[[Any], bool]:
    """Return the function that checks whether an interpreted kernel may return a value."""
    kinds = [
        int if field.dtype != "float64" else (int, float) for field in wanted.values()
    ]  # a bool is an int
    if not kinds:
        return lambda value: value is None
    if len(kinds) == 1:
        only: Any = kinds[0]
        return lambda value: isinstance(value, only)

    def fits(value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == len(kinds)
            and all(map(isinstance, value, kinds))
        )

    return fits


def describe_value(value: Any) -> str:
    """Return the description of a value in words, as `describe_type` does for compiled code."""
    if isinstance(value, tuple):
        return f"({'; '.join(map(describe_value, value))})"
    for kind, words in _VALUES:
        if isinstance(value, kind):
            return words
    return "an array"


_VALUES: Final = (
    (type(None), "nothing"),
    (bool, "True or False"),
    (int, "a whole number"),
    (float, "a number with a fraction"),
    (str, "text"),
)
