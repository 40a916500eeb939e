"""Claims (statements of a paper) that a metric rises, or stays the same, over several problems.

A metric, such as the reward lost, is measured in simulations of a policy (a rule that chooses among
options) on each problem.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keyhole.papers.claims.base import Finding, Result, decide, format_round
from keyhole.papers.claims.cells import Cell, CellsClaim, cell_names, problems_of
from keyhole.papers.claims.paired_comparisons import LEVEL, holm
from keyhole.papers.claims.verdict_numbers import format_compared, number_of
from keyhole.papers.entry_references import Checkpoint
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, PairedDifference, compare, mean_estimate

Cells = Annotated[list[Cell], Field(min_length=2)]
_Factor = Annotated[float, Field(gt=0)]


class Trend(CellsClaim):
    """A metric rises significantly from each of some cells to the next.

    With a factor it must rise to more than so many times: factor x lower < higher. The claim
    holds if every step is significant, and does not hold if some step is significantly in the
    other direction, or 0 in every replication. The steps are adjusted together (Holm).
    """

    kind: Literal["trend"]
    cells: Cells  # in rising order, at least two
    factors: _Factor | list[_Factor] = 1.0  # of every step, or of each; above 0
    round: Checkpoint | None = None  # at which checkpoint; by default the last of each problem

    @model_validator(mode="after")
    def _one_factor_a_step(self) -> Self:
        if isinstance(self.factors, list) and len(self.factors) != len(self.cells) - 1:
            raise ValueError(
                f"factors must be one fewer than cells, got {len(self.factors)} factors "
                f"for {len(self.cells)} cells"
            )
        return self

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The problems of the cells."""
        return problems_of(self.cells)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare neighbouring cells."""
        values = [cell.values(results, self.metric, self.round) for cell in self.cells]
        steps = len(self.cells) - 1
        factors = self.factors if isinstance(self.factors, list) else [self.factors] * steps
        gaps = [
            compare(factor * a, b) for factor, (a, b) in zip(factors, pairwise(values), strict=True)
        ]
        clear = holm([gap.p_value for gap in gaps]) < LEVEL
        rises = [bool(c) and gap.difference < 0 for c, gap in zip(clear, gaps, strict=True)]
        falls = [
            # Equal in every replication, and not 0: more replications would not separate them.
            (gap.equal and b.any()) or (bool(c) and gap.difference > 0)
            for c, gap, b in zip(clear, gaps, values[1:], strict=True)
        ]
        called = cell_names(self.cells, results)
        means = list(map(mean_estimate, values))
        listed = ", ".join(
            f"{name} {number.plus_minus()}" for name, number in zip(called, means, strict=True)
        )
        detail = f"{format_round(self.round)}: {listed}; {sum(rises)} of {steps} steps significant"
        words = [
            f"{'' if factor == 1.0 else f'{factor:g} x '}{before} minus {after}"
            for factor, (before, after) in zip(factors, pairwise(called), strict=True)
        ]
        status = decide(supported=all(rises), contradicted=any(falls))
        if all(rises):
            shown = [max(range(steps), key=lambda i: gaps[i].p_value)]
            detail += ", the least clear: "
        else:
            shown = [i for i in range(steps) if not rises[i]]
            detail += ". Not so: "
        numbers = [number_of(name, gap) for name, gap in zip(words, gaps, strict=True)]
        return Finding(
            status,
            detail + "; ".join(f"{words[i]}: {gaps[i]}" for i in shown),
            (*_means(called, means), *format_compared(numbers, [numbers[i] for i in shown])),
        )


class Equivalence(CellsClaim):
    """A metric is equivalent in some cells, within a tolerance.

    The larger of any two means is at most (1 + tolerance) times the smaller. The claim holds if
    this is significant, at 5 %, of every two cells in both orders (two one-sided tests each:
    since all must succeed, they need no adjustment). It does not hold if some mean significantly
    exceeds so many times another (two-sided, all adjusted together: Holm). A difference that is
    not significant is no evidence of equality: few replications leave the claim undecided.
    """

    kind: Literal["equivalence"]
    cells: Cells  # at least two
    tolerance: Annotated[float, Field(gt=0)]  # above 0
    round: Checkpoint | None = None  # at which checkpoint; by default the last of each problem

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The problems of the cells."""
        return problems_of(self.cells)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Test every two cells for equivalence."""
        values = [cell.values(results, self.metric, self.round) for cell in self.cells]
        means = [mean_estimate(v) for v in values]
        called = cell_names(self.cells, results)
        detail = f"{format_round(self.round)}: " + ", ".join(
            f"{name} {number.plus_minus()}" for name, number in zip(called, means, strict=True)
        )
        numbers = _means(called, means)
        smallest = min(number.value for number in means)
        if smallest < 0:
            detail += "; relative tolerances need means that are not below 0"
            return Finding("undecided", detail, numbers)
        if smallest > 0:
            ratio = max(number.value for number in means) / smallest
            detail += f"; largest / smallest {ratio:.3f}"
            numbers += (Number("largest / smallest", ratio),)
        excess = [compare(a, (1.0 + self.tolerance) * b) for a, b in permutations(values, 2)]
        compared = [
            number_of(f"{a} minus {1.0 + self.tolerance:g} x {b}", gap)
            for (a, b), gap in zip(permutations(called, 2), excess, strict=True)
        ]
        clear = holm([gap.p_value for gap in excess]) < LEVEL
        beyond = [bool(c) and gap.difference > 0 for c, gap in zip(clear, excess, strict=True)]
        # Two one-sided tests for each pair must all succeed to hold, which needs no adjustment; one
        # success contradicts the claim, which does (Holm).
        status = decide(supported=all(map(_is_below, excess)), contradicted=any(beyond))
        return Finding(status, detail, numbers + format_compared(compared, []))


def _means(called: Sequence[str], means: Sequence[Estimate]) -> tuple[Number, ...]:
    return tuple(map(number_of, [f"mean of {name}" for name in called], means))


def _is_below(gap: PairedDifference) -> bool:
    """Return whether a difference is below zero, by a one-sided test at 5 %."""
    return gap.high <= 0.0 or (gap.difference < 0.0 and gap.p_value / 2.0 < LEVEL)
