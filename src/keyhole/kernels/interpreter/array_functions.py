"""Array operations of interpreted kernels: fill, reduce, reshape."""

import math
import operator
from bisect import bisect_left
from functools import partial, reduce
from typing import Final

from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.interpreter import interpreted_arrays
from keyhole.kernels.interpreter.interpreted_arrays import Array, Cells, Grid, Index, UInt64View
from keyhole.kernels.interpreter.wrapping_integers import UInt64, to_int64, wrap


def fill(array: Array, index: slice, value: object) -> None:
    """Write one number to a slice of an array.

    Raises
    ------
    TypeError
        If the value is not a number: compiled code would have to allocate memory.
    """
    if not isinstance(value, int | float):
        raise TypeError(
            "a kernel cannot allocate memory (a copy of one array into another by a slice); write "
            "loops"
        )
    cells = _entries(array[index])
    for i in range(len(cells)):
        store(cells, i, value)


def store(array: Array, index: Index, value: float) -> None:
    """Write a number to an array; an array of integers truncates floats."""
    if array.format == "q" and (isinstance(value, float) or type(value) is UInt64):
        value = to_int64(value)
    array[index] = value


def reshape(array: Array, *shape: int | tuple[int, ...]) -> Array:
    """Return an array over the same memory with another shape."""
    lengths: list[int] = []
    for axis in shape:
        lengths.extend(axis if isinstance(axis, tuple) else (int(axis),))
    cells: Cells = getattr(array, "cells", array)
    if math.prod(lengths) != len(cells):
        raise IndexError("index out of bounds: a shape for another number of entries")
    return interpreted_arrays.with_shape(cells, tuple(map(int, lengths)))


def _entries(array: Array) -> Cells | UInt64View:
    return array.cells if isinstance(array, Grid) else array


def _make_reduction(operation: Kernel, start: int) -> Kernel:
    """Return the reduction by an operation, one entry after the other, as compiled loops do it."""

    # `sum`, `fsum` and `math.prod` round differently.
    def fold(array: Array) -> float:
        if array.format == "d":
            return reduce(operation, _entries(array), float(start))
        return wrap(reduce(operation, _entries(array), start))

    return fold


_sum: Final = _make_reduction(operator.add, 0)


def _find_first_best(array: Array, is_better: Kernel) -> int:
    """Return the index of the best entry, of equals the first; of NaN the first of them."""
    best = 0
    for i in range(len(array)):
        # Only NaN differs from itself; NumPy returns its index, too.
        if array[i] != array[i]:
            return i
        if is_better(array[i], array[best]):
            best = i
    return best


def _mean(array: Array) -> float:
    mean: float = _sum(array) / _size(array)
    return mean


def search_sorted(array: Array, value: float) -> int:
    """Return the index at which to insert a number into an ascending array, before equals."""
    return bisect_left(array, value)


REDUCTIONS: Final[dict[str, Kernel]] = {
    "sum": _sum,
    "prod": _make_reduction(operator.mul, 1),
    "mean": _mean,
    "argmax": lambda array: _find_first_best(_entries(array), operator.gt),
    "argmin": lambda array: _find_first_best(_entries(array), operator.lt),
    "any": lambda array: any(_entries(array)),
    "all": lambda array: all(_entries(array)),
}
"""NumPy's reductions of an array to one number, as functions and as methods, by name."""


def _size(array: Array) -> int:
    return math.prod(array.shape)


ATTRIBUTES: Final[dict[str, Kernel]] = {
    "size": _size,
    "reshape": lambda array: lambda *shape: reshape(array, *shape),
    "fill": lambda array: lambda value: fill(array, slice(None), value),
    **{name: partial(partial, function) for name, function in REDUCTIONS.items()},
}
"""Attributes that NumPy's arrays have and memory views lack, by name: a function of the array."""


def attribute(value: object, name: str) -> object:
    """Return an attribute of an array as NumPy has it; of other values their own."""
    return ATTRIBUTES[name](value) if interpreted_arrays.is_array(value) else getattr(value, name)
