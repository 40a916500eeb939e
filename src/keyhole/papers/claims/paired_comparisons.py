"""Paired comparisons of policies (rules that choose among options), for claims that one is better.

They are adjusted for the number of comparisons made at once (Holm), and paired since all policies
are simulated with the same random numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.results.curves import Curves
from keyhole.results.estimate import PairedDifference

LEVEL: Final = 0.05
"""Family-wise error rate of the comparisons of one claim."""


@dataclass(frozen=True)
class Comparison:
    """One policy against another at one checkpoint."""

    policy: str
    other: str
    round: int
    gap: PairedDifference  # mean of `policy` minus mean of `other`, over common random numbers
    p_value: float  # two-sided, adjusted for the comparisons made together
    highest: bool = False  # whether higher is better, as the metric says
    same: bool = False  # whether both had the same value, other than 0, in every replication

    @property
    def lead(self) -> float:
        """By how much `policy` is better; negative if it is worse."""
        return self.gap.difference if self.highest else -self.gap.difference

    @property
    def better(self) -> bool:
        """Whether `policy` is significantly better."""
        return self.p_value < LEVEL and self.lead > 0

    @property
    def worse(self) -> bool:
        """Whether `policy` is significantly worse."""
        return self.p_value < LEVEL and self.lead < 0

    @property
    def lost(self) -> bool:
        """Whether more replications cannot make it better: it is worse, or the same in all."""
        return self.worse or self.same

    def __str__(self) -> str:
        """Return policies, round, and the difference with its own 95 % interval and p-value."""
        return f"{self.named()}: {self.gap}"

    def named(self, place: str = "") -> str:
        """Return the name of the comparison: policies, place if given, and round."""
        where = f" on {place}" if place else ""
        return f"{self.policy} minus {self.other}{where} at T = {self.round:,}"


def holm(p_values: Sequence[float]) -> FloatArray:
    """Return p-values adjusted for multiple testing.

    Rejecting those below 5 % has a family-wise error rate of at most 5 %, under any dependence:
    Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    raw = np.asarray(p_values, dtype=float)
    order = np.argsort(raw)
    # The k-th smallest of m p-values is multiplied by m - k + 1 (Bonferroni for those that are
    # left). The running maximum keeps the order: no p-value is rejected after one that is not.
    scaled = raw[order] * np.arange(len(raw), 0, -1)
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def comparisons(
    curves: Curves,
    metric: str,
    pairs: Sequence[tuple[str, str, int]],
    *,
    adjust: bool = True,
) -> list[Comparison]:
    """Compare pairs of policies, and adjust the p-values for the number of pairs."""
    highest, cells = curves.metric(metric).better == "higher", list[Comparison]()
    for policy, other, round in pairs:
        gap = curves.paired(policy, other, metric=metric, round=round)
        same = gap.equal and _is_nonzero(curves, policy, metric, round)
        cells.append(Comparison(policy, other, round, gap, gap.p_value, highest, same))
    return adjust_together(cells) if adjust else cells


def adjust_together(cells: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons with their p-values adjusted for the number of all of them (Holm)."""
    p_values = holm([cell.gap.p_value for cell in cells]).tolist()
    return [replace(cell, p_value=p) for cell, p in zip(cells, p_values, strict=True)]


def _is_nonzero(curves: Curves, policy: str, metric: str, round: int) -> bool:
    """Return whether a metric is other than 0 in some replication; one that is 0 may still rise."""
    values = curves.values(policy, metric)[curves.checkpoints.index(round)]
    return bool(values.any())
