"""Intrinsics: vector instructions, views of a buffer, and the thread's identifier.

Vector instructions find the smallest of sixteen keys, and the position of a key among them;
`keyhole.draws.argmin_tree` has the same functions in Python. Other vector instructions draw four
beta variates at once; `keyhole.draws.samplers` draws the same numbers step by step.
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

_CHILDREN: Final = 16  # the keys of a node of the tree
_VECTOR: Final = ir.VectorType(ir.DoubleType(), _CHILDREN)  # of the keys of a node
_INT64: Final = ir.IntType(64)
_INT32: Final = ir.IntType(32)


def _load_sixteen_keys(context, builder: ir.IRBuilder, signature, args) -> ir.Value:
    """Load the sixteen keys from a cell on, as a vector."""
    array = make_array(signature.args[0])(context, builder, args[0])
    cell = builder.gep(array.data, [args[1]])
    # The vector is aligned to 8 bytes only, since states begin at any cell. LLVM splits the vector
    # of sixteen into the registers of the processor (AVX-512, AVX2, SSE2, NEON).
    return builder.load(builder.bitcast(cell, _VECTOR.as_pointer()), align=8)


def _shuffle(builder: ir.IRBuilder, vector: ir.Value, positions: list[int]) -> ir.Value:
    """Return the vector of the elements at some positions of a vector, in this order."""
    order = ir.Constant(ir.VectorType(_INT32, len(positions)), positions)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _smallest_of_sixteen(typing, keys, start):
    """Type and build the function that returns the smallest of sixteen keys, from `start` on."""

    def build(context, builder, signature, args):
        # A tournament: eight comparisons at once, then four, two, one. A sequential minimum would
        # be a chain of fifteen, each waiting for the one before.
        vector = _load_sixteen_keys(context, builder, signature, args)
        count = _CHILDREN
        while count > 1:
            count //= 2
            low = _shuffle(builder, vector, [*range(count)])
            high = _shuffle(builder, vector, [*range(count, 2 * count)])
            vector = builder.select(builder.fcmp_ordered("<", high, low), high, low)
        return builder.extract_element(vector, _INT32(0))

    return types.float64(keys, types.intp), build


def _find_among_sixteen(typing, keys, start, key):
    """Type and build the function that returns the first position of a key in sixteen, or 0."""

    def build(context, builder, signature, args):
        node = _load_sixteen_keys(context, builder, signature, args)
        key_vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[2], _INT32(0))
        equal = builder.fcmp_ordered("==", node, _shuffle(builder, key_vector, [0] * _CHILDREN))
        # The sixteen comparisons are the bits of a word, whose lowest set bit is the first equal
        # key. Bit 16 is set in case no key is equal, as in a damaged tree; the mask then makes the
        # result 0.
        bits = builder.zext(builder.bitcast(equal, ir.IntType(_CHILDREN)), _INT64)
        first = builder.cttz(builder.or_(bits, _INT64(1 << _CHILDREN)), ir.IntType(1)(1))
        return builder.and_(first, _INT64(_CHILDREN - 1))

    return types.intp(keys, types.intp, types.float64), build


smallest_in_node = cast(Kernel, intrinsic(_smallest_of_sixteen))
position_in_node = cast(Kernel, intrinsic(_find_among_sixteen))

thread_ident: Final = types.ExternalFunction("PyThread_get_thread_ident", types.uint64())
"""The function with which compiled code gets the identifier of the calling thread."""


_CELL_BYTES: Final = 8


def make_view_function(dtype: str, like: Kernel) -> Kernel:
    """Return a compiled function (buffer, start, shape) -> array over the buffer's memory.

    `dtype` is ``"float64"``, ``"int64"`` or ``"uint64"``. The function gets the name of `like`,
    which is part of the fingerprints of kernels that use it.

    A slice `buffer[a:b]` would count references on every use (decision 002), which costs 15 to
    35 ns a round in atomic operations (measured, K = 10); a borrowed view costs nothing. The caller
    must keep the buffer alive for as long as the view is in use.
    """
    cell_type = getattr(types, dtype)

    def borrow(typing, buffer, start, shape):
        result = types.Array(cell_type, len(shape), "C")

        def build(context, builder, signature, args):
            source = make_array(signature.args[0])(context, builder, args[0])
            view = make_array(result)(context, builder)
            # The address of the first cell, as a pointer to the view's type of 8 bytes.
            data = builder.bitcast(builder.gep(source.data, [args[1]]), view.data.type)
            lengths = [builder.extract_value(args[2], axis) for axis in range(len(shape))]
            cell_bytes = context.get_constant(types.intp, _CELL_BYTES)
            strides = [cell_bytes]
            for length in reversed(lengths[1:]):
                strides.insert(0, builder.mul(strides[0], length))
            # Without `meminfo`, the view has no owner whose references could be counted.
            populate_array(
                view, data=data, shape=lengths, strides=strides, itemsize=cell_bytes, meminfo=None
            )
            return view._getvalue()

        return result(buffer, types.intp, shape), build

    borrow.__module__ = like.__module__
    borrow.__qualname__ = like.__qualname__
    return cast(Kernel, intrinsic(borrow))


_LANES: Final = 4
# A beta variate is usual if both of its gamma variates have a shape of at least 1, and are accepted
# by the first tests. It takes four words of the stream: for each gamma variate a proposal and a
# test.
_WORDS_PER_VARIATE: Final = 4

_FOUR_WORDS: Final = ir.VectorType(_INT64, _LANES)
_FOUR_FLOATS: Final = ir.VectorType(ir.DoubleType(), _LANES)


def _splat_word(value: int) -> ir.Value:
    """Return four equal words."""
    return ir.Constant(_FOUR_WORDS, [value] * _LANES)


def _splat_float(value: float) -> ir.Value:
    """Return four equal floats."""
    return ir.Constant(_FOUR_FLOATS, [value] * _LANES)


_Pair = tuple[ir.Value, ir.Value]


class _FourVariates:
    """Builder of vector code for four beta variates."""

    def __init__(self, builder: ir.IRBuilder, counter_step: int, factors: tuple[int, int]) -> None:
        self.builder = builder
        self._counter_step = counter_step
        self._factors = factors

    def gather(self, data: ir.Value, cells: ir.Value) -> ir.Value:
        """Load the numbers in four cells."""
        numbers = ir.Constant(_FOUR_FLOATS, ir.Undefined)
        for lane in range(_LANES):
            cell = self.builder.extract_element(cells, _INT32(lane))
            number = self.builder.load(self.builder.gep(data, [cell]))
            numbers = self.builder.insert_element(numbers, number, _INT32(lane))
        return numbers

    def random_words(self, position: ir.Value, index: int) -> ir.Value:
        """Return the random word at `index` (0 to 3) of each variate."""
        # The generator is counter-based. Word k is a hash (`keyhole.draws.streams.mix64`) of
        # `position` + k * `counter_step`, so that the words of later variates can be computed
        # before earlier words are used.
        word_numbers = [_WORDS_PER_VARIATE * lane + index + 1 for lane in range(_LANES)]
        steps = [k * self._counter_step % 2**64 for k in word_numbers]
        no_words = ir.Constant(_FOUR_WORDS, ir.Undefined)
        vector = self.builder.insert_element(no_words, position, _INT32(0))
        vector = _shuffle(self.builder, vector, [0] * _LANES)
        vector = self.builder.add(vector, ir.Constant(_FOUR_WORDS, steps))
        for shift, factor in zip((30, 27), self._factors, strict=True):
            vector = self.builder.xor(vector, self.builder.lshr(vector, _splat_word(shift)))
            vector = self.builder.mul(vector, _splat_word(factor))
        return self.builder.xor(vector, self.builder.lshr(vector, _splat_word(31)))

    def to_floats(self, word: ir.Value) -> ir.Value:
        """Convert signed integers below 2**53 to floats, exactly.

        The lower half of an integer becomes the last bits of the float 2**52, and the upper half,
        with its sign bit flipped, the last bits of 2**84. Then 2**52 and 2**84 are subtracted, and
        2**63 for the flipped bit. Few processors have an instruction for the conversion.
        """
        build = self.builder
        low = build.and_(word, _splat_word(2**32 - 1))
        low = build.bitcast(build.or_(low, _splat_word(0x433 << 52)), _FOUR_FLOATS)
        high = build.lshr(build.xor(word, _splat_word(2**63)), _splat_word(32))
        high = build.bitcast(build.or_(high, _splat_word(0x453 << 52)), _FOUR_FLOATS)
        return build.fadd(build.fsub(high, _splat_float(2.0**84 + 2.0**63 + 2.0**52)), low)

    def gammas(self, position: ir.Value, index: int, shape: ir.Value, tables: _Pair) -> _Pair:
        """Return gamma variates from words `index` and `index` + 1, and whether each is usual."""
        # The operations are those of `samplers._gamma_by_first_proposal`, in the same order, since
        # another order would round differently. LLVM must not fuse them into multiply-adds, and by
        # default does not.
        build = self.builder
        ones = _splat_float(1.0)
        unary = ir.FunctionType(_FOUR_FLOATS, [_FOUR_FLOATS])
        square_root, absolute = (
            cgutils.get_or_insert_function(build.module, unary, f"llvm.{name}.v{_LANES}f64")
            for name in ("sqrt", "fabs")
        )
        d = build.fsub(shape, _splat_float(1.0 / 3.0))
        c = build.fdiv(ones, build.call(square_root, [build.fmul(_splat_float(9.0), d)]))
        bits = self.random_words(position, index)
        strips = build.and_(bits, _splat_word(255))
        x = self.to_floats(build.or_(build.ashr(bits, _splat_word(10)), _splat_word(1)))
        x = build.fmul(x, self.gather(tables[0], strips))
        strip_ends = self.gather(tables[1], build.add(strips, _splat_word(1)))
        u = self.to_floats(build.lshr(self.random_words(position, index + 1), _splat_word(11)))
        u = build.fmul(u, _splat_float(2.0**-53))
        y = build.fmul(c, x)
        square = build.fmul(x, x)
        base = build.fadd(ones, y)
        cube = build.fmul(build.fmul(base, base), base)
        reduction = build.fmul(build.fmul(_splat_float(0.0331), square), square)
        is_usual = build.fcmp_ordered("<", u, build.fsub(ones, reduction))
        reduction = build.fmul(build.fmul(_splat_float(0.15), square), build.fmul(y, y))
        margin = build.fmul(_splat_float(1e-12), build.fadd(ones, d))
        is_certain = build.fcmp_ordered("<", u, build.fsub(build.fsub(ones, reduction), margin))
        is_certain = build.and_(is_certain, build.fcmp_ordered(">", y, _splat_float(-0.5)))
        is_usual = build.or_(is_usual, is_certain)
        is_inside = build.fcmp_ordered("<", build.call(absolute, [x]), strip_ends)
        is_usual = build.and_(is_usual, is_inside)
        is_usual = build.and_(is_usual, build.fcmp_ordered(">", base, _splat_float(0.0)))
        is_usual = build.and_(is_usual, build.fcmp_ordered(">=", shape, ones))
        return build.fmul(d, cube), is_usual


def make_four_betas(counter_step: int, factors: tuple[int, int]) -> Kernel:
    """Return a compiled function that draws up to four beta variates at once.

    Parameters
    ----------
    counter_step : int
        The increment of a stream from one word to the next.
    factors : tuple of int
        The two factors by which `keyhole.draws.streams.mix64` mixes a word.
    """

    @intrinsic
    def four_betas(typing, position, a, b, first, count, out, step, ends):
        """Draw up to four of `count` variates, from `first` on, into `out`.

        `position` is the position in the stream, and `step` and `ends` are the tables of the
        ziggurat. Each of the four variates has a bit in the result, which is set if the variate is
        not usual. Its value is then meaningless.
        """
        for name, vector in (("a", a), ("b", b), ("out", out)):
            is_vector = isinstance(vector, types.Array) and vector.ndim == 1
            if not is_vector or vector.layout != "C" or vector.dtype != types.float64:
                raise TypeError(
                    f"betas: {name} must be a vector of float64 whose numbers lie side by side, "
                    f"got {vector}"
                )
        integer = types.intp
        signature = types.uint64(types.uint64, a, b, integer, integer, out, step, ends)

        def build(context, builder, signature, args):
            # The data of `a`, `b`, `out`, `step` and `ends`, by the position of the argument.
            data = {
                k: make_array(signature.args[k])(context, builder, args[k]).data
                for k in (1, 2, 5, 6, 7)
            }
            variates = _FourVariates(builder, counter_step, factors)
            last = builder.sub(args[4], _INT64(1))
            cells = ir.Constant(_FOUR_WORDS, ir.Undefined)
            lane_cells = []
            # Lanes beyond the last variate repeat its cell, so that no read leaves the arrays.
            # These lanes are written first, and overwritten by the variate itself.
            for lane in range(_LANES):
                cell = builder.add(args[3], _INT64(lane))
                cell = builder.select(builder.icmp_signed("<", cell, last), cell, last)
                cells = builder.insert_element(cells, cell, _INT32(lane))
                lane_cells.append(cell)
            tables = (data[6], data[7])
            first_gammas, first_usual = variates.gammas(
                args[0], 0, variates.gather(data[1], cells), tables
            )
            second_gammas, second_usual = variates.gammas(
                args[0], 2, variates.gather(data[2], cells), tables
            )
            betas = builder.fdiv(first_gammas, builder.fadd(first_gammas, second_gammas))
            for lane in range(_LANES - 1, -1, -1):
                number = builder.extract_element(betas, _INT32(lane))
                builder.store(number, builder.gep(data[5], [lane_cells[lane]]))
            usual = builder.bitcast(builder.and_(first_usual, second_usual), ir.IntType(_LANES))
            return builder.zext(builder.not_(usual), _INT64)

        return signature, build

    return cast(Kernel, four_betas)
