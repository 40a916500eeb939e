"""Layout of a tune's folder, its runs, and checks that its files belong together."""

import json
import warnings
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from keyhole.files import folder_lock, has_content, write_atomically
from keyhole.study import Study, list_studies
from keyhole.study.events import TOLD, TOLD_LATE, TOLD_TOO_LATE
from keyhole.tune.spec import DEFAULT_POLICY, Spec
from keyhole.tune.trial_log import TrialLog, TrialRecord, read_records
from keyhole.validate import short_repr

SPEC: Final = "tune.json"
RUNS: Final = "runs.jsonl"
STUDY: Final = "study.db"
REPORT: Final = "report.html"
NAME: Final = "tune"
"""Name of the study in its database."""
_MAY_DIFFER: Final = ("name", "notes", "folder")
"""Entries of the spec that may change when a tune is resumed."""
_ENTRIES: Final = {entry.name for entry in fields(Spec)}


@contextmanager
def open_tune_folder(folder: Path, spec: Spec) -> Iterator[None]:
    """Create or open a tune folder, and lock it.

    Raises
    ------
    ValueError
        If it belongs to another spec, has other files, or another process is at work in it.
    """
    if not has_content(folder):  # which refuses a file in its place
        spec.check_new()
    folder.mkdir(parents=True, exist_ok=True)
    with folder_lock(folder):
        _check_spec(folder, spec)
        yield


def _check_spec(folder: Path, spec: Spec) -> None:
    """Check that the folder is new or belongs to this spec, and write the spec."""
    if has_content(folder):
        if not (folder / SPEC).exists():
            raise ValueError(
                f"out must be a new folder or that of a tune, but {folder} has other files"
            )
        # Both as JSON: tuples become lists, and numbers have the digits that were written.
        before, now = read_spec(folder).as_json(), json.loads(json.dumps(spec.as_json()))
        for entry in before:
            if entry not in _MAY_DIFFER and before[entry] != now[entry]:
                where, old, new = _find_difference(entry, before[entry], now[entry])
                raise ValueError(
                    f"{folder} belongs to a tune with another spec: {where} was {short_repr(old)}, "
                    f"is now {short_repr(new)}; choose another folder"
                )
        # A study that this version cannot open is refused before anything is written.
        if (folder / STUDY).exists():
            list_studies(folder / STUDY)
    # Written each time, since name and notes may have changed.
    write_atomically(folder / SPEC, json.dumps(spec.as_json(), indent=1).encode())


def _find_difference(path: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    """Return the path of the first difference of two values, and the values there."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        key = next(key for key in old if old[key] != new[key])
        return _find_difference(f"{path}.{key}", old[key], new[key])
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        at = next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
        return _find_difference(f"{path}[{at}]", old[at], new[at])
    if isinstance(old, list) and isinstance(new, list):
        return f"the number of {path}", len(old), len(new)
    return path, old, new


def read_spec(folder: Path) -> Spec:
    """Return the spec of a tune folder."""
    path = folder / SPEC
    if not path.is_file():
        raise FileNotFoundError(f"{folder} must be a tune folder, but has no {SPEC}")
    try:
        content = json.loads(path.read_text("utf-8"))
        spec = Spec.from_json(content)
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it has no entry {error}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if unknown := content.keys() - _ENTRIES:
        raise ValueError(
            f"{path} has entries that this version of Keyhole does not know "
            f"({', '.join(sorted(unknown))}): open it with the newer version that wrote them"
        )
    return spec


def open_study(folder: Path, spec: Spec) -> Study:
    """Open the study of a tune, or create it."""
    path = folder / STUDY
    # A kill between the creation of the database and that of the study leaves an empty database.
    if path.exists() and NAME in list_studies(path):
        return Study.open(path, NAME)  # with the policy that it was created with
    return Study.create(
        path,
        NAME,
        spec.policy or DEFAULT_POLICY,
        [arm.name for arm in spec.arms],
        on_timeout="ask_again",
        seed=spec.seed,
        time_unit=1.0 if spec.clock == "wall" else 0.0,
        **spec.facts(),
    )


def read_runs(folder: Path, spec: Spec) -> list[TrialRecord]:
    """Return the records of all runs; none if nothing has been run yet."""
    path = folder / RUNS
    told: set[str] = set()
    # Told runs first: a tuner that is at work records a run before it tells the study.
    # A study that cannot be read is no reason to refuse the runs, which are in a file of their own.
    with suppress(OSError, ValueError, RuntimeError), Study.open(folder / STUDY, NAME) as study:
        told = _told_runs(study)
    records = list(read_records(path, spec.names)) if path.exists() else []
    try:
        _reconcile(path, told, {record.id for record in records if record.is_counted})
    except ValueError as error:
        if not records:
            raise
        # As in a copy that was made while a tuner was at work.
        warnings.warn(str(error), stacklevel=3)
    return records


def resume_study(study: Study, log: TrialLog) -> None:
    """Tell the study the recorded runs that it lacks, and expire its other pending decisions.

    Raises
    ------
    ValueError
        If records and study are not of the same runs: a file was removed, cut, or restored.
    """
    told, pending = _told_runs(study), [decision.id for decision in study.pending]
    untold = _reconcile(log.path, told, log.by_id.keys())
    if unknown := len(untold - set(pending)):
        raise ValueError(
            f"{log.path.with_name(STUDY)} lacks {unknown:,} of the runs in {log.path.name}; "
            "restore it from a backup"
        )
    for decision in pending:
        if decision in untold:
            study.tell(decision, **log.by_id[decision].to_feedback())
        else:
            study.expire(decision)


def _told_runs(study: Study) -> set[str]:
    """Return the ids of the runs whose outcome the study was told."""
    return {
        str(row.decision) for row in study.log() if row.kind in (TOLD, TOLD_LATE, TOLD_TOO_LATE)
    }


def _reconcile(path: Path, told: AbstractSet[str], recorded: AbstractSet[str]) -> AbstractSet[str]:
    """Return the recorded runs that the study was not told; refuse to lack one that it was told."""
    if lost := len(told - recorded):
        raise ValueError(
            f"{path} lacks {lost:,} of the runs that the study has; restore it from a backup"
        )
    return recorded - told
