"""Warm start of a tune of a parameter space: runs of an earlier tune, with which it begins."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from keyhole.files import read_saved_file, write_atomically
from keyhole.spec_values.error_messages import check_entries
from keyhole.text_formatting import count_text
from keyhole.tune.saved_tune import SavedRuns
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord, encode_record, read_records
from keyhole.validate import Range, check_number

_FILE: Final = "warm_start.jsonl"


def read_warm_start(folder: Path, spec: Spec) -> list[TrialRecord]:
    """Return the runs of the warm start of a tune; none if it has no warm start."""
    path = folder / _FILE
    # An incomplete last line is not that of a killed process, since the file is written at once.
    if path.exists() and not read_saved_file(path).endswith(b"\n"):
        raise ValueError(f"{path} is damaged: its last line is incomplete")
    return list(read_records(path, spec.names))


def number_instances(
    positions: Mapping[str, int], warm_runs: Iterable[TrialRecord]
) -> dict[str, int]:
    """Return the number of each instance of a tune or of its warm start, by name.

    The numbers of the tune's instances are their `positions`. Instances that only the warm start
    has are numbered after those of the tune.
    """
    names = dict.fromkeys([*positions, *(run.instance for run in warm_runs)])
    return {name: number for number, name in enumerate(names)}


def check_warm_start(folder: Path, spec: Spec, weight: float) -> None:
    """Refuse a warm start of a tune that has begun without one, or with another weight."""
    warm_runs = read_warm_start(folder, spec)
    if not warm_runs or warm_runs[0].weight != weight:
        start_text = f"a weight of {warm_runs[0].weight:g}" if warm_runs else "no warm start"
        raise ValueError(
            f"{folder} has begun with {start_text}: warm_start and weight must be left out, or be "
            f"the same as then; got a weight of {weight:g}"
        )


def write_warm_start(folder: Path, spec: Spec, earlier: SavedRuns, weight: float) -> None:
    """Write the runs of an earlier tune whose configurations belong to the space of this tune.

    A parameter that the earlier tune lacks has its default in them. The runs are copied, so that
    later changes of the earlier tune do not change this tune.
    """
    if spec.search is None or earlier.spec.search is None:
        raise ValueError("warm_start needs a spec with parameters, got a list of commands")
    weight = check_number("weight", weight, Range(gt=0, le=1))
    space = spec.search.space
    earlier_names = earlier.spec.search.space.names
    check_entries("warm_start: parameters", earlier_names, space.names)
    warm_runs = []
    for run in earlier.runs:
        with suppress(TypeError, ValueError):
            values = space.add_defaults(run.parameters or {}, set(space.names) - {*earlier_names})
            space.check(values)
            warm_runs.append(replace(run, arm=spec.names[0], parameters=values, weight=weight))
    run_count = len(earlier.runs)
    if not warm_runs:
        raise ValueError(
            "warm_start must have runs of configurations of this space, "
            f"got none in {count_text(run_count, 'run')} of {earlier.folder}"
        )
    if len(warm_runs) < run_count:
        text = f"{len(warm_runs):,} of {count_text(run_count, 'earlier run')} fit this space"
        warnings.warn(text, stacklevel=3)
    write_atomically(folder / _FILE, b"".join(map(encode_record, warm_runs)))
