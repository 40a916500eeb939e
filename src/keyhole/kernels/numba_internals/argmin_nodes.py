"""The smallest of sixteen numbers, and the place of a number among them, in vector registers.

`keyhole.draws.argmin_tree` has the same functions as loops.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# (Numba has no type hints for its internals.)

from collections.abc import Callable
from typing import Any, Final, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_CHILDREN: Final = 16
_NODE: Final = ir.VectorType(ir.DoubleType(), _CHILDREN)
_WORD: Final = ir.IntType(64)
_ORDER: Final = ir.IntType(32)


def _node(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the sixteen keys from a cell on, as a vector."""
    array = make_array(signature.args[0])(context, builder, args[0])
    cell = builder.gep(array.data, [args[1]])
    # Aligned to 8 bytes only: states begin at any cell. LLVM splits the vector of sixteen into the
    # registers of the processor (AVX-512, AVX2, SSE2, NEON).
    return builder.load(builder.bitcast(cell, _NODE.as_pointer()), align=8)


def _shuffle(builder: Any, vector: Any, places: list[int]) -> Any:
    """Return some elements of a vector."""
    order = ir.Constant(ir.VectorType(_ORDER, len(places)), places)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _smallest_of(typing, keys, start):
    """Type and build: return the smallest of the sixteen keys from cell `start` on."""

    def build(context, builder, signature, args):
        # A tournament: eight comparisons at once, then four, two, one. A sequential minimum would
        # be a chain of fifteen, each waiting for the one before.
        left, rest = _node(context, builder, signature, args), _CHILDREN
        while rest > 1:
            rest //= 2
            low = _shuffle(builder, left, [*range(rest)])
            high = _shuffle(builder, left, [*range(rest, 2 * rest)])
            left = builder.select(builder.fcmp_ordered("<", high, low), high, low)
        return builder.extract_element(left, _ORDER(0))

    return types.float64(keys, types.intp), build


def _place_of(typing, keys, start, key):
    """Type and build: return which of the sixteen is the first equal to `key`; 0 if none is."""

    def build(context, builder, signature, args):
        node = _node(context, builder, signature, args)
        one = builder.insert_element(ir.Constant(_NODE, ir.Undefined), args[2], _ORDER(0))
        equal = builder.fcmp_ordered("==", node, _shuffle(builder, one, [0] * _CHILDREN))
        # Sixteen comparisons as the bits of a word; the lowest set bit is the first equal key. Bit
        # 16 is set in case that none is (a damaged store): the mask then makes the result 0.
        bits = builder.zext(builder.bitcast(equal, ir.IntType(_CHILDREN)), _WORD)
        first = builder.cttz(builder.or_(bits, _WORD(1 << _CHILDREN)), ir.IntType(1)(1))
        return builder.and_(first, _WORD(_CHILDREN - 1))

    return types.intp(keys, types.intp, types.float64), build


smallest_in_node = cast(Callable[..., Any], intrinsic(_smallest_of))
place_in_node = cast(Callable[..., Any], intrinsic(_place_of))
