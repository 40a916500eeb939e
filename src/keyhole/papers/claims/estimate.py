"""Numbers with their uncertainty, and whether they lie where a claim says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keyhole.core.memory import FloatArray
from keyhole.experiment.report import Status
from keyhole.papers.claims.base import decide
from keyhole.papers.claims.significance import LEVEL, holm

_UPPER: Final = 0.975


@dataclass(frozen=True)
class Estimate:
    """A number estimated from replications.

    Attributes
    ----------
    value : float
        The estimate.
    error : float
        Its standard error.
    replications : int
        From how many; one alone says nothing of the error, and the interval is infinite.
    """

    value: float
    error: float
    replications: int

    @property
    def reach(self) -> float:
        """Half of the 95 % interval (Student's t)."""
        from scipy.special import stdtrit

        if self.replications == 1:
            return math.inf
        return float(stdtrit(self.replications - 1, _UPPER)) * self.error

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.value - self.reach

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.value + self.reach

    def p_value(self, low: float, high: float) -> float:
        """Return the two-sided p-value against the nearest number of a range; 1 inside of it."""
        from scipy.special import stdtr

        distance = max(low - self.value, self.value - high)
        if self.replications == 1 or not distance > 0.0:
            return 1.0
        if self.error == 0.0:
            return 0.0
        return 2.0 * float(stdtr(self.replications - 1, -distance / self.error))

    def __str__(self) -> str:
        """Return the estimate with its interval."""
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def mean_of(values: FloatArray) -> Estimate:
    """Estimate a mean from its replications.

    Parameters
    ----------
    values : ndarray of float64, shape (replications,)
        The replications.

    Returns
    -------
    Estimate
        The mean.

    Examples
    --------
    >>> import numpy as np
    >>> print(mean_of(np.array([1.0, 2.0, 3.0])))
    2 [-0.4841, 4.484]
    """
    n = len(values)
    if values.min() == values.max():  # exactly so: a sum would round
        return Estimate(float(values[0]), 0.0, n)
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n), n)


def ratio_of(above: FloatArray, below: FloatArray) -> Estimate | None:
    r"""Estimate the ratio of two means from paired replications, by the delta method.

    .. math:: \hat r = \bar a / \bar b, \qquad
        \widehat{\mathrm{se}}(\hat r) = \mathrm{sd}(a_i - \hat r\, b_i) / (\bar b \sqrt n)

    Parameters
    ----------
    above, below : ndarray of float64, shape (replications,)
        Numerator and denominator.

    Returns
    -------
    Estimate or None
        None where the 95 % interval of the denominator contains zero: the ratio could be
        anything.

    Examples
    --------
    >>> import numpy as np
    >>> print(ratio_of(np.array([4.0, 4.0, 4.1]), np.array([1.9, 2.0, 2.1])))
    2.017 [1.825, 2.208]
    """
    denominator = mean_of(below)
    if denominator.low <= 0.0 <= denominator.high:
        return None
    ratio = float(above.mean()) / denominator.value
    error = mean_of(above - ratio * below).error / abs(denominator.value)
    return Estimate(ratio, error, len(above))


def inside(found: Sequence[tuple[Estimate, float, float]]) -> Status:
    """Say whether numbers lie in their ranges.

    Parameters
    ----------
    found : sequence of (Estimate, low, high)
        Each number and the ends of its range, which may be infinite.

    Returns
    -------
    Status
        "holds" if every 95 % interval lies in its range; "does not hold" if some number is
        significantly outside, after adjusting for how many there are (Holm). Of a single number
        this is so exactly where its interval lies outside.
    """
    p_values = [number.p_value(low, high) for number, low, high in found]
    return decide(
        supported=all(low <= number.low and number.high <= high for number, low, high in found),
        contradicted=bool((holm(p_values) < LEVEL).any()),
    )
