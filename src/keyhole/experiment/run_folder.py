"""The run folder: its files are written atomically, and a finished run can be read from it.

A run folder has ``run.json`` (what was run, by what, and the checksums of spec, results and
itself), ``spec.json`` and ``spec.toml`` (the spec, twice), ``blocks/`` (the histories simulated
so far, while the run goes on), ``values.parquet`` (every metric in every history),
``curves.parquet`` (means and standard errors), the figures and ``report.html``.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keyhole import files
from keyhole.contract.state_arrays import FloatArray
from keyhole.experiment import setting_registry
from keyhole.experiment.run_summary import LastMeans, leaders_cells, summarize_run
from keyhole.experiment.spec import Spec
from keyhole.experiment.sweep_parquet import read_point
from keyhole.experiment.sweep_points import iterate_points, problem_table_at
from keyhole.metric import ADDED_METRICS, Metric
from keyhole.results.curves import Curves
from keyhole.results.estimate import estimate_from_summary
from keyhole.text_formatting import count_text
from keyhole.validation import escape_html, short_repr

FORMAT: Final = "keyhole-run"
VERSION: Final = 3
VALUES_FILE: Final = "values.parquet"
CURVES_FILE: Final = "curves.parquet"
RESULT_FILES: Final = (VALUES_FILE, CURVES_FILE)
SPEC_FILE: Final = "spec.json"
_RUN_FILE: Final = "run.json"

# The entries that run.json has for every run, and their types. Entries that it has for some runs
# only, such as those of sweeps, are checked where they are used.
_RUN_FILE_ENTRIES: Final[dict[str, type]] = {
    "name": str,
    "digest": str,
    "seed": int,
    "command": str,
    "versions": dict,
    "python": str,
    "system": str,
    "started": str,
    "checksums": dict,
}


@dataclass(frozen=True)
class PointResult:
    """The results at one point of a run, and the values of the varied entries."""

    values: dict[str, Any]
    read: Callable[[], Curves] = field(repr=False)

    @property
    def curves(self) -> Curves:
        """The results; those of a sweep are read at each access, since memory may not hold all."""
        return self.read()


@dataclass(frozen=True, repr=False)
class RunFolder:
    """A finished run: its folder, its spec as a table, its provenance and results.

    The provenance is the content of ``run.json``: versions, seed, command and the like. `points`
    has the results at each point of the spec, in its order; a run without a sweep has one point.
    """

    folder: Path
    spec: dict[str, Any]
    provenance: dict[str, Any]
    points: tuple[PointResult, ...]

    @property
    def curves(self) -> Curves:
        """The results of a run without a sweep."""
        if "sweep" in self.spec:
            raise ValueError(
                f"{self.folder} holds a run with [sweep], which has curves at each of its "
                f"{len(self.points)} points: keyhole.experiment.load_run_folder(folder).points"
            )
        return self.points[0].curves

    def __repr__(self) -> str:
        """Return the name, and the numbers of points, policies, replications and rounds."""
        points = f"{len(self.points)} points of " if "sweep" in self.spec else ""
        return (
            f"Run({str(self.folder)!r}: {self.spec['name']}, {points}"
            f"{count_text(len(self.spec['policy']), 'policy')}, "
            f"{count_text(self.spec['replications'], 'replication')} of "
            f"{count_text(self.spec['horizon'], 'round')})"
        )

    def __str__(self) -> str:
        """Return the best policy and the means as text; for a sweep, the best at each point."""
        from keyhole.pages.notebook_html import text_table

        if "sweep" not in self.spec:
            return f"{self!r}\n{summarize_run(self.curves)}\n{self.curves!r}"
        return f"{self!r}\n{text_table(*self._best_by_point())}"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the best policy, a plot and the means; for a sweep, a table.

        If the files of the run cannot be read, the HTML only names the run and the reason.
        """
        from keyhole.pages.page import Table

        try:
            if "sweep" not in self.spec:
                return (
                    f"<p>{escape_html(summarize_run(self.curves))}</p>\n{self.curves._repr_html_()}"
                )
            title = f"{self!r}: points[i].curves has the results of point i."
            return Table(title, *self._best_by_point()).html()
        except Exception as error:  # a notebook would show its traceback instead of the run
            return escape_html(f"{self!r}: {' '.join(str(error).split())}")

    def _best_by_point(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of a table of the best policy at each point of a sweep."""
        from keyhole.experiment.sweep_summary import point_names

        with _replace_alteration_errors(self.folder):
            return leaders_cells(list(point_names(self.spec["sweep"])), _read_last_means(self))


def _read_last_means(run: RunFolder) -> Iterator[tuple[Metric, LastMeans]]:
    """Yield the first metric and the last means at each point of a sweep.

    Both are read from the file of means, since the file with the values of all replications is
    thousands of times as large.
    """
    with pq.ParquetFile(run.folder / CURVES_FILE) as file:
        for number, point in enumerate(run.points):
            # The curves of a point fit into one row group.
            rows = file.read_row_group(number).to_pylist()
            setting = problem_table_at(run.spec, point.values)["setting"]
            (metric,) = _metrics_of_columns([rows[0]["metric"]], setting)
            last_round = max(row["round"] for row in rows)
            means = {}
            for row in rows:
                if (row["metric"], row["round"]) == (metric.name, last_round):
                    numbers = row["mean"], row["std_error"], row["replications"]
                    is_share = metric.drawn == "share"
                    means[row["policy"]] = estimate_from_summary(*numbers, is_share=is_share)
            yield metric, means


def json_text(content: Mapping[str, Any]) -> str:
    """Return the text of a JSON file with this content."""
    return json.dumps(content, indent=2) + "\n"


def write_provenance(folder: Path, content: Mapping[str, Any]) -> None:
    """Write ``run.json`` with its checksum atomically."""
    text = json_text({**content, "checksum": files.json_checksum(content)})
    files.write_atomically(folder / _RUN_FILE, text.encode())


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return the content of ``run.json``; refuse a file that was altered or has another version."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    try:
        content: dict[str, Any] = json.loads(files.read_results_file(folder / _RUN_FILE))
        saved_format = content["format"], content["version"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise ValueError(f"{folder} is not a run folder: it has no readable run.json") from None
    if saved_format[0] == FORMAT:
        files.refuse_newer_format(folder, saved_format[1], VERSION)
    if saved_format != (FORMAT, VERSION):
        raise ValueError(
            f"{folder} is not a run folder that this version can read: {short_repr(saved_format)}"
        )
    # The checksum covers all entries but itself.
    saved_checksum = content.pop("checksum", None)
    if saved_checksum != files.json_checksum(content):
        raise ValueError(f"{folder / _RUN_FILE} is damaged: its checksum does not match")
    for name, entry_type in _RUN_FILE_ENTRIES.items():
        if not isinstance(content.get(name), entry_type):
            raise ValueError(f"{folder / _RUN_FILE} is damaged: its entry {name} is not valid")
    return content


def is_finished(folder: Path) -> bool:
    """Return whether a folder holds a finished run of any spec."""
    try:
        return isinstance(read_provenance(folder).get("finished"), str)
    except (FileNotFoundError, ValueError):
        return False


def policy_values_to_table(
    label: str, metrics: tuple[str, ...], checkpoints: tuple[int, ...], values: FloatArray
) -> pa.Table:
    """Return the values of a policy, of shape (checkpoints, metrics, replications), as a table.

    The table has the columns policy, round, replication, and one for each metric. It has a row for
    each checkpoint and replication.
    """
    count = values.shape[2]
    rows = len(checkpoints) * count
    columns: dict[str, Any] = {
        "policy": pa.repeat(label, rows),
        "round": np.repeat(np.array(checkpoints, np.int64), count),
        "replication": np.tile(np.arange(count, dtype=np.int64), len(checkpoints)),
    }
    for m, metric in enumerate(metrics):
        columns[metric] = values[:, m, :].ravel()
    return pa.table(columns)


def load_run_folder(path: str | Path) -> RunFolder:
    """Read a finished run from its folder.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it is not a run folder, the run is not finished, or its results were altered.
    """
    folder = Path(path)
    provenance = read_provenance(folder)
    if not isinstance(provenance.get("finished"), str):
        raise ValueError(f"{folder} holds a run that is not finished: run its spec again")
    for name in (*RESULT_FILES, SPEC_FILE):
        _check_unaltered(folder, name, provenance)
    spec_path = folder / SPEC_FILE
    try:
        spec = json.loads(files.read_results_file(spec_path))
        # Only the form is checked: files and policies that the spec names may be gone by now.
        Spec.model_validate(spec)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{spec_path} is not a spec that this version can read") from error
    return RunFolder(folder, spec, provenance, _load_points(folder, spec, provenance))


def _load_points(
    folder: Path, spec: dict[str, Any], provenance: dict[str, Any]
) -> tuple[PointResult, ...]:
    """Return the results at each point; the results of a run without a sweep are read at once."""
    if "sweep" not in spec:
        read_table = partial(pq.read_table, folder / VALUES_FILE)
        setting = spec["problem"]["setting"]
        curves = _read_curves(folder, read_table, setting, provenance.get("arms"))
        return (PointResult({}, lambda: curves),)
    points = []
    first_group = 0
    with _replace_alteration_errors(folder):
        entries = zip(
            iterate_points(spec["sweep"]), provenance["groups"], provenance["arms"], strict=True
        )
        for values, group_count, arms in entries:
            # Row groups are numbered through the whole file, which has the points in order.
            groups = range(first_group, first_group + group_count)
            first_group += group_count
            read_table = partial(read_point, folder / VALUES_FILE, groups, spec["sweep"])
            setting = problem_table_at(spec, values)["setting"]
            read = partial(_read_curves, folder, read_table, setting, arms)
            points.append(PointResult(values, read))
    return tuple(points)


def _read_curves(
    folder: Path, read_table: Callable[[], pa.Table], setting: str, arms: int | None
) -> Curves:
    """Return the curves of a run or a point; `read_table` reads the table of its values.

    Titles and units of metrics come from the setting as it is now; a metric that the setting no
    longer has is shown by its name.
    """
    with _replace_alteration_errors(folder):
        table = read_table()
        metrics = table.column_names[3:]  # after policy, round and replication
        names = table.column("policy")
        checkpoints = np.unique(table.column("round").to_numpy())
        values = {}
        for label in names.unique().to_pylist():
            rows = table.filter(pc.equal(names, label))
            columns = [rows.column(metric).to_numpy() for metric in metrics]
            columns = [column.reshape(len(checkpoints), -1) for column in columns]
            values[label] = np.stack(columns, axis=1)
            # No simulation writes such a value: the file was altered.
            if not np.isfinite(values[label]).all():
                raise ValueError("a metric is not a finite number")
        declared_metrics = _metrics_of_columns(metrics, setting)
        return Curves(checkpoints.tolist(), declared_metrics, values, arms=arms or None)


@contextmanager
def _replace_alteration_errors(folder: Path) -> Iterator[None]:
    """Replace errors that altered files of a run cause with a ValueError that names the folder."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        raise ValueError(f"{folder} cannot be read: {files.explain_os_error(error)}") from error


def _metrics_of_columns(columns: Iterable[str], setting: str) -> list[Metric]:
    """Return the metrics of columns, such as ``pulls[1]`` or ``pulls[red]``."""
    # Simulations add metrics to those that the setting declares.
    declared_metrics = ADDED_METRICS | setting_registry.find_setting(setting).metrics
    metrics = []
    for column in columns:
        name, _, arm = column.removesuffix("]").partition("[")
        metric = declared_metrics.get(name, Metric(column))
        metrics.append(metric.of(arm) if arm and name in declared_metrics else metric)
    return metrics


def file_checksum(path: Path) -> str:
    """Return the SHA-256 digest of a file; the file need not fit into memory."""
    files.check_no_device(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_unaltered(folder: Path, name: str, provenance: Mapping[str, Any]) -> None:
    """Refuse a file whose checksum differs from that in ``run.json``."""
    advice = f"run the spec again in another folder to write {name} again"
    path = folder / name
    try:
        checksum = file_checksum(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); {advice}") from None
    if checksum != provenance["checksums"].get(name):
        raise ValueError(
            f"{path} was altered after the run: its checksum differs from the one in "
            f"run.json; {advice}"
        )


def load_run(path: str | Path) -> Curves:
    """Return the curves of a finished run without a sweep.

    Parameters
    ----------
    path : str or Path
        The run folder that ``keyhole run spec.toml --out folder`` has written.

    Returns
    -------
    Curves
        As `keyhole.simulate` returns them. The points of a run with a sweep are read by
        ``keyhole.experiment.load_run_folder``.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If it is not a run folder, the run is not finished or has a sweep, or its results were
        altered.
    """
    return load_run_folder(path).curves
