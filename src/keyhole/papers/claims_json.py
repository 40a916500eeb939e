"""The file ``claims.json``: all claims (statements of papers) and their verdicts, for programs.

``python -m keyhole.papers.claims_json`` prints its JSON Schema, which is kept in ``docs/``.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from keyhole.files import write_atomically
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import (
    Number,
    Origin,
    Setup,
    Status,
    Verdict,
    deciding_verdicts,
)

_OURS: Final = "ours"


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Finite = Annotated[float | None, BeforeValidator(_finite_or_none)]
"""A JSON number, or null where it is infinite or not a number."""

# Written out, since the schema that Pydantic makes of a single value depends on its version.
_Format = Annotated[
    Literal["keyhole-claims"], WithJsonSchema({"const": "keyhole-claims", "type": "string"})
]
_Version = Annotated[Literal[1], WithJsonSchema({"const": 1, "type": "integer"})]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NumberRecord(_Record):
    """A number that a verdict rests on, with its 95 % interval and what is claimed of it."""

    name: str
    value: Finite = Field(description="null where it is infinite")
    low: Finite = Field(description="lower end of the interval; null where it has none")
    high: Finite = Field(description="upper end of the interval; null where it has none")
    p_value: Finite = Field(
        description="two-sided, before adjusting for several: against equality, or against the "
        "nearest number that is claimed; null where there is none"
    )
    at_least: Finite = Field(description="claimed of it; null where the range is open below")
    at_most: Finite = Field(description="claimed of it; null where the range is open above")


class ClaimRecord(_Record):
    """A claim and its verdict."""

    id: str = Field(description="the entry and the claim's place in it, from 1")
    entry: str
    paper: str = Field(description='the folder of the paper, or "ours"')
    source: str = Field(description="where it is claimed")
    origin: Origin = Field(description="whose claim it is")
    setup: Setup = Field(
        description="whose set-up it is judged on: the paper's; any, of a statement about every "
        "set-up; a replica of the paper's; or ours"
    )
    same_as: list[str] = Field(
        description="the ids of claims in which other entries judge the same statement; the one "
        "with most replications counts"
    )
    decided_by: str = Field(
        description="the id of the claim of this file whose verdict decides the statement: this "
        "one, or that of `same_as` with the most replications; counts of statements include the "
        "claims that are decided by themselves"
    )
    statement: str = Field(description="in the words of the source where it is quoted")
    reading: str = Field(description="how the words were translated into numbers")
    about: str = Field(description="the problems and the policy that it is about")
    kind: str = Field(description='how it is judged, such as "ordering" or "estimate: ratio"')
    metric: str
    verdict: Status
    found: str = Field(description="the explanation of the verdict")
    numbers: list[NumberRecord]
    replications: int
    replications_needed: int | None = Field(
        description="estimate of how many would decide it; null where it is decided, "
        "or cannot be estimated"
    )
    seed: int


class ClaimsFile(_Record):
    """The claims of some reproductions, with their verdicts."""

    format: _Format
    version: _Version
    keyhole: str = Field(description="the version that judged them")
    scale: str
    claims: list[ClaimRecord]


def write_claims(path: Path, parts: Sequence[JudgedEntry]) -> None:
    """Write the claims of entries, all run at one scale, with their verdicts."""
    # A file has one scale: verdicts at different scales are not to be compared.
    scales = {part.scale for part in parts}
    if len(scales) != 1:
        raise ValueError(f"parts must be of one scale, got {sorted(scales)}")
    deciding = deciding_verdicts([verdict for part in parts for verdict in part.verdicts])
    claims = [
        _claim_record(part, verdict, deciding[verdict.id].id)
        for part in parts
        for verdict in part.verdicts
    ]
    content = ClaimsFile(
        format="keyhole-claims",
        version=1,
        keyhole=version("keyhole"),
        scale=scales.pop(),
        claims=claims,
    )
    write_atomically(path, (content.model_dump_json(indent=2) + "\n").encode())


def schema() -> str:
    """Return the JSON Schema of the file."""
    table = ClaimsFile.model_json_schema()
    table["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(table, indent=2) + "\n"


def _claim_record(part: JudgedEntry, verdict: Verdict, decided_by: str) -> ClaimRecord:
    run = next(iter(part.runs.values()))
    return ClaimRecord(
        id=verdict.id,
        entry=part.entry.name,
        paper=part.entry.paper or _OURS,
        source=verdict.source,
        origin=verdict.origin,
        setup=verdict.setup,
        same_as=list(verdict.same_as),
        decided_by=decided_by,
        statement=verdict.text,
        reading=verdict.reading,
        about=verdict.about,
        kind=verdict.kind,
        metric=verdict.metric,
        verdict=verdict.status,
        found=verdict.detail,
        numbers=[_number_record(number) for number in verdict.numbers],
        replications=run.curves.replications,
        replications_needed=verdict.needed,
        seed=run.provenance["seed"],
    )


def _number_record(number: Number) -> NumberRecord:
    return NumberRecord.model_validate(asdict(number))


if __name__ == "__main__":
    sys.stdout.write(schema())
