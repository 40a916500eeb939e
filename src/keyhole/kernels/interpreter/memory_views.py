"""Arrays as interpreted kernels see them: views of the same memory that return Python's numbers.

An array of one axis is a `memoryview`, which checks every index and is read faster than an array of
NumPy; one of uint64 is a `WordView`, one of more axes a `Grid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from keyhole.kernels.interpreter.words import MASK, Word

Kernel = Callable[..., Any]

_FORMATS: Final[dict[str, Any]] = {
    "f": "d",
    "i": "q",
    "u": "Q",
    "b": "?",
}  # by the kind of NumPy's type
_CELL: Final = 8


class WordView:
    """An array of uint64 of one axis."""

    __slots__ = ("cells",)
    format = "Q"
    ndim = 1

    def __init__(self, cells: Any) -> None:
        self.cells = cells

    def __len__(self) -> int:
        """Return the length."""
        return len(self.cells)

    def __getitem__(self, index: Any) -> Any:
        """Return a word, or a part of the array."""
        found: Any = self.cells[index]
        return Word(found) if type(found) is int else WordView(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write a word."""
        self.cells[index] = int(value) & MASK

    def __iter__(self) -> Iterator[Word]:
        """Yield the words."""
        return map(Word, self.cells)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length."""
        return (len(self.cells),)

    def tolist(self) -> list[int]:
        """Return the words as a list."""
        return list(self.cells)


class Grid:
    """An array of two or more axes, or of none of them longer than 0."""

    # What two or three indices are looked up in, where that is faster than here.
    __slots__ = ("cells", "entries_by_2", "entries_by_3", "format", "ndim", "shape")

    def __init__(self, cells: Any, shape: tuple[int, ...]) -> None:
        self.cells, self.shape, self.ndim = cells, tuple(shape), len(shape)
        self.format: Any = cells.format
        # Of uint64, entries are words; of an empty array there is nothing to read.
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
        """Return where the part begins that some leading indices leave, and its length."""
        start, size = 0, math.prod(self.shape)
        for index, length in zip(indices, self.shape, strict=False):
            if not -length <= index < length:
                raise IndexError("index out of bounds")
            size //= length
            start += (int(index) + (length if index < 0 else 0)) * size
        return start, size

    def __getitem__(self, index: Any) -> Any:
        """Return an entry, or the part of the array that the indices leave."""
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) > self.ndim:
            raise IndexError(f"index out of bounds: {len(indices)} of them for {self.ndim} axes")
        if any(isinstance(one, slice) for one in indices):
            return self._part(indices)
        start, size = self._place(indices)
        if len(indices) == self.ndim:
            found = self.cells[start]
            return Word(found) if self.format == "Q" else found
        return shaped(self.cells[start : start + size], self.shape[len(indices) :])

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
                return shaped(cells, (len(rows), *self.shape[1:]))
        if self.ndim == 2 and len(indices) == 2 and not isinstance(indices[1], slice):
            column, length = indices[1], self.shape[1]
            if not -length <= column < length:
                raise IndexError("index out of bounds")
            column = int(column) % length
            cells = self.cells[column::length][indices[0]]
            return WordView(cells) if self.format == "Q" else cells
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


def shaped(cells: Any, shape: tuple[int, ...]) -> Any:
    """Return an array over contiguous cells."""
    if len(shape) > 1:
        return Grid(cells, shape)
    return WordView(cells) if cells.format == "Q" else cells


def view_of(array: np.ndarray[Any, Any]) -> Any:
    """Return an array of NumPy as kernels see it.

    Raises
    ------
    TypeError
        If its numbers are none that kernels have.
    """
    kind, whole = array.dtype.kind, array.itemsize == _CELL
    if kind not in _FORMATS or (kind == "f" and not whole):
        raise TypeError(f"an array of {array.dtype}, where a kernel has float64, int64 or uint64")
    if not whole and kind != "b":  # integers of fewer bits are read as those of 64
        array = array.astype(np.uint64 if kind == "u" else np.int64)
        array.flags.writeable = False
    cells: Any = np.ascontiguousarray(array).reshape(-1)
    flat = memoryview(cells)
    return shaped(flat.cast("B").cast(_FORMATS[kind]) if flat else flat, array.shape)


def is_array(value: Any) -> bool:
    """Tell whether a value is an array as kernels see it."""
    return isinstance(value, memoryview | WordView | Grid)


def to_numpy(value: Any) -> Any:
    """Return an array as one of NumPy, for printing and comparing."""
    if isinstance(value, Grid):
        return np.asarray(value.cells).reshape(value.shape)
    return np.asarray(value.cells if isinstance(value, WordView) else value)


# Where a piece of a buffer was borrowed before, by the buffer's id: the piece is made once.
_borrowed: Final[dict[int, dict[Any, Any]]] = {}


def remember(view: Any) -> None:
    """Keep what is borrowed of a buffer, until `forget`; the caller holds the buffer."""
    _borrowed[id(view)] = {}


def forget(view: Any) -> None:
    """Drop what was borrowed of a buffer, and of what was."""
    for piece in _borrowed.pop(id(view), {}).values():
        if id(piece) in _borrowed:
            forget(piece)


def _borrower(code: Any) -> Kernel:
    """Return the function (buffer, start, shape) -> array over the same memory."""

    def borrow(buffer: Any, start: int, shape: tuple[int, ...]) -> Any:
        known, key = _borrowed.get(id(buffer)), (code, start, shape)
        if known is not None and (found := known.get(key)) is not None:
            return found
        cells = buffer.cells if isinstance(buffer, WordView) else buffer
        size = math.prod(shape)
        if start < 0 or start + size > len(cells):
            raise IndexError("index out of bounds")
        piece = cells[start : start + size]
        if piece.format != code:
            piece = piece.cast("B").cast(code)
        result = shaped(piece, shape)
        if known is not None:
            known[key] = result
            if size == len(cells):  # a learner's cells, of which all else is borrowed
                remember(result)
        return result

    return borrow


borrow_float: Final = _borrower("d")
borrow_int: Final = _borrower("q")
borrow_word: Final = _borrower("Q")


def remembering(reader: Kernel) -> Kernel:
    """Return a reader (buffer, start, dims) of views alone that makes them once for each place."""

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
