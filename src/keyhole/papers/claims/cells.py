"""Claims that look at several problems, or at several policies wherever they ran."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from keyhole.contract.state_memory import FloatArray
from keyhole.papers.claims.base import Claim, Result
from keyhole.papers.entry_validation import PolicyName, ProblemName


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


class OverCells(Claim):
    """A statement about policies on problems.

    All runs of an entry have the same seed and the same number of replications, so that cells
    are paired replication by replication, on different problems too.
    """

    problem: ProblemName | None = None  # those of the cells that do not name their own
    policy: PolicyName | None = None

    @property
    def subject(self) -> str:
        """The label of the policy that all cells have, if it is one."""
        found = {cell.policy for cell in _cells(self)}
        return found.pop() if len(found) == 1 else ""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, table: Any) -> Any:
        """Fill in what cells leave to the claim."""
        if not isinstance(table, dict):
            return table
        common = {name: table[name] for name in ("problem", "policy") if name in table}
        return {name: _completed(value, common) for name, value in table.items()}


def names(cells: Sequence[Cell], results: Mapping[str, Result]) -> list[str]:
    """Return what to call each cell: policy, problem, or both, whichever tells them apart."""
    titles = [results[cell.problem].title for cell in cells]
    policies = [cell.policy for cell in cells]
    if len(set(titles)) == 1:
        return policies
    if len(set(policies)) == 1:
        return titles
    return [f"{policy} on {title}" for policy, title in zip(policies, titles, strict=True)]


def problems_of(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the problems of cells, each once, in their order."""
    return tuple(dict.fromkeys(cell.problem for cell in cells))


def _cells(model: BaseModel) -> list[Cell]:
    values = [getattr(model, name) for name in type(model).model_fields]
    listed = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [one for one in listed if isinstance(one, Cell)]


def _completed(value: Any, common: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_completed(one, common) for one in value]
    return {**common, **value} if isinstance(value, dict) else value
