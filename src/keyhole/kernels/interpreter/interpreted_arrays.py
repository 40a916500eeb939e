"""Arrays for kernels (compiled functions) that Python runs: views of the same memory.

Their entries are Python numbers. An array of one axis is a `memoryview`, which checks every index
and is read faster than a NumPy array; one of uint64 is a `UInt64View`, one of more axes a `Grid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from keyhole.kernels.interpreter.wrapping_integers import MASK, UInt64

Kernel = Callable[..., Any]

_FORMATS: Final[dict[str, Any]] = {
    "f": "d",
    "i": "q",
    "u": "Q",
    "b": "?",
}  # by the kind of NumPy's type
_CELL: Final = 8


class UInt64View:
    """A one-dimensional array of uint64."""

    __slots__ = ("cells",)
    format = "Q"
    ndim = 1

    def __init__(self, cells: Any) -> None:
        self.cells = cells

    def __len__(self) -> int:
        """Return the length."""
        return len(self.cells)

    def __getitem__(self, index: Any) -> Any:
        """Return a word, or a slice."""
        found: Any = self.cells[index]
        return UInt64(found) if type(found) is int else UInt64View(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write a word."""
        self.cells[index] = int(value) & MASK

    def __iter__(self) -> Iterator[UInt64]:
        """Yield the words."""
        return map(UInt64, self.cells)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length."""
        return (len(self.cells),)

    def tolist(self) -> list[int]:
        """Return the words as a list."""
        return list(self.cells)


class Grid:
    """An array of two or more axes, or an empty one."""

    # What two or three indices are looked up in, where that is faster than here.
    __slots__ = ("cells", "entries_by_2", "entries_by_3", "format", "ndim", "shape")

    def __init__(self, cells: Any, shape: tuple[int, ...]) -> None:
        self.cells, self.shape, self.ndim = cells, tuple(shape), len(shape)
        self.format: Any = cells.format
        # A memory view of several axes reads entries fast; not for uint64, whose entries are words,
        # nor for empty arrays, which cannot be cast.
        if self.ndim in (2, 3) and self.format != "Q" and math.prod(shape) > 0:
            setattr(self, f"entries_by_{self.ndim}", cells.cast("B").cast(self.format, shape))

    def __getattr__(self, name: str) -> Any:
        """Return itself where nothing faster is there to look indices up in."""
        if name in ("entries_by_2", "entries_by_3"):
            return self
        raise AttributeError(name)

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def _place(self, indices: tuple[Any, ...]) -> tuple[int, int]:
        """Return the start and the length of the part that leading indices select."""
        start, size = 0, math.prod(self.shape)
        for index, length in zip(indices, self.shape, strict=False):
            if not -length <= index < length:
                raise IndexError("index out of bounds")
            size //= length
            start += (int(index) + (length if index < 0 else 0)) * size
        return start, size

    def __getitem__(self, index: Any) -> Any:
        """Return an entry, or the part that the indices select."""
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) > self.ndim:
            raise IndexError(f"index out of bounds: {len(indices)} of them for {self.ndim} axes")
        if any(isinstance(one, slice) for one in indices):
            return self._part(indices)
        start, size = self._place(indices)
        if len(indices) == self.ndim:
            found = self.cells[start]
            return UInt64(found) if self.format == "Q" else found
        return with_shape(self.cells[start : start + size], self.shape[len(indices) :])

    def _part(self, indices: tuple[Any, ...]) -> Any:
        leading = 0
        while not isinstance(indices[leading], slice):
            leading += 1
        if leading:
            rest = indices[leading:]
            return self[indices[:leading]][rest if len(rest) > 1 else rest[0]]
        rows = range(*indices[0].indices(self.shape[0]))
        if len(indices) == 1 or indices[1:] == (slice(None),) * (len(indices) - 1):
            size = math.prod(self.shape[1:])
            if rows.step == 1:
                cells = self.cells[rows.start * size : max(rows.stop, rows.start) * size]
                return with_shape(cells, (len(rows), *self.shape[1:]))
        if self.ndim == 2 and len(indices) == 2 and not isinstance(indices[1], slice):
            column, length = indices[1], self.shape[1]
            if not -length <= column < length:
                raise IndexError("index out of bounds")
            column = int(column) % length
            cells = self.cells[column::length][indices[0]]
            return UInt64View(cells) if self.format == "Q" else cells
        raise TypeError("a slice of several axes cannot be interpreted: write loops")

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an entry."""
        if not isinstance(index, tuple) or len(index) != self.ndim:
            raise TypeError("a kernel writes single entries")
        start, _ = self._place(index)
        self.cells[start] = int(value) & MASK if self.format == "Q" else value

    def __iter__(self) -> Iterator[Any]:
        """Yield the parts along the first axis."""
        return (self[i] for i in range(self.shape[0]))

    def tolist(self) -> list[Any]:
        """Return the entries as nested lists."""
        return list(to_numpy(self).tolist())


def with_shape(cells: Any, shape: tuple[int, ...]) -> Any:
    """Return an array over contiguous cells."""
    if len(shape) > 1:
        return Grid(cells, shape)
    return UInt64View(cells) if cells.format == "Q" else cells


def view_of(array: np.ndarray[Any, Any]) -> Any:
    """Return a NumPy array as kernels see it.

    Raises
    ------
    TypeError
        If kernels have no numbers of its type.
    """
    kind, whole = array.dtype.kind, array.itemsize == _CELL
    if kind not in _FORMATS or (kind == "f" and not whole):
        raise TypeError(f"an array of {array.dtype}, where a kernel has float64, int64 or uint64")
    if not whole and kind != "b":  # integers of fewer bits are read as those of 64
        array = array.astype(np.uint64 if kind == "u" else np.int64)
        array.flags.writeable = False
    cells: Any = np.ascontiguousarray(array).reshape(-1)
    flat = memoryview(cells)
    return with_shape(flat.cast("B").cast(_FORMATS[kind]) if flat else flat, array.shape)


def is_array(value: Any) -> bool:
    """Return whether a value is an array as kernels see it."""
    return isinstance(value, memoryview | UInt64View | Grid)


def to_numpy(value: Any) -> Any:
    """Return an array as a NumPy array, for printing and comparing."""
    if isinstance(value, Grid):
        return np.asarray(value.cells).reshape(value.shape)
    return np.asarray(value.cells if isinstance(value, UInt64View) else value)


# Arrays borrowed before, by the id of their buffer: making one takes longer than a lookup.
_borrowed: Final[dict[int, dict[Any, Any]]] = {}


def keep_borrowed_arrays(view: Any) -> None:
    """Cache what is borrowed from a buffer, until `drop_borrowed_arrays`; the caller holds it."""
    _borrowed[id(view)] = {}


def drop_borrowed_arrays(view: Any) -> None:
    """Drop the cached arrays borrowed from a buffer, and those borrowed from these."""
    for piece in _borrowed.pop(id(view), {}).values():
        if id(piece) in _borrowed:
            drop_borrowed_arrays(piece)


def _borrower(code: Any) -> Kernel:
    """Return the function (buffer, start, shape) -> array over the same memory."""

    # Kernels borrow the same arrays in every round.
    def borrow(buffer: Any, start: int, shape: tuple[int, ...]) -> Any:
        known, key = _borrowed.get(id(buffer)), (code, start, shape)
        if known is not None and (found := known.get(key)) is not None:
            return found
        cells = buffer.cells if isinstance(buffer, UInt64View) else buffer
        size = math.prod(shape)
        if start < 0 or start + size > len(cells):
            raise IndexError("index out of bounds")
        piece = cells[start : start + size]
        if piece.format != code:
            piece = piece.cast("B").cast(code)
        result = with_shape(piece, shape)
        if known is not None:
            known[key] = result
            if size == len(cells):  # all cells of a learner, from which other arrays are borrowed
                keep_borrowed_arrays(result)
        return result

    return borrow


borrow_float: Final = _borrower("d")
borrow_int: Final = _borrower("q")
borrow_word: Final = _borrower("Q")


def cache_views(reader: Kernel) -> Kernel:
    """Return a reader (buffer, start, dims) of views that caches its result for each place."""

    def read(buffer: Any, start: int, dims: Any) -> Any:
        known = _borrowed.get(id(buffer))
        if known is None:
            return reader(buffer, start, dims)
        key = (reader, start, dims)
        found = known.get(key)
        if found is None:
            found = known[key] = reader(buffer, start, dims)
        return found

    return read
