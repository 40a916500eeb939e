"""Tables of the kinds of claims (statements of a paper), and the function that judges each."""

import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pydantic.errors import PydanticSchemaGenerationError

from keyhole.experiment.spec_factories import import_user_file
from keyhole.interrupts import replaced_errors
from keyhole.papers.claims.better_policy import not_better, ordering
from keyhole.papers.claims.bounds import above_bound, below_bound
from keyhole.papers.claims.claim import Claim, Judgement, claim_class
from keyhole.papers.claims.estimates import QUANTITIES
from keyhole.papers.claims.judgements import trend
from keyhole.papers.claims.power_law import power
from keyhole.validate import check_choice

_FUNCTIONS: Final[dict[str, Judgement]] = {
    "above-bound": above_bound,
    "below-bound": below_bound,
    "not-better": not_better,
    "ordering": ordering,
    "power": power,
    "trend": trend,
}
KINDS: Final[dict[str, type[Claim]]] = {
    **{kind: claim_class(judgement, kind=kind) for kind, judgement in _FUNCTIONS.items()},
    **{
        f"estimate: {of}": claim_class(judgement, kind="estimate", of=of)
        for of, judgement in QUANTITIES.items()
    },
}
"""The class of each kind of claim, and of the estimate of each quantity."""


def find_claim_class(where: str, table: dict[str, Any], folder: Path | None) -> type[Claim]:
    """Return the class of the claim that a table gives; `where` begins messages.

    The kind "computed" names a function, by = "module:function", or "file.py:function" with a file
    in the folder, if there is one.
    """
    kinds = {*_FUNCTIONS, "estimate", "computed"}
    kind = check_choice(f"{where}.kind", table.get("kind"), sorted(kinds))
    if kind == "computed":
        return _computed_class(f"{where}.by", table.get("by"), folder)
    if kind == "estimate":
        kind += f": {check_choice(f'{where}.of', table.get('of'), QUANTITIES)}"
    return KINDS[kind]


def _computed_class(where: str, by: object, folder: Path | None) -> type[Claim]:
    place, _, name = by.rpartition(":") if isinstance(by, str) else ("", "", "")
    if not (place and name.isidentifier()):
        raise ValueError(f'{where} must be "module:function" or "file.py:function", got {by!r}')
    if not place.endswith(".py"):
        text = f"{where}: {place!r} cannot be imported"
        with replaced_errors(lambda error: ValueError(f"{text}: {error}")):
            module = import_module(place)
    elif folder is None:
        raise ValueError(f"{where} must name a module, got the file {place!r}")
    else:
        module = import_user_file(place, folder, field=where)
    functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    judgement = getattr(module, check_choice(f"{where}: the function", name, functions))
    try:
        return _cached_class(judgement, str(by))
    except (NameError, TypeError, ValueError, PydanticSchemaGenerationError) as error:
        text = str(error).partition("\n")[0]
        raise ValueError(f"{where}: {by!r} cannot judge a claim: {text}") from error


@cache
def _cached_class(judgement: Judgement, by: str) -> type[Claim]:
    return claim_class(judgement, kind="computed", by=by)
