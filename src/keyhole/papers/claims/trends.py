"""Claim (statement of a paper) that a metric rises over several problems.

A metric, such as the reward lost, is measured in simulations of a policy (a rule that chooses among
options) on each problem.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from keyhole.papers.claims.base import Finding, Result, decide, format_round
from keyhole.papers.claims.cells import Cells, CellsClaim, cell_names, format_means
from keyhole.papers.claims.paired_comparisons import LEVEL, holm
from keyhole.papers.claims.verdict_numbers import format_compared, number_of
from keyhole.papers.entry_references import Checkpoint
from keyhole.results.estimate import compare

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
        _, text, means = format_means(called, values)
        detail = f"{format_round(self.round)}: {text}; {sum(rises)} of {steps} steps significant"
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
            (*means, *format_compared(numbers, [numbers[i] for i in shown])),
        )
