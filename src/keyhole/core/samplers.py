"""Random variates for kernels: each sampler takes a stream and moves it on.

All are kernel functions: they allocate nothing and raise nothing. Arguments outside the stated
ranges are the caller's mistake and give meaningless numbers; whoever takes them from a user
checks them first. How many draws a variate takes varies from call to call.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from keyhole.core.jit import kernel
from keyhole.core.streams import Stream, next_uint64, uniform

# Where the tails begin when there are 256 strips (Marsaglia and Tsang 2000, section 3).
_NORMAL_EDGE: Final = 3.6541528853610088
_EXPONENTIAL_EDGE: Final = 7.69711747013104972
# Below this mean a draw counts waiting times, above it rejects; the constants of Hoermann (1993)
# hold from 10 on.
_REJECT_FROM: Final = 10.0
_HALF_LOG_TWO_PI: Final = 0.5 * math.log(2.0 * math.pi)
_STRIPS: Final = 256


def _strips(
    edge: float, tail: float, density: Callable[[float], float], inverse: Callable[[float], float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cut the area under a density into strips of equal area: right ends, density there."""
    area = edge * density(edge) + tail
    ends = [area / density(edge), edge]
    while len(ends) < _STRIPS:
        ends.append(inverse(density(ends[-1]) + area / ends[-1]))
    ends.append(0.0)
    return np.array(ends), np.array([density(x) for x in ends])


_NORMAL_ENDS, _NORMAL_DENSITY = _strips(
    _NORMAL_EDGE,
    math.sqrt(math.pi / 2.0) * math.erfc(_NORMAL_EDGE / math.sqrt(2.0)),
    lambda x: math.exp(-0.5 * x * x),
    lambda y: math.sqrt(-2.0 * math.log(y)),
)
_EXPONENTIAL_ENDS, _EXPONENTIAL_DENSITY = _strips(
    _EXPONENTIAL_EDGE,
    math.exp(-_EXPONENTIAL_EDGE),
    lambda x: math.exp(-x),
    lambda y: -math.log(y),
)
# A strip's width per unit of a 53-bit integer.
_NORMAL_STEP = _NORMAL_ENDS * 2.0**-53
_EXPONENTIAL_STEP = _EXPONENTIAL_ENDS * 2.0**-53


@kernel
def bernoulli(rng: Stream, mean: float) -> float:
    """Draw 1 with probability `mean`, else 0.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    mean : float
        In [0, 1].

    Returns
    -------
    float
        0.0 or 1.0.

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> bernoulli(stream(0), 1.0)
    1.0
    """
    return 1.0 if uniform(rng) < mean else 0.0


@kernel
def normal(rng: Stream) -> float:
    """Draw from the standard normal law.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.

    Returns
    -------
    float
        Mean 0, variance 1.

    References
    ----------
    Marsaglia and Tsang (2000), "The ziggurat method for generating random variables". Strip,
    place and sign come from different bits of one word.

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> abs(normal(stream(0))) < 10
    True
    """
    while True:
        bits = next_uint64(rng)
        # Bits 0 to 7 choose the strip, 11 to 62 the place in it, 63 the sign; odd, so never 0.
        strip = bits & uint64(255)
        x: float = float((int64(bits) >> int64(10)) | int64(1)) * _NORMAL_STEP[strip]
        if abs(x) < _NORMAL_ENDS[strip + uint64(1)]:
            return x
        if strip == uint64(0):
            return math.copysign(_normal_tail(rng), x)
        low, high = _NORMAL_DENSITY[strip], _NORMAL_DENSITY[strip + uint64(1)]
        if low + uniform(rng) * (high - low) < math.exp(-0.5 * x * x):
            return x


@kernel
def _normal_tail(rng: Stream) -> float:
    """Draw from the normal law beyond the edge (Marsaglia 1964)."""
    while True:
        beyond = exponential(rng) / _NORMAL_EDGE
        if 2.0 * exponential(rng) > beyond * beyond:
            return _NORMAL_EDGE + beyond


@kernel
def exponential(rng: Stream) -> float:
    """Draw from the exponential law of mean 1.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.

    Returns
    -------
    float
        Above 0.

    References
    ----------
    Marsaglia and Tsang (2000), "The ziggurat method for generating random variables".

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> exponential(stream(0)) > 0
    True
    """
    beyond = 0.0
    while True:
        bits = next_uint64(rng)
        strip = bits & uint64(255)
        x: float = float(int64((bits >> uint64(11)) | uint64(1))) * _EXPONENTIAL_STEP[strip]
        if x < _EXPONENTIAL_ENDS[strip + uint64(1)]:
            return beyond + x
        if strip == uint64(0):  # the tail is the same law again
            beyond += _EXPONENTIAL_EDGE
            continue
        low, high = _EXPONENTIAL_DENSITY[strip], _EXPONENTIAL_DENSITY[strip + uint64(1)]
        if low + uniform(rng) * (high - low) < math.exp(-x):
            return beyond + x


@kernel
def _gamma_from_one(rng: Stream, shape: float) -> float:
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        u = uniform(rng)
        if u < 1.0 - 0.0331 * (x * x) * (x * x):  # the squeeze: spares the logarithms
            return d * v
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v


@kernel
def _log_gamma_below_one(rng: Stream, shape: float) -> float:
    # As a logarithm, since the variate itself underflows for small shapes.
    return math.log(_gamma_from_one(rng, shape + 1.0)) - exponential(rng) / shape


@kernel
def gamma(rng: Stream, shape: float) -> float:
    """Draw from the gamma law of scale 1.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    shape : float
        Above 0.

    Returns
    -------
    float
        At least 0 (0 only by underflow, for shapes far below 1).

    References
    ----------
    Marsaglia and Tsang (2000), "A simple method for generating gamma variables"; shapes below 1
    by their power of a uniform variate, taken as an exponential of an exponential variate.

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> gamma(stream(0), 2.5) > 0
    True
    """
    if shape >= 1.0:
        return _gamma_from_one(rng, shape)
    return math.exp(_log_gamma_below_one(rng, shape))


@kernel
def beta(rng: Stream, a: float, b: float) -> float:
    """Draw from the beta law.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    a, b : float
        The shapes, above 0.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    From two gamma variates; where both shapes are below 1 from their logarithms, so that it is
    never 0 divided by 0.

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> 0 <= beta(stream(0), 2.0, 5.0) <= 1
    True
    """
    if a < 1.0 and b < 1.0:
        odds = _log_gamma_below_one(rng, b) - _log_gamma_below_one(rng, a)
        return 1.0 / (1.0 + math.exp(odds))
    first = gamma(rng, a)
    return first / (first + gamma(rng, b))


@kernel
def _stirling_rest(k: float) -> float:
    """Return ln(k!) less Stirling's formula at k + 1/2 (Hoermann 1993)."""
    if k < _REJECT_FROM:
        return math.lgamma(k + 1.0) - (k + 0.5) * math.log(k + 1.0) + (k + 1.0) - _HALF_LOG_TWO_PI
    y = 1.0 / (k + 1.0)
    z = y * y
    return (1.0 / 12.0 - (1.0 / 360.0 - z / 1260.0) * z) * y


@kernel
def _binomial_waiting(rng: Stream, n: float, p: float) -> float:
    """Count how many of n exponential clocks ring before -ln(1 - p)."""
    left = -math.log1p(-p)
    count = 0.0
    while True:
        left -= exponential(rng) / (n - count)  # at count = n this is infinite
        if left < 0.0:
            return count
        count += 1.0


@kernel
def _log_binomial_ratio(n: float, p: float, k: float, mode: float) -> float:
    """Return ln of the chance of k over that of the mode."""
    rest = (
        _stirling_rest(mode) + _stirling_rest(n - mode) - _stirling_rest(k) - _stirling_rest(n - k)
    )
    d = k - mode
    return (
        rest
        + d * math.log(p * (n - k + 1.0) / ((1.0 - p) * (k + 1.0)))
        - (mode + 0.5) * math.log1p(d / (mode + 1.0))
        - (n - mode + 0.5) * math.log1p(-d / (n - mode + 1.0))
    )


@kernel
def _binomial_rejection(rng: Stream, n: float, p: float) -> float:
    """Draw by transformed rejection with a squeeze: BTRS of Hoermann (1993)."""
    deviation = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    squeeze = 0.92 - 4.2 / b
    mode = math.floor((n + 1.0) * p)
    while True:
        v = uniform(rng)
        u = uniform(rng) - 0.5
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0.0 or k > n:
            continue
        if math.log(v * alpha / (a / (us * us) + b)) <= _log_binomial_ratio(n, p, k, mode):
            return k


@kernel
def binomial(rng: Stream, n: int, p: float) -> int:
    """Draw the number of successes in n trials.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    n : int
        Trials, at least 0.
    p : float
        Chance of a success, in [0, 1].

    Returns
    -------
    int
        From 0 to n.

    References
    ----------
    Hoermann (1993), "The generation of binomial random variates", algorithm BTRS; for means below
    10 waiting times, as in Devroye (1986), "Non-Uniform Random Variate Generation", chapter X.4.

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> binomial(stream(0), 10, 1.0)
    10
    """
    rarer = min(p, 1.0 - p)
    if n * rarer < _REJECT_FROM:
        count = int(_binomial_waiting(rng, float(n), rarer))
    else:
        count = int(_binomial_rejection(rng, float(n), rarer))
    return n - count if p > 0.5 else count


@kernel
def poisson(rng: Stream, mean: float) -> int:
    """Draw from the Poisson law.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    mean : float
        At least 0, below 2**52.

    Returns
    -------
    int
        At least 0.

    References
    ----------
    Hoermann (1993), "The transformed rejection method for generating Poisson random variables",
    algorithm PTRS; for means below 10 waiting times.

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> poisson(stream(0), 0.0)
    0
    """
    if mean >= _REJECT_FROM:
        return int(_poisson_rejection(rng, mean))
    count = 0
    left = mean - exponential(rng)
    while left >= 0.0:
        left -= exponential(rng)
        count += 1
    return count


@kernel
def _poisson_rejection(rng: Stream, mean: float) -> float:
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        v = uniform(rng)
        u = uniform(rng) - 0.5
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= squeeze:
            return k
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        d = k + 1.0 - mean
        log_chance = d - (k + 0.5) * math.log1p(d / mean) - 0.5 * math.log(mean)
        log_chance -= _HALF_LOG_TWO_PI + _stirling_rest(k)
        if math.log(v * alpha / (a / (us * us) + b)) <= log_chance:
            return k


@kernel
def geometric(rng: Stream, p: float) -> int:
    """Draw the number of trials up to and including the first success.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    p : float
        Chance of a success, in (0, 1].

    Returns
    -------
    int
        At least 1.

    Notes
    -----
    An exponential variate, cut into pieces of length -ln(1 - p).

    Examples
    --------
    >>> from keyhole.core.streams import stream
    >>> geometric(stream(0), 1.0)
    1
    """
    return 1 + int(exponential(rng) / -math.log1p(-p))
