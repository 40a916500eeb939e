"""Estimator of the chances that an arm's sample reaches the levels: its survival function."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.threshold.policy_base import add_observation
from keyhole.validation import Range, check_each, check_integer, check_vector


class ModifiedKaplanMeierEstimator:
    r"""Estimator of the survival function of one arm, from pulls at known thresholds.

    With the sample :math:`X_s` and the threshold :math:`c_s` of each pull s, the estimate at level
    j is

    .. math:: \hat F(j) = \frac{D(j)}{N(j)}, \qquad D(j) = \sum_s 1[\min(X_s, c_s) \ge j], \qquad
        N(j) = \sum_s 1[c_s \ge j]

    This is the share of the pulls at thresholds of at least j whose samples reached j. For each of
    these pulls it is known whether its sample did. So the estimate is a mean of independent terms,
    and unbiased. Most policies for censored feedback use this estimate.

    Parameters
    ----------
    thresholds : sequence of int, shape (n,)
        The threshold of each pull, from 1 to `levels`.
    values : sequence of int, shape (n,)
        The sample of each pull, or the threshold if the sample is censored. A sample above its
        threshold counts as the threshold.
    levels : int
        The number of levels, at least 1.

    Attributes
    ----------
    reached, support : ndarray of float64, shape (levels,)
        D and N.
    survival : ndarray of float64, shape (levels,)
        D / N, and 0 where N is 0.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; eq. (8) and Lemma 4.

    Examples
    --------
    >>> thresholds, values = [3, 2, 3, 1], [3, 0, 1, 1]
    >>> estimate = ModifiedKaplanMeierEstimator(thresholds, values, levels=3)
    >>> estimate.support, estimate.survival.round(2)
    (array([4., 3., 2.]), array([0.75, 0.33, 0.5 ]))
    """

    def __init__(self, thresholds: ArrayLike, values: ArrayLike, levels: int) -> None:
        m = check_integer("levels", levels, Range(ge=1))
        checked_thresholds = check_integers("thresholds", thresholds, Range(ge=1, le=m))
        samples = check_integers("values", values, Range(ge=0, le=m))
        if len(checked_thresholds) != len(samples):
            raise ValueError(
                f"values must have one entry for each threshold, {len(checked_thresholds)}; "
                f"got {len(samples)}"
            )
        # Python runs a kernel of the policies here, so that the counts are theirs.
        tally: Any = SimpleNamespace(reached=np.zeros((1, m)), tried=np.zeros((1, m)))
        for threshold, value in zip(checked_thresholds, samples, strict=True):
            add_observation(tally, 0, int(threshold), int(value))
        self.reached: FloatArray = tally.reached[0]
        self.support: FloatArray = tally.tried[0]
        self.survival: FloatArray = self.reached / np.maximum(self.support, 1.0)


def check_integers(name: str, values: ArrayLike, allowed: Range) -> IntArray:
    """Return a vector of whole numbers; refuse other entries, and entries out of the range."""
    checked = check_vector(name, values, allowed)
    check_each(name, checked, checked == np.floor(checked), "be a whole number")
    return checked.astype(np.int64)
