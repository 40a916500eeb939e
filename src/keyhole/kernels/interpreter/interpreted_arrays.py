"""Arrays for interpreted kernels: views of the memory of NumPy arrays, with Python's numbers.

An array of one axis is a `memoryview`, which checks every index and is read faster than a NumPy
array. An array of uint64, or of more axes, is an `ArrayView`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import partial, reduce
from typing import Any, Final, TypeAlias
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.interpreter.arithmetic import MASK, UInt64, to_int64, wrap_to_int64

# A memory view of one axis. A type checker knows its entries' type only if the format is a literal.
Cells: TypeAlias = Any
# A memory view or an `ArrayView`, or an entry of either.
Array: TypeAlias = Any
Index: TypeAlias = int | slice
Indices: TypeAlias = Index | tuple[Index, ...]

_FORMATS: Final = {"f": "d", "i": "q", "u": "Q", "b": "?"}  # by the kind of NumPy's type
_CELL_BYTES: Final = 8


class ArrayView:
    """An array of two or more axes, or an array of uint64 of any number of axes; may be empty."""

    __slots__ = ("__weakref__", "_entries", "cells", "format", "ndim", "shape")

    def __init__(self, cells: Cells, shape: tuple[int, ...]) -> None:
        self.cells = cells
        self.shape = tuple(shape)
        self.ndim = len(shape)
        self.format: str = cells.format
        # `_entries` is a memory view of all axes, which reads entries fast. There is none for
        # uint64, whose entries must become `UInt64`, nor for an empty array, since an empty memory
        # view cannot be cast.
        has_memory_view = self.format != "Q" and math.prod(shape) > 0
        self._entries: Cells = (
            cells.cast("B").cast(self.format, self.shape) if has_memory_view else None
        )

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def _locate_cells(self, indices: tuple[Any, ...]) -> tuple[int, int]:
        """Return the first cell, and the number of cells, that leading indices select."""
        start = 0
        size = math.prod(self.shape)
        for index, length in zip(indices, self.shape, strict=False):
            position = _position_on_axis(index, length)
            size //= length
            start += position * size
        return start, size

    def __getitem__(self, index: Indices) -> Array:
        """Return an entry, or the part that the indices select."""
        if type(index) is tuple:
            try:
                return self._entries[index]
            # The indices select a part, which a memory view cannot return, or `_entries` is None.
            except (NotImplementedError, TypeError):
                pass
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) > self.ndim:
            raise IndexError(f"index out of bounds: {len(indices)} indices for {self.ndim} axes")
        if any(isinstance(axis_index, slice) for axis_index in indices):
            return self._read_slice(indices)
        start, size = self._locate_cells(indices)
        if len(indices) == self.ndim:
            return UInt64(self.cells[start])  # entries of other types came from `_entries`
        return shape_array(self.cells[start : start + size], self.shape[len(indices) :])

    def _read_slice(self, indices: tuple[Any, ...]) -> Array:
        """Return the part that indices select; at least one of the indices is a slice."""
        if not isinstance(indices[0], slice):
            return self[indices[0]][indices[1] if len(indices) == 2 else indices[1:]]
        rows = range(*indices[0].indices(self.shape[0]))
        if len(indices) == 1 or indices[1:] == (slice(None),) * (len(indices) - 1):
            size = math.prod(self.shape[1:])
            if rows.step == 1:  # whole rows, which are contiguous
                cells = self.cells[rows.start * size : max(rows.stop, rows.start) * size]
                return shape_array(cells, (len(rows), *self.shape[1:]))
        if self.ndim == 2 and len(indices) == 2 and not isinstance(indices[1], slice):
            # Rows lie one after the other, so the cells of a column are a row's length apart.
            row_length = self.shape[1]
            cells = self.cells[_position_on_axis(indices[1], row_length) :: row_length][indices[0]]
            return shape_array(cells, cells.shape)
        raise TypeError("a slice of several axes cannot be interpreted: write loops")

    def __setitem__(self, index: int | tuple[int, ...], value: float) -> None:
        """Write an entry; a uint64 is written modulo 2**64."""
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != self.ndim:
            raise TypeError("a kernel writes single entries")
        if self._entries is not None:
            self._entries[indices] = value
        else:
            self.cells[self._locate_cells(indices)[0]] = int(value) & MASK

    def __iter__(self) -> Iterator[Array]:
        """Yield the parts along the first axis."""
        return (self[i] for i in range(self.shape[0]))

    def tolist(self) -> list[object]:
        """Return the entries as nested lists."""
        return list(to_numpy(self).tolist())


def _position_on_axis(index: int, length: int) -> int:
    """Return an index as counted from the beginning of an axis; refuse an index beyond the axis."""
    if not -length <= index < length:
        raise IndexError("index out of bounds")
    return operator.index(index) % length


def shape_array(cells: Cells, shape: tuple[int, ...]) -> Array:
    """Return an array over contiguous cells."""
    return ArrayView(cells, shape) if len(shape) > 1 or cells.format == "Q" else cells


def view_numpy_array(array: NDArray[np.generic]) -> Array:
    """Return a NumPy array as kernels see it.

    Raises
    ------
    TypeError
        If kernels have no numbers of the array's type.
    """
    type_kind = array.dtype.kind
    is_64_bit = array.itemsize == _CELL_BYTES
    if type_kind not in _FORMATS or (type_kind == "f" and not is_64_bit):
        raise TypeError(f"an array of {array.dtype}, where a kernel has float64, int64 or uint64")
    if not is_64_bit and type_kind != "b":  # a read-only copy of integers of fewer bits
        array = array.astype(np.uint64 if type_kind == "u" else np.int64)
        array.flags.writeable = False
    cells: Cells = np.ascontiguousarray(array).reshape(-1).data
    if cells:
        cells = cells.cast("B").cast(_FORMATS[type_kind])
    return shape_array(cells, array.shape)


def is_array(value: object) -> bool:
    """Return whether a value is an array as kernels see it."""
    return isinstance(value, memoryview | ArrayView)


def to_numpy(array: Array) -> NDArray[np.generic]:
    """Return an array as a NumPy array, for printing and comparing."""
    return np.asarray(getattr(array, "cells", array)).reshape(array.shape)


# To borrow is to make an array over a part of a buffer's memory. That takes longer than a lookup,
# and kernels borrow the same arrays in every round. So arrays are kept for as long as their buffer
# lives, under the buffer's id, since a memory view has no hash.
_borrowed_by_buffer: Final[dict[int, dict[object, Array]]] = {}


def _view_cache_of(buffer: Array) -> dict[object, Array]:
    """Return the arrays and views that are kept for a buffer, by the arguments that made them."""
    arrays = _borrowed_by_buffer.get(id(buffer))
    if arrays is None:
        arrays = _borrowed_by_buffer[id(buffer)] = {}
        finalize(buffer, _borrowed_by_buffer.pop, id(buffer), None).atexit = False
    return arrays


def _make_view_function(cell_format: str) -> Kernel:
    """Return the function (buffer, start, shape) -> array over the buffer's memory."""

    def borrow(buffer: Array, start: int, shape: tuple[int, ...]) -> Array:
        arrays = _view_cache_of(buffer)
        key = (cell_format, start, shape)
        if (array := arrays.get(key)) is not None:
            return array
        cells: Cells = getattr(buffer, "cells", buffer)
        end = start + math.prod(shape)
        if start < 0 or end > len(cells):
            raise IndexError("index out of bounds")
        cells_of_array = cells[start:end]
        if cells_of_array.format != cell_format:
            cells_of_array = cells_of_array.cast("B").cast(cell_format)
        arrays[key] = array = shape_array(cells_of_array, shape)
        return array

    return borrow


borrow_floats: Final = _make_view_function("d")
borrow_ints: Final = _make_view_function("q")
borrow_words: Final = _make_view_function("Q")


def cache_views(reader: Kernel) -> Kernel:
    """Return `reader`, a function (buffer, start, dims) -> views, with its results cached."""

    def read(buffer: Array, start: int, dims: object) -> object:
        arrays = _view_cache_of(buffer)
        key = (reader, start, dims)
        views = arrays.get(key)
        if views is None:
            views = arrays[key] = reader(buffer, start, dims)
        return views

    return read


def fill(array: Array, index: slice, value: object) -> None:
    """Write one number to a slice of an array.

    Raises
    ------
    TypeError
        If the value is not a number: compiled code would have to allocate memory for it.
    """
    if not isinstance(value, int | float):
        raise TypeError(
            "a kernel cannot allocate memory (a copy of one array into another by a slice); write "
            "loops"
        )
    cells = _flatten(array[index])
    for i in range(len(cells)):
        store(cells, i, value)


def store(array: Array, index: Index, value: float) -> None:
    """Write a number to an array; an array of integers truncates floats."""
    if array.format == "q" and (isinstance(value, float) or type(value) is UInt64):
        value = to_int64(value)
    array[index] = value


def reshape(array: Array, *shape: int | tuple[int, ...]) -> Array:
    """Return an array over the same memory with another shape."""
    items = (item if isinstance(item, tuple) else (item,) for item in shape)
    lengths = tuple(int(length) for item in items for length in item)
    cells: Cells = getattr(array, "cells", array)
    if math.prod(lengths) != len(cells):
        raise IndexError("index out of bounds: a shape for another number of entries")
    return shape_array(cells, lengths)


def _flatten(array: Array) -> Array:
    """Return all entries as an array of one axis."""
    return shape_array(array.cells, (len(array.cells),)) if isinstance(array, ArrayView) else array


def _make_reduction(operation: Kernel, start: int) -> Kernel:
    """Return the function that reduces an array, entry by entry, as compiled loops do."""

    # `sum`, `fsum` and `math.prod` round differently.
    def fold(array: Array) -> float:
        if array.format == "d":
            return reduce(operation, _flatten(array), float(start))
        return wrap_to_int64(reduce(operation, _flatten(array), start))

    return fold


_sum: Final = _make_reduction(operator.add, 0)


def _index_of_best(array: Array, is_better: Kernel) -> int:
    """Return the index of the best entry: the first NaN, or else the first of equals."""
    best = 0
    for i in range(len(array)):
        # Only NaN differs from itself; NumPy returns its index, too.
        if array[i] != array[i]:
            return i
        if is_better(array[i], array[best]):
            best = i
    return best


REDUCTIONS: Final[dict[str, Kernel]] = {
    "sum": _sum,
    "prod": _make_reduction(operator.mul, 1),
    "mean": lambda array: _sum(array) / _count_entries(array),
    "argmax": lambda array: _index_of_best(_flatten(array), operator.gt),
    "argmin": lambda array: _index_of_best(_flatten(array), operator.lt),
    "any": lambda array: any(_flatten(array)),
    "all": lambda array: all(_flatten(array)),
}
"""NumPy's reductions of an array to one number, as functions and as methods, by name."""


def _count_entries(array: Array) -> int:
    return math.prod(array.shape)


ATTRIBUTES: Final[dict[str, Kernel]] = {
    "size": _count_entries,
    "reshape": lambda array: lambda *shape: reshape(array, *shape),
    "fill": lambda array: lambda value: fill(array, slice(None), value),
    # Reading a method of an array returns `partial(function, array)`.
    **{name: partial(partial, function) for name, function in REDUCTIONS.items()},
}
"""Attributes that NumPy's arrays have and memory views lack, as functions of the array, by name."""


def get_attribute(value: object, name: str) -> object:
    """Return an attribute of an array as NumPy has it; of any other value, its own attribute."""
    return ATTRIBUTES[name](value) if is_array(value) else getattr(value, name)
