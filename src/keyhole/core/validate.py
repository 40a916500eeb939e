"""One way to refuse bad input: name the field, say what is allowed, show what came."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Range:
    """The numbers a field may take.

    Parameters
    ----------
    ge, gt : float, optional
        Least value, included or not.
    le, lt : float, optional
        Largest value, included or not.

    Examples
    --------
    >>> print(Range(gt=0, lt=1)), print(Range(ge=1))
    lie in (0, 1)
    be at least 1
    (None, None)
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def __contains__(self, value: float) -> bool:
        """Return whether a value is allowed."""
        low = -math.inf if self.ge is None else self.ge
        high = math.inf if self.le is None else self.le
        return (
            low <= value <= high
            and (self.gt is None or value > self.gt)
            and (self.lt is None or value < self.lt)
        )

    def __str__(self) -> str:
        """Return what is allowed, to follow "must"."""
        low, high = (self.ge, self.gt), (self.le, self.lt)
        if low != (None, None) and high != (None, None):
            left = f"[{self.ge:g}" if self.ge is not None else f"({self.gt:g}"
            right = f"{self.le:g}]" if self.le is not None else f"{self.lt:g})"
            return f"lie in {left}, {right}"
        if self.ge is not None:
            return f"be at least {self.ge:g}"
        if self.gt is not None:
            return f"be above {self.gt:g}"
        if self.le is not None:
            return f"be at most {self.le:g}"
        if self.lt is not None:
            return f"be below {self.lt:g}"
        return "be a finite number"


ANY: Final = Range()


def number(name: str, value: Any, allowed: Range = ANY) -> float:
    """Return `value` as a float.

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not finite or not in the allowed range.

    Examples
    --------
    >>> number("alpha", 2, Range(gt=0))
    2.0
    >>> number("alpha", -1, Range(gt=0))
    Traceback (most recent call last):
    ValueError: alpha must be above 0, got -1
    """
    if type(value) is not float and (  # the common case first: a learner is told one a round
        isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number)
    ):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not math.isfinite(value) or float(value) not in allowed:
        raise ValueError(f"{name} must {allowed}, got {value}")
    return float(value)


def integer(name: str, value: Any, allowed: Range = ANY) -> int:
    """Return `value` as an int; whole floats are refused like other floats.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is not in the allowed range.

    Examples
    --------
    >>> integer("replications", 0, Range(ge=1))
    Traceback (most recent call last):
    ValueError: replications must be at least 1, got 0
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if int(value) not in allowed:
        raise ValueError(f"{name} must {allowed}, got {value}")
    return int(value)


def vector(name: str, values: Any, allowed: Range = ANY) -> NDArray[np.float64]:
    """Return `values` as a float64 vector of at least one number.

    Raises
    ------
    TypeError
        If they are not a flat sequence of numbers.
    ValueError
        If there is none, or one is not finite or not in the allowed range.

    Examples
    --------
    >>> vector("means", [0.2, 1.5], Range(ge=0, le=1))
    Traceback (most recent call last):
    ValueError: means[1] must lie in [0, 1], got 1.5
    """
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
        raise TypeError(f"{name} must be a list of numbers, got {values!r}")
    if len(values) == 0:
        raise ValueError(f"{name} must have at least one entry, got none")
    return np.array([number(f"{name}[{i}]", v, allowed) for i, v in enumerate(values)])


def distinct(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return words as a tuple of at least one, in which none stands twice.

    Raises
    ------
    ValueError
        If there is none, or one stands twice.

    Examples
    --------
    >>> distinct("arms", ["a", "b", "a"])
    Traceback (most recent call last):
    ValueError: arms must differ, got 'a' twice
    """
    words = tuple(values)
    if not words:
        raise ValueError(f"{name} must have at least one entry, got none")
    word, times = Counter(words).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{name} must differ, got {word!r} twice")
    return words


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of the allowed words.

    Raises
    ------
    ValueError
        If it is not; the nearest word is suggested.

    Examples
    --------
    >>> choice("policy", "LSB", ["LSA", "APT"])
    Traceback (most recent call last):
    ValueError: policy must be one of LSA, APT; got 'LSB' (did you mean 'LSA'?)
    """
    words = list(allowed)
    if value in words:
        return str(value)
    close = get_close_matches(str(value), words, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"{name} must be one of {', '.join(words)}; got {value!r}{hint}")
