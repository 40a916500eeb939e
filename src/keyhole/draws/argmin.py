"""The candidate with the smallest key, when one key changes at a time.

The keys are the leaves of a tree of minima in which every node has sixteen children: up to 16 keys
are one node, up to 256 two levels; but up to 32 are two nodes, and both are read. A node is read at
once, with whatever vector instructions the processor has. The answer is the lowest position among
equal smallest keys. Keys must not be NaN. Throughout, `keys` is the store of
`argmin_size(candidates)` keys, and `candidates` at least 1; positions count from 0.
"""

import math
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from keyhole.kernels.jit import kernel

# The root's children are cells 0 to 15, those of cell i the sixteen from 16 (i + 1) on. With two
# children, ten levels instead of three, a round of LSA at K = 1,000 took 1.4 times as long.
_CHILDREN: Final = 16
# So many are read without a tree above them: a round of LSA at K = 20 then takes 0.67 of the time.
_FLAT: Final = 2 * _CHILDREN

_NODE: Final = ir.VectorType(ir.DoubleType(), _CHILDREN)
_WORD: Final = ir.IntType(64)
_ORDER: Final = ir.IntType(32)


def _node(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the sixteen keys from a cell on, as a vector."""
    array = make_array(signature.args[0])(context, builder, args[0])  # type: ignore[no-untyped-call]
    cell = builder.gep(array.data, [args[1]])
    return builder.load(builder.bitcast(cell, _NODE.as_pointer()), align=8)


def _pick(builder: Any, vector: Any, places: list[int]) -> Any:
    """Return some elements of a vector."""
    order = ir.Constant(ir.VectorType(_ORDER, len(places)), places)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _smallest_of(typing, keys, start):  # type: ignore[no-untyped-def]
    """Be compiled to: return the smallest of the sixteen keys from cell `start` on."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        left, rest = _node(context, builder, signature, args), _CHILDREN
        while rest > 1:
            rest //= 2
            low = _pick(builder, left, [*range(rest)])
            high = _pick(builder, left, [*range(rest, 2 * rest)])
            left = builder.select(builder.fcmp_ordered("<", high, low), high, low)
        return builder.extract_element(left, _ORDER(0))

    return types.float64(keys, types.intp), build


def _place_of(typing, keys, start, key):  # type: ignore[no-untyped-def]
    """Be compiled to: return which of the sixteen is the first equal to `key`; 0 if none is."""

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        node = _node(context, builder, signature, args)
        one = builder.insert_element(ir.Constant(_NODE, ir.Undefined), args[2], _ORDER(0))
        equal = builder.fcmp_ordered("==", node, _pick(builder, one, [0] * _CHILDREN))
        bits = builder.zext(builder.bitcast(equal, ir.IntType(_CHILDREN)), _WORD)
        first = builder.cttz(builder.or_(bits, _WORD(1 << _CHILDREN)), ir.IntType(1)(1))
        return builder.and_(first, _WORD(_CHILDREN - 1))

    return types.intp(keys, types.intp, types.float64), build


_smallest = cast(Callable[..., Any], intrinsic(_smallest_of))
_place = cast(Callable[..., Any], intrinsic(_place_of))


@kernel
def argmin_size(candidates: int) -> int:
    """Return the length of the array that holds the keys of `candidates` candidates.

    Examples
    --------
    >>> argmin_size(10), argmin_size(1000)
    (16, 1280)
    """
    above, room = 0, _CHILDREN
    while room < candidates and candidates > _FLAT:
        above += room
        room *= _CHILDREN
    return above + (candidates + _CHILDREN - 1) // _CHILDREN * _CHILDREN


@kernel
def argmin_begin(size: int, candidates: int) -> int:
    """Return the cell in which the keys begin, in a store of length `size`.

    Examples
    --------
    >>> argmin_begin(16, 10), argmin_begin(1280, 1000)
    (0, 272)
    """
    return size - (candidates + _CHILDREN - 1) // _CHILDREN * _CHILDREN


@kernel
def argmin_fill(keys: NDArray[np.float64], candidates: int, key: float) -> None:
    """Give all candidates the same key.

    Examples
    --------
    >>> store = np.empty(argmin_size(3))
    >>> argmin_fill(store, 3, -math.inf)
    >>> argmin(store, 3)
    0
    """
    keys[:] = math.inf
    cell, count = argmin_begin(len(keys), candidates), candidates
    while cell > 0:
        keys[cell : cell + count] = key
        cell, count = cell // _CHILDREN - 1, (count + _CHILDREN - 1) // _CHILDREN
    keys[:count] = key


@kernel
def argmin_set(keys: NDArray[np.float64], candidates: int, position: int, key: float) -> None:
    """Give one candidate a new key.

    Examples
    --------
    >>> store = np.empty(argmin_size(3))
    >>> argmin_fill(store, 3, 1.0)
    >>> argmin_set(store, 3, 2, 0.5)
    >>> argmin(store, 3)
    2
    """
    begin = argmin_begin(len(keys), candidates)
    cell = begin + position
    keys[cell] = key
    while begin > 0 and cell >= _CHILDREN:
        node = cell // _CHILDREN
        cell = node - 1
        keys[cell] = _smallest(keys, _CHILDREN * node)


@kernel
def argmin(keys: NDArray[np.float64], candidates: int) -> int:
    """Return the lowest position among those with the smallest key.

    Examples
    --------
    >>> store = np.empty(argmin_size(3))
    >>> argmin_fill(store, 3, 1.0)
    >>> argmin(store, 3)
    0
    """
    smallest: float = _smallest(keys, 0)
    begin = argmin_begin(len(keys), candidates)
    if begin == 0 and candidates > _CHILDREN:
        other: float = _smallest(keys, _CHILDREN)
        half = _CHILDREN if other < smallest else 0
        place: int = half + _place(keys, half, min(smallest, other))
        return min(place, candidates - 1)
    cell: int = _place(keys, 0, smallest)
    while cell < begin:
        # Bounded, here and below: a damaged store must not lead out of it.
        node = min(_CHILDREN * (cell + 1), len(keys) - _CHILDREN)
        cell = node + _place(keys, node, smallest)
    return min(cell - begin, candidates - 1)


def argmin_mend(keys: NDArray[np.float64], candidates: int) -> None:
    """Make a store whole of which only the keys are right: for Python, not for kernels.

    Examples
    --------
    >>> store = np.array([2.0, 1.0] + 14 * [0.0])
    >>> argmin_mend(store, 2)
    >>> argmin(store, 2)
    1
    """
    padding = -candidates % _CHILDREN
    level = np.append(keys[len(keys) - candidates - padding :][:candidates], [math.inf] * padding)
    keys[:] = math.inf
    begin = len(keys) - len(level)
    while begin > 0:
        keys[begin : begin + len(level)] = level
        level = level.reshape(-1, _CHILDREN).min(axis=1)
        level = np.append(level, [math.inf] * (-len(level) % _CHILDREN))
        begin = begin // _CHILDREN - 1
    keys[: len(level)] = level
