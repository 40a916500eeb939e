"""The work of experiments, as the estimate of the time left needs it: rounds, speeds, and code."""

import math
import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Final

from keyhole.experiment.compile_jobs import find_file, plan_jobs
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.spec import Spec
from keyhole.play.plan import Plan
from keyhole.play.total_progress import WorkItem

_TIMES: Final = "round_times.toml"  # nanoseconds of a round, of each policy of Keyhole
_UNKNOWN: Final = 70.0  # of a policy of a user's own


def list_work(specs: Mapping[str, Spec], cache: ResultCache, threads: int | None) -> list[WorkItem]:
    """Return the work of specs without a sweep, by the name of their place."""
    times = tomllib.loads((resources.files("keyhole.experiment") / _TIMES).read_text("utf-8"))
    share = 1e-9 / min(threads or math.inf, os.cpu_count() or 1)
    return [
        WorkItem(
            place,
            label,
            kind := _speed_key(spec.plan, label),
            rounds := cache.rounds(spec.name, label),
            rounds * share * times.get(kind[1], {}).get(kind[2], _UNKNOWN),
            find_file(plan_jobs(spec.plan, label)[0]),
        )
        for place, spec in specs.items()
        for label in spec.plan.policies
    ]


def _speed_key(plan: Plan, label: str) -> tuple[str, ...]:
    """Return the key of work that takes about as long per round."""
    work = plan.workers.get(label)
    workers = "none" if work is None else f"{work.number} workers"
    # From coarse to fine: an unknown kind takes the speed of those that share the longest prefix.
    return workers, plan.problem.setting.name, type(plan.policies[label]).__name__
