"""Reproduction: simulate entries again, judge their claims, and write the reports."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole import files
from keyhole.clusters.cluster import THREADS, check_cluster_address
from keyhole.experiment import RunFolder, Spec, open_run, run
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache, cluster_if_runs_missing, simulate_missing
from keyhole.experiment.run_folder import read_provenance
from keyhole.experiment.runner import run_digest
from keyhole.pages.notebook_html import notebook_html
from keyhole.pages.page import Table
from keyhole.papers.claims import Result
from keyhole.papers.entry import SCALES, Entry
from keyhole.papers.entry_files import FILES, PAPERS
from keyhole.papers.report.index_page import write_index
from keyhole.papers.report.judged_entry import JudgedEntry, verdicts_by_id
from keyhole.papers.report.reproduction_page import (
    BATCH_MARKER,
    write_reproduction,
    write_reproduction_page,
)
from keyhole.papers.verdicts import Verdict, counts, split_by_origin
from keyhole.play.progress import print_step_name, track_total
from keyhole.text_formatting import count_text
from keyhole.validate import check_choice, check_distinct, check_line

Marker = dict[str, Any]
"""Content of a marker file, which says what is in its folder."""

SHARED_FOLDER: Final = "shared"
"""Folder of the results that runs share, until they are finished."""
MARKER: Final = "reproduction.json"
_FORMAT: Final = "keyhole-reproduction"
_BATCH_FORMAT: Final = "keyhole-everything"
_VERSION: Final = 1


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Results of a reproduction: its report, and the runs and verdicts of each entry."""

    title: str
    report: Path
    parts: tuple[JudgedEntry, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts."""
        return tuple(verdict for outcome in self.parts for verdict in outcome.verdicts)

    def __repr__(self) -> str:
        """Return the title, how many claims hold, and where the report is."""
        return f"{self._headline()}\n  report: {self.report}"

    def _repr_html_(self) -> str:
        """Return what notebooks show: how many claims hold, and each with its verdict."""
        rows = [[verdict.headline, verdict.status, verdict.origin] for verdict in self.verdicts]
        table = Table("What is claimed, and what was found.", ["claim", "verdict", "whose"], rows)
        return notebook_html([table] if rows else [], line=f"{self._headline()} ({self.report})")

    def _headline(self) -> str:
        """Return the title, and how many claims hold."""
        return f"{self.title}: {'; '.join(_count_by_origin(self.verdicts)) or 'no claims'}"


def _count_by_origin(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return how many claims hold, are open, and do not hold: a text for each origin."""
    groups = zip(
        ("claim", "claim", "check"),
        ("of the papers", "of the papers on set-ups of ours", "of Keyhole's own"),
        split_by_origin(verdicts),
        strict=True,
    )
    return tuple(
        f"{count_text(len(group), noun)} {whose}: {counts(group)}"
        for noun, whose, group in groups
        if group
    )


def reproduce(
    name: str,
    *,
    scale: str = "quick",
    out: str | Path,
    threads: int | None = None,
    progress: bool = False,
    on: str | Executor = THREADS,
) -> Reproduction:
    """Run an entry, judge its claims, and write ``report.html``.

    Parameters
    ----------
    name : str
        The entry's name (see `keyhole.papers.FILES`), or the path of your own, which ends with
        ``.toml``.
    scale : {"quick", "paper"}, default "quick"
        How many replications and checkpoints.
    out : str or Path
        A folder of its own, created if needed. A second call with the same arguments resumes an
        interrupted one.
    threads : int, optional
        At most 1,024; by default one for each processor.
    progress : bool, default False
        Whether to show progress on standard error, in a notebook below the cell.
    on : str or concurrent.futures.Executor, default "threads"
        Where to run, as for `keyhole.simulate`.
    """
    entry = Entry.find(name)
    check_choice("scale", scale, SCALES)
    return _reproduce(
        [entry], scale, Path(out), _title(entry, scale), entry.command(scale), threads=threads,
        progress=progress, on=on,
    )  # fmt: skip


def demo(out: str | Path, *, threads: int | None = None, progress: bool = False) -> Reproduction:
    """Run Set-up 1 of Tao et al. (2019) in full, and the same policies on real labels.

    `out`, `threads` and `progress` are as for `reproduce`; a demo in `out` that an older version of
    Keyhole wrote is replaced.
    """
    entries = [Entry.load("tao2019-setup1"), Entry.load("crowd-labels").with_problems("bluebirds")]
    title = "Keyhole: eleven policies, a paper's claims, and real labels"
    return _reproduce(
        entries, "paper", Path(out), title, "keyhole demo", threads=threads, progress=progress,
        renew=True,
    )  # fmt: skip


def report_again(out: str | Path) -> Reproduction:
    """Judge the claims of a finished reproduction again, and rewrite its report."""
    folder = Path(out)
    marker = _read_marker(folder)
    outcomes = []
    for record in marker["parts"]:
        entry = Entry.find(record["entry"]).with_problems(*record["problems"])
        outcomes.append(_open_entry(entry, record["scale"], folder))
    return Reproduction(marker["title"], _write_report(folder, outcomes), tuple(outcomes))


def _open_entry(entry: Entry, scale: str, folder: Path) -> JudgedEntry:
    """Return an entry whose runs are finished."""
    return _judge_entry(entry, scale, {key: open_run(folder / key) for key in entry.problems})


def _open_if_finished(entry: Entry, scale: str, folder: Path) -> JudgedEntry | None:
    """Return the results of an entry in a folder, or None if they are not complete."""
    try:
        return _open_entry(entry, scale, folder)
    except (FileNotFoundError, ValueError):
        return None


def is_reproduction(folder: str | Path) -> bool:
    """Return whether `reproduce` or `demo` wrote a folder."""
    return (Path(folder) / MARKER).is_file()


def _title(entry: Entry, scale: str) -> str:
    """Return the title of the reproduction of one entry."""
    return f"{entry.title} ({scale} scale)"


def _reproduce(
    entries: Sequence[Entry],
    scale: str,
    folder: Path,
    title: str,
    command: str,
    *,
    threads: int | None,
    progress: bool,
    on: str | Executor = THREADS,
    renew: bool = False,
) -> Reproduction:
    """Run entries into one folder, judge their claims, and write one report.

    `renew` replaces runs that other code wrote into the folder.
    """
    check_cluster_address(on, threads)
    marker = _make_marker(title, entries, scale, command)
    _check_marker(folder, marker, renew=renew)
    runs = [(entry, folder, command) for entry in entries]
    markers = {folder / MARKER: marker}
    outcomes = tuple(_run_entries(runs, scale, markers, folder, threads, progress, on, renew=renew))
    if progress:
        print_step_name("drawing the report")
    return Reproduction(title, _write_report(folder, outcomes), outcomes)


def _run_entries(
    runs: Sequence[tuple[Entry, Path, str]],
    scale: str,
    markers: Mapping[Path, Marker],
    folder: Path,
    threads: int | None,
    progress: bool,
    on: str | Executor,
    *,
    renew: bool = False,
) -> Iterator[JudgedEntry]:
    """Run entries and yield each with its verdicts; write the marker files first.

    `runs` are entries, the folder of each, and the command that it records. `folder` holds results
    that they share, until all are finished.
    """
    specs = {
        entry_folder / key: entry.spec(key, scale)
        for entry, entry_folder, _ in runs
        for key in entry.problems
    }
    # Connected before anything is written: a cluster that does not answer leaves no folder behind.
    with cluster_if_runs_missing(specs, on, threads) as cluster:
        for file, marker in markers.items():
            _write_marker(file, marker)
        if renew:
            for run_folder, spec in specs.items():
                _remove_stale_run(run_folder, spec)
        # All specs at once: runs that differ only in their checkpoints share one simulation, at the
        # checkpoints of all.
        cache = ResultCache(folder / SHARED_FOLDER, specs.values())
        simulate_missing(cache, specs, cluster, threads, progress)
    is_tracked = progress and on == THREADS
    work = []
    if is_tracked:
        work = list_work({spec.name: spec for spec in specs.values()}, cache, threads)
    with track_total(is_tracked, work) as total:
        for entry, entry_folder, command in runs:
            run_folders = {}
            for key in entry.problems:
                spec = specs[entry_folder / key]
                # `run` returns at once where a finished run is in the folder, which is how a second
                # call resumes.
                run_folders[key] = run(
                    spec, entry_folder / key, threads=threads, command=command, cache=cache,
                    progress=total.tracker(spec.name),
                )  # fmt: skip
                total.mark_as_done(spec.name)
            yield _judge_entry(entry, scale, run_folders)
    # By now each run folder has its own results.
    shutil.rmtree(cache.folder, ignore_errors=True)


def _write_report(folder: Path, outcomes: Sequence[JudgedEntry]) -> Path:
    """Write the report, with the verdicts of finished entries beside it on the same statements."""
    entries_beside = list[JudgedEntry]()
    # In a batch this folder is ``entries/NAME``, and those of the other entries are beside it.
    if (folder.parent.parent / BATCH_MARKER).is_file():
        own_names = {outcome.entry.name for outcome in outcomes}
        names = {name for outcome in outcomes for name in outcome.related_entries}
        for name in sorted(names - own_names):
            outcome = _open_if_finished(Entry.load(name), outcomes[0].scale, folder.parent / name)
            if outcome is not None:
                entries_beside.append(outcome)
    return write_reproduction(folder, outcomes, verdicts_by_id(entries_beside))


def _judge_entry(entry: Entry, scale: str, runs: Mapping[str, RunFolder]) -> JudgedEntry:
    """Return an entry with the verdicts on its claims, given its finished runs by problem."""
    results = {}
    for key, run_folder in runs.items():
        # A run folder has results alone, and bounds need the problem and the policies.
        plan = entry.spec(key, scale).plan
        title = entry.problems[key].title
        results[key] = Result(title, plan.problem, run_folder.curves, plan.policies)
    verdicts = tuple(claim.verdict(results) for claim in entry.claims)
    return JudgedEntry(entry, scale, dict(runs), verdicts)


def _make_marker(title: str, entries: Sequence[Entry], scale: str, command: str) -> Marker:
    """Return what the marker file of a reproduction says."""
    records = [
        {"entry": entry.identifier, "scale": scale, "problems": list(entry.problems)}
        for entry in entries
    ]
    head = {"format": _FORMAT, "version": _VERSION, "title": title}
    return head | {"command": command, "parts": records}


def _check_marker(folder: Path, marker: Marker, *, renew: bool = False) -> None:
    """Refuse a folder with other contents."""
    if files.has_content(folder):
        saved = _read_marker(folder, marker["parts"])
        # With `renew` the parts may differ, as after a new version, but not the command.
        if saved != marker and not (renew and saved.get("command") == marker["command"]):
            raise ValueError(f"{folder} holds another reproduction; choose another folder")


def _write_marker(file: Path, marker: Marker) -> None:
    """Create a folder with its marker file, and remove temporary files of interrupted writes."""
    if files.has_content(file.parent):
        files.remove_drafts(file.parent)
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomically(file, (json.dumps(marker, indent=2) + "\n").encode())


def _read_marker(folder: Path, new_records: Sequence[Marker] = ()) -> Marker:
    """Return the marker of a folder, with the entries of `new_records` for those of a name."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    marker = _load_marker(folder / MARKER, _FORMAT)
    if marker is None:
        raise ValueError(f"{folder} holds something other than a reproduction")
    # An entry of the user's own may have been moved since; each run has a digest of what it is.
    identifiers = {Path(record["entry"]).name: record["entry"] for record in new_records}
    try:
        check_line("title", marker["title"])
        for record in marker["parts"]:
            record["entry"] = identifiers.get(Path(record["entry"]).name, record["entry"])
            problems = Entry.find(record["entry"]).problems
            check_choice("scale", record["scale"], SCALES)
            check_distinct(
                "problems", [check_choice("problem", name, problems) for name in record["problems"]]
            )
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{folder} belongs to an entry that was moved or removed: {error}; if it was moved, "
            "reproduce it again into this folder"
        ) from None
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / MARKER} is damaged: {error}") from error
    return marker


def _load_marker(file: Path, format_name: str) -> Marker | None:
    """Return the content of a marker file; None if it is missing, damaged or of another format."""
    try:
        content: Marker = json.loads(files.read_saved_file(file))
        is_ours = content["format"] == format_name
        version = int(content["version"])
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    if not is_ours:
        return None
    files.refuse_newer(file.parent, version, _VERSION)
    return content


def _remove_stale_run(folder: Path, spec: Spec) -> None:
    """Remove a run that other code wrote."""
    # Only on request (`renew`): a run whose digest differs is of another spec or other code.
    if (folder / "run.json").is_file() and read_provenance(folder)["digest"] != run_digest(spec):
        shutil.rmtree(folder)


@dataclass(frozen=True)
class ReproducedEntries:
    """Results of the reproduction of many entries.

    The index page (`index`), the file with all claims (`claims`), and the `parts`: the runs and
    verdicts of each entry.
    """

    index: Path
    claims: Path
    parts: tuple[JudgedEntry, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts."""
        return tuple(verdict for outcome in self.parts for verdict in outcome.verdicts)

    @property
    def counts(self) -> tuple[str, ...]:
        """How many claims hold, are open, and do not hold: one line per origin."""
        return _count_by_origin(self.verdicts)


def reproduce_all(
    *,
    out: str | Path,
    paper: str | None = None,
    scale: str = "quick",
    threads: int | None = None,
    progress: bool = False,
    on: str | Executor = THREADS,
) -> ReproducedEntries:
    """Run all entries, or those of one paper, and judge all claims.

    Simulations that several entries share are run once. ``index.html`` links to
    ``entries/NAME/report.html`` of each entry; ``claims.json`` has all claims
    (`keyhole.papers.report.index_page`). Both are rewritten after each entry.

    Parameters
    ----------
    out : str or Path
        A folder of its own, created if needed. A second call with the same scale resumes an
        interrupted one; results of other papers in the folder are kept, and shown.
    paper : str, optional
        One of `PAPERS`; by default all entries.
    scale : {"quick", "paper"}, default "quick"
        How many replications and checkpoints.
    threads : int, optional
        At most 1,024; by default one for each processor.
    progress : bool, default False
        Whether to show progress on standard error, in a notebook below the cell.
    on : str or concurrent.futures.Executor, default "threads"
        Where to run, as for `keyhole.simulate`. A cluster runs all entries before the first one is
        judged.
    """
    check_choice("scale", scale, SCALES)
    if paper is not None:
        check_choice("paper", paper, PAPERS)
    check_cluster_address(on, threads)
    entries = [Entry.load(name) for name in FILES]
    folder = Path(out)
    folders = {entry.name: folder / "entries" / entry.name for entry in entries}
    _check_folder(folder, scale)
    selection = [entry for entry in entries if paper in (None, entry.paper)]
    runs = [(entry, folders[entry.name], entry.command(scale)) for entry in selection]
    markers = {folder / BATCH_MARKER: _batch_marker(scale)}
    for entry, entry_folder, command in runs:
        marker = _make_marker(_title(entry, scale), [entry], scale, command)
        _check_marker(entry_folder, marker)
        markers[entry_folder / MARKER] = marker
    # Entries of earlier calls into this folder remain in its index.
    outcomes = {
        entry.name: outcome
        for entry in entries
        if entry not in selection
        and (outcome := _open_if_finished(entry, scale, folders[entry.name]))
    }
    for outcome in _run_entries(runs, scale, markers, folder, threads, progress, on):
        name = outcome.entry.name
        outcomes[name] = outcome
        all_verdicts = verdicts_by_id(outcomes.values())
        write_reproduction(folders[name], [outcome], all_verdicts)
        # The pages of entries that judge statements which this entry judges too.
        for related in sorted(outcome.related_entries & outcomes.keys() - {name}):
            write_reproduction_page(folders[related], [outcomes[related]], all_verdicts)
        in_order = tuple(outcomes[entry.name] for entry in entries if entry.name in outcomes)
        # After every entry, so that an interrupted call leaves a complete index of what is done.
        index, claims = write_index(folder, scale, entries, in_order)
    return ReproducedEntries(index, claims, in_order)


def _check_folder(folder: Path, scale: str) -> None:
    """Refuse a folder with other contents, or with reproductions at another scale."""
    if files.has_content(folder):
        marker = _load_marker(folder / BATCH_MARKER, _BATCH_FORMAT)
        if marker is None:
            raise ValueError(f"{folder} holds something else; choose another folder")
        if marker != _batch_marker(scale):
            text = f"reproductions at scale {marker.get('scale')!r}"
            raise ValueError(f"{folder} holds {text}; choose another folder")


def _batch_marker(scale: str) -> Marker:
    """Return what the marker file of many reproductions says."""
    return {"format": _BATCH_FORMAT, "version": _VERSION, "scale": scale}
