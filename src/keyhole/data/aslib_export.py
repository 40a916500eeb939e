"""Export of runs as a scenario of the algorithm selection library, which `load_aslib` reads."""

import math
from collections import Counter
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from keyhole.data.aslib_files import DESCRIPTION, LIMIT, RUNS
from keyhole.files import write_atomically
from keyhole.validate import check_choice, check_line

_STATUSES: Final = ("ok", "timeout", "memout", "crash")


class RunToExport(NamedTuple):
    """Run to be written to a scenario.

    Attributes
    ----------
    instance, solver : str
        Names of the instance and the solver.
    seconds : float
        Run time, or the censoring time of a run that was stopped.
    status : {"ok", "timeout", "memout", "crash"}
        Result of the run.
    limit : float
        Limit of the run in seconds.
    quality : float
        Quality of the answer, from 0 to 1; NaN if unknown.
    """

    instance: str
    solver: str
    seconds: float
    status: str
    limit: float
    quality: float = math.nan


def write_aslib(
    folder: str | PathLike[str], name: str, cutoff: float, runs: Iterable[RunToExport]
) -> Path:
    """Write runs as a scenario: ``description.txt`` and ``algorithm_runs.arff``; return the folder.

    No value is imputed: a run that was stopped keeps its own limit, in a column ``limit``, and
    runs that were not made are missing. Runs of a solver on the same instance are repetitions.

    Parameters
    ----------
    folder : str or path
        Folder of the scenario, created if it does not exist.
    name : str
        Name of the scenario.
    cutoff : float
        The largest limit, in seconds.
    runs : iterable of RunToExport
        The runs.
    """
    where = Path(folder)
    rows, times = [], Counter[tuple[str, str]]()
    # Read twice: whether there is a column of qualities depends on all runs.
    made = list(runs)
    graded = any(not math.isnan(run.quality) for run in made)
    for run in made:
        # ASlib knows a run by instance, repetition and solver; a second one without a number of its
        # own would be refused as a duplicate.
        times[run.instance, run.solver] += 1
        fields = [
            _quoted(run.instance), str(times[run.instance, run.solver]), _quoted(run.solver),
            repr(run.seconds), check_choice("status", run.status, _STATUSES), repr(run.limit),
        ]  # fmt: skip
        rows.append(",".join([*fields, *([_number(run.quality)] if graded else [])]))
    where.mkdir(parents=True, exist_ok=True)
    write_atomically(where / DESCRIPTION, _description(name, cutoff, graded).encode())
    write_atomically(where / RUNS, "\n".join([*_header(name, graded), *rows, ""]).encode())
    return where


def _description(name: str, cutoff: float, graded: bool) -> str:
    measures = {"performance_measures": "runtime", "performance_type": "runtime",
                "maximize": "false"}  # fmt: skip
    further = {"performance_measures": "quality", "performance_type": "solution_quality",
               "maximize": "true"}  # fmt: skip
    lines = [f"scenario_id: {_quoted(name)}", f"algorithm_cutoff_time: {cutoff!r}"]
    for entry, value in measures.items():
        lines += [f"{entry}:", f"  - {value}", *([f"  - {further[entry]}"] if graded else [])]
    return "\n".join([*lines, ""])


def _header(name: str, graded: bool) -> list[str]:
    columns = ["instance_id STRING", "repetition NUMERIC", "algorithm STRING", "runtime NUMERIC",
               f"runstatus {{{', '.join(_STATUSES)}}}", f"{LIMIT} NUMERIC"]  # fmt: skip
    columns += ["quality NUMERIC"] if graded else []
    return [
        f"@RELATION {_quoted(name)}",
        "",
        *(f"@ATTRIBUTE {one}" for one in columns),
        "",
        "@DATA",
    ]


def _quoted(name: str) -> str:
    return "'" + check_line("name", name).replace("'", "''") + "'"


def _number(value: float) -> str:
    # The reader ignores the quality of a run that did not complete, but the column needs a number.
    return "0" if math.isnan(value) else repr(value)
