"""Declaration of state arrays, and their layout in one buffer.

A buffer is a vector of 8-byte cells, and a `Layout` says which cells belong to which array. So
compiled functions have one fixed signature of plain vectors, whatever arrays a policy has.
"""

import math
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.draws.argmin_tree import argmin_tree_keys_start, argmin_tree_rebuild, argmin_tree_size
from keyhole.kernels.fingerprint import Kernel, python_function
from keyhole.kernels.kernel_decorators import (
    is_bounds_checked,
    kernel,
    load_intrinsic,
    mark_as_returning_views,
    set_python_equivalent,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]  # of float64 or int64, by name
Dim = int | str
T = TypeVar("T")

# The plain functions, for calls from Python: a call of the kernels would compile them.
_argmin_size: Final = python_function(argmin_tree_size)
_argmin_keys_start: Final = python_function(argmin_tree_keys_start)


@dataclass(frozen=True)
class Field:
    """The type and shape of an array, or of a single value, in a buffer.

    Parameters
    ----------
    dtype : {"float64", "int64", "bool"}
        The type of a cell; "bool" is only for the result of a guard (`Setting.allowed`).
    shape : tuple of int or str
        The lengths of the axes, or names of integers that are known when the buffer is made, such
        as "arms"; empty for a single value.
    tree : bool
        Whether the array holds a tournament tree for the arg-min over its only axis. Kernels see
        the whole tree; Python and files see only its leaves, the keys.
    kept : bool
        Whether files of learners hold the array: see `scratch_array`.
    added : bool
        Whether files of an earlier version lack the array; it is then read as zeros.
    """

    dtype: str
    shape: tuple[Dim, ...] = ()
    tree: bool = False
    kept: bool = True
    added: bool = False

    def can_hold(self, value: ArrayLike) -> bool:
        """Return whether the type of a cell fits each number; whole floats, as 2.0, fit int64."""
        try:
            cells = np.asarray(value, self.dtype)
            return self.dtype != "int64" or np.array_equal(cells, value)
        except (ArithmeticError, TypeError, ValueError):
            return False

    def extent(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape as numbers; `sizes` has the integers that the shape names."""
        return tuple(sizes[n] if isinstance(n, str) else n for n in self.shape)

    def cell_count(self, sizes: Mapping[str, int]) -> int:
        """Return the number of cells of the array."""
        shape = self.extent(sizes)
        return _argmin_size(shape[0]) if self.tree else math.prod(shape)


def float_array(*shape: Dim, added: bool = False) -> FloatArray:
    """Declare a float64 state array, zero at the start.

    Parameters
    ----------
    *shape : int or str
        For each axis a length, or the name of an integer that the policy knows: a fact, such as
        "arms", or an integer parameter. Without an axis, the array has length 1: kernels read the
        number as ``s.name[0]``.
    added : bool
        Whether a learner that was saved before the policy had this array may be loaded. The array
        is then zero.

    Examples
    --------
    >>> class State:
    ...     totals = float_array("arms")
    """
    return cast(FloatArray, Field("float64", shape or (1,), added=added))


def int_array(*shape: Dim) -> IntArray:
    """Declare an int64 state array, zero at the start; see `float_array`.

    Examples
    --------
    >>> class State:
    ...     phase = int_array()  # one number: s.phase[0]
    """
    return cast(IntArray, Field("int64", shape or (1,)))


def argmin_tree_array(dim: Dim) -> FloatArray:
    """Declare a tree that finds the smallest of `dim` keys: see `keyhole.draws.argmin_tree`.

    Examples
    --------
    >>> class State:
    ...     index = argmin_tree_array("arms")
    """
    return cast(FloatArray, Field("float64", (dim,), tree=True))


def scratch_array(*shape: Dim) -> FloatArray:
    """Declare a float64 state array that affects the speed of a decision, but not the decision.

    The array is zero at the start, and again in a learner that was loaded or copied; see
    `float_array`. So what a kernel leaves in the array may be gone at the next call. A kernel must
    write the array before it reads it, or take the same decision if it reads zeros.

    Examples
    --------
    >>> class State:
    ...     guess = scratch_array()  # where to begin: s.guess[0]
    """
    return cast(FloatArray, Field("float64", shape or (1,), kept=False))


def float_input() -> float:
    """Declare a single float among the inputs of an environment; see `float_array`."""
    return cast(float, Field("float64"))


def int_input() -> int:
    """Declare a single integer among the inputs of an environment; see `float_array`."""
    return cast(int, Field("int64"))


def declared_attributes(cls: type, value_type: type[T]) -> dict[str, T]:
    """Return the attributes of one type that a class and its bases declare, bases first."""
    bases = reversed(cls.__mro__)
    return {n: v for base in bases for n, v in vars(base).items() if isinstance(v, value_type)}


def declared_fields(cls: type) -> dict[str, Field]:
    """Return the arrays that a class and its bases declare (`float_array`, ...), bases first."""
    return declared_attributes(cls, Field)


def declared_state(owner: type) -> dict[str, Field]:
    """Return the arrays of the nested class `State`; refuse any other attribute."""
    state: type = owner.State  # type: ignore[attr-defined]
    for base in state.__mro__[:-1]:
        for name, value in vars(base).items():
            if not name.startswith("__") and not isinstance(value, Field):
                raise TypeError(
                    f"{state.__qualname__}.{name} must be made with float_array, int_array, "
                    f"argmin_tree_array or scratch_array, got {value!r}"
                )
    return declared_fields(state)


def _make_view_function(dtype: str, equivalent: str) -> Kernel:
    """Return a compiled function (buffer, start, shape) -> array over the buffer's memory.

    The array counts no references, so the caller must keep the buffer alive for as long as the
    array is in use.
    """

    def name_view(buffer, start, shape):  # type: ignore[no-untyped-def]
        """Do nothing; the intrinsic has the name and the arguments of this function."""

    view = load_intrinsic(name_view, lambda module: module.make_view_function(dtype, name_view))
    return set_python_equivalent(
        view, f"keyhole.kernels.interpreter.interpreted_arrays:{equivalent}"
    )


borrow_floats = _make_view_function("float64", "borrow_floats")
borrow_ints = _make_view_function("int64", "borrow_ints")
borrow_words = _make_view_function("uint64", "borrow_words")


class Layout:
    """The positions of named arrays in a buffer.

    Shapes may use the integers with the names `dims`. Methods get their values as `sizes`.
    """

    def __init__(self, fields: Mapping[str, Field], dims: Iterable[str]) -> None:
        self.fields = dict(fields)
        self.dims = tuple(dims)
        for name, field in self.fields.items():
            for dim in field.shape:
                if isinstance(dim, str) and dim not in self.dims:
                    raise ValueError(
                        f"{name}: the shape must use one of {', '.join(self.dims)}, got {dim!r}"
                    )

    def size(self, sizes: Mapping[str, int]) -> int:
        """Return the number of cells of all arrays."""
        return sum(field.cell_count(sizes) for field in self.fields.values())

    def views(self, buffer: FloatArray, sizes: Mapping[str, int]) -> Arrays:
        """Return the arrays in `buffer` by name, as NumPy views; single values have shape ()."""
        views: Arrays = {}
        start = 0
        for name, field in self.fields.items():
            shape = field.extent(sizes)
            size = field.cell_count(sizes)
            keys_start = start
            if field.tree:  # Python sees only the leaves, from which the inner nodes follow
                keys_start += _argmin_keys_start(size, shape[0])
            cells = buffer[keys_start : keys_start + math.prod(shape)]
            views[name] = cells.view(field.dtype).reshape(shape)
            start += size
        return views

    def rebuild_trees(self, buffer: FloatArray, sizes: Mapping[str, int]) -> None:
        """Rebuild the inner nodes of trees from the keys, which Python may have written."""
        start = 0
        for field in self.fields.values():
            size = field.cell_count(sizes)
            if field.tree:
                argmin_tree_rebuild(buffer[start : start + size], field.extent(sizes)[0])
            start += size

    def pack(self, values: Mapping[str, ArrayLike], sizes: Mapping[str, int]) -> FloatArray:
        """Return a buffer that holds `values`."""
        buffer = np.zeros(max(1, self.size(sizes)))
        for name, view in self.views(buffer, sizes).items():
            view[...] = values[name]
        return buffer

    def _length_expressions(self, field: Field) -> list[str]:
        """Return the expressions of an array's lengths, in terms of `dims`."""
        expressions = {name: f"dims[{i}]" for i, name in enumerate(self.dims)}
        lengths = [expressions[n] if isinstance(n, str) else str(n) for n in field.shape]
        if field.tree:
            return [f"argmin_tree_size({lengths[0]})"]
        return lengths or ["1"]

    def offset_statements(self) -> str:
        """Return the lines that compute where each field begins, from `start` on: at0, at1, ..."""
        # Each line adds to the line before. If each line were a whole sum, the code to compile
        # would grow with the square of the number of fields (decision 007).
        lines = ""
        offset = "start"
        for i, field in enumerate(self.fields.values()):
            lines += f"    at{i} = {offset}\n"
            offset = f"at{i} + {' * '.join(self._length_expressions(field))}"
        return lines

    def field_expressions(self, *, targets: bool = False) -> dict[str, str]:
        """Return the expression that reads each field from `buffer`, after `offset_statements`.

        A single value (shape ()) is read as a number. With `targets`, which a kernel fills, it is
        an array of length 1.
        """
        expressions: dict[str, str] = {}
        for i, (name, field) in enumerate(self.fields.items()):
            borrow = "borrow_ints" if field.dtype == "int64" else "borrow_floats"
            entry = "" if targets or field.shape else "[0]"
            lengths = ", ".join(self._length_expressions(field))
            expressions[name] = f"{borrow}(buffer, at{i}, ({lengths},)){entry}"
        return expressions

    def reader(self, type_name: str, *, targets: bool = False) -> Kernel:
        """Return the compiled function (buffer, start, dims) -> named tuple of the arrays.

        `dims` is the tuple of the integers named by `self.dims`; for `targets` see
        `field_expressions`.
        """
        # With a named tuple kernels can write `s.totals`; the compiler keeps it in registers. If
        # there are no fields, it has one entry, which is 0.
        expressions = ", ".join(self.field_expressions(targets=targets).values()) or "0"
        lines = self.offset_statements()
        source = f"def read(buffer, start, dims):\n{lines}    return record({expressions},)\n"
        function = compile_once(source, "read", type_name, tuple(self.fields) or ("nothing",))
        # In interpreted mode the named tuple may be cached if it holds only views: a number in it
        # would not follow the buffer.
        has_views_only = targets or all(field.shape for field in self.fields.values())
        return mark_as_returning_views(function) if self.fields and has_views_only else function


def allocate(
    layouts: Sequence[Layout], dims: Sequence[str], sizes: Mapping[str, int], *, reserved: int = 0
) -> tuple[FloatArray, IntArray, list[Arrays]]:
    """Allocate one buffer for several layouts; return buffer, plan, and the arrays of each layout.

    The *plan* has the start of each layout, then lengths of arrays, such as `arms`, then a zero, so
    that it is never empty. The first `reserved` cells of the buffer are left free.
    """
    lengths = [layout.size(sizes) for layout in layouts]
    starts = [reserved + sum(lengths[:i]) for i in range(len(lengths))]
    buffer = np.zeros(reserved + sum(lengths) + 1)
    plan = np.array([*starts, *(sizes[name] for name in dims), 0], np.int64)
    views = [
        layout.views(buffer[start : start + length], sizes)
        for layout, start, length in zip(layouts, starts, lengths, strict=True)
    ]
    return buffer, plan, views


def copy_arm_entries(
    fields: Mapping[str, Field], old: Arrays, new: Arrays, sources: IntArray, targets: IntArray
) -> None:
    """Copy arrays to a state with other arms: from arm ``sources[i]`` to arm ``targets[i]``.

    Scratch arrays are not copied, since they may hold former numbers of arms.
    """
    for name, field in fields.items():
        if not field.kept:
            continue
        if "arms" not in field.shape:
            new[name][...] = old[name]
            continue
        axis = field.shape.index("arms")
        np.moveaxis(new[name], axis, 0)[targets] = np.moveaxis(old[name], axis, 0)[sources]


# The types are cached, since functions would be compiled again for each new type, even with the
# same fields.
_record_type: Final = lru_cache(maxsize=256)(namedtuple)


def compile_once(
    source: str, name: str, type_name: str = "", names: tuple[str, ...] = ()
) -> Kernel:
    """Return the compiled function `name` of a source text; equal arguments share a function.

    `source` defines `name`. It may call ``borrow_floats`` and ``borrow_ints``, and may make a
    ``record``, a named tuple `type_name` with the fields `names`.
    """
    return _compile_cached(source, name, type_name, names, is_bounds_checked())


# `is_checked` is only a part of the cache's key: code without bounds checks must not be used where
# they are required (`bounds_checked`).
@lru_cache(maxsize=256)
def _compile_cached(
    source: str, name: str, type_name: str, names: tuple[str, ...], is_checked: bool
) -> Kernel:
    return compile_source(source, name, {"record": _record_type(type_name, names)} if names else {})


def compile_source(source: str, name: str, scope: dict[str, object]) -> Kernel:
    """Return the compiled function `name` of a source text, which may borrow from buffers."""
    scope |= {
        "borrow_floats": borrow_floats,
        "borrow_ints": borrow_ints,
        "argmin_tree_size": argmin_tree_size,
    }
    exec(source, scope)
    return kernel(cast(Kernel, scope[name]))
