"""Claims that compare policies on problems with one another."""

from collections.abc import Mapping
from itertools import pairwise, permutations
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keyhole.papers.claims.base import Finding, Result, decide, when
from keyhole.papers.claims.cells import Cell, OverCells, names, problems_of
from keyhole.papers.claims.significance import LEVEL, holm
from keyhole.results.estimate import Paired, compare, mean_of

Cells = Annotated[list[Cell], Field(min_length=2)]
_Factor = Annotated[float, Field(gt=0)]


class Across(OverCells):
    """From each of some cells to the next, a metric significantly rises.

    With a factor it must rise to more than so many times: factor x lower < higher. The claim
    holds if every step is significant, and does not hold if some step is significantly the other
    way round, or nothing in every run. The steps are adjusted together (Holm).
    """

    kind: Literal["across"]
    cells: Cells  # in rising order, at least two
    factors: _Factor | list[_Factor] = 1.0  # of every step, or of each; above 0
    round: int | None = None  # at which checkpoint; by default the last of each problem

    @model_validator(mode="after")
    def _one_factor_a_step(self) -> Self:
        if isinstance(self.factors, list) and len(self.factors) != len(self.cells) - 1:
            raise ValueError(
                f"factors must be one fewer than cells, got {len(self.factors)} factors "
                f"for {len(self.cells)} cells"
            )
        return self

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of the cells."""
        return problems_of(self.cells)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare neighbours."""
        values = [cell.values(results, self.metric, self.round) for cell in self.cells]
        steps = len(self.cells) - 1
        factors = self.factors if isinstance(self.factors, list) else [self.factors] * steps
        gaps = [
            compare(factor * a, b) for factor, (a, b) in zip(factors, pairwise(values), strict=True)
        ]
        clear = holm([gap.p_value for gap in gaps]) < LEVEL
        rises = [bool(c) and gap.difference < 0 for c, gap in zip(clear, gaps, strict=True)]
        falls = [
            (gap.equal and b.any()) or (bool(c) and gap.difference > 0)
            for c, gap, b in zip(clear, gaps, values[1:], strict=True)
        ]
        called = names(self.cells, results)
        means = ", ".join(
            f"{name} {number.plus_minus()}"
            for name, number in zip(called, map(mean_of, values), strict=True)
        )
        detail = f"{when(self.round)}: {means}; {sum(rises)} of {steps} steps significant"
        told = [
            f"{'' if factor == 1.0 else f'{factor:g} x '}{before} minus {after}: {gap}"
            for factor, (before, after), gap in zip(factors, pairwise(called), gaps, strict=True)
        ]
        if all(rises):
            least = max(range(steps), key=lambda i: gaps[i].p_value)
            return "holds", f"{detail}, the least clear: {told[least]}"
        missed = "; ".join(words for words, rise in zip(told, rises, strict=True) if not rise)
        return decide(supported=False, contradicted=any(falls)), f"{detail}. Not so: {missed}"


class Flat(OverCells):
    """A metric hardly differs between some cells.

    The larger of any two means is at most (1 + tolerance) times the smaller. The claim holds if
    this is significant, at 5 %, of every two cells in both orders (two one-sided tests each:
    since all must succeed, they need no adjustment). It does not hold if some mean significantly
    exceeds so many times another (two-sided, all adjusted together: Holm). A difference that is
    not significant is no evidence of equality: few replications leave the claim undecided.
    """

    kind: Literal["flat"]
    cells: Cells  # at least two
    tolerance: Annotated[float, Field(gt=0)]  # above 0
    round: int | None = None  # at which checkpoint; by default the last of each problem

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of the cells."""
        return problems_of(self.cells)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Test every two cells for equivalence."""
        values = [cell.values(results, self.metric, self.round) for cell in self.cells]
        means = [mean_of(v) for v in values]
        called = names(self.cells, results)
        detail = f"{when(self.round)}: " + ", ".join(
            f"{name} {number.plus_minus()}" for name, number in zip(called, means, strict=True)
        )
        smallest = min(number.value for number in means)
        if smallest < 0:
            return "undecided", f"{detail}; relative tolerances need means that are not below 0"
        if smallest > 0:
            largest = max(number.value for number in means)
            detail += f"; largest / smallest {largest / smallest:.3f}"
        excess = [compare(a, (1.0 + self.tolerance) * b) for a, b in permutations(values, 2)]
        clear = holm([gap.p_value for gap in excess]) < LEVEL
        beyond = [bool(c) and gap.difference > 0 for c, gap in zip(clear, excess, strict=True)]
        return decide(supported=all(map(_below, excess)), contradicted=any(beyond)), detail


def _below(gap: Paired) -> bool:
    """Return whether a difference is below zero, by a one-sided test at 5 %."""
    return gap.high <= 0.0 or (gap.difference < 0.0 and gap.p_value / 2.0 < LEVEL)
