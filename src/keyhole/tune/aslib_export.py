"""Export of a tune's runs as a scenario of ASlib, the library of data on algorithm selection."""

import math
from pathlib import Path
from typing import Final

from keyhole.data import write_aslib
from keyhole.data.aslib_files import RunToExport
from keyhole.tune.folder import SPEC
from keyhole.tune.saved_tune import SavedTune
from keyhole.tune.trial_log import TrialRecord
from keyhole.validate import escape_controls

_STATUSES: Final = {
    "ok": "ok",
    "out of time": "timeout",
    "out of memory": "memout",
    "failed": "crash",
}


def write_scenario(tune: SavedTune, folder: str | Path) -> Path:
    """Write runs as a scenario that `keyhole.data.load_aslib` reads; return its folder.

    Rewards that were read from outputs become the solution quality, scaled to [0, 1].
    """
    if not tune.runs:
        raise ValueError(f"{tune.folder}: nothing has been run yet")
    if (Path(folder) / SPEC).exists():
        raise ValueError(
            f"the scenario must be written to a folder of its own, got the tune folder {folder}"
        )
    exported = (_export_run(tune, run) for run in tune.runs)
    return write_aslib(folder, tune.spec.name, tune.spec.limits[-1], exported)


def _export_run(tune: SavedTune, run: TrialRecord) -> RunToExport:
    success, quality = tune.spec.success, math.nan
    if success.number and run.reward is not None:
        low, high = success.scale
        quality = (run.reward - low) / (high - low)
    used = run.limit if run.outcome == "out of time" else min(run.seconds, run.limit)
    name = escape_controls(run.instance)  # that of a file need not be UTF-8
    return RunToExport(name, run.arm, used, _STATUSES[run.outcome], run.limit, quality)
