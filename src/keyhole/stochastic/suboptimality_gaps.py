"""Gaps of options (arms): how far the mean reward of each lies below that of the best one."""

from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray

TIE: Final = 1e-12
"""Arms whose means differ by at most this much are equal: rounding errors are smaller."""


def suboptimality_gaps(means: FloatArray) -> FloatArray:
    """Return the suboptimality gaps along the first axis; gaps up to `TIE` are 0.

    Examples
    --------
    >>> suboptimality_gaps(np.array([0.1 + 0.2, 0.3, 0.25])).round(2)
    array([0.  , 0.  , 0.05])
    """
    gaps = means.max(axis=0) - means
    return np.asarray(np.where(gaps > TIE, gaps, 0.0))
