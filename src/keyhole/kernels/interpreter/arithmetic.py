"""Operators and functions of Python, `math` and NumPy, which return the bits of compiled code.

Compiled code calls the C library, and gets infinity or NaN where Python raises an error. Where
Python's function has the result of the C library's, Python's is called, since it is faster.

A division of floats by zero is infinite or NaN; integers wrap at 64 bits; a float is raised to an
integer by squaring. An int64 is a Python int whose results are wrapped; a uint64 is a `UInt64`. As
in Numba, an operation on an int64 and a uint64 gives an int64. Undefined or meaningless operations
of compiled code are errors here: an integer divided by zero, an integer made of NaN.
"""

import ctypes
import math
import operator
import sys
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Final, Self, cast

MASK: Final = (1 << 64) - 1
_SIGN_BIT: Final = 1 << 63
LARGEST: Final = _SIGN_BIT - 1  # of an int64
_SMALLEST: Final = -LARGEST - 1


class UndefinedOperationError(ArithmeticError):
    """An operation whose result is meaningless in compiled code, which performs it silently."""


def wrap_to_int64(value: int) -> int:
    """Return the int64 with the last 64 bits of an integer.

    Examples
    --------
    >>> wrap_to_int64(2**63), wrap_to_int64(-1)
    (-9223372036854775808, -1)
    """
    value = int(value) & MASK  # `int`, since the value may be a `UInt64`
    return value - (1 << 64) if value & _SIGN_BIT else value


class UInt64(int):
    """An unsigned integer of 64 bits, whose arithmetic wraps.

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


def _add_operator(name: str, *, is_shift: bool = False) -> None:
    """Add an operator to `UInt64`, and its reflection for an int64 on the left.

    The result of a shift has the type of the left operand.
    """
    int_operator = getattr(int, f"__{name}__")

    def method(self: UInt64, number: object) -> object:
        if is_shift or type(number) is UInt64:
            return UInt64(int_operator(self, number) & MASK)
        if not isinstance(number, int):
            return NotImplemented
        return wrap_to_int64(int_operator(wrap_to_int64(self), number))

    def reflected_method(self: UInt64, number: object) -> object:
        if not isinstance(number, int):
            return NotImplemented
        operand = self if is_shift else wrap_to_int64(self)
        return wrap_to_int64(int_operator(int(number), operand))

    for function, prefix in ((method, ""), (reflected_method, "r")):
        function.__name__ = f"__{prefix}{name}__"  # as debuggers and profiles show it
        function.__qualname__ = f"UInt64.{function.__name__}"
        setattr(UInt64, function.__name__, function)


for _name in ("add", "sub", "mul", "and", "or", "xor", "floordiv", "mod"):
    _add_operator(_name)
for _name in ("lshift", "rshift"):
    _add_operator(_name, is_shift=True)


def to_uint64(value: float) -> UInt64:
    """Convert a number to uint64, as `numba.uint64` does in compiled code."""
    if type(value) is float and not -1.0 < value < 2.0**64 and math.isfinite(value):
        raise UndefinedOperationError(f"makes an integer from 0 to 2**64 - 1 of {value!r}")
    return value if type(value) is UInt64 else UInt64(int(value) & MASK)


def to_int64(value: float) -> int:
    """Convert a number to int64, as `numba.int64` does in compiled code."""
    if type(value) is float and not -(2.0**63) <= value < 2.0**63 and math.isfinite(value):
        raise UndefinedOperationError(f"makes an integer of more than 64 bits of {value!r}")
    return wrap_to_int64(int(value))


def to_common_type(a: float, b: float) -> tuple[float, float]:
    """Convert two numbers to the type in which compiled code compares them in `min` and `max`.

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
    "int64": to_int64,
    "float64": float,
    "bool": bool,
}
"""Types of Numba and NumPy that kernels may call, by name."""


# A function of numbers. An int, a bool and a `UInt64` are also floats to a type checker.
Function = Callable[..., float]
Comparison = Callable[[float, float], bool]

# The C library of the process, with which Python itself is linked except on Windows.
_LIBRARY: Final = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def _load_c_function(name: str, argument_count: int = 1) -> Function:
    """Return a function of the C library that takes and returns doubles."""
    function = getattr(_LIBRARY, name)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * argument_count
    return cast(Function, function)


def _make_errorless_function(name: str, argument_count: int = 1) -> Function:
    """Return a function of `math` that calls the C library's where Python's raises an error."""
    python_function: Function = getattr(math, name)
    c_function = _load_c_function(name, argument_count)

    def function(*numbers: float) -> float:
        try:
            return python_function(*numbers)
        except (ValueError, OverflowError):
            return c_function(*numbers)

    return function


_LARGEST_SQUARED_EXPONENT: Final = 0x10000  # larger exponents go to the C library, as in Numba
_pow: Final = _make_errorless_function("pow", 2)


def power_of_floats(x: float, y: float) -> float:
    """Return x ** y; the exponents 2, 0.5 and -1 are special cases, as in compiled code."""
    x = float(x)
    if y == 2.0:
        return x * x
    if y == 0.5 and x > 0.0:
        return math.sqrt(x)
    if y == -1.0 and x:
        return 1.0 / x
    return _pow(x, y)


def power_by_squaring(x: float, n: int) -> float:
    """Return a power of a float by an integer."""
    if abs(n) > _LARGEST_SQUARED_EXPONENT:
        return power_of_floats(x, float(n))
    result = 1.0
    remaining_bits = abs(n)
    while remaining_bits:
        if remaining_bits & 1:
            result *= x
        remaining_bits >>= 1
        x *= x
    if n < 0 and result == 0.0:  # compiled code raises an error here
        raise UndefinedOperationError("raises 0 to a negative power")
    return 1.0 / result if n < 0 else result


def _math_pow(x: float, y: float) -> float:
    if isinstance(y, int):
        return power_by_squaring(float(x), int(y))
    return power_of_floats(x, y)


def _make_rounding(function: Function) -> Function:
    """Return a function that rounds a float, keeping its sign, and returns integers unchanged."""

    def round_keeping_sign(x: float) -> float:
        if type(x) is float and math.isfinite(x) and x:
            return math.copysign(function(x), x)
        return x

    return round_keeping_sign


_round_to_nearest: Final = _make_rounding(round)


def _sign(x: float) -> float:
    if not isinstance(x, float):
        return (x > 0) - (x < 0)
    if math.isnan(x) or not x:
        return x
    return math.copysign(1.0, x)


def _make_numpy_extremum(is_better: Comparison) -> Function:
    """Return a function that chooses the better of two numbers, or NaN if either is NaN."""

    def choose(x: float, y: float) -> float:
        if x != x or y != y:
            return math.nan
        x, y = to_common_type(x, y)
        return x if is_better(x, y) else y

    return choose


def _make_wrapping_operation(operation: Function) -> Function:
    """Return an operation on numbers that wraps integers at 64 bits."""

    def operate_and_wrap(*numbers: float) -> float:
        result = operation(*numbers)
        if type(result) is int and not _SMALLEST <= result <= LARGEST:
            return wrap_to_int64(result)
        return result

    return operate_and_wrap


absolute: Final = _make_wrapping_operation(abs)


def _make_integer_rounding(function: Function) -> Function:
    """Return a function that rounds a number to an int64; a `UInt64` becomes a float and back."""

    def round_to_integer(x: float) -> int:
        if type(x) is UInt64:
            return to_uint64(float(x))
        return to_int64(float(function(float(x))))

    return round_to_integer


_UNARY: Final = (
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip

MATH: Final[dict[str, Function]] = {
    **{name: _make_errorless_function(name) for name in _UNARY},
    "pow": _math_pow,
    "atan2": _make_errorless_function("atan2", 2),
    # Python has its own implementations of these, which differ in the last bits.
    **{name: _load_c_function(name) for name in ("erf", "erfc", "lgamma")},
    "hypot": _load_c_function("hypot", 2),
    "gamma": _load_c_function("tgamma"),
    **{name: getattr(math, name) for name in ("copysign", "fabs", "isfinite", "isinf", "isnan")},
    **{name: getattr(math, name) for name in ("degrees", "radians", "gcd", "frexp")},
    **{name: _make_integer_rounding(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
}
"""The functions of `math` that kernels may use, by name."""

# Functions of `math` whose bits may differ from those of NumPy's functions of the same names.
_UNLIKE_MATH: Final = ("degrees", "radians", "gcd", "frexp")

NUMPY: Final[dict[str, Function]] = {
    **{name: function for name, function in MATH.items() if name not in _UNLIKE_MATH},
    **CASTS,
    **{name: _make_rounding(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    "rint": lambda x: _round_to_nearest(float(x)),
    "absolute": absolute,
    "sign": _sign,
    "maximum": _make_numpy_extremum(operator.ge),
    "minimum": _make_numpy_extremum(operator.le),
    "square": _make_wrapping_operation(lambda x: x * x),
    "arctan": MATH["atan"],
    "arctan2": MATH["atan2"],
}
"""The functions of NumPy that kernels may use on single numbers, by name."""


_BITS: Final = 64
_MAX_EXACT_DIGITS: Final = 22  # 10**22 is the largest power of ten that a float holds exactly


add: Final = _make_wrapping_operation(operator.add)
subtract: Final = _make_wrapping_operation(operator.sub)
multiply: Final = _make_wrapping_operation(operator.mul)
negate: Final = _make_wrapping_operation(operator.neg)


def invert(a: int) -> int:
    """Return ~a, or `not a` of a bool."""
    return not a if type(a) is bool else ~a


def shift_left(a: int, b: int) -> int:
    """Return a << b."""
    _check_shift_count(b)
    return a << b if type(a) is UInt64 else wrap_to_int64(int(a) << b)


def shift_right(a: int, b: int) -> int:
    """Return a >> b."""
    _check_shift_count(b)
    return a >> b


def _check_shift_count(count: int) -> None:
    if not 0 <= count < _BITS:
        raise UndefinedOperationError(f"shifts by {count} bits, where 0 to 63 are possible")


def divide(a: float, b: float) -> float:
    """Return a / b, as floats.

    Examples
    --------
    >>> divide(1.0, 0.0), divide(-1, 0), divide(0.0, 0.0)
    (inf, -inf, nan)
    """
    dividend = float(a)
    divisor = float(b)
    if divisor:
        return dividend / divisor
    if dividend == 0.0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def floor_divide(a: float, b: float) -> float:
    """Return a // b."""
    if b:
        quotient = a // b
        # Only the smallest int64 divided by -1 gives more than an int64. Numba makes it 0.
        return 0 if type(quotient) is int and quotient > LARGEST else quotient
    if isinstance(a, int) and isinstance(b, int):
        raise UndefinedOperationError("divides an integer by 0")
    return divide(a, b)


def modulo(a: float, b: float) -> float:
    """Return a % b."""
    if b:
        return a % b
    if isinstance(a, int) and isinstance(b, int):
        raise UndefinedOperationError("divides an integer by 0")
    return math.nan


def power(a: float, b: float) -> float:
    """Return a ** b: by squaring if only b is an integer, modulo 2**64 if both are."""
    if not isinstance(b, int) or (isinstance(a, float) and type(b) is bool):
        return power_of_floats(a, float(b))
    if isinstance(a, float):
        return power_by_squaring(a, int(b))
    # Every step wraps, since the power itself could have millions of digits.
    if type(a) is UInt64 and type(b) is UInt64:
        return UInt64(pow(int(a), int(b), MASK + 1))
    base = wrap_to_int64(int(a))
    if b >= 0:
        return wrap_to_int64(pow(base, int(b), MASK + 1))
    if base == 0:
        raise UndefinedOperationError("raises 0 to a negative power")
    if base not in (1, -1):
        return 0  # the reciprocal of an integer, truncated
    return base ** (b % 2)


def _make_python_extremum(is_better: Comparison, best_of: Function) -> Function:
    """Return the function that chooses the best of its arguments, in the common type of all.

    `best_of` chooses from a single argument, which is iterable.
    """

    def choose(first: Any, *others: float) -> float:
        if not others:
            return best_of(first)
        best: float = first
        for value in others:
            best, number = to_common_type(best, value)
            if is_better(number, best):
                best = number
        return best

    return choose


maximum: Final = _make_python_extremum(operator.gt, max)
minimum: Final = _make_python_extremum(operator.lt, min)


def sum_values(values: Iterable[float], start: float = 0) -> float:
    """Return the sum; integers wrap at 64 bits."""
    return reduce(add, values, start)


def truncate_to_integer(value: float = 0) -> int:
    """Truncate a number to an int64; return a `UInt64` as it is."""
    return value if type(value) is UInt64 else to_int64(value)


def round_number(value: float, digits: int | None = None) -> float:
    """Round half to even: to an integer or, by scaling as Numba does, to `digits` decimals."""
    if digits is None:
        return to_int64(float(round(float(value))))
    if not math.isfinite(value):
        return value
    if digits < 0:
        scale = power_by_squaring(10.0, -digits)
        return _round_to_nearest(value / scale) * scale
    scale = power_by_squaring(10.0, min(digits, _MAX_EXACT_DIGITS))
    further_scale = power_by_squaring(10.0, max(digits - _MAX_EXACT_DIGITS, 0))
    # Where 10**digits is no exact float, the scaling takes two steps, in Numba's order.
    scaled_value = value * further_scale * scale
    if math.isinf(scaled_value):
        return value
    return _round_to_nearest(scaled_value) / scale / further_scale
