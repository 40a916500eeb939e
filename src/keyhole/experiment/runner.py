"""The function `run`, which simulates the experiment of a spec into a folder, and can resume it."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from keyhole import files
from keyhole.clusters.cluster import THREADS, check_cluster_address, cluster_connection
from keyhole.contract.policy import Policy
from keyhole.experiment import run_folder, setting_registry
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.run_folder import FORMAT, RESULT_FILES, SPEC_FILE, VERSION, RunFolder
from keyhole.experiment.spec import Spec
from keyhole.experiment.sweep_parquet import CURVES_SCHEMA, open_points_writer, values_schema
from keyhole.kernels.package_digest import math_library_digest
from keyhole.play.policy_trial import try_policies
from keyhole.play.progress import Report, TotalProgress, print_step_name, progress_callback
from keyhole.play.simulation_job import digest_parts, json_digest
from keyhole.provenance import describe_software

_BLOCKS: Final = "blocks"
# Only reports use these entries of a spec, so they may change after a run.
_REPORT_ENTRIES: Final = ("title", "notes", "figure")
# The packages whose versions run.json has, and the packages on which results depend.
_RECORDED_PACKAGES: Final = ("keyhole", "numba", "numpy", "pyarrow", "scipy")
_CODE_PACKAGES: Final = ("keyhole", "numba", "numpy")


def run(
    spec: Spec,
    out: str | Path,
    *,
    threads: int | None = None,
    progress: bool | Report = False,
    command: str = "",
    cache: ResultCache | None = None,
    on: str | Executor = THREADS,
) -> RunFolder:
    """Run a spec into a folder, or resume a run that an earlier call began there.

    However often the run is killed and resumed, on threads or on a cluster, the Parquet files have
    the same content in the end; every file is complete or absent. Blocks of an earlier call are
    used only if their checksums match.

    Parameters
    ----------
    spec : Spec
        The experiment.
    out : str or Path
        The run folder; created if it does not exist.
    threads : int, optional
        The number of threads, at most 1,024; by default one for each processor.
    progress : bool or callable, default False
        Whether to show progress, as for `keyhole.simulate`.
    command : str, optional
        The command line, which is recorded in ``run.json``.
    cache : ResultCache, optional
        Results that this run shares with others.
    on : str or concurrent.futures.Executor, default "threads"
        Where to simulate, as for `keyhole.simulate`. Only this process writes to the folder.

    Raises
    ------
    ValueError
        If the folder holds something other than a run, or a run of another spec or other code, or
        is locked by another process; or if a policy of a user's file fails in a short trial in
        Python.
    OSError
        If a file cannot be written; finished blocks are kept.
    """
    check_cluster_address(on, threads)
    folder = Path(out)
    digest = run_digest(spec)
    files.refuse_non_folder(folder)
    with _create_folder(folder), files.folder_lock(folder):
        provenance = _read_matching_provenance(folder, spec, digest)
        # For a finished run, only texts that reports show, such as the title, are written again.
        if provenance is not None and provenance.get("finished") is not None:
            _write_spec_and_provenance(folder, spec, digest, command, provenance)
        else:
            try_policies(("before the run", point.spec.plan) for point in spec.points)
            # The connection comes first: if it fails, the folder stays as it was.
            with cluster_connection(on, threads) as cluster:
                provenance = _write_spec_and_provenance(folder, spec, digest, command, provenance)
                specs = [point.spec for point in spec.points]
                cache = cache or ResultCache(folder / _BLOCKS, specs)
                time_left = None
                # The time left of a sweep, or on a cluster, is estimated from the speed so far.
                if progress is True and cluster is None and spec.sweep is None:
                    time_left = TotalProgress(list_work({"": spec}, cache, threads)).tracker("")
                with progress_callback(progress, time_left) as report:
                    cache.simulate_missing_blocks(specs, cluster, threads, report)
            if progress is True:
                print_step_name("writing tables")
            # Results are written before the entry `finished` of run.json, and blocks are removed
            # last: a run that is killed in between has all blocks, and writes its tables again.
            group_counts = _write_tables(folder, spec, cache)
            if spec.sweep:
                provenance["groups"] = group_counts
            checksums = {name: run_folder.file_checksum(folder / name) for name in RESULT_FILES}
            provenance["checksums"] |= checksums
            run_folder.write_provenance(folder, provenance | {"finished": _current_time()})
        # A finished run may have blocks, too, if it was killed while they were removed.
        shutil.rmtree(folder / _BLOCKS, ignore_errors=True)
        return run_folder.load_run_folder(folder)


@contextmanager
def _create_folder(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; at the end remove those that are new and still empty."""
    missing_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for path in missing_folders:
            with suppress(OSError):  # it is not empty
                path.rmdir()


def run_digest(spec: Spec) -> str:
    """Return a digest of a spec and its plans, without the entries that only reports show."""
    table = {name: entry for name, entry in spec.table().items() if name not in _REPORT_ENTRIES}
    return json_digest([table, *(digest_parts(point.spec.plan) for point in spec.points)])


def _read_matching_provenance(folder: Path, spec: Spec, digest: str) -> dict[str, Any] | None:
    """Return the provenance of a folder's run, if any; refuse a run of another spec or code."""
    if not files.has_content(folder):
        return None
    provenance = run_folder.read_provenance(folder)
    if provenance["digest"] != digest:
        difference = _describe_difference(folder, spec, provenance)
        raise ValueError(f"{folder} holds a run {difference}; choose another folder")
    return provenance


def _write_spec_and_provenance(
    folder: Path, spec: Spec, digest: str, command: str, provenance: dict[str, Any] | None
) -> dict[str, Any]:
    """Write the spec and the provenance of a run, or update those in the folder; return provenance.

    `provenance` is None if the folder has no run yet.
    """
    for drafts_folder in (folder, folder / _BLOCKS):
        files.remove_drafts(drafts_folder)
    texts = {SPEC_FILE: run_folder.json_text(spec.table()), "spec.toml": spec.to_toml()}
    checksums = {SPEC_FILE: hashlib.sha256(texts[SPEC_FILE].encode()).hexdigest()}
    # run.json comes first: a run that is killed after this line can be resumed.
    if provenance is None:
        provenance = _make_provenance(spec, digest, command) | {"checksums": checksums}
        run_folder.write_provenance(folder, provenance)
    # The run is the same, but its title, notes or axes of figures have changed.
    elif provenance["checksums"].get(SPEC_FILE) != checksums[SPEC_FILE]:
        provenance["checksums"] |= checksums
        run_folder.write_provenance(folder, provenance)
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            files.write_atomically(path, text.encode())
    return provenance


def _describe_difference(folder: Path, spec: Spec, provenance: Mapping[str, Any]) -> str:
    """Return how the run in a folder differs from a run of a spec, as words that follow "a run"."""
    # Digests only tell that two runs differ, so likely differences are looked for in turn.
    try:
        saved_spec = dict(json.loads(files.read_results_file(folder / SPEC_FILE)))
    except (OSError, ValueError, TypeError, RecursionError):
        return "of another spec, or of another version of the code"
    table = spec.table()
    entries = [name for name in {**table, **saved_spec} if name not in _REPORT_ENTRIES]
    if names := [name for name in entries if table.get(name) != saved_spec.get(name)]:
        return f"of another spec (not the same {', '.join(names)})"
    versions = provenance["versions"]
    packages = [p for p in _packages_of_spec(_CODE_PACKAGES, spec) if versions.get(p) != version(p)]
    if packages:
        return f"of other versions of {', '.join(packages)}"
    if provenance.get("arithmetic", math_library_digest()) != math_library_digest():
        return "of a machine that computes logarithms differently"
    return "of other data, or of another version of the code"


def _packages_of_spec(packages: tuple[str, ...], spec: Spec) -> dict[str, None]:
    """Return these packages, and those that provide the settings of a spec, each once."""
    settings = dict.fromkeys(point.spec.plan.problem.setting.name for point in spec.points)
    return dict.fromkeys(
        [*packages, *(setting_registry.find_setting(name).package for name in settings)]
    )


def _make_provenance(spec: Spec, digest: str, command: str) -> dict[str, Any]:
    """Return the entries of run.json when a run begins, without its checksums."""
    arms = [point.spec.plan.problem.fact("arms") for point in spec.points]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": spec.name,
        "digest": digest,
        "seed": spec.seed,
        "arms": arms if spec.sweep else arms[0],
        "guarantees": None if spec.sweep else _find_guarantees(spec.plan.policies),
        "command": command,
        **describe_software(_packages_of_spec(_RECORDED_PACKAGES, spec)),
        "arithmetic": math_library_digest(),
        "started": _current_time(),
        "finished": None,
    }


def _find_guarantees(policies: Mapping[str, Policy]) -> dict[str, dict[str, Any]]:
    """Return the guarantees of those policies that can stop, by label."""
    guarantees = {}
    for label, policy in policies.items():
        if policy.verdicts:
            try:
                guarantees[label] = asdict(policy.guarantee())
            except Exception as error:  # a user's policy may raise anything
                raise ValueError(f"{label} has no valid guarantee: {error}") from error
    return guarantees


def _make_tables(spec: Spec, cache: ResultCache) -> tuple[pa.Table, pa.Table]:
    """Return the table of values and the table of curves of a point."""
    plan = spec.plan
    values = cache.values(spec)
    tables = [
        run_folder.policy_values_to_table(label, plan.metrics, plan.checkpoints, array)
        for label, array in values.items()
    ]
    return pa.concat_tables(tables), plan.make_curves(values).to_arrow()


def _write_tables(folder: Path, spec: Spec, cache: ResultCache) -> list[int]:
    """Write the results of all points; return the number of row groups of each point."""
    metrics = dict.fromkeys(name for point in spec.points for name in point.spec.plan.metrics)
    schema = values_schema(metrics)
    sweep = spec.sweep or {}
    counts: list[int] = []
    with (
        open_points_writer(folder / run_folder.VALUES_FILE, sweep, schema) as write_values,
        open_points_writer(folder / run_folder.CURVES_FILE, sweep, CURVES_SCHEMA) as write_curves,
    ):
        # Point by point, since the values of a whole sweep might not fit into memory.
        for point in spec.points:
            values, curves = _make_tables(point.spec, cache)
            counts.append(write_values(point.values, values))
            write_curves(point.values, curves)
    return counts


def _current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
