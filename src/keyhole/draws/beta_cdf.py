"""Kernels that compute the density and the distribution function of the beta distribution."""

import math
from typing import Final

from keyhole.kernels.kernel_decorators import kernel

_HALF_LOG_TWO_PI: Final = 0.5 * math.log(2.0 * math.pi)
# From this x on, the first five terms of Stirling's series leave an error below 2e-16.
_STIRLING_FROM: Final = 15.0
# If the ratio of |x - mean| to x + mean is below this, a deviance is computed as a series, else by
# its formula. Near this ratio, both are right to a few units in the last place.
_SERIES_BELOW: Final = 0.1
_EPSILON: Final = 2.0**-52
# Replaces divisors that are almost 0 in Lentz's method.
_TINY: Final = 1e-300
# The continued fraction needs about sqrt(max(a, b)) terms. Shapes are at most 1e12, which takes 1e6
# terms.
_MAX_TERMS: Final = 10_000_000


@kernel
def _stirling_error(x: float) -> float:
    """Return ln Gamma(x + 1) - (x + 1/2) ln x + x - ln(2 pi)/2."""
    if x < _STIRLING_FROM:
        return math.lgamma(x + 1.0) - (x + 0.5) * math.log(x) + x - _HALF_LOG_TWO_PI
    y = 1.0 / (x * x)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - y / 1188) * y) * y) * y) / x


@kernel
def _deviance(x: float, mean: float) -> float:
    """Return x ln(x / mean) + mean - x without cancellation.

    With v = (x - mean) / (x + mean) the series is (x - mean) v + 2 x (v^3 / 3 + v^5 / 5 + ...).
    """
    if abs(x - mean) >= _SERIES_BELOW * (x + mean):
        return x * math.log(x / mean) + mean - x
    v = (x - mean) / (x + mean)
    total = (x - mean) * v
    term = 2.0 * x * v
    odd = 1.0
    while True:
        term *= v * v
        odd += 2.0
        longer_sum = total + term / odd
        if longer_sum == total:
            return total
        total = longer_sum


@kernel
def log_beta_weight(x: float, a: float, b: float) -> float:
    r"""Return the logarithm of :math:`x^a (1 - x)^b / B(a, b)`.

    This is the density of the beta distribution times :math:`x (1 - x)`; divided by a, it is
    :math:`I_x(a, b) - I_x(a + 1, b)`. `x` lies in (0, 1); the shapes are above 0.

    References
    ----------
    Loader (2000), "Fast and accurate computation of binomial probabilities", which replaces
    differences of large logarithms by Stirling's series and deviances.
    """
    n = a + b
    log_root = 0.5 * math.log(a / n * b) - _HALF_LOG_TWO_PI
    corrections = _stirling_error(n) - (_stirling_error(a) + _stirling_error(b))
    return log_root + corrections - (_deviance(a, n * x) + _deviance(b, n * (1.0 - x)))


@kernel
def _continued_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction in I_x(a, b), by the method of Lentz.

    `x` must be below (a + 1) / (a + b + 2).
    """
    n = a + b
    c = 1.0
    d = 1.0 / _replace_near_zero(1.0 - n * x / (a + 1.0))
    value = d
    for m in range(1, _MAX_TERMS):
        step = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 / _replace_near_zero(1.0 + step * d)
        c = _replace_near_zero(1.0 + step / c)
        value *= d * c
        step = -(a + m) * (n + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / _replace_near_zero(1.0 + step * d)
        c = _replace_near_zero(1.0 + step / c)
        value *= d * c
        if abs(d * c - 1.0) <= _EPSILON:
            break
    return value


@kernel
def _replace_near_zero(value: float) -> float:
    """Return a divisor, or a tiny positive number in place of a divisor that is almost 0."""
    return value if abs(value) > _TINY else _TINY


@kernel
def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability that a beta variable is at most `x`.

    This is the regularised incomplete beta function :math:`I_x(a, b)`. `x` is 0 or at least 1e-300,
    the shapes lie between 1e-300 and 1e12. The absolute error is below 2e-13 for shapes up to 1e4
    and below 1e-12 for shapes up to 1e7 (measured against 50 digits). If `x` is below
    (a + 1) / (a + b + 2), which is about the mean, ten or more digits are right, however small the
    probability is.

    References
    ----------
    DLMF 8.17.22 (continued fraction), evaluated by the method of Lentz (1976).
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    weight = math.exp(log_beta_weight(x, a, b))
    if x * (a + b + 2.0) < a + 1.0:
        return weight / a * _continued_fraction(x, a, b)
    return 1.0 - weight / b * _continued_fraction(1.0 - x, b, a)


@kernel
def log_beta_cdf_left(x: float, a: float, b: float) -> float:
    """Return the logarithm of `beta_cdf(x, a, b)`, even if that value underflows to 0.

    `x` must be below (a + 1) / (a + b + 2), which is about the mean. Ten or more digits are right.
    """
    return log_beta_weight(x, a, b) - math.log(a) + math.log(_continued_fraction(x, a, b))
