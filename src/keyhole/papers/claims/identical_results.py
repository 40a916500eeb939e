"""Claim (statement of a paper) that policies have the same results, or one on several problems.

A policy is a rule that chooses among options; a problem gives the options and their chances.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Finding, Result
from keyhole.papers.claims.cells import Cell, CellsClaim, cell_names, problems_of
from keyhole.papers.claims.verdict_numbers import format_compared, known_number
from keyhole.papers.entry_references import MetricName
from keyhole.papers.verdicts import Number

_SHOWN: Final = 3


class IdenticalResults(CellsClaim):
    """All values of some cells are equal to the last bit.

    The claim does not hold if there is one difference, in any replication at any checkpoint.
    """

    kind: Literal["identical"]
    # at least two; their problems have the same checkpoints
    cells: Annotated[list[Cell], Field(min_length=2)]
    # the metrics to compare; by default the claim's
    metrics: Annotated[list[MetricName], Field(min_length=1)] | None = None

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The problems of the cells."""
        return problems_of(self.cells)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Look for a difference."""
        first, *others = self.cells
        called = cell_names(self.cells, results)
        differences, counts = list[str](), list[Number]()
        for metric in self.metrics or [self.metric]:
            ours = _table(first, results, metric)
            for name, other in zip(called[1:], others, strict=True):
                theirs = _table(other, results, metric)
                if ours.shape != theirs.shape:
                    return Finding("undecided", f"{called[0]} and {name} have other checkpoints")
                unequal = int((ours != theirs).any(axis=0).sum())
                what = f"replications in which {metric} of {name} differs from {called[0]}'s"
                counts.append(known_number(what, unequal, at_most=0))
                if unequal:
                    differences.append(
                        f"{metric} of {name} differs from {called[0]}'s in {unequal:,} of "
                        f"{ours.shape[1]:,} replications"
                    )
        numbers = format_compared(counts, [one for one in counts if one.value][:_SHOWN])
        if differences:
            return Finding("does not hold", "; ".join(differences[:_SHOWN]), numbers)
        count = results[first.problem].curves.replications
        return Finding("holds", f"so in all of {count:,} replications", numbers)


def _table(cell: Cell, results: Mapping[str, Result], metric: str) -> FloatArray:
    return results[cell.problem].curves.values(cell.policy, metric)
