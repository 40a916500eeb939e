"""Intrinsics: vector instructions, views of a buffer, and the thread's identifier.

The smallest of sixteen numbers, and the place of a number among them, in vector registers
(`keyhole.draws.argmin_tree` has the same functions in Python); array views of a buffer without
reference counts; four random numbers of beta distributions at once, in vector registers (LLVM
vector types), which `keyhole.draws.samplers` also draws step by step.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# (Numba has no type hints for its internals.)

from typing import Final, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from keyhole.kernels.interpreted_mode import Kernel

_CHILDREN: Final = 16
_NODE: Final = ir.VectorType(ir.DoubleType(), _CHILDREN)
_WORD: Final = ir.IntType(64)
_ORDER: Final = ir.IntType(32)


def _node(context, builder: ir.IRBuilder, signature, args) -> ir.Value:
    """Return the sixteen keys from a cell on, as a vector."""
    array = make_array(signature.args[0])(context, builder, args[0])
    cell = builder.gep(array.data, [args[1]])
    # Aligned to 8 bytes only: states begin at any cell. LLVM splits the vector of sixteen into the
    # registers of the processor (AVX-512, AVX2, SSE2, NEON).
    return builder.load(builder.bitcast(cell, _NODE.as_pointer()), align=8)


def _shuffle(builder: ir.IRBuilder, vector: ir.Value, positions: list[int]) -> ir.Value:
    """Return some elements of a vector."""
    order = ir.Constant(ir.VectorType(_ORDER, len(positions)), positions)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _smallest_of(typing, keys, start):
    """Type and build: return the smallest of the sixteen keys from cell `start` on."""

    def build(context, builder, signature, args):
        # A tournament: eight comparisons at once, then four, two, one. A sequential minimum would
        # be a chain of fifteen, each waiting for the one before.
        keys = _node(context, builder, signature, args)
        count = _CHILDREN
        while count > 1:
            count //= 2
            low = _shuffle(builder, keys, [*range(count)])
            high = _shuffle(builder, keys, [*range(count, 2 * count)])
            keys = builder.select(builder.fcmp_ordered("<", high, low), high, low)
        return builder.extract_element(keys, _ORDER(0))

    return types.float64(keys, types.intp), build


def _place_of(typing, keys, start, key):
    """Type and build: return which of the sixteen is the first equal to `key`; 0 if none is."""

    def build(context, builder, signature, args):
        node = _node(context, builder, signature, args)
        key_vector = builder.insert_element(ir.Constant(_NODE, ir.Undefined), args[2], _ORDER(0))
        equal = builder.fcmp_ordered("==", node, _shuffle(builder, key_vector, [0] * _CHILDREN))
        # Sixteen comparisons as the bits of a word; the lowest set bit is the first equal key. Bit
        # 16 is set in case that none is (a damaged store): the mask then makes the result 0.
        bits = builder.zext(builder.bitcast(equal, ir.IntType(_CHILDREN)), _WORD)
        first = builder.cttz(builder.or_(bits, _WORD(1 << _CHILDREN)), ir.IntType(1)(1))
        return builder.and_(first, _WORD(_CHILDREN - 1))

    return types.intp(keys, types.intp, types.float64), build


smallest_in_node = cast(Kernel, intrinsic(_smallest_of))
place_in_node = cast(Kernel, intrinsic(_place_of))

thread_ident: Final = types.ExternalFunction("PyThread_get_thread_ident", types.uint64())
"""The function with which compiled code gets the identifier of the calling thread."""


_CELL: Final = 8


def make_view(dtype: str, like: Kernel) -> Kernel:
    """Return a compiled function (buffer, start, shape) -> array over the same memory.

    `dtype` is ``"float64"``, ``"int64"`` or ``"uint64"``. The function takes the name of `like`,
    which it replaces: the name is part of the fingerprint of whatever uses it.

    A slice `buffer[a:b]` would count references on every use, which costs 15 to 35 ns a round in
    atomic operations (measured, K = 10); a borrowed view costs nothing. The engine keeps the
    buffer alive for as long as the views are in use.
    """
    cell_type = getattr(types, dtype)

    def borrow(typing, buffer, start, shape):
        result = types.Array(cell_type, len(shape), "C")

        def build(context, builder, signature, args):
            source = make_array(signature.args[0])(context, builder, args[0])
            view = make_array(result)(context, builder)
            # The address of the first cell, as a pointer to the view's type: cells have 8 bytes.
            data = builder.bitcast(builder.gep(source.data, [args[1]]), view.data.type)
            lengths = [builder.extract_value(args[2], axis) for axis in range(len(shape))]
            cell = context.get_constant(types.intp, _CELL)
            strides = [cell]
            for length in reversed(lengths[1:]):
                strides.insert(0, builder.mul(strides[0], length))
            # Without `meminfo`, the view has no owner whose references could be counted.
            populate_array(
                view, data=data, shape=lengths, strides=strides, itemsize=cell, meminfo=None
            )
            return view._getvalue()

        return result(buffer, types.intp, shape), build

    borrow.__module__ = like.__module__
    borrow.__qualname__ = like.__qualname__
    return cast(Kernel, intrinsic(borrow))


_LANES: Final = 4
_WORDS: Final = 4  # of a variate that is the usual case: place and test of either gamma

_VECTOR: Final = ir.VectorType(_WORD, _LANES)
_REALS: Final = ir.VectorType(ir.DoubleType(), _LANES)


def _splat(vector_type: ir.VectorType, value: float) -> ir.Value:
    """Return a vector of equal constants."""
    return ir.Constant(vector_type, [value] * _LANES)


_Pair = tuple[ir.Value, ir.Value]


class _Lanes:
    """Builder of vector code for four variates."""

    def __init__(self, builder: ir.IRBuilder, walk: int, factors: tuple[int, int]) -> None:
        self.builder = builder
        self._walk = walk
        self._factors = factors

    def read(self, data: ir.Value, cells: ir.Value) -> ir.Value:
        """Return the numbers at four places (a gather)."""
        numbers = ir.Constant(_REALS, ir.Undefined)
        for lane in range(_LANES):
            cell = self.builder.extract_element(cells, _ORDER(lane))
            number = self.builder.load(self.builder.gep(data, [cell]))
            numbers = self.builder.insert_element(numbers, number, _ORDER(lane))
        return numbers

    def words(self, position: ir.Value, number: int) -> ir.Value:
        """Return word `number` of each variate: see `keyhole.draws.streams.mix64`."""
        # The generator is counter-based: word k is a hash of `position` + k * `walk`, so that the
        # words of later variates are known before those of earlier ones were used.
        steps = [(_WORDS * lane + number + 1) * self._walk % 2**64 for lane in range(_LANES)]
        vector = self.builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined), position, _ORDER(0)
        )
        zeros = ir.Constant(ir.VectorType(_ORDER, _LANES), [0] * _LANES)
        word = self.builder.shuffle_vector(vector, ir.Constant(_VECTOR, ir.Undefined), zeros)
        word = self.builder.add(word, ir.Constant(_VECTOR, steps))
        for shift, factor in zip((30, 27), self._factors, strict=True):
            word = self.builder.xor(word, self.builder.lshr(word, _splat(_VECTOR, shift)))
            word = self.builder.mul(word, _splat(_VECTOR, factor))
        return self.builder.xor(word, self.builder.lshr(word, _splat(_VECTOR, 31)))

    # The operations below are those of `samplers._usual_gamma`, in the same order: another order
    # would round differently. LLVM must not fuse them into multiply-adds, and by default does not.
    def real(self, word: ir.Value) -> ir.Value:
        """Convert signed integers below 2**53 to floats, exactly.

        Their halves become the last bits of 2**52 and of 2**84 + 2**63; few processors have an
        instruction for the conversion.
        """
        build = self.builder
        low = build.and_(word, _splat(_VECTOR, 2**32 - 1))
        low = build.bitcast(build.or_(low, _splat(_VECTOR, 0x433 << 52)), _REALS)
        high = build.lshr(build.xor(word, _splat(_VECTOR, 2**63)), _splat(_VECTOR, 32))
        high = build.bitcast(build.or_(high, _splat(_VECTOR, 0x453 << 52)), _REALS)
        return build.fadd(build.fsub(high, _splat(_REALS, 2.0**84 + 2.0**63 + 2.0**52)), low)

    def gammas(self, position: ir.Value, number: int, shape: ir.Value, tables: _Pair) -> _Pair:
        """Return gamma variates, and which of them are the usual case."""
        build = self.builder
        ones = _splat(_REALS, 1.0)
        unary = ir.FunctionType(_REALS, [_REALS])
        root, size = (
            cgutils.get_or_insert_function(build.module, unary, f"llvm.{name}.v{_LANES}f64")
            for name in ("sqrt", "fabs")
        )
        d = build.fsub(shape, _splat(_REALS, 1.0 / 3.0))
        c = build.fdiv(ones, build.call(root, [build.fmul(_splat(_REALS, 9.0), d)]))
        bits = self.words(position, number)
        strip = build.and_(bits, _splat(_VECTOR, 255))
        x = self.real(build.or_(build.ashr(bits, _splat(_VECTOR, 10)), _splat(_VECTOR, 1)))
        x = build.fmul(x, self.read(tables[0], strip))
        end = self.read(tables[1], build.add(strip, _splat(_VECTOR, 1)))
        u = self.real(build.lshr(self.words(position, number + 1), _splat(_VECTOR, 11)))
        u = build.fmul(u, _splat(_REALS, 2.0**-53))
        y = build.fmul(c, x)
        square = build.fmul(x, x)
        base = build.fadd(ones, y)
        cube = build.fmul(build.fmul(base, base), base)
        off = build.fmul(build.fmul(_splat(_REALS, 0.0331), square), square)
        usual = build.fcmp_ordered("<", u, build.fsub(ones, off))
        off = build.fmul(build.fmul(_splat(_REALS, 0.15), square), build.fmul(y, y))
        doubt = build.fmul(_splat(_REALS, 1e-12), build.fadd(ones, d))
        sure = build.fcmp_ordered("<", u, build.fsub(build.fsub(ones, off), doubt))
        sure = build.and_(sure, build.fcmp_ordered(">", y, _splat(_REALS, -0.5)))
        usual = build.or_(usual, sure)
        usual = build.and_(usual, build.fcmp_ordered("<", build.call(size, [x]), end))
        usual = build.and_(usual, build.fcmp_ordered(">", base, _splat(_REALS, 0.0)))
        usual = build.and_(usual, build.fcmp_ordered(">=", shape, ones))
        return build.fmul(d, cube), usual


def make_four_betas(walk: int, factors: tuple[int, int]) -> Kernel:
    """Return a compiled function that draws up to four variates at once.

    Parameters
    ----------
    walk : int
        The increment of a stream from one word to the next.
    factors : tuple of int
        The two factors by which `keyhole.draws.streams.mix64` mixes a word.
    """

    @intrinsic
    def four_betas(typing, position, a, b, first, count, out, step, ends):
        """Fill up to four variates, and return in bits which are not the usual case.

        Of `count` variates, from `first` on; `position` is that of the stream.
        """
        integer = types.intp
        signature = types.uint64(types.uint64, a, b, integer, integer, out, step, ends)

        def build(context, builder, signature, args):
            data = {
                k: make_array(signature.args[k])(context, builder, args[k]).data
                for k in (1, 2, 5, 6, 7)
            }
            lanes = _Lanes(builder, walk, factors)
            last = builder.sub(args[4], _WORD(1))
            cells = ir.Constant(_VECTOR, ir.Undefined)
            lane_cells = []
            # Lanes beyond the last variate repeat it, so that no read leaves the arrays; they are
            # written first, and overwritten by the variate itself.
            for lane in range(_LANES):
                cell = builder.add(args[3], _WORD(lane))
                cell = builder.select(builder.icmp_signed("<", cell, last), cell, last)
                cells = builder.insert_element(cells, cell, _ORDER(lane))
                lane_cells.append(cell)
            tables = (data[6], data[7])
            up, first_usual = lanes.gammas(args[0], 0, lanes.read(data[1], cells), tables)
            down, second_usual = lanes.gammas(args[0], 2, lanes.read(data[2], cells), tables)
            drawn = builder.fdiv(up, builder.fadd(up, down))
            for lane in range(_LANES - 1, -1, -1):
                number = builder.extract_element(drawn, _ORDER(lane))
                builder.store(number, builder.gep(data[5], [lane_cells[lane]]))
            usual = builder.bitcast(builder.and_(first_usual, second_usual), ir.IntType(_LANES))
            return builder.zext(builder.not_(usual), _WORD)

        return signature, build

    return cast(Kernel, four_betas)
