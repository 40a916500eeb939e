"""The work of experiments, as the estimate of the time left needs it: rounds and seconds."""

import math
import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from keyhole.experiment.compile_jobs import find_file, plan_jobs
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.spec import Spec
from keyhole.play.progress import WorkItem

_TIMES: Final = "round_times.toml"  # nanoseconds of a round, of each policy of Keyhole
_UNKNOWN: Final = 70.0  # of a policy of a user's own
# To compile a policy, on the machine on which the times of rounds were measured.
_SECONDS_TO_COMPILE: Final = 2.7


def list_work(specs: Mapping[str, Spec], cache: ResultCache, threads: int | None) -> list[WorkItem]:
    """Return the work of specs without a sweep, by the name of their place."""
    times = tomllib.loads((resources.files("keyhole.experiment") / _TIMES).read_text("utf-8"))
    share = 1e-9 / min(threads or math.inf, os.cpu_count() or 1)
    counted: set[Path] = set()
    work = []
    for place, spec in specs.items():
        for label, policy in spec.plan.policies.items():
            setting = spec.plan.problem.setting.name
            rounds = cache.rounds(spec.name, label)
            nanoseconds = times.get(setting, {}).get(type(policy).__name__, _UNKNOWN)
            seconds = rounds * share * nanoseconds
            code = find_file(plan_jobs(spec.plan, label)[0])
            if code is not None and code not in counted and not code.exists():
                counted.add(code)
                seconds += _SECONDS_TO_COMPILE
            work.append(WorkItem(place, label, rounds, seconds))
    return work
