"""Claims that two metrics gain alike from one checkpoint to another."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import model_validator

from keyhole.papers.claims.base import Finding, Result
from keyhole.papers.claims.cells import Cell, OverCells, names, problems_of
from keyhole.papers.claims.estimate import is_inside, ratio_of
from keyhole.papers.claims.numbers import number_of
from keyhole.papers.claims.ranges import check_pair, format_range, or_infinite
from keyhole.papers.entry_validation import Checkpoint


class GainRatio(OverCells):
    """What one cell gains from one checkpoint to another over what another does.

    As `Ratio`, but for what came before, such as a search. Where the denominator may be 0, the
    claim is undecided.
    """

    kind: Literal["gain-ratio"]
    numerator: Cell  # whose gains
    denominator: Cell
    early: Checkpoint
    late: Checkpoint
    low: float | None = None  # of the ratio; at least one is given
    high: float | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.late <= self.early:
            raise ValueError(f"late must come after early, got {self.late} after {self.early}")
        check_pair("low", self.low, "high", self.high)
        return self

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of both."""
        return problems_of([self.numerator, self.denominator])

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the interval of the ratio with the range."""
        cells = [self.numerator, self.denominator]
        above, below = names(cells, results)
        gains = [
            cell.values(results, self.metric, self.late)
            - cell.values(results, self.metric, self.early)
            for cell in cells
        ]
        found, words = ratio_of(*gains), f"from T = {self.early:,} to {self.late:,}"
        if found is None:
            return Finding("undecided", f"the mean gain of {below} may be 0 {words}")
        low, high = or_infinite(self.low, self.high)
        name = f"gain of {above} / gain of {below} {words}"
        return Finding(
            is_inside([(found, low, high)]),
            f"{name}: {found}{format_range(low, high)}",
            (number_of(name, found, low, high),),
        )
