"""Kinds of claims, by name, and the parser of the claims in an entry's file."""

import inspect
from collections.abc import Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from keyhole.experiment.objects_from_spec import import_user_file
from keyhole.files import read_toml
from keyhole.interrupts import replace_user_errors
from keyhole.papers.claims.better_policy import judge_not_better, judge_ordering
from keyhole.papers.claims.bounds import judge_above_bound, judge_below_bound
from keyhole.papers.claims.claim import Claim, Judgement, make_claim_class
from keyhole.papers.claims.fits import judge_power
from keyhole.papers.claims.judgements import judge_trend
from keyhole.papers.claims.quantity_in_range import QUANTITIES
from keyhole.papers.entry_files import ENTRY_FILES, FOLDER, TomlTable
from keyhole.papers.field_types import PlansOf, refuse_unknown_names
from keyhole.spec_values import error_message
from keyhole.validation import check_choice

_FORMER_KINDS: Final = read_toml(FOLDER / "claims" / "former_kinds.toml")
"""What to write in place of each former kind or quantity of version 0.2.0."""

_JUDGEMENTS: Final[dict[str, Judgement]] = {
    judgement.__name__.removeprefix("judge_").replace("_", "-"): judgement
    for judgement in (
        judge_above_bound, judge_below_bound, judge_not_better, judge_ordering, judge_power,
        judge_trend,
    )
}  # fmt: skip
KINDS: Final[dict[str, type[Claim]]] = {
    **{name: make_claim_class(judgement, kind=name) for name, judgement in _JUDGEMENTS.items()},
    **{
        f"estimate: {quantity}": make_claim_class(judgement, kind="estimate", of=quantity)
        for quantity, judgement in QUANTITIES.items()
    },
}
"""The class of each kind of claim, and of the estimate of each quantity."""


def find_claim_class(where: str, table: TomlTable, folder: Path | None) -> type[Claim]:
    """Return the class of the claim in a table; `where` begins error messages.

    A claim of the kind "computed" names its judgement: by = "module:function", or
    "file.py:function" with a file of `folder`, by default the current folder.
    """
    kind_names = {*_JUDGEMENTS, "estimate", "computed"}
    kind_name = check_choice(f"{where}.kind", table.get("kind"), sorted(kind_names))
    if kind_name == "computed":
        return _load_claim_class(f"{where}.by", table.get("by"), folder)
    if kind_name == "estimate":
        kind_name += f": {check_choice(f'{where}.of', table.get('of'), QUANTITIES)}"
    return KINDS[kind_name]


def _load_claim_class(where: str, by: object, folder: Path | None) -> type[Claim]:
    """Return the class of the claims that the function `by` judges; refuse an unfit function."""
    source, _, name = str(by).rpartition(":")
    if not (source and name.isidentifier()):
        raise ValueError(f'{where} must be "module:function" or "file.py:function", got {by!r}')
    if not source.endswith(".py"):
        text = f"{where}: {source!r} cannot be imported"
        with replace_user_errors(lambda error: ValueError(f"{text}: {error}")):
            module = import_module(source)
    else:
        module = import_user_file(source, folder or Path(), field=where)
    functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    judgement = getattr(module, check_choice(f"{where}: the function", name, functions))
    try:
        return make_claim_class(judgement, kind="computed", by=str(by))
    except (NameError, TypeError, ValueError, PydanticSchemaGenerationError) as error:
        text = str(error).partition("\n")[0]
        raise ValueError(f"{where}: {by!r} cannot judge a claim: {text}") from error


def read_claims(
    tables: Iterable[Any], metric: str, setup: str, entry: str, folder: Path | None = None
) -> list[tuple[str, Claim]]:
    """Parse the tables of an entry's claims; return pairs of a position, for errors, and a claim.

    A table with `problems` becomes one claim about each of them. `metric` and `setup` are the
    defaults of claims that do not give their own. `entry` is the entry's name, and `folder` has the
    files of functions that judge claims.
    """
    claims = list[tuple[str, Claim]]()
    for i, table in enumerate(tables):
        where = f"claims[{i}]"
        if not isinstance(table, dict):
            raise ValueError(f"{where} must be a table, got {table!r}")
        former_kind = str(table.get("of" if table.get("kind") == "estimate" else "kind"))
        if former_kind in _FORMER_KINDS:
            replacement = _FORMER_KINDS[former_kind]
            raise ValueError(f"{where}: {former_kind!r} is now written {replacement}")
        cls = find_claim_class(where, table, folder)
        where += f" ({cls.judged_by})"
        # Ids count the claims, not the tables: each claim has an id of its own.
        for problem_table in _split_by_problem(where, table):
            defaults = {"metric": metric, "setup": setup, "id": f"{entry}/{len(claims) + 1}"}
            claims.append((where, _parse_claim(where, cls, problem_table, defaults)))
    return claims


def check_claim(where: str, claim: Claim, problems: Collection[str], plans_of: PlansOf) -> None:
    """Refuse a claim that names no problem or something unknown, or that its `check` refuses."""
    if not claim.problem_keys:
        raise ValueError(f"{where}: a problem must be named, in a field of the type ProblemName")
    refuse_unknown_names(where, claim, problems, plans_of)
    for i, claim_id in enumerate(claim.same_as):
        check_choice(f"{where}.same_as[{i}]", claim_id.partition("/")[0], ENTRY_FILES)
    for problem in claim.problem_keys:
        # Each scale has its own checkpoints.
        for plan in plans_of(problem).values():
            try:
                claim.check(plan)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error


def _split_by_problem(where: str, table: TomlTable) -> list[TomlTable]:
    """Return a table for each of the `problems` of a table, or only the table if it has none."""
    if "problems" not in table:
        return [table]
    if "problem" in table:
        raise ValueError(f"{where}: problem must be left out where problems is given")
    if not isinstance(table["problems"], list) or not table["problems"]:
        raise ValueError(f"{where}.problems must be a list of keys, got {table['problems']!r}")
    common = {name: value for name, value in table.items() if name != "problems"}
    return [common | {"problem": problem} for problem in table["problems"]]


def _parse_claim(where: str, cls: type[Claim], table: TomlTable, defaults: TomlTable) -> Claim:
    """Return the claim of a table; `where` begins error messages."""
    for name in table:
        check_choice(f"{where}: each field", name, cls.model_fields.keys() - {"id"})
    try:
        # The table comes last, so that its fields replace the defaults of the entry.
        return cls.model_validate(defaults | table)
    except ValidationError as error:
        raise ValueError(f"{where}: {error_message(error)}") from None
