"""Holm's adjustment of p-values for the number of tests that are made together."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray

LEVEL: Final = 0.05
"""Family-wise error rate of comparisons that are made together."""


def holm(p_values: Sequence[float]) -> FloatArray:
    """Return p-values adjusted for multiple testing.

    If all hypotheses with adjusted p-values below 5 % are rejected, the family-wise error rate is
    at most 5 %, even if the tests depend on each other. Source: Holm (1979), "A simple
    sequentially rejective multiple test procedure".

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    raw_p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(raw_p_values)
    # The k-th smallest of m p-values is multiplied by m - k + 1: Bonferroni's adjustment for the
    # tests that remain. The running maximum keeps the order of the p-values: a hypothesis is
    # rejected only if all hypotheses with smaller p-values are.
    scaled = raw_p_values[order] * np.arange(len(raw_p_values), 0, -1)
    adjusted = np.empty(len(raw_p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted
