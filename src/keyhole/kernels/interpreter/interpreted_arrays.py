"""Arrays for interpreted kernels, views of the memory of NumPy arrays, and operations on them.

Their entries are Python numbers. An array of one axis is a `memoryview`, which checks every index
and is read faster than a NumPy array; one of uint64 is a `UInt64View`, one of more axes a `Grid`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import partial, reduce
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.interpreter.arithmetic import MASK, UInt64, to_int64, wrap

# A memory view. A type checker knows the entries' type only where the format is a literal.
Cells: TypeAlias = Any
# A memory view, a `UInt64View` or a `Grid`, or an entry of one.
Array: TypeAlias = Any
Index: TypeAlias = int | slice
Indices: TypeAlias = Index | tuple[Index, ...]

_FORMATS: Final = {"f": "d", "i": "q", "u": "Q", "b": "?"}  # by the kind of NumPy's type
_CELL_BYTES: Final = 8


class UInt64View:
    """A one-dimensional array of uint64."""

    __slots__ = ("cells",)
    format = "Q"
    ndim = 1

    def __init__(self, cells: Cells) -> None:
        self.cells = cells

    def __len__(self) -> int:
        """Return the length."""
        return len(self.cells)

    def __getitem__(self, index: Index) -> Array:
        """Return an entry as a `UInt64`, or a slice."""
        entry = self.cells[index]
        if type(entry) is int:
            return UInt64(entry)
        return UInt64View(entry)

    def __setitem__(self, index: int, value: float) -> None:
        """Write an entry, modulo 2^64."""
        self.cells[index] = int(value) & MASK

    def __iter__(self) -> Iterator[UInt64]:
        """Yield the entries."""
        return map(UInt64, self.cells)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length."""
        return (len(self.cells),)

    def tolist(self) -> list[int]:
        """Return the entries as a list of int."""
        return list(self.cells)


class Grid:
    """An array of two or more axes; it may be empty."""

    # `entries_by_2` and `entries_by_3`: a memory view of so many axes, in which kernels look up
    # entries faster than here.
    __slots__ = ("cells", "entries_by_2", "entries_by_3", "format", "ndim", "shape")

    def __init__(self, cells: Cells, shape: tuple[int, ...]) -> None:
        self.cells = cells
        self.shape = tuple(shape)
        self.ndim = len(shape)
        self.format: str = cells.format
        # A memory view of several axes reads entries fast; not for uint64, whose entries must
        # become `UInt64`, nor for empty arrays, which cannot be cast.
        if self.ndim in (2, 3) and self.format != "Q" and math.prod(shape) > 0:
            setattr(self, f"entries_by_{self.ndim}", cells.cast("B").cast(self.format, shape))

    def __getattr__(self, name: str) -> Grid:
        """Return the grid itself in place of a faster view that it lacks."""
        if name in ("entries_by_2", "entries_by_3"):
            return self
        raise AttributeError(name)

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def _locate(self, indices: tuple[Any, ...]) -> tuple[int, int]:
        """Return the first cell, and the number of cells, that leading indices select."""
        start = 0
        size = math.prod(self.shape)
        for index, length in zip(indices, self.shape, strict=False):
            if not -length <= index < length:
                raise IndexError("index out of bounds")
            size //= length
            start += int(index) % length * size
        return start, size

    def __getitem__(self, index: Indices) -> Array:
        """Return an entry, or the part that the indices select."""
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) > self.ndim:
            raise IndexError(f"index out of bounds: {len(indices)} of them for {self.ndim} axes")
        if any(isinstance(axis_index, slice) for axis_index in indices):
            return self._read_slice(indices)
        start, size = self._locate(indices)
        if len(indices) == self.ndim:
            entry = self.cells[start]
            return UInt64(entry) if self.format == "Q" else entry
        return with_shape(self.cells[start : start + size], self.shape[len(indices) :])

    def _read_slice(self, indices: tuple[Any, ...]) -> Array:
        leading = 0
        while not isinstance(indices[leading], slice):
            leading += 1
        if leading:
            rest = indices[leading:]
            if len(rest) == 1:
                return self[indices[:leading]][rest[0]]
            return self[indices[:leading]][rest]
        rows = range(*indices[0].indices(self.shape[0]))
        if len(indices) == 1 or indices[1:] == (slice(None),) * (len(indices) - 1):
            size = math.prod(self.shape[1:])
            if rows.step == 1:
                cells = self.cells[rows.start * size : max(rows.stop, rows.start) * size]
                return with_shape(cells, (len(rows), *self.shape[1:]))
        if self.ndim == 2 and len(indices) == 2 and not isinstance(indices[1], slice):
            column = indices[1]
            length = self.shape[1]
            if not -length <= column < length:
                raise IndexError("index out of bounds")
            column = int(column) % length
            cells = self.cells[column::length][indices[0]]
            return with_shape(cells, cells.shape)
        raise TypeError("a slice of several axes cannot be interpreted: write loops")

    def __setitem__(self, index: Indices, value: float) -> None:
        """Write an entry."""
        if not isinstance(index, tuple) or len(index) != self.ndim:
            raise TypeError("a kernel writes single entries")
        start, _ = self._locate(index)
        if self.format == "Q":
            value = int(value) & MASK
        self.cells[start] = value

    def __iter__(self) -> Iterator[Array]:
        """Yield the parts along the first axis."""
        return (self[i] for i in range(self.shape[0]))

    def tolist(self) -> list[object]:
        """Return the entries as nested lists."""
        return list(to_numpy(self).tolist())


def with_shape(cells: Cells, shape: tuple[int, ...]) -> Array:
    """Return an array over contiguous cells."""
    if len(shape) > 1:
        return Grid(cells, shape)
    if cells.format == "Q":
        return UInt64View(cells)
    return cells


def view_of(array: NDArray[np.generic]) -> Array:
    """Return a NumPy array as kernels see it.

    Raises
    ------
    TypeError
        If kernels have no numbers of its type.
    """
    type_kind = array.dtype.kind
    is_64_bit = array.itemsize == _CELL_BYTES
    if type_kind not in _FORMATS or (type_kind == "f" and not is_64_bit):
        raise TypeError(f"an array of {array.dtype}, where a kernel has float64, int64 or uint64")
    if not is_64_bit and type_kind != "b":  # integers of fewer bits are read as those of 64
        array = array.astype(np.uint64 if type_kind == "u" else np.int64)
        array.flags.writeable = False
    cells: Cells = np.ascontiguousarray(array).reshape(-1).data
    if cells:
        cells = cells.cast("B").cast(_FORMATS[type_kind])
    return with_shape(cells, array.shape)


def is_array(value: object) -> bool:
    """Return whether a value is an array as kernels see it."""
    return isinstance(value, memoryview | UInt64View | Grid)


def to_numpy(array: Array) -> NDArray[np.generic]:
    """Return an array as a NumPy array, for printing and comparing."""
    return np.asarray(getattr(array, "cells", array)).reshape(array.shape)


# To borrow is to make an array over a part of a buffer's memory, which takes longer than a lookup:
# so borrowed arrays are cached, by the id of their buffer.
_borrowed: Final[dict[int, dict[object, Array]]] = {}


def cache_borrowed_arrays(view: Array) -> None:
    """From now on cache what is borrowed from a buffer, until `drop_borrowed_arrays`.

    The caller keeps the buffer alive, since its id is the key.
    """
    _borrowed[id(view)] = {}


def drop_borrowed_arrays(view: Array) -> None:
    """Drop the cached arrays borrowed from a buffer, and those borrowed from these."""
    for array in _borrowed.pop(id(view), {}).values():
        if id(array) in _borrowed:
            drop_borrowed_arrays(array)


def _make_borrow(cell_format: str) -> Kernel:
    """Return the function (buffer, start, shape) -> array over the same memory."""

    # Kernels borrow the same arrays in every round.
    def borrow(buffer: Array, start: int, shape: tuple[int, ...]) -> Array:
        cached_arrays = _borrowed.get(id(buffer))
        key = (cell_format, start, shape)
        if cached_arrays is not None and (cached_array := cached_arrays.get(key)) is not None:
            return cached_array
        cells = buffer.cells if isinstance(buffer, UInt64View) else buffer
        size = math.prod(shape)
        if start < 0 or start + size > len(cells):
            raise IndexError("index out of bounds")
        cells_of_array = cells[start : start + size]
        if cells_of_array.format != cell_format:
            cells_of_array = cells_of_array.cast("B").cast(cell_format)
        result = with_shape(cells_of_array, shape)
        if cached_arrays is not None:
            cached_arrays[key] = result
            if size == len(cells):  # the whole buffer: others are borrowed from this
                cache_borrowed_arrays(result)
        return result

    return borrow


borrow_float: Final = _make_borrow("d")
borrow_int: Final = _make_borrow("q")
borrow_word: Final = _make_borrow("Q")


def cache_views(reader: Kernel) -> Kernel:
    """Return a function (buffer, start, dims) -> views with its results cached by these three."""

    def read(buffer: Array, start: int, dims: object) -> object:
        cached_views = _borrowed.get(id(buffer))
        if cached_views is None:
            return reader(buffer, start, dims)
        key = (reader, start, dims)
        views = cached_views.get(key)
        if views is None:
            views = cached_views[key] = reader(buffer, start, dims)
        return views

    return read


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
    return with_shape(cells, tuple(map(int, lengths)))


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
    """Return the index of the best entry: the first NaN, or else the first of equals."""
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
    return ATTRIBUTES[name](value) if is_array(value) else getattr(value, name)
