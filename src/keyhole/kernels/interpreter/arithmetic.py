"""Operators, built-in functions, and those of `math` and NumPy, with the bits of compiled code.

Compiled code calls the C library, and gets infinity or NaN where Python raises an error. Where
Python's result is the C library's, its function is used, since it is faster.

A division of floats by zero is infinite or NaN; integers wrap at 64 bits; integer powers are by
squaring. Undefined or meaningless operations of compiled code are errors here: an integer divided
by zero, an integer made of NaN.
"""

import ctypes
import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from keyhole.kernels.interpreter.wrapping_integers import (
    CASTS,
    LARGEST,
    MASK,
    UInt64,
    UndefinedOperationError,
    to_common_type,
    to_int64,
    to_uint64,
    wrap,
)

# A function of numbers. An int, a bool and a `UInt64` are also floats to a type checker.
Function = Callable[..., float]
Comparison = Callable[[float, float], bool]

# The C library of the process, with which Python itself is linked (not so on Windows).
_LIBRARY: Final = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def _c_function(name: str, arguments: int = 1) -> Function:
    """Return a function of the C library that takes and returns doubles."""
    function = getattr(_LIBRARY, name)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * arguments
    result: Function = function
    return result


def _without_errors(name: str, arguments: int = 1) -> Function:
    """Return Python's function, falling back to the C library's where Python raises an error."""
    python_function: Function = getattr(math, name)
    c_function = _c_function(name, arguments)

    def function(*numbers: float) -> float:
        try:
            return python_function(*numbers)
        except (ValueError, OverflowError):
            return c_function(*numbers)

    return function


_BY_SQUARING: Final = 0x10000  # larger exponents go to the C library, as in Numba
_pow: Final = _without_errors("pow", 2)


def power_of_floats(x: float, y: float) -> float:
    """Return a power of floats, with the special exponents of compiled code."""
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
    if abs(n) > _BY_SQUARING:
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


def _power(x: float, y: float) -> float:
    if isinstance(y, int):
        return power_by_squaring(float(x), int(y))
    return power_of_floats(x, y)


def _ldexp(x: float, power: int) -> float:
    try:
        return math.ldexp(x, power)
    except OverflowError:
        return math.copysign(math.inf, x)


def _make_rounding(function: Function) -> Function:
    """Return a function that rounds floats to floats, with their signs, and leaves integers."""

    def rounded(x: float) -> float:
        if type(x) is float and math.isfinite(x) and x:
            return math.copysign(function(x), x)
        return x

    return rounded


_nearest: Final = _make_rounding(round)


def _sign(x: float) -> float:
    if not isinstance(x, float):
        return (x > 0) - (x < 0)
    if math.isnan(x) or not x:
        return x
    return math.copysign(1.0, x)


def _make_choice_or_nan(is_better: Comparison) -> Function:
    """Return a function that chooses one of two numbers, or NaN if either is NaN."""

    def choose(x: float, y: float) -> float:
        if x != x or y != y:
            return math.nan
        x, y = to_common_type(x, y)
        return x if is_better(x, y) else y

    return choose


_SMALLEST: Final = -LARGEST - 1


def _make_wrapping(operation: Function) -> Function:
    """Return an operation on numbers that wraps integers at 64 bits."""

    def wrapped(*numbers: float) -> float:
        result = operation(*numbers)
        if type(result) is int and not _SMALLEST <= result <= LARGEST:
            return wrap(result)
        return result

    return wrapped


absolute: Final = _make_wrapping(abs)


def _make_conversion(function: Function) -> Function:
    """Return a function that converts by way of a float to an integer of its argument's type."""

    def convert(x: float) -> int:
        if type(x) is UInt64:
            return to_uint64(float(x))
        return to_int64(float(function(float(x))))

    return convert


_UNARY: Final = (
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip

MATH: Final[dict[str, Function | float]] = {
    **{name: _without_errors(name) for name in _UNARY},
    "pow": _power,
    "atan2": _without_errors("atan2", 2),
    # Python has its own implementations of these, which differ in the last bits.
    **{name: _c_function(name) for name in ("erf", "erfc", "lgamma")},
    "hypot": _c_function("hypot", 2),
    "gamma": _c_function("tgamma"),
    **{name: getattr(math, name) for name in ("copysign", "fabs", "isfinite", "isinf", "isnan")},
    **{name: getattr(math, name) for name in ("degrees", "radians", "gcd", "frexp")},
    "ldexp": _ldexp,
    **{name: _make_conversion(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    **{name: getattr(math, name) for name in ("inf", "nan", "pi", "e", "tau")},
}
"""The functions and constants of `math` that kernels may use, by name."""

_SAME: Final = (
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "hypot", "copysign", "fabs", "isfinite", "isinf", "isnan",
)  # fmt: skip

NUMPY: Final[dict[str, Function | float]] = {
    **{name: MATH[name] for name in _SAME},
    **CASTS,
    **{name: _make_rounding(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    "rint": lambda x: _nearest(float(x)),
    "abs": absolute,
    "absolute": absolute,
    "sign": _sign,
    "maximum": _make_choice_or_nan(operator.ge),
    "minimum": _make_choice_or_nan(operator.le),
    "square": _make_wrapping(lambda x: x * x),
    "isinf": math.isinf,
    "arctan": MATH["atan"],
    "arctan2": MATH["atan2"],
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "e": math.e,
}
"""The functions and constants of NumPy that kernels may use on single numbers, by name."""


_BITS: Final = 64
_EXACT_POWERS: Final = 22  # of ten, in a float


add: Final = _make_wrapping(operator.add)
subtract: Final = _make_wrapping(operator.sub)
multiply: Final = _make_wrapping(operator.mul)
negate: Final = _make_wrapping(operator.neg)


def invert(a: int) -> int:
    """Return ~a; the negation of a bool."""
    return not a if type(a) is bool else ~a


def shift_left(a: int, b: int) -> int:
    """Return a << b."""
    _check_shift(b)
    return a << b if type(a) is UInt64 else wrap(int(a) << b)


def shift_right(a: int, b: int) -> int:
    """Return a >> b."""
    _check_shift(b)
    return a >> b


def _check_shift(count: int) -> None:
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
        # The only quotient beyond int64 is that of the least one and -1, which Numba makes 0.
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
    """Return a ** b: by squaring where b is an integer."""
    if not isinstance(b, int) or (isinstance(a, float) and type(b) is bool):
        return power_of_floats(a, float(b))
    if isinstance(a, float):
        return power_by_squaring(a, int(b))
    # Modulo 2**64 at every step: the power itself could have millions of digits.
    if type(a) is UInt64 and type(b) is UInt64:
        return UInt64(pow(int(a), int(b), MASK + 1))
    base = wrap(int(a))
    if b >= 0:
        return wrap(pow(base, int(b), MASK + 1))
    if base == 0:
        raise UndefinedOperationError("raises 0 to a negative power")
    if base not in (1, -1):
        return 0
    return base ** (b % 2)


def _make_choice(is_better: Comparison, best_of: Function) -> Function:
    """Return the function that chooses the best of its arguments, in the common type of all."""

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


maximum: Final = _make_choice(operator.gt, max)
minimum: Final = _make_choice(operator.lt, min)


def total(values: Iterable[float], start: float = 0) -> float:
    """Return the sum."""
    for value in values:
        start = add(start, value)
    return start


def to_integer(value: float = 0) -> int:
    """Return a number truncated to an integer of 64 bits."""
    return value if type(value) is UInt64 else to_int64(value)


def round_number(value: float, digits: int | None = None) -> float:
    """Return a number rounded half to even; to a number of digits as Numba does, by scaling."""
    if digits is None:
        return to_int64(float(round(float(value))))
    if not math.isfinite(value):
        return value
    if digits < 0:
        scale = power_by_squaring(10.0, -digits)
        return _to_nearest(value / scale) * scale
    scale = power_by_squaring(10.0, min(digits, _EXACT_POWERS))
    further = power_by_squaring(10.0, max(digits - _EXACT_POWERS, 0))
    # In two steps where 10**digits is no exact float, in the order that Numba has.
    scaled = value * further * scale
    if math.isinf(scaled):
        return value
    return _to_nearest(scaled) / scale / further


def _to_nearest(value: float) -> float:
    return math.copysign(round(value), value)


def divide_both(a: float, b: float) -> tuple[float, float]:
    """Return quotient and remainder."""
    return floor_divide(a, b), modulo(a, b)
