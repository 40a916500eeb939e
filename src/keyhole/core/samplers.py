"""Draws from the usual laws, as kernels."""

import math

from keyhole.core.jit import kernel
from keyhole.core.streams import Stream, uniform


@kernel
def normal(rng: Stream) -> float:
    """Draw a standard normal number."""
    return math.sqrt(-2.0 * math.log(1.0 - uniform(rng))) * math.cos(2.0 * math.pi * uniform(rng))


@kernel
def gamma(rng: Stream, shape: float) -> float:
    """Draw from a gamma law of scale 1."""
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - uniform(rng)) < 0.5 * x * x + d - d * v + d * math.log(v):
            break
    if shape < 1.0:
        return d * v * (1.0 - uniform(rng)) ** (1.0 / shape)
    return d * v


@kernel
def beta(rng: Stream, a: float, b: float) -> float:
    """Draw from a beta law."""
    x, y = gamma(rng, a), gamma(rng, b)
    return x / (x + y)
