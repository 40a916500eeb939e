"""The file ``claims.json``: all claims (statements of papers) and their verdicts, for programs.

``docs/claims.schema.json`` is its JSON Schema, which says what each field is.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from keyhole.files import write_atomically
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import Number, Verdict, deciding_verdicts


def write_claims(path: Path, parts: Sequence[JudgedEntry]) -> None:
    """Write the claims of entries, all run at one scale, with their verdicts."""
    # A file has one scale: verdicts at different scales are not to be compared.
    scales = {part.scale for part in parts}
    if len(scales) != 1:
        raise ValueError(f"parts must be of one scale, got {sorted(scales)}")
    deciding = deciding_verdicts([verdict for part in parts for verdict in part.verdicts])
    content = {
        "format": "keyhole-claims",
        "version": 1,
        "keyhole": version("keyhole"),
        "scale": scales.pop(),
        "claims": [
            _claim_record(part, verdict, deciding[verdict.id].id)
            for part in parts
            for verdict in part.verdicts
        ],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())


def _claim_record(part: JudgedEntry, verdict: Verdict, decided_by: str) -> dict[str, Any]:
    run = next(iter(part.runs.values()))
    return {
        "id": verdict.id,
        "entry": part.entry.name,
        "paper": part.entry.paper or "ours",
        "source": verdict.source,
        "origin": verdict.origin,
        "setup": verdict.setup,
        "same_as": verdict.same_as,
        "decided_by": decided_by,
        "statement": verdict.text,
        "reading": verdict.reading,
        "about": verdict.about,
        "kind": verdict.kind,
        "metric": verdict.metric,
        "verdict": verdict.status,
        "found": verdict.detail,
        "numbers": [_number_record(number) for number in verdict.numbers],
        "replications": run.curves.replications,
        "replications_needed": verdict.needed,
        "seed": run.provenance["seed"],
    }


def _number_record(number: Number) -> dict[str, Any]:
    """Return the fields of a number; infinite ones, and those that are not numbers, are null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(number).items()
    }
