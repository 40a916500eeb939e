"""Warm start of a tune of a parameter space: runs of an earlier tune, with which it begins."""

import json
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field, TypeAdapter

from keyhole.files import read_results_file, write_atomically
from keyhole.spec_values.error_messages import check_entries
from keyhole.text_formatting import count_text
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import RUNS_FILE, TrialRecord, describe_error
from keyhole.validation import Range, check_number, short_repr

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedRuns

_FILE: Final = "warm_start.json"
_OUTCOME_ENTRIES: Final = ("clock", "success.codes", "success.pattern")
"""Entries that say what times and successes mean; a space fixes the other entries of success."""


@dataclass(frozen=True)
class WarmStart:
    """Runs of an earlier tune, with which a tune of a parameter space begins.

    Attributes
    ----------
    folder : str
        The folder of the earlier tune, as it was given.
    weight : float
        How much one of these runs counts, if a run of this tune counts 1; at most 1.
    earlier_count : int
        How many runs the earlier tune had.
    runs : list of TrialRecord
        The earlier runs whose configurations belong to the space of this tune.
    """

    folder: str
    weight: Annotated[float, Field(gt=0, le=1)]
    earlier_count: int
    runs: list[TrialRecord]


_FORMAT: Final = TypeAdapter(WarmStart)


def read_warm_start(folder: Path) -> WarmStart | None:
    """Return the warm start of a tune; None if it has none."""
    path = folder / _FILE
    if not path.exists():
        return None
    try:
        return _FORMAT.validate_python(json.loads(read_results_file(path)))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {describe_error(error)}") from None


def read_same_start(folder: Path, earlier_folder: Path, weight: float) -> WarmStart | None:
    """Return the warm start of a tune that has begun; None if it has not begun.

    A tune that has begun with another earlier folder or weight is refused. Only the name of the
    earlier folder is compared: its runs may have changed, or be gone.
    """
    start = read_warm_start(folder)
    log = folder / RUNS_FILE
    has_begun = start is not None or (log.exists() and log.stat().st_size > 0)
    saved_options = start and (start.folder, start.weight)
    options = (str(earlier_folder), weight)
    if has_begun and saved_options != options:
        raise ValueError(
            f"{folder} has begun with {saved_options or 'no warm start'}: warm_start and weight "
            f"must be left out, or be the same as then, got {options}"
        )
    return start


def make_warm_start(spec: Spec, earlier_tune: "SavedRuns", weight: float) -> WarmStart:
    """Return the runs of an earlier tune whose configurations belong to the space of a new tune.

    The runs get the default of each parameter that the earlier tune lacks, where it is active.
    """
    if spec.search is None or earlier_tune.spec.search is None:
        raise ValueError("warm_start needs a spec with parameters, got a list of commands")
    weight = check_number("weight", weight, Range(gt=0, le=1))
    space = spec.search.space
    earlier_names = earlier_tune.spec.search.space.names
    check_entries("warm_start: parameters", earlier_names, space.names)
    for entry in _OUTCOME_ENTRIES:
        old, new = map(attrgetter(entry), (earlier_tune.spec, spec))
        # The order of codes does not matter.
        if old != new and not (entry == "success.codes" and {*old} == {*new}):
            raise ValueError(
                f"warm_start must have the {entry} of this spec, or its times or successes mean "
                f"something else: {entry} was {short_repr(old)} in {earlier_tune.folder}, is now "
                f"{short_repr(new)}; change the spec, or leave warm_start out"
            )
    warm_runs = []
    for run in earlier_tune.runs:
        with suppress(TypeError, ValueError):
            values = space.complete(run.parameters or {}, set(space.names) - {*earlier_names})
            space.check(values)
            warm_runs.append(replace(run, parameters=values))
    run_count = len(earlier_tune.runs)
    if not warm_runs:
        raise ValueError(
            "warm_start must have runs of configurations of this space, "
            f"got none in {count_text(run_count, 'run')} of {earlier_tune.folder}"
        )
    if len(warm_runs) < run_count:
        text = f"{len(warm_runs):,} of {count_text(run_count, 'earlier run')} fit this space"
        warnings.warn(text, stacklevel=3)
    return WarmStart(str(earlier_tune.folder), weight, run_count, warm_runs)


def write_warm_start(folder: Path, start: WarmStart) -> None:
    """Write a warm start, so that later changes of the earlier tune do not change this tune."""
    data = _FORMAT.dump_python(start, warnings=False)
    write_atomically(folder / _FILE, json.dumps(data, allow_nan=False).encode())
