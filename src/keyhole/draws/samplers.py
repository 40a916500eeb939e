"""Kernels that sample from distributions: each advances a random stream.

They allocate nothing and raise nothing. Arguments outside the stated ranges give meaningless
numbers, so callers check what users give. A draw takes a varying number of the stream's words.

References
----------
Devroye (1986), "Non-Uniform Random Variate Generation".
Hoermann (1993a), "The generation of binomial random variates".
Hoermann (1993b), "The transformed rejection method for generating Poisson random variables".
Marsaglia and Tsang (2000a), "The ziggurat method for generating random variables".
Marsaglia and Tsang (2000b), "A simple method for generating gamma variables".
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.draws.streams import (
    COUNTER_STEP,
    MIX_FACTOR_1,
    MIX_FACTOR_2,
    Stream,
    next_uint64,
    uniform,
)
from keyhole.draws.streams import stream as stream  # for the examples
from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.kernel_decorators import kernel, load_intrinsic, set_python_equivalent

# Where the tails begin when there are 256 strips (Marsaglia and Tsang 2000a).
_NORMAL_EDGE: Final = 3.6541528853610088
_EXPONENTIAL_EDGE: Final = 7.69711747013104972
# From about these means on, draws by rejection are faster. Measured, in ns: binomial at mean 10, 58
# by rejection and 52 by waiting, at 20, 43 and 77; Poisson at mean 10, 52 by rejection and 30 by
# multiplication, at 20, 33 and 42. Hoermann's constants are valid for means of 10 and more.
_BINOMIAL_REJECT_FROM: Final = 10.0
_POISSON_REJECT_FROM: Final = 16.0
_HALF_LOG_TWO_PI: Final = 0.5 * math.log(2.0 * math.pi)


def _equal_area_strips(
    edge: float, tail: float, density: Callable[[float], float], inverse: Callable[[float], float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the right ends of 256 strips of equal area under a density, and the densities at them.

    Strips are horizontal. The lowest ends at `edge`, and also has the tail beyond, whose area is
    `tail`. Its entry is not `edge`, but the width of a rectangle with the strip's area. A 257th
    entry is 0.
    """
    area = edge * density(edge) + tail
    ends = [area / density(edge), edge]
    while len(ends) < 256:
        ends.append(inverse(density(ends[-1]) + area / ends[-1]))
    ends.append(0.0)
    return np.array(ends), np.array([density(x) for x in ends])


NORMAL_ENDS, _NORMAL_DENSITY = _equal_area_strips(
    _NORMAL_EDGE,
    math.sqrt(math.pi / 2.0) * math.erfc(_NORMAL_EDGE / math.sqrt(2.0)),
    lambda x: math.exp(-0.5 * x * x),
    lambda y: math.sqrt(-2.0 * math.log(y)),
)
_EXPONENTIAL_ENDS, _EXPONENTIAL_DENSITY = _equal_area_strips(
    _EXPONENTIAL_EDGE,
    math.exp(-_EXPONENTIAL_EDGE),
    lambda x: math.exp(-x),
    lambda y: -math.log(y),
)
# The width of each strip divided by 2**53: an integer of 53 bits times this is a position in it.
NORMAL_STEP = NORMAL_ENDS * 2.0**-53
_EXPONENTIAL_STEP = _EXPONENTIAL_ENDS * 2.0**-53


@kernel
def bernoulli(rng: Stream, mean: float) -> float:
    """Draw 1 with probability `mean`, in [0, 1], else 0.

    Examples
    --------
    >>> bernoulli(stream(0), 1.0)
    1.0
    """
    return 1.0 if uniform(rng) < mean else 0.0


@kernel
def normal(rng: Stream) -> float:
    """Draw from the standard normal distribution by a ziggurat (Marsaglia and Tsang 2000a).

    Examples
    --------
    >>> abs(normal(stream(0))) < 10
    True
    """
    while True:
        bits = next_uint64(rng)
        # Bits 0 to 7 choose the strip, bits 11 to 62 the position in it, and bit 63 the sign. The
        # integer is made odd, so that x is never 0.
        strip = bits & np.uint64(255)
        x: float = float((np.int64(bits) >> np.int64(10)) | np.int64(1)) * NORMAL_STEP[strip]
        if abs(x) < NORMAL_ENDS[strip + np.uint64(1)]:
            return x
        if strip == np.uint64(0):
            return math.copysign(_normal_tail(rng), x)
        low, high = _NORMAL_DENSITY[strip], _NORMAL_DENSITY[strip + np.uint64(1)]
        if low + uniform(rng) * (high - low) < math.exp(-0.5 * x * x):
            return x


@kernel
def _normal_tail(rng: Stream) -> float:
    """Draw from the normal distribution beyond the edge (Devroye 1986, chapter IX.1)."""
    while True:
        beyond = exponential(rng) / _NORMAL_EDGE
        if 2.0 * exponential(rng) > beyond * beyond:
            return _NORMAL_EDGE + beyond


@kernel
def exponential(rng: Stream) -> float:
    """Draw from the exponential distribution of mean 1 by a ziggurat (Marsaglia and Tsang 2000a).

    Examples
    --------
    >>> exponential(stream(0)) > 0
    True
    """
    offset = 0.0
    while True:
        bits = next_uint64(rng)
        strip = bits & np.uint64(255)
        x: float = (
            float(np.int64((bits >> np.uint64(11)) | np.uint64(1))) * _EXPONENTIAL_STEP[strip]
        )
        if x < _EXPONENTIAL_ENDS[strip + np.uint64(1)]:
            return offset + x
        low, high = _EXPONENTIAL_DENSITY[strip], _EXPONENTIAL_DENSITY[strip + np.uint64(1)]
        if strip == np.uint64(0):  # the tail is the distribution itself, moved by the edge
            offset += _EXPONENTIAL_EDGE
        elif low + uniform(rng) * (high - low) < math.exp(-x):
            return offset + x


@kernel
def _gamma_from_shape_one(rng: Stream, shape: float) -> float:
    """Draw from the gamma distribution of a shape of at least 1 (Marsaglia and Tsang 2000b)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        root = 1.0 + c * x
        if root <= 0.0:
            continue
        v = root * root * root
        u = uniform(rng)
        squeeze = 1.0 - 0.0331 * (x * x) * (x * x)  # spares the logarithms
        if u < squeeze or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v


@kernel
def _gamma_by_first_proposal(rng: Stream, shape: float) -> float:
    """Return the first proposal of `_gamma_from_shape_one` if it is surely accepted; else -1.

    That is so in 97 of 100 cases, and in 99 of 100 for large shapes. `_gamma_from_shape_one`
    accepts x if ln(u) < 3 d (ln(1 + y) - y + y^2 / 2 - y^3 / 3), where y = x / sqrt(9 d). For
    y > -0.5, the right side is at least -1.35 d y^4 = -0.15 x^2 y^2: u < 1 - 0.15 x^2 y^2 suffices.
    A margin in the code allows for a hundred rounding errors.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    bits = next_uint64(rng)
    strip = bits & np.uint64(255)
    x: float = float((np.int64(bits) >> np.int64(10)) | np.int64(1)) * NORMAL_STEP[strip]
    y = c * x
    root = 1.0 + y
    v = root * root * root
    u = uniform(rng)
    is_usual = u < 1.0 - 0.0331 * (x * x) * (x * x)
    is_usual |= (y > -0.5) & (u < 1.0 - 0.15 * (x * x) * (y * y) - 1e-12 * (1.0 + d))
    is_usual &= (abs(x) < NORMAL_ENDS[strip + np.uint64(1)]) & (root > 0.0)
    return d * v if is_usual else -1.0


@kernel
def gamma(rng: Stream, shape: float) -> float:
    """Draw from the gamma distribution of scale 1 (Marsaglia and Tsang 2000b).

    The shape is at least 1e-300. A draw is 0 only by underflow, which happens to one draw in a
    thousand for shape 0.01.

    Examples
    --------
    >>> gamma(stream(0), 2.5) > 0
    True
    """
    if shape >= 1.0:
        return _gamma_from_shape_one(rng, shape)
    return _gamma_from_shape_one(rng, shape + 1.0) * math.exp(-exponential(rng) / shape)


@kernel
def beta(rng: Stream, a: float, b: float) -> float:
    """Draw from the beta distribution: a ratio of gamma variates (Devroye 1986, chapter IX.4).

    The shapes are from 1e-300 to 1e300. A draw is 0 or 1 only by rounding.

    Examples
    --------
    >>> 0 <= beta(stream(0), 2.0, 5.0) <= 1
    True
    """
    if a >= 1.0 and b >= 1.0:
        # Mostly the first proposals of both gamma variates are surely accepted. There is no branch
        # between the two, so that the processor works on both at once. If one is not surely
        # accepted, the stream is set back, and the same words are used step by step. New words
        # would bias the result, since the value of a first proposal decides whether it is accepted.
        start = rng[0]
        first = _gamma_by_first_proposal(rng, a)
        second = _gamma_by_first_proposal(rng, b)
        if first >= 0.0 and second >= 0.0:
            return first / (first + second)
        rng[0] = start
    return beta_by_steps(rng, a, b)


@kernel
def beta_by_steps(rng: Stream, a: float, b: float) -> float:
    """Draw the same variate as `beta`, without its fast path."""
    first = _gamma_from_shape_one(rng, a if a >= 1.0 else a + 1.0)
    second = _gamma_from_shape_one(rng, b if b >= 1.0 else b + 1.0)
    # A gamma variate of shape s below 1 is a variate of shape s + 1, times exp(-exponential / s).
    # Only the ratio of the two such factors is computed, from the difference of their exponents:
    # thus 0 is never divided by 0.
    if a < 1.0 or b < 1.0:
        exponent_of_a = exponential(rng) / a if a < 1.0 else 0.0
        exponent_of_b = exponential(rng) / b if b < 1.0 else 0.0
        second *= math.exp(exponent_of_a - exponent_of_b)
    return first / (first + second)


@kernel
def _stirling_remainder(k: float) -> float:
    """Return ln(k!) less Stirling's formula at k + 1/2 (Hoermann 1993a)."""
    if k < 10.0:  # from k = 10 on, the series below errs by less than 4e-11
        return math.lgamma(k + 1.0) - (k + 0.5) * math.log(k + 1.0) + (k + 1.0) - _HALF_LOG_TWO_PI
    y = 1.0 / ((k + 1.0) * (k + 1.0))
    return (1.0 / 12.0 - (1.0 / 360.0 - y / 1260.0) * y) / (k + 1.0)


@kernel
def _binomial_by_waiting(rng: Stream, n: float, p: float) -> float:
    """Count how many of n exponential clocks ring before -ln(1 - p) (Devroye 1986, chapter X.4)."""
    count = 0.0
    remaining_time = -math.log1p(-p) - exponential(rng) / n
    while remaining_time >= 0.0:
        count += 1.0
        # At count = n the quotient is infinite, since an exponential variate is never 0: the loop
        # ends.
        remaining_time -= exponential(rng) / (n - count)
    return count


@kernel
def _log_binomial_ratio(n: float, p: float, k: float, mode: float) -> float:
    """Return ln of the chance of k over the chance of the mode."""
    d = k - mode
    value = d * math.log(p * (n - k + 1.0) / ((1.0 - p) * (k + 1.0)))
    value -= (mode + 0.5) * math.log1p(d / (mode + 1.0))
    value -= (n - mode + 0.5) * math.log1p(-d / (n - mode + 1.0))
    value += _stirling_remainder(mode) + _stirling_remainder(n - mode)
    return value - (_stirling_remainder(k) + _stirling_remainder(n - k))


@kernel
def _binomial_by_rejection(rng: Stream, n: float, p: float) -> float:
    """Draw by transformed rejection with a squeeze: BTRS of Hoermann (1993a)."""
    deviation = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    # NumPy's floor returns a float. `math.floor` would return an integer, for which k may be too
    # large.
    mode: float = np.floor((n + 1.0) * p)
    while True:
        v = uniform(rng)
        u = uniform(rng) - 0.5
        us = 0.5 - abs(u)
        k: float = np.floor((2.0 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        hat = a / (us * us) + b
        if 0.0 <= k <= n and math.log(v * alpha / hat) <= _log_binomial_ratio(n, p, k, mode):
            return k


@kernel
def binomial(rng: Stream, n: int, p: float) -> int:
    """Draw the number of successes in n trials of chance p (Devroye 1986; Hoermann 1993a).

    The number n is at least 0 and below 2**52, and p lies in [0, 1].

    Examples
    --------
    >>> binomial(stream(0), 10, 1.0)
    10
    """
    rarer = min(p, 1.0 - p)
    if n * rarer < _BINOMIAL_REJECT_FROM:
        count = int(_binomial_by_waiting(rng, float(n), rarer))
    else:
        count = int(_binomial_by_rejection(rng, float(n), rarer))
    return n - count if p > 0.5 else count


@kernel
def poisson(rng: Stream, mean: float) -> int:
    """Draw from the Poisson distribution (Devroye 1986, chapter X.3; Hoermann 1993b).

    The mean is at least 0 and below 2**52.

    Examples
    --------
    >>> poisson(stream(0), 0.0)
    0
    """
    if mean >= _POISSON_REJECT_FROM:
        return int(_poisson_by_rejection(rng, mean))
    count = 0
    bound = math.exp(-mean)
    product = uniform(rng)
    while product > bound:
        product *= uniform(rng)
        count += 1
    return count


@kernel
def _poisson_by_rejection(rng: Stream, mean: float) -> float:
    """Draw by transformed rejection with a squeeze: PTRS of Hoermann (1993b)."""
    # With the published constants the hat is in places 0.5 % too low for means below 1,000. This
    # changes a probability by about 4e-6 of its size (computed). A higher hat would make the
    # squeeze wrong.
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    alpha = 1.1239 + 1.1328 / (b - 3.4)
    while True:
        v = uniform(rng)
        u = uniform(rng) - 0.5
        us = 0.5 - abs(u)
        k: float = np.floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2.0):
            return k
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        d = k + 1.0 - mean
        log_chance = d - (k + 0.5) * math.log1p(d / mean) - 0.5 * math.log(mean)
        log_chance -= _HALF_LOG_TWO_PI + _stirling_remainder(k)
        if math.log(v * alpha / (a / (us * us) + b)) <= log_chance:
            return k


@kernel
def geometric(rng: Stream, p: float) -> int:
    """Draw the number of trials up to and including the first success, by inversion.

    The chance p of a success is from 1e-16 to 1; a draw is at least 1, as in `scipy.stats.geom`.

    Examples
    --------
    >>> geometric(stream(0), 1.0)
    1
    """
    # The draw is the number, from 1, of the interval of length -ln(1 - p) into which an exponential
    # variate falls.
    return 1 + int(exponential(rng) / -math.log1p(-p))


# `betas` draws a batch of beta variates, for policies that sample many posteriors in a round. The
# variates are, to the bit, those of calls of `beta` one after the other. Each is made of two gamma
# variates by rejection sampling. A variate is *usual* if both shapes are at least 1 and both first
# proposals are surely accepted: it takes four words of the stream. So four variates are computed at
# once, in vector registers, as if all were usual. Then the unusual ones are drawn step by step. If
# one of them takes more words than four, the variates after it are computed anew.
_LANES: Final = 4  # variates that are computed at once
_FEWEST: Final = 3  # fewer variates are drawn faster one by one
_WORDS: Final = 4  # that a usual variate takes


def _draw_none_of_four(
    start: np.uint64, a: NDArray[np.float64], b: NDArray[np.float64], first: int, count: int,
    out: NDArray[np.float64], step: NDArray[np.float64], ends: NDArray[np.float64],
) -> np.uint64:  # fmt: skip
    """Draw nothing; return a number with one bit set for each of the four variates not drawn.

    In compiled code, vector code takes the place of this function, and draws the usual variates.
    """
    return np.uint64(2**_LANES - 1)


_draw_four: Final[Kernel] = load_intrinsic(
    _draw_none_of_four,
    lambda internals: internals.make_four_betas(
        int(COUNTER_STEP), (int(MIX_FACTOR_1), int(MIX_FACTOR_2))
    ),
)


@kernel
def betas(
    rng: Stream,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    count: int,
    out: NDArray[np.float64],
) -> None:
    """Draw `count` beta variates, at least 1, with the shapes in two vectors: see `beta`.

    The shapes are from 1e-300 to 1e300. The vectors are of float64 and contiguous, such as the rows
    of an array.

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
        if count - first < _FEWEST:
            out[first] = beta(rng, a[first], b[first])
            first += 1
            continue
        # Four variates are computed as if they were usual, and the stream is set behind their
        # words. `_redraw_unusual_betas` sets it behind a variate that took more words.
        start = rng[0]
        unusual = _draw_four(start, a, b, first, count, out, NORMAL_STEP, NORMAL_ENDS)
        lanes = min(_LANES, count - first)
        rng[0] = start + np.uint64(_WORDS * lanes) * np.uint64(COUNTER_STEP)
        if unusual & np.uint64((1 << lanes) - 1) != np.uint64(0):
            lanes = _redraw_unusual_betas(rng, start, unusual, a, b, first, lanes, out)
        first += lanes


@kernel
def _redraw_unusual_betas(
    rng: Stream, start: np.uint64, unusual: np.uint64,
    a: NDArray[np.float64], b: NDArray[np.float64], first: int, lanes: int,
    out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Draw the unusual variates step by step; return how many of the variates are then valid."""
    for lane in range(lanes):
        if (unusual >> np.uint64(lane)) & np.uint64(1) == np.uint64(0):
            continue
        # The variate is drawn again from its own first word. New words would bias it, since its
        # value decides whether it is usual.
        end = start + np.uint64(_WORDS * (lane + 1)) * np.uint64(COUNTER_STEP)
        position = rng[0]
        rng[0] = end - np.uint64(_WORDS) * np.uint64(COUNTER_STEP)
        out[first + lane] = beta_by_steps(rng, a[first + lane], b[first + lane])
        # If it took more words, the variates after it were computed from the wrong words. They are
        # drawn in the next batch, from where the stream is now.
        if rng[0] != end:
            return lane + 1
        rng[0] = position
    return lanes


for _kernel in (normal, beta, betas):
    set_python_equivalent(_kernel, f"keyhole.draws.interpreted_draws:{_kernel.__name__}")
