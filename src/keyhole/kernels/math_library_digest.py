"""Digest of the C library's elementary functions, which can change the last bit of results."""

import hashlib
import math
from functools import cache
from typing import Final

_POINTS: Final = 4_000
_STEP: Final = (math.sqrt(5.0) - 1.0) / 2.0
_FUNCTIONS: Final = (math.log, math.log1p, math.log2, math.exp, math.expm1, math.lgamma, math.cos)


@cache
def math_library_digest() -> str:
    """Return a digest of how this process computes elementary functions.

    A C library picks its logarithm by the processor: with and without fused multiply-add the last
    bit differs (glibc 2.36: at 2 of 20,000 points). All other arithmetic of Keyhole is
    the same everywhere. Two machines of equal digest play the same simulation to the bit.
    """
    points = [1e-9 + (i * _STEP) % 1.0 for i in range(_POINTS)]
    values = [function(x) for function in _FUNCTIONS for x in points]
    values += [math.pow(x, _STEP) for x in points]
    return hashlib.sha256("".join(map(float.hex, values)).encode()).hexdigest()[:16]
