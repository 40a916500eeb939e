"""Functions for the cost of what a run consumes, and for the penalty of a run that is stopped.

A function is stored as an array with five numbers for each of its pieces: start, constant, slope,
factor and power. Policies get the array as a fact (a known quantity): compiled policies, learners
and saved files share it. Above a start, up to and including the next start, the function is

    constant + slope * (x - start) + factor * x ** power.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.spec_values import tagged_union_reader
from keyhole.validation import Range, check_number, check_vector

PIECE: Final = 5  # numbers in a piece
_START, _CONSTANT, _SLOPE, _FACTOR, _POWER = range(PIECE)
_AT_LEAST_0: Final = Range(ge=0)
# A user's function is evaluated at the ends of this many equal steps in [0, largest limit], and
# interpolated within the steps.
_INTERPOLATION_STEPS: Final = 4096


def value_at(pieces: FloatArray, x: float) -> float:
    """Return the value at `x` >= 0 of the function with these flattened pieces (a kernel)."""
    # Find the last piece that starts below x. A piece excludes its start, since a step function has
    # its lower value at the step.
    low, high = 0, len(pieces) // PIECE - 1
    while low < high:
        middle = (low + high + 1) // 2
        if pieces[middle * PIECE] < x:
            low = middle
        else:
            high = middle - 1
    offset = low * PIECE
    value = float(pieces[offset + 1] + pieces[offset + 2] * (x - pieces[offset]))
    # Most functions have no power, whose computation takes longer than the rest.
    if pieces[offset + 3] != 0.0:
        value += pieces[offset + 3] * x ** pieces[offset + 4]
    return value


class Function:
    """A non-decreasing function from [0, infinity) to [0, infinity), made of pieces."""

    def __init__(self, pieces: ArrayLike) -> None:
        self.pieces: FloatArray = np.asarray(pieces, dtype=np.float64).ravel()

    @property
    def starts(self) -> FloatArray:
        """Start of each piece."""
        return self.pieces[_START::PIECE]

    def __call__(self, x: ArrayLike) -> FloatArray:
        """Return the values at `x`."""
        return self._evaluate(x, "left")

    def after(self, x: ArrayLike) -> FloatArray:
        """Return the values of the function just above `x`."""
        return self._evaluate(x, "right")

    def _evaluate(self, x: ArrayLike, side: str) -> FloatArray:
        """Return the values at `x` or, if `side` is "right", just above `x`."""
        points = np.asarray(x, dtype=np.float64)
        # No piece starts below 0: the value at 0 is that of the first piece.
        piece = np.searchsorted(self.starts, points, side=side) - 1  # type: ignore[call-overload]
        start, constant, slope, factor, power = self.pieces.reshape(-1, PIECE)[
            np.maximum(piece, 0)
        ].T
        with np.errstate(over="ignore"):  # an infinite value is refused by `check_costs`
            return np.asarray((constant + slope * (points.T - start) + factor * points.T**power).T)


class Power(Function):
    """``constant + slope * x + factor * x ** power``.

    Parameters
    ----------
    slope, factor, constant : float, default 0
        At least 0.
    power : float, default 1
        Above 0.

    Examples
    --------
    >>> penalty = Power(slope=0.1, constant=0.2)  # a tenth of the limit, and a compensation
    >>> round(float(penalty(0.5)), 3)
    0.25
    """

    def __init__(
        self, *, slope: float = 0.0, factor: float = 0.0, power: float = 1.0, constant: float = 0.0
    ) -> None:
        self.slope = check_number("slope", slope, _AT_LEAST_0)
        self.factor = check_number("factor", factor, _AT_LEAST_0)
        self.power = check_number("power", power, Range(gt=0))
        self.constant = check_number("constant", constant, _AT_LEAST_0)
        super().__init__([0.0, self.constant, self.slope, self.factor, self.power])

    def __repr__(self) -> str:
        """Return the call that makes this function."""
        arguments = [f"slope={self.slope:g}"]
        if self.factor:
            arguments += [f"factor={self.factor:g}", f"power={self.power:g}"]
        if self.constant:
            arguments.append(f"constant={self.constant:g}")
        return f"Power({', '.join(arguments)})"


class Steps(Function):
    """Step function with the value ``values[k]`` up to and including ``points[k]``.

    Parameters
    ----------
    points : sequence of float, shape (jumps,)
        Positions of the jumps; increasing, above 0.
    values : sequence of float, shape (jumps + 1,)
        At least 0, non-decreasing. The last value holds beyond the last point.

    Examples
    --------
    >>> Steps(points=[0.5], values=[0.1, 0.4])([0.5, 0.6])
    array([0.1, 0.4])
    """

    def __init__(self, points: ArrayLike, values: ArrayLike) -> None:
        jumps = check_increasing("points", check_vector("points", points, Range(gt=0)))
        value_vector = check_vector("values", values, _AT_LEAST_0, len(jumps) + 1)
        check_increasing("values", value_vector, strictly=False)
        starts = np.concatenate([[0.0], jumps])
        super().__init__(_linear_pieces(starts, value_vector, np.zeros(len(value_vector))))

    def __repr__(self) -> str:
        """Return the kind and the number of points."""
        return f"Steps({len(self.starts) - 1} points)"


class PiecewiseLinear(Function):
    """Linear interpolation between points; constant beyond the last.

    Parameters
    ----------
    points : sequence of float, shape (points,)
        Increasing; the first is 0.
    values : sequence of float, shape (points,)
        The values at the points: at least 0, non-decreasing.

    Examples
    --------
    >>> float(PiecewiseLinear(points=[0, 1, 2], values=[0, 0.5, 0.6])(1.5))
    0.55
    """

    def __init__(self, points: ArrayLike, values: ArrayLike) -> None:
        positions = check_increasing("points", check_vector("points", points, _AT_LEAST_0))
        value_vector = check_vector("values", values, _AT_LEAST_0, len(positions))
        check_increasing("values", value_vector, strictly=False)
        if positions[0] != 0.0:
            raise ValueError(f"points[0] must be 0, got {positions[0]:g}")
        slopes = np.append(np.diff(value_vector) / np.diff(positions), 0.0)
        super().__init__(_linear_pieces(positions, value_vector, slopes))

    def __repr__(self) -> str:
        """Return the kind and the number of points."""
        return f"PiecewiseLinear({len(self.starts)} points)"


KnownFunction = Function | Callable[[float], float]
"""A `Function`, or a Python function of one number."""


def as_function(name: str, function: KnownFunction, limits: FloatArray) -> Function:
    """Return a function made of pieces.

    The values of a callable at the limits and at 4,097 equally spaced points from 0 to the largest
    limit are interpolated linearly. The environment and all policies use this interpolation. A jump
    becomes a steep line between two neighbouring points.
    """
    if isinstance(function, Function):
        return function
    if not callable(function):
        raise TypeError(f"{name} must be a function, such as Power(slope=0.1), got {function!r}")
    # The limits are among the points, so that the values at the limits are exact.
    points = np.union1d(np.linspace(0.0, limits[-1], _INTERPOLATION_STEPS + 1), limits)
    values = np.array(
        [check_number(f"{name}({x:g})", function(float(x)), _AT_LEAST_0) for x in points]
    )
    for k in np.flatnonzero(np.diff(values) < 0):
        raise ValueError(
            f"{name} must not fall, got {values[k + 1]:g} at {points[k + 1]:g} after "
            f"{values[k]:g} at {points[k]:g}"
        )
    return PiecewiseLinear(points, values)


def rescale_function(function: Function, span: float, low: float = 0.0) -> Function:
    """Return ``(function + low) / span``, which must be at least 0.

    `low` is 0 for a cost. For a penalty it is the lowest reward, which is subtracted from every
    reward: a stopped run has no reward, so its penalty grows by `low`.

    Examples
    --------
    >>> float(rescale_function(Power(slope=2), span=4, low=1)(1.0))
    0.75
    """
    # Limits are above 0, so the smallest penalty is that just above 0.
    if float(function.after(0.0)) + low < 0.0:
        raise ValueError(
            f"penalty must be at least {-low:g}, or a stopped run would be better than a run with "
            f"the lowest reward, got {float(function.after(0.0)):g}"
        )
    pieces = function.pieces.reshape(-1, PIECE).copy()
    pieces[:, _CONSTANT] += low
    pieces[:, [_CONSTANT, _SLOPE, _FACTOR]] /= span
    return Function(pieces)


def check_costs(cost: Function, penalty: Function, largest: float, span: float = 1.0) -> None:
    """Refuse a cost above `span`, or an infinite penalty, at the limit `largest`.

    Examples
    --------
    >>> check_costs(Power(slope=2), Power(), 1.0)
    Traceback (most recent call last):
    ValueError: cost must lie in [0, 1] up to the largest limit, got 2 at 1
    """
    # The largest value is at the largest limit, since costs do not fall.
    if cost(largest) > span:
        raise ValueError(
            f"cost must lie in [0, {span:g}] up to the largest limit, got {float(cost(largest)):g} "
            f"at {largest:g}"
        )
    check_number(f"penalty({largest:g})", float(penalty(largest)))


def check_increasing(name: str, values: FloatArray, *, strictly: bool = True) -> FloatArray:
    """Return the values; refuse a value that is not above the one before it.

    If `strictly` is False, refuse only a value that is below the one before it.

    Examples
    --------
    >>> import numpy as np
    >>> check_increasing("limits", np.array([0.5, 0.5]))
    Traceback (most recent call last):
        ...
    ValueError: limits must rise, got 0.5 after 0.5
    """
    for before, after in pairwise(values.tolist()):
        if after < before or (strictly and after == before):
            rule = "rise" if strictly else "not fall"
            raise ValueError(f"{name} must {rule}, got {after:g} after {before:g}")
    return values


def _linear_pieces(starts: FloatArray, constants: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return pieces whose factor is 0 and whose power is 1."""
    factors = np.zeros(len(starts))
    return np.column_stack([starts, constants, slopes, factors, factors + 1.0])


COST_READERS: Final = {
    name: tagged_union_reader(Power, Steps, PiecewiseLinear, tag="function")
    for name in ("cost", "penalty")
}
"""Functions that read cost and penalty from spec files, by name."""
