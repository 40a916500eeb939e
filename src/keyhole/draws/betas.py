"""Beta variates by the dozen: what draws from many posteriors in every round needs.

The variates are those of `keyhole.draws.samplers.beta`, one after the other, bit by bit. Four are
tried at once, with whatever vector instructions the processor has, each from the words that it
reads if all before it are the usual case: both gammas accepted by their first tests, which takes
four words of the stream. One that is not is drawn step by step; where that takes as many words,
those behind it hold.
"""

from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from llvmlite import ir
from numba import types, uint64
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from keyhole.draws.samplers import NORMAL_ENDS, NORMAL_STEP, beta, beta_by_steps
from keyhole.draws.streams import FIRST, SECOND, WALK, Stream
from keyhole.kernels.jit import kernel

_AT_ONCE: Final = 4
_WORTH_IT: Final = 3  # fewer are drawn faster one by one
_WORDS: Final = 4  # of a variate that is the usual case: place and test of either gamma

_WORD: Final = ir.IntType(64)
_VECTOR: Final = ir.VectorType(_WORD, _AT_ONCE)
_REALS: Final = ir.VectorType(ir.DoubleType(), _AT_ONCE)
_ORDER: Final = ir.IntType(32)


def _all(kind: Any, value: Any) -> Any:
    """Return a vector of equal constants."""
    return ir.Constant(kind, [value] * _AT_ONCE)


class _Lanes:
    """Writes vector code."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def read(self, data: Any, places: Any) -> Any:
        """Return the numbers at four places."""
        found = ir.Constant(_REALS, ir.Undefined)
        for lane in range(_AT_ONCE):
            place = self.builder.extract_element(places, _ORDER(lane))
            number = self.builder.load(self.builder.gep(data, [place]))
            found = self.builder.insert_element(found, number, _ORDER(lane))
        return found

    def words(self, begun: Any, number: int) -> Any:
        """Return word `number` of each variate: see `keyhole.draws.streams.mix64`."""
        steps = [(_WORDS * lane + number + 1) * int(WALK) % 2**64 for lane in range(_AT_ONCE)]
        one = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), begun, _ORDER(0))
        zeros = ir.Constant(ir.VectorType(_ORDER, _AT_ONCE), [0] * _AT_ONCE)
        word = self.builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), zeros)
        word = self.builder.add(word, ir.Constant(_VECTOR, steps))
        for shift, factor in ((30, FIRST), (27, SECOND)):
            word = self.builder.xor(word, self.builder.lshr(word, _all(_VECTOR, shift)))
            word = self.builder.mul(word, _all(_VECTOR, int(factor)))
        return self.builder.xor(word, self.builder.lshr(word, _all(_VECTOR, 31)))

    def real(self, word: Any) -> Any:
        """Return signed integers below 2**53 as numbers, exactly.

        Their halves become the last bits of 2**52 and of 2**84 + 2**63; few processors have an
        instruction for that.
        """
        build = self.builder
        low = build.and_(word, _all(_VECTOR, 2**32 - 1))
        low = build.bitcast(build.or_(low, _all(_VECTOR, 0x433 << 52)), _REALS)
        high = build.lshr(build.xor(word, _all(_VECTOR, 2**63)), _all(_VECTOR, 32))
        high = build.bitcast(build.or_(high, _all(_VECTOR, 0x453 << 52)), _REALS)
        return build.fadd(build.fsub(high, _all(_REALS, 2.0**84 + 2.0**63 + 2.0**52)), low)

    def gammas(self, begun: Any, number: int, shape: Any, tables: Any) -> Any:
        """Return gamma variates, and which of them are the usual case."""
        build = self.builder
        one = _all(_REALS, 1.0)
        unary = ir.FunctionType(_REALS, [_REALS])
        root, size = (
            cgutils.get_or_insert_function(build.module, unary, f"llvm.{name}.v{_AT_ONCE}f64")  # type: ignore[no-untyped-call]
            for name in ("sqrt", "fabs")
        )
        d = build.fsub(shape, _all(_REALS, 1.0 / 3.0))
        c = build.fdiv(one, build.call(root, [build.fmul(_all(_REALS, 9.0), d)]))
        bits = self.words(begun, number)
        strip = build.and_(bits, _all(_VECTOR, 255))
        x = self.real(build.or_(build.ashr(bits, _all(_VECTOR, 10)), _all(_VECTOR, 1)))
        x = build.fmul(x, self.read(tables[0], strip))
        end = self.read(tables[1], build.add(strip, _all(_VECTOR, 1)))
        u = self.real(build.lshr(self.words(begun, number + 1), _all(_VECTOR, 11)))
        u = build.fmul(u, _all(_REALS, 2.0**-53))
        y, square = build.fmul(c, x), build.fmul(x, x)
        base = build.fadd(one, y)
        cube = build.fmul(build.fmul(base, base), base)
        off = build.fmul(build.fmul(_all(_REALS, 0.0331), square), square)
        usual = build.fcmp_ordered("<", u, build.fsub(one, off))
        off = build.fmul(build.fmul(_all(_REALS, 0.15), square), build.fmul(y, y))
        doubt = build.fmul(_all(_REALS, 1e-12), build.fadd(one, d))
        sure = build.fcmp_ordered("<", u, build.fsub(build.fsub(one, off), doubt))
        sure = build.and_(sure, build.fcmp_ordered(">", y, _all(_REALS, -0.5)))
        usual = build.or_(usual, sure)
        usual = build.and_(usual, build.fcmp_ordered("<", build.call(size, [x]), end))
        usual = build.and_(usual, build.fcmp_ordered(">", base, _all(_REALS, 0.0)))
        usual = build.and_(usual, build.fcmp_ordered(">=", shape, one))
        return build.fmul(d, cube), usual


def _four_of(typing, begun, a, b, first, count, out, step, ends):  # type: ignore[no-untyped-def]
    """Be compiled to: fill up to four variates, and return in bits which are not the usual case.

    Of `count` variates, from `first` on; `begun` is where the stream stands.
    """
    integer = types.intp
    signature = types.uint64(types.uint64, a, b, integer, integer, out, step, ends)

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = {
            k: make_array(signature.args[k])(context, builder, args[k]).data  # type: ignore[no-untyped-call]
            for k in (1, 2, 5, 6, 7)
        }
        lanes = _Lanes(builder)
        last = builder.sub(args[4], _WORD(1))
        places, listed = ir.Constant(_VECTOR, ir.Undefined), []
        for lane in range(_AT_ONCE):  # beyond the last, the last again
            place = builder.add(args[3], _WORD(lane))
            place = builder.select(builder.icmp_signed("<", place, last), place, last)
            places = builder.insert_element(places, place, _ORDER(lane))
            listed.append(place)
        tables = (data[6], data[7])
        up, first_usual = lanes.gammas(args[0], 0, lanes.read(data[1], places), tables)
        down, second_usual = lanes.gammas(args[0], 2, lanes.read(data[2], places), tables)
        drawn = builder.fdiv(up, builder.fadd(up, down))
        for lane in range(_AT_ONCE - 1, -1, -1):
            number = builder.extract_element(drawn, _ORDER(lane))
            builder.store(number, builder.gep(data[5], [listed[lane]]))
        usual = builder.bitcast(builder.and_(first_usual, second_usual), ir.IntType(_AT_ONCE))
        return builder.zext(builder.not_(usual), _WORD)

    return signature, build


_four = cast(Callable[..., Any], intrinsic(_four_of))


@kernel
def betas(
    rng: Stream,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    count: int,
    out: NDArray[np.float64],
) -> None:
    """Draw `count` beta variates, at least 1, with the shapes of two vectors: see `beta`.

    The shapes are from 1e-300 to 1e300.

    Examples
    --------
    >>> from keyhole.draws.streams import stream
    >>> drawn = np.empty(2)
    >>> betas(stream(0), np.array([2.0, 3.0]), np.array([5.0, 1.0]), 2, drawn)
    >>> rng = stream(0)
    >>> drawn.tolist() == [beta(rng, 2.0, 5.0), beta(rng, 3.0, 1.0)]
    True
    """
    first = 0
    while first < count:
        if count - first < _WORTH_IT:
            out[first] = beta(rng, a[first], b[first])
            first += 1
            continue
        begun = rng[0]
        unusual = _four(begun, a, b, first, count, out, NORMAL_STEP, NORMAL_ENDS)
        lanes = min(_AT_ONCE, count - first)
        rng[0] = begun + uint64(_WORDS * lanes) * uint64(WALK)
        if unusual & uint64((1 << lanes) - 1) != uint64(0):
            lanes = _mend(rng, begun, unusual, a, b, first, lanes, out)
        first += lanes


@kernel
def _mend(
    rng: Stream, begun: np.uint64, unusual: np.uint64,
    a: NDArray[np.float64], b: NDArray[np.float64], first: int, lanes: int,
    out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Draw step by step what is not the usual case; return how many variates then hold."""
    for lane in range(lanes):
        if (unusual >> uint64(lane)) & uint64(1) == uint64(0):
            continue
        end = begun + uint64(_WORDS * (lane + 1)) * uint64(WALK)
        after = rng[0]
        rng[0] = end - uint64(_WORDS) * uint64(WALK)
        out[first + lane] = beta_by_steps(rng, a[first + lane], b[first + lane])
        if rng[0] != end:
            return lane + 1
        rng[0] = after
    return lanes
