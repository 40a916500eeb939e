"""The runs of a tune for other programs."""

import math
from pathlib import Path
from typing import Final

from keyhole.data import write_aslib
from keyhole.data.aslib_export import ExportedRun
from keyhole.tune.folder import SPEC
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.tune import Tune

_STATUSES: Final = {
    "ok": "ok",
    "out of time": "timeout",
    "out of memory": "memout",
    "failed": "crash",
}


def write_scenario(tune: Tune, folder: str | Path) -> Path:
    """Write the runs as a scenario that `keyhole.data.load_aslib` reads; return its folder.

    Rewards that were read from the output are its quality, brought to [0, 1].
    """
    if not tune.runs:
        raise ValueError(f"{tune.folder}: nothing has been run yet")
    if (Path(folder) / SPEC).exists():
        raise ValueError(
            f"the scenario must be in a folder of its own, got that of a tune, {folder}"
        )
    made = (_made(tune, run) for run in tune.runs)
    return write_aslib(folder, tune.spec.name, tune.spec.limits[-1], made)


def _made(tune: Tune, run: TrialRecord) -> ExportedRun:
    success, quality = tune.spec.success, math.nan
    if success.number and run.reward is not None:
        low, high = success.scale
        quality = (run.reward - low) / (high - low)
    used = run.limit if run.outcome == "out of time" else min(run.seconds, run.limit)
    return ExportedRun(run.instance, run.arm, used, _STATUSES[run.outcome], run.limit, quality)
