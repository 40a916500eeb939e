"""Reader and writer of the scenario files of the algorithm selection library."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from keyhole.data.csv_rows import read_text, shorten_message
from keyhole.files import write_atomically
from keyhole.validation import check_choice, check_line

RUNS_FILE: Final = "algorithm_runs.arff"
_DESCRIPTION_FILE: Final = "description.txt"
# Names of the column of run times, tried after the names in the description.
_TIME_COLUMNS: Final = ("runtime", "time")
_STATUSES: Final = ("ok", "timeout", "memout", "not_applicable", "crash", "other")
_WRITTEN: Final = ("ok", "timeout", "memout", "crash")  # statuses that Keyhole writes
# Keyhole's own column: each run's limit. In a file that has this column, runs may be missing.
_LIMIT: Final = "limit"
# A quotation mark within a quoted field has a backslash before it, or is doubled, as Keyhole writes
# it. A backslash before the closing mark escapes nothing: the name of a folder may end with it.
_FIELD_PATTERN: Final = re.compile(
    r"""\s*(?:(["'])((?:\\\1(?!\s*,)|\1\1|(?!\1).)*)\1\s*|((?:[^"',][^,]*)?)),"""
)
# A line up to its comment. A comment begins with a # outside quotation marks, at the start of the
# line or after a space.
_LINE_TO_COMMENT: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|\S#|[^#])*""")


class ScenarioRun(NamedTuple):
    """Run of a solver on an instance."""

    instance_and_repetition: tuple[str, str]
    solver: str
    seconds: float  # run time; infinite if the run did not complete
    quality: float  # quality of the answer, from 0 to 1; NaN if unknown
    limit: float = math.inf  # the run's own limit in seconds; infinite if the file has no limits


def read_scenario_folder(folder: Path) -> tuple[str, float, Iterator[ScenarioRun]]:
    """Read name, cut-off in seconds and runs of a scenario in ASlib's own format."""
    path = folder / _DESCRIPTION_FILE
    entries = _read_description(path)
    cutoff_text = " ".join(entries["algorithm_cutoff_time"])
    cutoff = _parse_seconds(path, "algorithm_cutoff_time", cutoff_text)
    name = " ".join(entries["scenario_id"]) or folder.name
    return name, cutoff, _read_runs(folder / RUNS_FILE, cutoff, _list_measures(entries))


def _read_description(path: Path) -> defaultdict[str, list[str]]:
    """Return the values of each entry of a description by the entry's name."""
    entries = defaultdict[str, list[str]](list)
    entry_name = ""
    # The values stand beside the name, with commas between, or below it, each after a dash.
    for text in read_text(path).splitlines():
        line = _LINE_TO_COMMENT.findall(text)[0]
        if match := re.match(r"([a-z_]+)\s*:(.*)$", line):
            entry_name = match.group(1)
            items = match.group(2).strip().strip("[]").split(",")
            entries[entry_name] = [value for value in map(_strip_quotes, items) if value]
        elif entry_name and (match := re.match(r"\s*-\s+(.*)$", line)):
            entries[entry_name].append(_strip_quotes(match.group(1)))
        elif line.strip():
            entry_name = ""
    return entries


def _strip_quotes(text: str) -> str:
    return text.strip().strip("'\"")


def _list_measures(entries: Mapping[str, list[str]]) -> list[tuple[str, str, bool]]:
    """Return name and type of each performance measure, and whether more is better."""
    columns = (entries[name] for name in ("performance_measures", "performance_type", "maximize"))
    return [
        (name.lower(), measure_type.lower(), maximize.lower() == "true")
        for name, measure_type, maximize in zip(*columns, strict=False)
    ]


def _parse_seconds(path: Path, name: str, text: str) -> float:
    if not 0 < (value := _to_float(text)) < math.inf:
        raise ValueError(f"{path}: {name} must be a number of seconds above 0, got {text!r}")
    return value


def _to_float(text: str) -> float:
    """Return the number in a text; NaN if it has none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _read_runs(
    path: Path, cutoff: float, measures: Sequence[tuple[str, str, bool]]
) -> Iterator[ScenarioRun]:
    """Yield the runs in an ARFF file.

    `measures`, from `_list_measures`, tell which columns have run times and qualities.
    """
    lines = read_text(path).splitlines()
    line_tokens = [line.split(maxsplit=2) for line in lines]
    data_line = next(
        (i for i, tokens in enumerate(line_tokens) if tokens and tokens[0].lower() == "@data"), None
    )
    if data_line is None:
        raise ValueError(f"{path}: @DATA must follow the attributes, got the end of the file")
    columns = [
        _strip_quotes(tokens[1]).lower()
        for tokens in line_tokens[:data_line]
        if len(tokens) > 1 and tokens[0].lower() == "@attribute"
    ]
    time_columns = [name for name, measure_type, _ in measures if measure_type == "runtime"]
    time_columns += _TIME_COLUMNS
    time_column = next((name for name in time_columns if name in columns), time_columns[0])
    positions = []
    for name in ("instance_id", "repetition", "algorithm", "runstatus", time_column):
        if name not in columns:
            got = shorten_message(str(columns))
            raise ValueError(f"{path}: the attribute {name} must be given, got {got}")
        positions.append(columns.index(name))
    quality_columns = [
        (name, more_is_better)
        for name, measure_type, more_is_better in measures
        if measure_type == "solution_quality" and name in columns
    ]
    for line_number, line in enumerate(lines[data_line + 1 :], data_line + 2):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        location = f"{path}, line {line_number}"
        fields = [field.strip() for field in _split_fields(location, line)]
        if len(fields) != len(columns):
            counts = f"{len(columns)} fields, got {len(fields)}"
            raise ValueError(f"{location}: the run must have {counts}")
        instance, repetition, solver, status, time_text = (fields[k] for k in positions)
        seconds = _parse_runtime(location, time_text, status, cutoff)
        quality = math.nan
        if quality_columns and seconds < math.inf:
            name, more_is_better = quality_columns[0]
            quality_text = fields[columns.index(name)]
            quality = _parse_quality(location, name, quality_text, more_is_better)
        limit = math.inf
        if _LIMIT in columns:
            limit = _parse_seconds(path, _LIMIT, fields[columns.index(_LIMIT)])
        yield ScenarioRun((instance, repetition), solver, seconds, quality, limit)


def _split_fields(location: str, line: str) -> list[str]:
    """Return the fields of a run, plain or in quotation marks of either kind."""
    fields = []
    matched_length = 0
    for match in _FIELD_PATTERN.finditer(f"{line},"):
        mark, quoted, plain = match.groups(default="")
        fields.append(quoted.replace(f"\\{mark}", mark).replace(mark * 2, mark) if mark else plain)
        matched_length += len(match[0])
    if matched_length != len(line) + 1:
        raise ValueError(f"{location}: quotation marks must enclose a whole field, got {line!r}")
    return fields


def _parse_runtime(location: str, text: str, status: str, cutoff: float) -> float:
    """Return the run time in seconds; infinity if the run did not complete before the cut-off."""
    if status.lower() not in _STATUSES:
        allowed = ", ".join(_STATUSES)
        raise ValueError(f"{location}: runstatus must be one of {allowed}, got {status!r}")
    is_ok = status.lower() == "ok"
    # A question mark is ARFF's sign for a missing value.
    if text == "?" and not is_ok:
        return math.inf
    if not 0 <= (value := _to_float(text)) < math.inf:
        raise ValueError(f"{location}: runtime must be seconds, at least 0, got {text!r}")
    return value if is_ok and value < cutoff else math.inf


def _parse_quality(location: str, name: str, text: str, more_is_better: bool) -> float:
    """Return a quality from 0 to 1 (best); NaN for a value on another scale."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{location}: {name} must be a number, got {text!r}") from None
    if not 0 <= value <= 1:
        return math.nan
    return value if more_is_better else 1.0 - value


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
    path = Path(folder)
    rows = []
    repetitions = Counter[tuple[str, str]]()
    # A list, since the runs are read twice: one known quality makes a column of qualities.
    exported_runs = list(runs)
    has_quality = any(not math.isnan(run.quality) for run in exported_runs)
    for run in exported_runs:
        # Instance, repetition and solver identify a run in ASlib. Without a repetition number of
        # its own, a second run of a solver on an instance would be refused as a duplicate.
        repetitions[run.instance, run.solver] += 1
        fields = [
            _quote(run.instance), str(repetitions[run.instance, run.solver]), _quote(run.solver),
            repr(run.seconds), check_choice("status", run.status, _WRITTEN), repr(run.limit),
        ]  # fmt: skip
        # The column is numeric, so an unknown quality is written as 0. The reader ignores the
        # quality of a run that did not complete.
        if has_quality:
            fields.append(repr(float(run.quality)).replace("nan", "0"))
        rows.append(",".join(fields))
    path.mkdir(parents=True, exist_ok=True)
    lines = [*_make_header(name, has_quality), *rows, ""]
    write_atomically(path / _DESCRIPTION_FILE, _describe(name, cutoff, has_quality).encode())
    write_atomically(path / RUNS_FILE, "\n".join(lines).encode())
    return path


def _describe(name: str, cutoff: float, has_quality: bool) -> str:
    measures = {
        "performance_measures": ("runtime", "quality"),
        "performance_type": ("runtime", "solution_quality"),
        "maximize": ("false", "true"),
    }
    lines = [f"scenario_id: {_quote(name)}", f"algorithm_cutoff_time: {cutoff!r}"]
    for entry, values in measures.items():
        lines += [f"{entry}:", *(f"  - {value}" for value in values[: 1 + has_quality])]
    return "\n".join([*lines, ""])


def _make_header(name: str, has_quality: bool) -> list[str]:
    columns = ["instance_id STRING", "repetition NUMERIC", "algorithm STRING", "runtime NUMERIC",
               f"runstatus {{{', '.join(_WRITTEN)}}}", f"{_LIMIT} NUMERIC"]  # fmt: skip
    if has_quality:
        columns.append("quality NUMERIC")
    attributes = [f"@ATTRIBUTE {column}" for column in columns]
    return [f"@RELATION {_quote(name)}", "", *attributes, "", "@DATA"]


def _quote(name: str) -> str:
    return "'" + check_line("name", name).replace("'", "''") + "'"
