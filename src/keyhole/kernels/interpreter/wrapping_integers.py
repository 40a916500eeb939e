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

    # Written out, not generated in a loop: these methods appear in debuggers and profiles.

    def __add__(self, other: Any) -> Any:
        """Return the sum."""
        if type(other) is UInt64:
            return UInt64(int.__add__(self, other) & MASK)
        return wrap(int.__add__(self, other)) if isinstance(other, int) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Return the difference."""
        if type(other) is UInt64:
            return UInt64(int.__sub__(self, other) & MASK)
        return wrap(int.__sub__(self, other)) if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        """Return the difference from an int64."""
        return wrap(int.__rsub__(self, other)) if isinstance(other, int) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        """Return the product."""
        if type(other) is UInt64:
            return UInt64(int.__mul__(self, other) & MASK)
        return wrap(int.__mul__(self, other)) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __and__(self, other: Any) -> Any:
        """Return the bitwise and."""
        result = int.__and__(self, other)
        return UInt64(result) if type(other) is UInt64 else wrap(result)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        """Return the bitwise or."""
        result = int.__or__(self, other)
        return UInt64(result) if type(other) is UInt64 else wrap(result)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        """Return the bitwise exclusive or."""
        result = int.__xor__(self, other)
        return UInt64(result) if type(other) is UInt64 else wrap(result)

    __rxor__ = __xor__

    def __lshift__(self, other: int) -> Self:
        """Return the bits shifted left; those beyond bit 63 are lost."""
        return type(self)(int.__lshift__(self, other) & MASK)

    def __rlshift__(self, other: int) -> int:
        """Return an int64 shifted left."""
        return wrap(int.__rlshift__(self, other))

    def __rshift__(self, other: int) -> Self:
        """Return the bits shifted right."""
        return type(self)(int.__rshift__(self, other))

    def __rrshift__(self, other: int) -> int:
        """Return an int64 shifted right."""
        return int.__rrshift__(self, other)

    def __neg__(self) -> Self:
        """Return the two's complement."""
        return type(self)(-int(self) & MASK)

    def __invert__(self) -> Self:
        """Return the one's complement."""
        return type(self)(int(self) ^ MASK)

    def __floordiv__(self, other: Any) -> Any:
        """Return the quotient, rounded down."""
        if type(other) is UInt64:
            return UInt64(int(self) // int(other))
        return wrap(wrap(self) // int(other)) if isinstance(other, int) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        """Return the quotient of an int64 by this, rounded down."""
        return wrap(int(other) // wrap(self)) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        """Return the remainder."""
        if type(other) is UInt64:
            return UInt64(int(self) % int(other))
        return wrap(wrap(self) % int(other)) if isinstance(other, int) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        """Return the remainder of an int64 by this."""
        return wrap(int(other) % wrap(self)) if isinstance(other, int) else NotImplemented


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
