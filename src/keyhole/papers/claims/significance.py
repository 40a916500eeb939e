"""Which differences are real: many paired comparisons, judged together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.core.curves import Curves, Paired
from keyhole.core.memory import FloatArray

LEVEL: Final = 0.05
"""Chance of any false finding among the comparisons of one claim."""


@dataclass(frozen=True)
class Comparison:
    """One policy against another at one checkpoint, of a metric where lower is better.

    Attributes
    ----------
    policy, other : str
        Labels.
    round : int
        The checkpoint.
    gap : Paired
        Mean of `policy` minus mean of `other`, over common random numbers.
    p_value : float
        Two-sided, adjusted for the comparisons made together.
    """

    policy: str
    other: str
    round: int
    gap: Paired
    p_value: float

    @property
    def better(self) -> bool:
        """Whether `policy` is significantly lower."""
        return self.p_value < LEVEL and self.gap.difference < 0

    @property
    def worse(self) -> bool:
        """Whether `policy` is significantly higher."""
        return self.p_value < LEVEL and self.gap.difference > 0

    def __str__(self) -> str:
        """Return who, when, and the difference with its own 95 % interval."""
        gap = self.gap
        return (
            f"{self.policy} minus {self.other} at T = {self.round:,}: "
            f"{gap.difference:.3g} [{gap.low:.3g}, {gap.high:.3g}]"
        )


def holm(p_values: Sequence[float]) -> FloatArray:
    """Return p-values adjusted for being many.

    Parameters
    ----------
    p_values : sequence of float, shape (n,)
        Of the comparisons made together; they may depend on one another.

    Returns
    -------
    ndarray of float64, shape (n,)
        Reject those below 5 %, and the chance of any false rejection is at most 5 %.

    Notes
    -----
    Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    raw = np.asarray(p_values, dtype=float)
    order = np.argsort(raw)
    scaled = raw[order] * np.arange(len(raw), 0, -1)
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def comparisons(
    curves: Curves, metric: str, pairs: Sequence[tuple[str, str, int]], *, adjust: bool = True
) -> list[Comparison]:
    """Compare policies pair by pair, and adjust for how many pairs there are.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    pairs : sequence of (policy, other, round)
        What to compare.
    adjust : bool, default True
        Whether to adjust the p-values.

    Returns
    -------
    list of Comparison
        In the same order.
    """
    gaps = [curves.paired(a, b, metric=metric, round=t) for a, b, t in pairs]
    raw = [gap.p_value for gap in gaps]
    p_values = holm(raw) if adjust else raw
    return [
        Comparison(a, b, t, gap, float(p))
        for (a, b, t), gap, p in zip(pairs, gaps, p_values, strict=True)
    ]
