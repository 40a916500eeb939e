"""Operators, built-in functions, and those of `math` and NumPy, with the bits of compiled code.

Kernels, functions that are else compiled, are here run by Python, with the same results. Compiled
code calls the C library, and gets infinity or NaN where Python raises an error. Where Python's
result is the C library's, its function is used, since it is faster.

A division of floats by zero is infinite or NaN; integers wrap at 64 bits; integer powers are by
squaring. Undefined or meaningless operations of compiled code are errors here: an integer divided
by zero, an integer made of NaN.
"""

import ctypes
import math
import operator
import sys
from collections.abc import Callable
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

Function = Callable[..., Any]

# The C library of the process, with which Python itself is linked (not so on Windows).
_LIBRARY: Final = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)


def _c_function(name: str, arguments: int = 1) -> Function:
    """Return a function of the C library that takes and returns doubles."""
    function = getattr(_LIBRARY, name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * arguments
    result: Function = function
    return result


def _without_errors(name: str, arguments: int = 1) -> Function:
    """Return Python's function, falling back to the C library's where Python raises an error."""
    quick, slow = getattr(math, name), _c_function(name, arguments)

    def function(*numbers: float) -> Any:
        try:
            return quick(*numbers)
        except (ValueError, OverflowError):
            return slow(*numbers)

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
    result: float = _pow(x, y)
    return result


def power_by_squaring(x: float, n: int) -> float:
    """Return a power of a float by an integer."""
    if abs(n) > _BY_SQUARING:
        return power_of_floats(x, float(n))
    result, rest = 1.0, abs(n)
    while rest:
        if rest & 1:
            result *= x
        rest >>= 1
        x *= x
    if n < 0 and result == 0.0:  # compiled code raises an error here
        raise UndefinedOperationError("raises 0 to a negative power")
    return 1.0 / result if n < 0 else result


def _power(x: Any, y: Any) -> float:
    by_squaring = isinstance(y, int)
    return power_by_squaring(float(x), int(y)) if by_squaring else power_of_floats(x, y)


def _ldexp(x: float, power: int) -> float:
    try:
        return math.ldexp(x, power)
    except OverflowError:
        return math.copysign(math.inf, x)


def _make_rounding(function: Function) -> Function:
    """Return a function that rounds floats to floats, with their signs, and leaves integers."""

    def rounded(x: Any) -> Any:
        is_plain = type(x) is float and math.isfinite(x) and x
        return math.copysign(function(x), x) if is_plain else x

    return rounded


_nearest: Final = _make_rounding(round)


def _sign(x: Any) -> Any:
    if isinstance(x, float):
        return math.copysign(1.0, x) if x and not math.isnan(x) else x
    return (x > 0) - (x < 0)


def _choice_or_nan(is_better: Function) -> Function:
    """Return a function that chooses one of two numbers, or NaN if either is NaN."""

    def choose(x: Any, y: Any) -> Any:
        if x != x or y != y:
            return math.nan
        x, y = to_common_type(x, y)
        return x if is_better(x, y) else y

    return choose


_LEAST: Final = -LARGEST - 1


def _make_wrapping(operation: Function) -> Function:
    """Return an operation on numbers that wraps integers at 64 bits."""

    def wrapped(*numbers: Any) -> Any:
        result = operation(*numbers)
        return wrap(result) if type(result) is int and not _LEAST <= result <= LARGEST else result

    return wrapped


absolute: Final = _make_wrapping(abs)


def _to_integer(function: Function) -> Function:
    """Return a function that converts by way of a float to an integer of its argument's type."""

    def to_integer(x: Any) -> Any:
        if type(x) is UInt64:
            return to_uint64(float(x))
        return to_int64(float(function(float(x))))

    return to_integer


_ONE: Final = (
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip

MATH: Final[dict[str, Any]] = {
    **{name: _without_errors(name) for name in _ONE},
    "pow": _power,
    "atan2": _without_errors("atan2", 2),
    # Python has its own implementations of these, which differ in the last bits.
    **{name: _c_function(name) for name in ("erf", "erfc", "lgamma")},
    "hypot": _c_function("hypot", 2),
    "gamma": _c_function("tgamma"),
    **{name: getattr(math, name) for name in ("copysign", "fabs", "isfinite", "isinf", "isnan")},
    **{name: getattr(math, name) for name in ("degrees", "radians", "gcd", "frexp")},
    "ldexp": _ldexp,
    **{name: _to_integer(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    **{name: getattr(math, name) for name in ("inf", "nan", "pi", "e", "tau")},
}
"""The functions and constants of `math` that kernels may use, by name."""

_SAME: Final = (
    "log", "log1p", "log2", "log10", "exp", "expm1", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "hypot", "copysign", "fabs", "isfinite", "isinf", "isnan",
)  # fmt: skip

NUMPY: Final[dict[str, Any]] = {
    **{name: MATH[name] for name in _SAME},
    **CASTS,
    **{name: _make_rounding(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    "rint": lambda x: _nearest(float(x)),
    "abs": absolute,
    "absolute": absolute,
    "sign": _sign,
    "maximum": _choice_or_nan(operator.ge),
    "minimum": _choice_or_nan(operator.le),
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


def invert(a: Any) -> Any:
    """Return ~a; the negation of a bool."""
    return not a if type(a) is bool else ~a


def shift_left(a: Any, b: Any) -> Any:
    """Return a << b."""
    _check_shift(b)
    return a << b if type(a) is UInt64 else wrap(int(a) << b)


def shift_right(a: Any, b: Any) -> Any:
    """Return a >> b."""
    _check_shift(b)
    return a >> b


def _check_shift(count: Any) -> None:
    if not 0 <= count < _BITS:
        raise UndefinedOperationError(f"shifts by {count} bits, where 0 to 63 are possible")


def divide(a: Any, b: Any) -> float:
    """Return a / b, as floats.

    Examples
    --------
    >>> divide(1.0, 0.0), divide(-1, 0), divide(0.0, 0.0)
    (inf, -inf, nan)
    """
    up, down = float(a), float(b)
    if down:
        return up / down
    if up == 0.0 or math.isnan(up):
        return math.nan
    return math.copysign(math.inf, up) * math.copysign(1.0, down)


def floor_divide(a: Any, b: Any) -> Any:
    """Return a // b."""
    if b:
        result = a // b
        # The only quotient beyond int64 is that of the least one and -1, which Numba makes 0.
        return 0 if type(result) is int and result > LARGEST else result
    if isinstance(a, int) and isinstance(b, int):
        raise UndefinedOperationError("divides an integer by 0")
    return divide(a, b)


def modulo(a: Any, b: Any) -> Any:
    """Return a % b."""
    if b:
        return a % b
    if isinstance(a, int) and isinstance(b, int):
        raise UndefinedOperationError("divides an integer by 0")
    return math.nan


def power(a: Any, b: Any) -> Any:
    """Return a ** b: by squaring where b is an integer."""
    if not isinstance(b, int) or (isinstance(a, float) and type(b) is bool):
        return power_of_floats(a, float(b))
    if isinstance(a, float):
        return power_by_squaring(a, int(b))
    whole = type(a) is UInt64 and type(b) is UInt64
    base = int(a) if whole else wrap(int(a))
    if b < 0:
        if base == 0:
            raise UndefinedOperationError("raises 0 to a negative power")
        return 0 if base not in (1, -1) else base if b % 2 else 1
    # Modulo 2**64 at every step: the whole power could have millions of digits.
    result = pow(base, int(b), MASK + 1)
    return UInt64(result) if whole else wrap(result)


def _choice(is_better: Function, best_of: Function) -> Function:
    """Return the function that chooses the best of its arguments, in the common type of all."""

    def choose(first: Any, *others: Any) -> Any:
        if not others:
            return best_of(first)
        for value in others:
            first, value = to_common_type(first, value)
            first = value if is_better(value, first) else first
        return first

    return choose


maximum: Final = _choice(operator.gt, max)
minimum: Final = _choice(operator.lt, min)


def total(values: Any, start: Any = 0) -> Any:
    """Return the sum."""
    for value in values:
        start = add(start, value)
    return start


def to_integer(value: Any = 0) -> Any:
    """Return a number truncated to an integer of 64 bits."""
    return value if type(value) is UInt64 else to_int64(value)


def round_number(value: Any, digits: Any = None) -> Any:
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
    y = value * further * scale if digits > _EXACT_POWERS else value * scale
    if math.isinf(y):
        return value
    return _to_nearest(y) / scale / further


def _to_nearest(value: float) -> float:
    return math.copysign(round(value), value)


def divide_both(a: Any, b: Any) -> tuple[Any, Any]:
    """Return quotient and remainder."""
    return floor_divide(a, b), modulo(a, b)
