"""64-bit integers that wrap as in compiled code, where Python's would grow.

An int64 is a Python int whose results are wrapped; a uint64 is a `UInt64`. As in Numba, an
operation on one of each gives an int64.
"""

from collections.abc import Callable
from math import isfinite
from typing import Final, Self

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

    def method(self: UInt64, number: object) -> object:
        if shifts or type(number) is UInt64:
            return UInt64(of_integers(self, number) & MASK)
        if not isinstance(number, int):
            return NotImplemented
        return wrap(of_integers(wrap(self), number))

    def reflected(self: UInt64, number: object) -> object:
        if not isinstance(number, int):
            return NotImplemented
        operand = self if shifts else wrap(self)
        return wrap(of_integers(int(number), operand))

    for function, prefix in ((method, ""), (reflected, "r")):
        function.__name__ = f"__{prefix}{name}__"  # as debuggers and profiles show it
        function.__qualname__ = f"UInt64.{function.__name__}"
        setattr(UInt64, function.__name__, function)


for _name in ("add", "sub", "mul", "and", "or", "xor", "floordiv", "mod"):
    _add_operators(_name)
for _name in ("lshift", "rshift"):
    _add_operators(_name, shifts=True)


def to_uint64(value: float) -> UInt64:
    """Convert a number to uint64, as `numba.uint64` does in compiled code."""
    if type(value) is float and not -1.0 < value < 2.0**64 and isfinite(value):
        raise UndefinedOperationError(f"makes an integer from 0 to 2**64 - 1 of {value!r}")
    return value if type(value) is UInt64 else UInt64(int(value) & MASK)


def to_int64(value: float) -> int:
    """Convert a number to int64, as `numba.int64` does in compiled code."""
    if type(value) is float and not -(2.0**63) <= value < 2.0**63 and isfinite(value):
        raise UndefinedOperationError(f"makes an integer of more than 64 bits of {value!r}")
    return wrap(int(value))


def to_common_type(a: float, b: float) -> tuple[float, float]:
    """Convert two numbers to the type in which compiled code compares them to choose one.

    Examples
    --------
    >>> to_common_type(2**53 + 1, 0.5), to_common_type(True, 3), to_common_type(UInt64(1), 2)
    ((9007199254740992.0, 0.5), (1, 3), (1.0, 2.0))
    """
    a_type = type(a)
    b_type = type(b)
    if a_type is b_type:
        return a, b
    if bool in (a_type, b_type) and float not in (a_type, b_type):
        common_type = b_type if a_type is bool else a_type
        return common_type(a), common_type(b)
    return float(a), float(b)


CASTS: Final[dict[str, Callable[[float], float]]] = {
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
