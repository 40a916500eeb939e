"""Running entries into a folder, judging their claims, and writing one report."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.clusters import Cluster
from keyhole.clusters.connection import THREADS, check_address, cluster_connection
from keyhole.experiment import RunFolder, Spec, open_run, run
from keyhole.experiment.result_cache import ResultCache
from keyhole.experiment.run_folder import is_finished, read_provenance
from keyhole.experiment.runner import run_digest
from keyhole.files import has_content, remove_drafts, write_atomically
from keyhole.papers.background_compilation import background_compilation
from keyhole.papers.claims import Result
from keyhole.papers.entry import SCALES, Entry
from keyhole.papers.report_pages import ReportPart, write_pages
from keyhole.papers.verdicts import Verdict
from keyhole.play.progress import Report, print_step, progress_report
from keyhole.validate import check_choice, check_distinct, check_line

SHARED: Final = "shared"
"""Where what runs have in common is, until they are finished."""
MARKER: Final = "reproduction.json"
_FORMAT: Final = "keyhole-reproduction"
_VERSION: Final = 1
_Choice = tuple[Entry, str]

Tell = Callable[[Entry, str], Report]
"""From an entry and the key of a problem, to what is told the progress of its policies."""


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction left: its report, and runs and verdicts, entry by entry."""

    title: str
    report: Path
    parts: tuple[ReportPart, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts."""
        return tuple(verdict for part in self.parts for verdict in part.verdicts)


def reproduce(
    name: str,
    *,
    scale: str = "quick",
    out: str | Path,
    threads: int | None = None,
    progress: bool = False,
    on: str | Cluster = THREADS,
) -> Reproduction:
    """Run an entry, judge its claims, and write ``report.html``.

    Parameters
    ----------
    name : str
        The entry's name (see `keyhole.papers.FILES`), or the path of an entry of your own, which
        ends with ``.toml``.
    scale : {"quick", "paper"}, default "quick"
        How many replications and checkpoints.
    out : str or Path
        A folder of its own; made if need be. Called again with the same arguments, it goes on
        where it was interrupted.
    threads : int, optional
        At most 1,024; by default one for each processor.
    progress : bool, default False
        Whether to show progress: on standard error, in a notebook below the cell.
    on : str or Cluster, default "threads"
        Where: as for `keyhole.simulate`.
    """
    entry = Entry.find(name)
    check_choice("scale", scale, SCALES)
    return simulate_entries([(entry, scale)], Path(out), threads=threads, progress=progress, on=on)


def demo(out: str | Path, *, threads: int | None = None, progress: bool = False) -> Reproduction:
    """Run Set-up 1 of Tao et al. (2019) in full, and the same policies on real labels.

    `out`, `threads` and `progress` are as for `reproduce`; a demo that an older version of Keyhole
    left there is replaced.
    """
    choices = [
        (Entry.load("tao2019-setup1"), "paper"),
        (Entry.load("crowd-labels").only("bluebirds"), "paper"),
    ]
    title = "Keyhole: eleven policies, a paper's claims, and real labels"
    return simulate_entries(
        choices, Path(out), title=title, threads=threads, progress=progress,
        command="keyhole demo", renew=True,
    )  # fmt: skip


def report_again(out: str | Path) -> Reproduction:
    """Judge the claims of a finished reproduction, by its folder, and write its report anew."""
    folder = Path(out)
    marker = _read_marker(folder)
    parts = []
    for table in marker["parts"]:
        entry = Entry.find(table["entry"]).only(*table["problems"])
        runs = {key: open_run(folder / key) for key in entry.problems}
        parts.append(_judged(entry, table["scale"], runs))
    return Reproduction(marker["title"], write_pages(folder, marker["title"], parts), tuple(parts))


def is_entry_finished(entry: Entry, scale: str, folder: Path) -> ReportPart | None:
    """Return what an earlier call left of an entry in a folder, or None if it did not finish."""
    try:
        runs = {key: open_run(folder / key) for key in entry.problems}
    except (FileNotFoundError, ValueError):
        return None
    return _judged(entry, scale, runs)


def is_reproduction(folder: str | Path) -> bool:
    """Return whether a folder is one that `reproduce` or `demo` wrote."""
    return (Path(folder) / MARKER).is_file()


def simulate_entries(
    choices: Sequence[_Choice],
    folder: Path,
    *,
    title: str | None = None,
    threads: int | None = None,
    progress: bool | Tell = False,
    command: str | None = None,
    renew: bool = False,
    cache: ResultCache | None = None,
    ahead: bool = True,
    on: str | Cluster = THREADS,
) -> Reproduction:
    """Run entries at their scales into one folder, judge their claims, and write one report.

    By default its title, and the command that the user typed, are those of the first entry alone.
    `renew` replaces what other code left in the folder; a `cache` holds what the runs have in
    common with others; `ahead` has another process compile ahead, unless there is but one thread.
    """
    check_address(on, threads)
    entry, scale = choices[0]
    title = title or f"{entry.title} ({scale} scale)"
    # A record names no places.
    command = command or f"keyhole reproduce {Path(entry.called).name} --scale {scale}"
    marker = _marker(title, choices, command)
    _check_mark(folder, marker, renew=renew)
    specs = {folder / key: e.spec(key, scale) for e, scale in choices for key in e.problems}
    with missing_runs(specs, on, threads) as cluster:
        _mark(folder, marker)
        if renew:
            for place, spec in specs.items():
                _drop_stale(place, spec)
        own = ResultCache(folder / SHARED, specs.values()) if cache is None else cache
        run_missing(own, specs, cluster, threads, progress is True)
    parts = []
    with background_compilation(
        [entry for entry, _ in choices], wanted=ahead and on == THREADS and threads != 1
    ):
        for entry, scale in choices:
            runs = {}
            for key in entry.problems:
                runs[key] = run(
                    specs[folder / key], folder / key, threads=threads, command=command,
                    progress=on == THREADS and _told(progress, entry, key), cache=own,
                )  # fmt: skip
            parts.append(_judged(entry, scale, runs))
    if cache is None:
        shutil.rmtree(own.folder, ignore_errors=True)
    if progress is True:
        print_step("drawing the report")
    return Reproduction(title, write_pages(folder, title, parts), tuple(parts))


@contextmanager
def missing_runs(
    specs: Mapping[Path, Spec], on: str | Cluster, threads: int | None
) -> Iterator[Cluster | None]:
    """Give the cluster, if one is named, unless all runs are finished in their folders.

    It comes before a folder is marked: one that is not there leaves it free for something else.
    """
    done = all(map(is_finished, specs))
    with cluster_connection(THREADS if done else on, threads) as cluster:
        yield cluster


def run_missing(
    cache: ResultCache,
    specs: Mapping[Path, Spec],
    cluster: Cluster | None,
    threads: int | None,
    progress: bool,
) -> None:
    """Play on a cluster, if there is one, what runs lack that are not finished in their folders."""
    if cluster is not None:
        left = [spec for folder, spec in specs.items() if not is_finished(folder)]
        with progress_report(progress) as report:
            cache.fill(left, cluster, threads, report)


def _told(progress: bool | Tell, entry: Entry, problem: str) -> bool | Report:
    """Return who is told the progress of a problem."""
    if callable(progress):
        return progress(entry, problem)
    if progress:
        print(f"{entry.problems[problem].title}:", file=sys.stderr, flush=True)  # noqa: T201
    return progress


def _judged(entry: Entry, scale: str, runs: Mapping[str, RunFolder]) -> ReportPart:
    results = {}
    for key, done in runs.items():
        plan = entry.spec(key, scale).plan
        results[key] = Result(entry.problems[key].title, plan.problem, done.curves, plan.policies)
    verdicts = tuple(claim.verdict(results) for claim in entry.claims)
    return ReportPart(entry, scale, dict(runs), verdicts)


def _marker(title: str, choices: Sequence[_Choice], command: str) -> dict[str, Any]:
    parts = [
        {"entry": entry.called, "scale": scale, "problems": list(entry.problems)}
        for entry, scale in choices
    ]
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "title": title,
        "command": command,
        "parts": parts,
    }


def _check_mark(folder: Path, marker: Mapping[str, Any], *, renew: bool) -> None:
    """Refuse a folder that is something else's."""
    if has_content(folder):
        found = _read_marker(folder)
        if found != marker and not (renew and found.get("command") == marker["command"]):
            raise ValueError(f"{folder} holds another reproduction; choose another folder")


def _mark(folder: Path, marker: Mapping[str, Any]) -> None:
    """Mark the folder as the reproduction's."""
    if has_content(folder):
        remove_drafts(folder)
        if _read_marker(folder) == marker:
            return
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / MARKER, (json.dumps(marker, indent=2) + "\n").encode())


def _read_marker(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    try:
        found: dict[str, Any] = json.loads((folder / MARKER).read_bytes())
        form, version = found["format"], int(found["version"])
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        form, version = "", 0
    if form != _FORMAT:
        raise ValueError(f"{folder} holds something else than a reproduction")
    if version > _VERSION:
        raise ValueError(f"{folder} was written by a newer version of Keyhole")
    try:
        check_line("title", found["title"])
        for part in found["parts"]:
            known = Entry.find(part["entry"]).problems
            check_choice("scale", part["scale"], SCALES)
            check_distinct(
                "problems", [check_choice("problem", name, known) for name in part["problems"]]
            )
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / MARKER} is damaged: {error}") from error
    return found


def _drop_stale(folder: Path, spec: Spec) -> None:
    """Remove a run that other code left."""
    if (folder / "run.json").is_file() and read_provenance(folder)["digest"] != run_digest(spec):
        shutil.rmtree(folder)
