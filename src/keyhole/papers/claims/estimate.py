"""Ratios of means, and whether numbers lie where a claim says."""

import math
from collections.abc import Sequence

import numpy as np

from keyhole.contract.state_memory import FloatArray
from keyhole.papers.claims.base import decide
from keyhole.papers.claims.significance import LEVEL, holm
from keyhole.papers.verdicts import Status
from keyhole.results.estimate import Estimate, mean_estimate


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


def is_inside(found: Sequence[tuple[Estimate, float, float]]) -> Status:
    """Say whether numbers lie in their ranges, whose ends may be infinite.

    It holds if every 95 % interval lies in its range, and does not hold if some number is
    significantly outside, after adjusting for how many there are (Holm). Of a single number this is
    so exactly where its interval lies outside.
    """
    p_values = [number.p_value(low, high) for number, low, high in found]
    return decide(
        supported=all(low <= number.low and number.high <= high for number, low, high in found),
        contradicted=bool((holm(p_values) < LEVEL).any()),
    )
