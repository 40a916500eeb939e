"""64-bit integers that wrap as in compiled code, where Python's would grow.

An int64 is a Python int whose results are wrapped; a uint64 is a `UInt64`. As in Numba, an
operation on one of each gives an int64.
"""

from math import isfinite
from typing import Any, Final, Self

MASK: Final = (1 << 64) - 1
_SIGN: Final = 1 << 63
LARGEST: Final = _SIGN - 1


class UndefinedOperationError(ArithmeticError):
    """An operation whose result is meaningless in compiled code, which performs it silently."""


def wrap(value: int) -> int:
    """Return the int64 with the last 64 bits of an integer.

    Examples
    --------
    >>> wrap(2**63), wrap(-1)
    (-9223372036854775808, -1)
    """
    value = int(value) & MASK  # of a UInt64 too
    return value - (1 << 64) if value & _SIGN else value


class UInt64(int):
    """A uint64: its arithmetic wraps at 2**64.

    Examples
    --------
    >>> UInt64(2**64 - 1) + UInt64(2)
    1
    >>> UInt64(0) - UInt64(1)
    18446744073709551615
    """

    __slots__ = ()

    def __neg__(self) -> Self:
        """Return the two's complement."""
        return type(self)(-int(self) & MASK)

    def __invert__(self) -> Self:
        """Return the one's complement."""
        return type(self)(int(self) ^ MASK)


def _add_operators(name: str, *, shifts: bool = False) -> None:
    """Add an operator to `UInt64`, and its reflection: for an int64 on the left."""
    of_integers = getattr(int, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        if shifts or type(other) is UInt64:
            return UInt64(of_integers(self, other) & MASK)
        return wrap(of_integers(wrap(self), other)) if isinstance(other, int) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return wrap(of_integers(int(other), self if shifts else wrap(self)))

    for function, prefix in ((method, ""), (reflected, "r")):
        function.__name__ = f"__{prefix}{name}__"  # as debuggers and profiles show it
        function.__qualname__ = f"UInt64.{function.__name__}"
        setattr(UInt64, function.__name__, function)


for _name in ("add", "sub", "mul", "and", "or", "xor", "floordiv", "mod"):
    _add_operators(_name)
for _name in ("lshift", "rshift"):
    _add_operators(_name, shifts=True)


def to_uint64(value: Any) -> UInt64:
    """Convert a number to uint64, as `numba.uint64` does in compiled code."""
    if type(value) is float and not -1.0 < value < 2.0**64 and isfinite(value):
        raise UndefinedOperationError(f"makes an integer from 0 to 2**64 - 1 of {value!r}")
    return value if type(value) is UInt64 else UInt64(int(value) & MASK)


def to_int64(value: Any) -> int:
    """Convert a number to int64, as `numba.int64` does in compiled code."""
    if type(value) is float and not -(2.0**63) <= value < 2.0**63 and isfinite(value):
        raise UndefinedOperationError(f"makes an integer of more than 64 bits of {value!r}")
    return wrap(int(value))


def to_common_type(a: Any, b: Any) -> tuple[Any, Any]:
    """Convert two numbers to the type in which compiled code compares them to choose one.

    Examples
    --------
    >>> to_common_type(2**53 + 1, 0.5), to_common_type(True, 3), to_common_type(UInt64(1), 2)
    ((9007199254740992.0, 0.5), (1, 3), (1.0, 2.0))
    """
    one, other = type(a), type(b)
    if one is other:
        return a, b
    if bool in (one, other) and float not in (one, other):
        kind = other if one is bool else one
        return kind(a), kind(b)
    return float(a), float(b)


CASTS: Final[dict[str, Any]] = {
    "uint64": to_uint64,
    "uintp": to_uint64,
    "int64": to_int64,
    "intp": to_int64,
    "int_": to_int64,
    "float64": float,
    "double": float,
    "bool": bool,
    "bool_": bool,
    "boolean": bool,
}
"""Types of Numba and NumPy that kernels may call, by name."""
