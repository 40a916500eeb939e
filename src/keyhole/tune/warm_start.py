"""Warm start of a tune of a parameter space: runs of an earlier tune, with which it begins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from keyhole.files import read_saved_file, write_atomically
from keyhole.spec_values.error_messages import error_message
from keyhole.tune.run_history import RunOutcome, Trial
from keyhole.tune.saved_tune import SavedRuns
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord
from keyhole.validate import Range, check_number

_FILE: Final = "warm_start.json"


@dataclass(frozen=True)
class WarmStart:
    """Runs of an earlier tune, and the weight of each relative to a run of this tune."""

    weight: float
    runs: tuple[TrialRecord, ...]

    def as_trials(self, positions: Mapping[str, int]) -> list[tuple[Trial, RunOutcome, float]]:
        """Return the trials of the runs; `positions` has the numbers of this tune's instances."""
        # Instances of the earlier tune that this tune lacks are numbered after this tune's own.
        names = dict.fromkeys([*positions, *(run.instance for run in self.runs)])
        numbers = {name: number for number, name in enumerate(names)}
        return [
            (run.as_trial(numbers), run.outcome, run.seconds)
            for run in self.runs
            if run.outcome != "expired"
        ]


_FORMAT: Final = TypeAdapter(WarmStart)


def read_warm_start(folder: Path) -> WarmStart | None:
    """Return the warm start of a tune; None if it has none."""
    path = folder / _FILE
    if not path.exists():
        return None
    try:
        return _FORMAT.validate_json(read_saved_file(path))
    except ValidationError as error:
        raise ValueError(f"{path} is damaged: {error_message(error).strip()}") from None


def check_warm_start(folder: Path, weight: float) -> None:
    """Refuse a warm start of a tune that has begun without one, or with another weight."""
    saved = read_warm_start(folder)
    if saved is None or saved.weight != weight:
        start_text = f"a weight of {saved.weight:g}" if saved else "no warm start"
        raise ValueError(
            f"{folder} has begun with {start_text}: warm_start and weight must be left out, or be "
            f"the same as then; got a weight of {weight:g}"
        )


def write_warm_start(folder: Path, spec: Spec, earlier: SavedRuns, weight: float) -> None:
    """Write the runs of an earlier tune whose configurations belong to the space of this tune.

    The runs are copied, so that later changes of the earlier tune do not change this tune.
    """
    if spec.search is None:
        raise ValueError("warm_start needs a spec with parameters, got a list of commands")
    weight = check_number("weight", weight, Range(gt=0, le=1))
    runs = []
    for run in earlier.runs:
        with suppress(TypeError, ValueError):
            spec.search.space.check(run.parameters or {})
            runs.append(run)
    if not runs:
        raise ValueError(
            f"warm_start must have runs of configurations of this space, got {earlier.folder}"
        )
    data = asdict(WarmStart(weight, tuple(runs)))
    write_atomically(folder / _FILE, json.dumps(data).encode())
