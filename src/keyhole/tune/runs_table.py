"""Table of all runs on a page, which can be filtered and sorted; rows are made as they are shown.

The rows are JSON, compressed by gzip and encoded by base64: a page of thousands of runs would be
longer than half a megabyte otherwise.
"""

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from keyhole.tune import folder
from keyhole.tune.saved_tune import SavedTune
from keyhole.validate import escape_controls

_HEAD: Final = ("run", "arm", "limit (s)", "instance", "outcome", "time (s)", "reward", "CPU (s)",
                "memory (MiB)", "why", "began (UTC)")  # fmt: skip
_MIB: Final = 2**20
_MOST_BYTES: Final = 250_000


@dataclass(frozen=True)
class RunsTable:
    """Block with a table of runs, which can be filtered and sorted."""

    caption: str
    rows: str  # JSON, compressed
    file: str
    head: tuple[str, ...] = _HEAD
    template: ClassVar[str] = "tune/templates/runs.html.j2"


def runs_table(tune: SavedTune) -> RunsTable:
    """Return the table of all runs, or of the last runs if all would make the page too long."""
    runs = sorted([*tune.runs, *tune.expired], key=lambda run: (run.round, run.at))
    rows = [
        [
            run.round, run.arm, run.limit, escape_controls(run.instance), run.outcome,
            round(run.seconds, 4),
            run.reward, round(run.cpu, 3), round(run.memory / _MIB, 1),
            " ".join(f"{run.reason} {run.output}".split()),
            datetime.fromtimestamp(run.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        ]
        for run in runs
    ]  # fmt: skip
    caption, data = "Click on a heading to sort.", _compress(rows)
    # Fewer rows until it fits: how far they can be compressed is known only afterwards.
    while len(data) > _MOST_BYTES:
        rows = rows[len(rows) // 4 + 1 :]
        data = _compress(rows)
    if len(rows) < len(runs):
        caption = f"The last {len(rows):,} of {len(runs):,} runs; {folder.RUNS} has all. {caption}"
    return RunsTable(caption, data, folder.RUNS)


def _compress(rows: Sequence[Sequence[Any]]) -> str:
    # Without the time in the header: equal results make equal pages.
    shown = [[escape_controls(v) if isinstance(v, str) else v for v in row] for row in rows]
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()
