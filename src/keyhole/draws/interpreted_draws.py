"""Samplers in plain Python for interpreted mode, which draw the same bits as the kernels.

They stand in for kernels that use vector instructions, and for kernels that would be slow in this
mode, since every operation on words makes a `UInt64` (`keyhole.kernels.interpreter.arithmetic`).
"""

import math
from functools import cache
from typing import Final

from keyhole.draws import samplers, streams
from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.interpreter.arithmetic import MASK, UInt64
from keyhole.kernels.interpreter.interpreted_arrays import Array, ArrayView
from keyhole.kernels.interpreter.kernel_copies import interpreted_copy

_COUNTER_STEP: Final = int(streams.COUNTER_STEP)
_JUMP: Final = int(streams._JUMP)
_MIX_FACTOR_1: Final = int(streams.MIX_FACTOR_1)
_MIX_FACTOR_2: Final = int(streams.MIX_FACTOR_2)
_TO_UNIT: Final = 2.0**-53
_NORMAL: Final = tuple(
    tuple(map(float, table))
    for table in (samplers.NORMAL_STEP, samplers.NORMAL_ENDS, samplers._NORMAL_DENSITY)
)


# The masks keep Python's unbounded integers at 64 bits, as overflow does in compiled code.
def _draw_word(rng: ArrayView) -> int:
    cells = rng.cells
    cells[0] = word = (cells[0] + _COUNTER_STEP) & MASK
    word = ((word ^ (word >> 30)) * _MIX_FACTOR_1) & MASK
    word = ((word ^ (word >> 27)) * _MIX_FACTOR_2) & MASK
    return int(word ^ (word >> 31))


def next_uint64(rng: ArrayView) -> UInt64:
    """Draw 64 random bits."""
    return UInt64(_draw_word(rng))


def uniform(rng: ArrayView) -> float:
    """Draw a uniform number in [0, 1)."""
    return (_draw_word(rng) >> 11) * _TO_UNIT


def seek_pull(rng: ArrayView, arm: int, pull: int) -> None:
    """Move a stream to the draws that belong to one pull of one arm."""
    cells = rng.cells
    cells[0] = (cells[1] + ((int(arm) << 40) + int(pull)) * _JUMP) & MASK


def normal(rng: ArrayView) -> float:
    """Draw from the standard normal distribution."""
    steps, ends, density = _NORMAL
    while True:
        bits = _draw_word(rng)
        strip = bits & 255
        # Compiled code reads the same 64 bits as a signed integer.
        signed = bits - (1 << 64) if bits >> 63 else bits
        x = float((signed >> 10) | 1) * steps[strip]
        if abs(x) < ends[strip + 1]:
            return x
        if strip == 0:
            return math.copysign(float(_interpreted_sampler(samplers._normal_tail)(rng)), x)
        low, high = density[strip], density[strip + 1]
        if low + uniform(rng) * (high - low) < math.exp(-0.5 * x * x):
            return x


def beta(rng: ArrayView, a: float, b: float) -> float:
    """Draw the variate of compiled `beta`, without its fast path, which does not pay here."""
    return float(_interpreted_sampler(samplers.beta_by_steps)(rng, a, b))


def betas(rng: ArrayView, a: Array, b: Array, count: int, out: Array) -> None:
    """Draw beta variates one after the other."""
    for i in range(count):
        out[i] = beta(rng, a[i], b[i])


@cache
def _interpreted_sampler(kernel: Kernel) -> Kernel:
    return interpreted_copy(kernel)
