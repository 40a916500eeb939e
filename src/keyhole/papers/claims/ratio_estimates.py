"""Estimates of ratios of means and of standard deviations, with their standard errors.

They are for claims (statements of a paper), to which simulations give an answer with an error.
"""

import math
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.results.estimate import Estimate, mean_estimate

_FEWEST: Final = 3  # without one replication, two are needed for a variance
_NOTHING: Final = 1e-24  # a share of the sum of squares that rounding alone explains


def ratio_of(above: FloatArray, below: FloatArray) -> Estimate | None:
    r"""Estimate the ratio of two means from paired replications, by the delta method.

    .. math:: \hat r = \bar a / \bar b, \qquad
        \widehat{\mathrm{se}}(\hat r) = \mathrm{sd}(a_i - \hat r\, b_i) / (\bar b \sqrt n)

    None where the 95 % interval of the denominator contains zero: the ratio could be anything.

    Examples
    --------
    >>> print(ratio_of(np.array([3.0, 4.0, 5.0]), np.array([1.9, 2.0, 2.1])))
    2.00 [1.01, 2.99]
    """
    denominator = mean_estimate(below)
    if denominator.low <= 0.0 <= denominator.high:
        return None
    ratio = mean_estimate(above).value / denominator.value
    # Linearisation: the ratio varies as the mean of a - r b, divided by the mean of b.
    off = above - ratio * below
    # Equal ratios in every replication leave rounding alone.
    off = np.where(np.abs(off) <= 1e-12 * np.abs(above), 0.0, off)
    return Estimate(ratio, mean_estimate(off).error / abs(denominator.value), len(above))


def log_quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    r"""Return numbers whose mean is ln of the quotient of two means, and that vary as it does.

    .. math:: \ln(\bar a / \bar b) + (a_i - \bar a) / \bar a - (b_i - \bar b) / \bar b
    """
    a, b = float(above.mean()), float(below.mean())
    return math.log(a / b) + (above - a) / a - (below - b) / b


def log_deviation_ratio(a: FloatArray, b: FloatArray) -> Estimate | None:
    r"""Estimate ln of the ratio of two standard deviations from paired replications.

    .. math:: \hat\ell = \ln(s_a / s_b), \qquad
        \widehat{\mathrm{se}}(\hat\ell)^2 = \frac{n-1}{n} \sum_i (\ell_{-i} - \bar\ell)^2

    where :math:`\ell_{-i}` is the estimate without replication i. None where either does not vary,
    with or without one of the replications.
    """
    n = len(a)
    # The jackknife leaves out one pair at a time, so it keeps the correlation of the two samples.
    # An F test would assume normality: of exponential samples its 95 % interval covers 75 %.
    if n < _FEWEST:
        return None
    (whole_a, rest_a), (whole_b, rest_b) = _squares(a), _squares(b)
    if not ((rest_a > _NOTHING * (a**2).sum()) & (rest_b > _NOTHING * (b**2).sum())).all():
        return None
    # On the scale of logarithms, where the distribution is closest to symmetric.
    each = np.log(rest_a / rest_b) / 2
    error = math.sqrt(float(((each - each.mean()) ** 2).sum()) * (n - 1) / n)
    return Estimate(math.log(whole_a / whole_b) / 2, error, n)


def _squares(values: FloatArray) -> tuple[float, FloatArray]:
    """Return the sum of squared deviations, of all and without each replication."""
    n = len(values)
    deviations = (values - values.mean()) ** 2
    whole = float(deviations.sum())
    return whole, whole - deviations * n / (n - 1)
