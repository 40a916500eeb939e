"""The setting `stochastic`: the decision and the feedback of a round, and the known quantities."""

from typing import Final

import numpy as np

from keyhole.policy import Field, FloatArray, Setting, fact


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


def arm_exists(p: Facts, arm: int) -> bool:
    """Return whether the arm of a decision exists."""
    return 0 <= arm < p.arms


SETTING: Final = Setting(
    name="stochastic",
    declarations=Facts,
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    report={"best": Field("int64")},
    allowed=arm_exists,
    rewards=True,
    fixed_means=True,
)
"""Pull an arm, see its reward; maximise the sum of rewards."""


TIE: Final = 1e-12
"""Means that differ by at most this much count as equal (a tie); rounding errors are smaller."""


def suboptimality_gaps(means: FloatArray) -> FloatArray:
    """Return the suboptimality gaps, with arms on the first axis; gaps up to `TIE` are set to 0.

    Examples
    --------
    >>> suboptimality_gaps(np.array([0.1 + 0.2, 0.3, 0.25])).round(2)
    array([0.  , 0.  , 0.05])
    """
    gaps = means.max(axis=0) - means
    return np.asarray(np.where(gaps > TIE, gaps, 0.0))
