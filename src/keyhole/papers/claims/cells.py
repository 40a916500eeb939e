"""Cells (each a policy on a problem), and the base class of claims (statements) about them.

A policy is a rule that chooses among options; a problem gives the options and their chances.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Claim, Result
from keyhole.papers.claims.verdict_numbers import number_of
from keyhole.papers.entry_references import PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, mean_estimate


class Cell(BaseModel):
    """One policy on one problem."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    problem: ProblemName  # the key of the problem; in a file by default the claim's
    policy: PolicyName  # the policy's label; in a file by default the claim's

    def values(
        self, results: Mapping[str, Result], metric: str, round: int | None = None
    ) -> FloatArray:
        """Return a metric in every replication at a checkpoint, by default the last."""
        return results[self.problem].values(self.policy, metric, round)


Cells = Annotated[list[Cell], Field(min_length=2)]


class CellsClaim(Claim):
    """Base of claims about cells.

    All runs of an entry have the same seed and number of replications, so that cells are paired
    replication by replication, on different problems too.
    """

    problem: ProblemName | None = None  # of cells that do not name their own
    policy: PolicyName | None = None

    @property
    def subject(self) -> str:
        """The label of the policy, if all cells have the same one."""
        policies = {cell.policy for cell in cells_in(self)} or {super().subject}
        return policies.pop() if len(policies) == 1 else ""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, table: Any) -> Any:
        """Fill in the problem and policy of cells that leave them to the claim."""
        if not isinstance(table, dict):
            return table
        # Before validation, so that a cell that names neither problem nor policy is not refused.
        common = {name: table[name] for name in ("problem", "policy") if name in table}
        fields = cls.model_fields
        return {
            name: _complete_cells(value, common)
            if name in fields and has_cells(fields[name].annotation)
            else value
            for name, value in table.items()
        }


def cell_names(cells: Sequence[Cell], results: Mapping[str, Result]) -> list[str]:
    """Return a name for each cell: policy, problem, or both, as needed to tell them apart."""
    titles = [results[cell.problem].title for cell in cells]
    policies = [cell.policy for cell in cells]
    if len(set(titles)) == 1:
        return policies
    if len(set(policies)) == 1:
        return titles
    return [f"{policy} on {title}" for policy, title in zip(policies, titles, strict=True)]


def format_means(
    names: Sequence[str], values: Sequence[FloatArray]
) -> tuple[list[Estimate], str, tuple[Number, ...]]:
    """Return the means of named cells, their text, and their numbers."""
    means = list(map(mean_estimate, values))
    text = ", ".join(f"{name} {m.plus_minus()}" for name, m in zip(names, means, strict=True))
    numbers = [number_of(f"mean of {name}", m) for name, m in zip(names, means, strict=True)]
    return means, text, tuple(numbers)


def cells_in(model: BaseModel) -> list[Cell]:
    """Return the cells that a claim names, alone or in lists."""
    values = [getattr(model, name) for name in type(model).model_fields]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in items if isinstance(item, Cell)]


def has_cells(annotation: Any) -> bool:
    """Return whether the values of an annotated type are cells, or contain some."""
    return annotation is Cell or any(map(has_cells, get_args(annotation)))


def _complete_cells(value: Any, common: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_complete_cells(one, common) for one in value]
    return {**common, **value} if isinstance(value, dict) else value
