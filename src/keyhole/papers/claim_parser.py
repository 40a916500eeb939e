"""Parser of the claims in an entry's file: statements of a paper, to be judged by simulations.

It also checks that what they name exists: policies, problems and metrics.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from keyhole.papers.claims.claim import Claim
from keyhole.papers.claims.kinds import find_claim_class
from keyhole.papers.entry_files import FILES
from keyhole.papers.entry_references import PlansOf, check_names
from keyhole.papers.refused_claim_kinds import refuse_former_kind
from keyhole.spec_values import error_message
from keyhole.validate import check_choice


def read_claims(
    tables: Iterable[Any], metric: str, setup: str, entry: str, folder: Path | None = None
) -> list[tuple[str, Claim]]:
    """Parse the claims of an entry; return each with its position, for error messages.

    A table with `problems` becomes one claim about each of them. `metric` and `setup` are the
    defaults of claims that do not give their own; files of functions are relative to `folder`.
    """
    claims = list[tuple[str, Claim]]()
    for i, table in enumerate(tables):
        where = f"claims[{i}]"
        if not isinstance(table, dict):
            raise ValueError(f"{where} must be a table, got {table!r}")
        refuse_former_kind(where, table)
        cls = find_claim_class(where, table, folder)
        where += f" ({cls.judged_by})"
        # Ids count claims after this expansion: each problem's claim has an id of its own.
        for one in _tables_by_problem(where, table):
            given = {"metric": metric, "setup": setup, "id": f"{entry}/{len(claims) + 1}"}
            claims.append((where, _parse(where, cls, one, given)))
    return claims


def check_claim(where: str, claim: Claim, problems: Collection[str], plans_of: PlansOf) -> None:
    """Refuse a claim that names something unknown, or lacks a negative control that it needs."""
    check_names(where, claim, claim.problem_keys, problems, plans_of)
    for i, other in enumerate(claim.same_as):
        check_choice(f"{where}.same_as[{i}]", other.partition("/")[0], FILES)
    for problem in claim.problem_keys:
        # At every scale, each of which has its own checkpoints.
        for plan in plans_of(problem).values():
            try:
                claim.check(plan)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error


def _tables_by_problem(where: str, table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a table once for each of its problems."""
    if "problems" not in table:
        yield table
        return
    if "problem" in table:
        raise ValueError(f"{where}: problem must be left out where problems is given")
    if not isinstance(table["problems"], list) or not table["problems"]:
        raise ValueError(f"{where}.problems must be a list of keys, got {table['problems']!r}")
    common = {name: value for name, value in table.items() if name != "problems"}
    for problem in table["problems"]:
        yield common | {"problem": problem}


def _parse(where: str, kind: type[Claim], table: dict[str, Any], given: dict[str, Any]) -> Claim:
    for name in table:
        check_choice(f"{where}: each field", name, kind.model_fields.keys() - {"id"})
    try:
        # The table comes last: what a claim says itself replaces what its entry says.
        return kind.model_validate(given | table)
    except ValidationError as error:
        raise ValueError(f"{where}: {error_message(error)}") from None
