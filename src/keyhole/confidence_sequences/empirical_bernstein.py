"""Confidence sequence for a mean that is the narrower, the less the values vary."""

import math
from typing import Any, Final

from keyhole.confidence_sequences.beta_mixture import check_alpha
from keyhole.validate import check_unit_interval

LENGTH: Final = 6
"""The length of the array of sums that the kernels read and write, which begins with zeros."""
# The paper calls 1/2 and 3/4 reasonable.
_LARGEST_BET: Final = 0.5


def add_value(sums: Any, value: float, alpha: float) -> None:
    """Add a value in [0, 1] to the sums of `EmpiricalBernstein` (a kernel).

    They are the number of values, their sum, the sum of squared deviations from the mean so far,
    and the sums of bets, of bets times values, and of the terms of the width.
    """
    number = sums[0] + 1.0
    before = (0.5 + sums[1]) / number
    variance = (0.25 + sums[2]) / number
    bet = math.sqrt(2.0 * math.log(2.0 / alpha) / (variance * number * math.log1p(number)))
    bet = min(bet, _LARGEST_BET)
    sums[0] = number
    sums[1] += value
    after = (0.5 + sums[1]) / (number + 1.0)
    sums[2] += (value - after) * (value - after)
    sums[3] += bet
    sums[4] += bet * value
    sums[5] += (value - before) * (value - before) * (-math.log1p(-bet) - bet)


def empirical_bernstein_bounds(sums: Any, alpha: float) -> tuple[float, float]:
    """Return the interval after the values that were added (a kernel)."""
    if sums[0] <= 0.0:
        return 0.0, 1.0
    centre = sums[4] / sums[3]
    width = (math.log(2.0 / alpha) + sums[5]) / sums[3]
    return max(centre - width, 0.0), min(centre + width, 1.0)


class EmpiricalBernstein:
    r"""Intervals for the mean of values in [0, 1] that hold at all times at once.

    Their width follows the variance of the values, which need not be known. Measured after 1,000
    values, it is .6 times that of `BetaMixture` for uniform values, a sixth of it for values that
    are nearly always .49 and rarely 1, and 1.1 times for 0/1 values with mean 1/2.

    .. math:: \frac{\sum_i \lambda_i X_i}{\sum_i \lambda_i} \pm
        \frac{\ln(2 / \alpha) + \sum_i (X_i - \hat\mu_{i-1})^2 (-\ln(1 - \lambda_i) - \lambda_i)}
        {\sum_i \lambda_i}, \qquad \lambda_i = \min \Big( \frac12,
        \sqrt{\frac{2 \ln(2 / \alpha)}{\hat\sigma^2_{i-1} \, i \ln(1 + i)}} \Big),

    .. math:: \hat\mu_i = \frac{1/2 + \sum_{j \le i} X_j}{i + 1}, \qquad
        \hat\sigma^2_i = \frac{1/4 + \sum_{j \le i} (X_j - \hat\mu_j)^2}{i + 1}.

    It keeps six numbers, however many values there are.

    Parameters
    ----------
    alpha : float, default 0.05
        The probability that the interval ever misses the mean, at most; above 0, below 1.

    References
    ----------
    Waudby-Smith and Ramdas (2024), "Estimating Means of Bounded Random Variables by Betting",
    Journal of the Royal Statistical Society B 86; Theorem 2.

    Examples
    --------
    >>> seen = EmpiricalBernstein()
    >>> for day in range(100):
    ...     seen.update(0.4 if day % 2 else 0.6)
    >>> low, high = seen.interval
    >>> round(low, 2), round(high, 2)
    (0.42, 0.58)
    """

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = check_alpha(alpha)
        self._sums = [0.0] * LENGTH

    def update(self, value: float) -> None:
        """Add a value in [0, 1]."""
        add_value(self._sums, check_unit_interval("value", value), self.alpha)

    @property
    def count(self) -> int:
        """The number of values."""
        return int(self._sums[0])

    @property
    def total(self) -> float:
        """The sum of the values."""
        return self._sums[1]

    @property
    def interval(self) -> tuple[float, float]:
        """The interval after the values so far; (0, 1) before the first."""
        return empirical_bernstein_bounds(self._sums, self.alpha)
