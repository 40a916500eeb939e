"""Operators and built-in functions with the semantics of compiled code.

Kernels, functions that are else compiled, are here run by Python, with the same results.

A division of floats by zero is infinite or NaN; integers wrap at 64 bits; integer powers are by
squaring. Undefined or meaningless operations of compiled code are errors here: an integer divided
by zero, an integer made of NaN.
"""

import math
import operator
from typing import Any, Final

from keyhole.kernels.interpreter.math_functions import (
    Function,
    power_by_squaring,
    power_of_floats,
    wrapping,
)
from keyhole.kernels.interpreter.wrapping_integers import (
    LARGEST,
    MASK,
    UInt64,
    UndefinedOperationError,
    to_common_type,
    to_int64,
    wrap,
)

_LEAST: Final = -LARGEST - 1
_BITS: Final = 64
_EXACT_POWERS: Final = 22  # of ten, in a float


def _wrapped(operation: Function) -> Function:
    """Return an operation on two numbers that wraps integers at 64 bits."""

    def wrapped(a: Any, b: Any) -> Any:
        result = operation(a, b)
        return wrap(result) if type(result) is int and not _LEAST <= result <= LARGEST else result

    return wrapped


add: Final = _wrapped(operator.add)
subtract: Final = _wrapped(operator.sub)
multiply: Final = _wrapped(operator.mul)
negate: Final = wrapping(operator.neg)
absolute: Final = wrapping(abs)


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
