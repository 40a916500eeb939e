"""Check of the type of what a compiled kernel (function) returns; errors say it in plain words.

Imported only while something is compiled, since it imports Numba.
"""

from collections.abc import Sequence
from typing import Any, cast

from numba import types

from keyhole.contract.state_arrays import Field


def is_returnable(value: types.Type, wanted: Sequence[Field]) -> bool:
    """Return whether a type is one that a kernel may return."""
    if not wanted:
        return isinstance(value, types.NoneType)
    if len(wanted) == 1:
        return isinstance(value, _allowed(wanted[0]))
    parts = _tuple_types(value)
    if len(parts) != len(wanted):
        return False
    return all(isinstance(v, _allowed(w)) for v, w in zip(parts, wanted, strict=True))


def _tuple_types(value: types.Type) -> tuple[types.Type, ...]:
    """Return the types of a tuple's entries."""
    return tuple(cast(Any, value)) if isinstance(value, types.BaseTuple) else ()


def _allowed(field: Field) -> tuple[type[types.Type], ...]:
    whole = (types.Integer, types.Boolean)
    return (*whole, types.Float) if field.dtype == "float64" else whole


def describe_type(value: types.Type) -> str:
    """Return the description of a Numba type in words."""
    if isinstance(value, types.NoneType):
        return "nothing"
    if isinstance(value, types.Optional):
        return f"{describe_type(value.type)} or nothing"
    if isinstance(value, types.BaseTuple):
        return f"({'; '.join(map(describe_type, _tuple_types(value)))})"
    if isinstance(value, types.Array):
        return "an array"
    for kind, words in (
        (types.Boolean, "True or False"),
        (types.Integer, "a whole number"),
        (types.Float, "a number with a fraction"),
    ):
        if isinstance(value, kind):
            return words
    return str(value)
