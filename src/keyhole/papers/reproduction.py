"""Reproduction: simulate entries again, judge their claims, and write the reports."""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole import files
from keyhole.clusters.cluster import THREADS, check_cluster_address
from keyhole.experiment import RunFolder, Spec, load_run_folder, run
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache, connect_if_unfinished, simulate_on_cluster
from keyhole.experiment.run_folder import read_provenance
from keyhole.experiment.runner import run_digest
from keyhole.pages.notebook_html import notebook_html
from keyhole.pages.page import Table
from keyhole.papers.claims import Result
from keyhole.papers.entry import SCALES, Entry
from keyhole.papers.entry_files import ENTRY_FILES, PAPERS
from keyhole.papers.report.index_page import write_index
from keyhole.papers.report.judged_entry import JudgedEntry, verdicts_by_id
from keyhole.papers.report.reproduction_page import (
    BATCH_MARKER_FILE,
    write_page_and_figures,
    write_reproduction_page,
)
from keyhole.papers.verdicts import Verdict, format_counts, split_by_origin
from keyhole.play.progress import print_step_name, track_total
from keyhole.text_formatting import count_text
from keyhole.validation import check_choice, check_distinct, check_line

Marker = dict[str, Any]
"""The content of a marker file, which says what its folder holds; also one record in it."""

SHARED_FOLDER: Final = "shared"
"""Folder of simulations that several runs share; it is removed when all runs are finished."""
MARKER_FILE: Final = "reproduction.json"
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
        """Return the title, how many claims hold, and the path of the report."""
        return f"{self._headline()}\n  report: {self.report}"

    def _repr_html_(self) -> str:
        """Return what notebooks show: how many claims hold, and a table of all verdicts."""
        rows = [[verdict.headline, verdict.status, verdict.origin] for verdict in self.verdicts]
        table = Table("What is claimed, and what was found.", ["claim", "verdict", "whose"], rows)
        return notebook_html([table] if rows else [], line=f"{self._headline()} ({self.report})")

    def _headline(self) -> str:
        """Return the title, and how many claims hold."""
        return f"{self.title}: {'; '.join(_count_by_origin(self.verdicts)) or 'no claims'}"


def _count_by_origin(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the size and the counts of each group of `split_by_origin` that is not empty."""
    papers, on_ours, own_checks = split_by_origin(verdicts)
    groups = {
        f"{count_text(len(papers), 'claim')} of the papers": papers,
        f"{count_text(len(on_ours), 'claim')} of the papers on set-ups of ours": on_ours,
        f"{count_text(len(own_checks), 'check')} of Keyhole's own": own_checks,
    }
    return tuple(f"{label}: {format_counts(group)}" for label, group in groups.items() if group)


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
        The entry's name (see `keyhole.papers.ENTRY_FILES`), or the path of an entry of your own,
        which ends with ``.toml``.
    scale : {"quick", "paper"}, default "quick"
        Decides the numbers of replications and checkpoints.
    out : str or Path
        A folder for this reproduction alone, created if needed. A second call with the same
        arguments resumes an interrupted one.
    threads : int, optional
        At most 1,024; by default one for each processor.
    progress : bool, default False
        Whether to show progress on standard error, in a notebook below the cell.
    on : str or concurrent.futures.Executor, default "threads"
        Where to run, as for `keyhole.simulate`.
    """
    entry = Entry.find(name)
    check_choice("scale", scale, SCALES)
    check_cluster_address(on, threads)
    marker = _entry_marker(entry, scale)
    return _reproduce_entries([entry], scale, Path(out), marker, threads, progress, on)


def demo(out: str | Path, *, threads: int | None = None, progress: bool = False) -> Reproduction:
    """Run Set-up 1 of Tao et al. (2019) in full, and the same policies on real labels.

    `out`, `threads` and `progress` are as for `reproduce`; a demo in `out` that an older version of
    Keyhole wrote is replaced.
    """
    entries = [Entry.load("tao2019-setup1"), Entry.load("crowd-labels").with_problems("bluebirds")]
    title = "Keyhole: eleven policies, a paper's claims, and real labels"
    marker = _make_marker(title, entries, "paper", "keyhole demo")
    check_cluster_address(THREADS, threads)
    folder = Path(out)
    # An older version may have written the demo: then its marker and its stale runs are replaced.
    if is_reproduction_folder(folder) and _read_marker(folder).get("command") == marker["command"]:
        for entry in entries:
            for key in entry.problems:
                _remove_stale_run(folder / key, entry.spec(key, "paper"))
        _write_marker(folder / MARKER_FILE, marker)
    return _reproduce_entries(entries, "paper", folder, marker, threads, progress)


def report_again(out: str | Path) -> Reproduction:
    """Judge the claims of a finished reproduction again, and rewrite its report."""
    folder = Path(out)
    marker = _read_marker(folder)
    outcomes = []
    for record in marker["parts"]:
        entry = Entry.find(record["entry"]).with_problems(*record["problems"])
        outcomes.append(_judge_folder(entry, record["scale"], folder))
    return Reproduction(marker["title"], _write_report(folder, outcomes), tuple(outcomes))


def _judge_folder(entry: Entry, scale: str, folder: Path) -> JudgedEntry:
    """Return an entry with the verdicts on its claims, given the folder of its finished runs."""
    return _judge_entry(
        entry, scale, {key: load_run_folder(folder / key) for key in entry.problems}
    )


def _judge_finished(entries: Iterable[Entry], scale: str, folder: Path) -> dict[str, JudgedEntry]:
    """Return the entries with finished runs in ``folder/NAME``, by name, with their verdicts."""
    finished = {}
    for entry in entries:
        with suppress(FileNotFoundError, ValueError):
            finished[entry.name] = _judge_folder(entry, scale, folder / entry.name)
    return finished


def is_reproduction_folder(folder: str | Path) -> bool:
    """Return whether a folder was written by `reproduce` or `demo`."""
    return (Path(folder) / MARKER_FILE).is_file()


def _reproduce_entries(
    entries: Sequence[Entry],
    scale: str,
    folder: Path,
    marker: Marker,
    threads: int | None,
    progress: bool,
    on: str | Executor = THREADS,
) -> Reproduction:
    """Run entries into one folder, judge their claims, and write one report."""
    _check_marker(folder, marker)
    runs = [(entry, folder, marker["command"]) for entry in entries]
    markers = {folder / MARKER_FILE: marker}
    outcomes = tuple(_run_entries(runs, scale, markers, folder, threads, progress, on))
    if progress:
        print_step_name("drawing the report")
    return Reproduction(marker["title"], _write_report(folder, outcomes), outcomes)


def _run_entries(
    runs: Sequence[tuple[Entry, Path, str]],
    scale: str,
    markers: Mapping[Path, Marker],
    folder: Path,
    threads: int | None,
    progress: bool,
    on: str | Executor,
) -> Iterator[JudgedEntry]:
    """Write the marker files, then run entries and yield each with its verdicts.

    `runs` are the entries, each with its folder and the command that its run folders record.
    `folder` has the simulations that several runs share, until all runs are finished.
    """
    specs = {
        entry_folder / key: entry.spec(key, scale)
        for entry, entry_folder, _ in runs
        for key in entry.problems
    }
    # The cluster is connected before anything is written: where it does not answer, no folder is
    # left behind.
    with connect_if_unfinished(specs, on, threads) as cluster:
        for file, marker in markers.items():
            _write_marker(file, marker)
        # The cache knows all specs from the start: runs that differ only in their checkpoints share
        # one simulation, which has the checkpoints of all of them.
        cache = ResultCache(folder / SHARED_FOLDER, specs.values())
        simulate_on_cluster(cache, specs, cluster, threads, progress)
    is_tracked = progress and on == THREADS
    work = []
    if is_tracked:
        work = list_work({spec.name: spec for spec in specs.values()}, cache, threads)
    with track_total(is_tracked, work) as total:
        for entry, entry_folder, command in runs:
            run_folders = {}
            for key in entry.problems:
                spec = specs[entry_folder / key]
                # `run` returns a finished run at once, so that a second call resumes.
                run_folders[key] = run(
                    spec, entry_folder / key, threads=threads, command=command, cache=cache,
                    progress=total.tracker(spec.name),
                )  # fmt: skip
                total.mark_as_done(spec.name)
            yield _judge_entry(entry, scale, run_folders)
    # Now each run folder has its own results.
    shutil.rmtree(cache.folder, ignore_errors=True)


def _write_report(folder: Path, outcomes: Sequence[JudgedEntry]) -> Path:
    """Write the report.

    In a batch, the report also shows verdicts of other finished entries on the same statements.
    """
    others = dict[str, JudgedEntry]()
    # In a batch this folder is ``entries/NAME``, and the folders of other entries are beside it.
    if (folder.parent.parent / BATCH_MARKER_FILE).is_file():
        related = {name for outcome in outcomes for name in outcome.related_entries}
        names = sorted(related - {outcome.entry.name for outcome in outcomes})
        others = _judge_finished(map(Entry.load, names), outcomes[0].scale, folder.parent)
    return write_page_and_figures(folder, outcomes, verdicts_by_id(others.values()))


def _judge_entry(entry: Entry, scale: str, run_folders: Mapping[str, RunFolder]) -> JudgedEntry:
    """Return an entry with the verdicts on its claims, given its finished runs by problem."""
    results = {}
    for key, run_folder in run_folders.items():
        # A run folder has only results, but bounds need the problem and the policies.
        plan = entry.spec(key, scale).plan
        title = entry.problems[key].title
        results[key] = Result(title, plan.problem, run_folder.curves, plan.policies)
    verdicts = tuple(claim.verdict(results) for claim in entry.claims)
    return JudgedEntry(entry, scale, dict(run_folders), verdicts)


def _make_marker(title: str, entries: Sequence[Entry], scale: str, command: str) -> Marker:
    records = [
        {"entry": entry.identifier, "scale": scale, "problems": list(entry.problems)}
        for entry in entries
    ]
    head = {"format": _FORMAT, "version": _VERSION, "title": title}
    return head | {"command": command, "parts": records}


def _entry_marker(entry: Entry, scale: str) -> Marker:
    return _make_marker(f"{entry.title} ({scale} scale)", [entry], scale, entry.command(scale))


def _check_marker(folder: Path, marker: Marker) -> None:
    """Refuse a folder that holds anything but the reproduction that a marker describes."""
    if files.has_content(folder) and _read_marker(folder, marker["parts"]) != marker:
        raise ValueError(f"{folder} holds another reproduction; choose another folder")


def _write_marker(file: Path, marker: Marker) -> None:
    """Write a marker file, and remove temporary files of interrupted writes from its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    files.remove_drafts(file.parent)
    files.write_atomically(file, (json.dumps(marker, indent=2) + "\n").encode())


def _read_marker(folder: Path, new_records: Sequence[Marker] = ()) -> Marker:
    """Return the marker of a folder, and refuse a damaged one.

    The path of an entry in the marker is replaced by the path in `new_records` with the same file
    name, if there is one.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    marker = _load_valid_marker(folder / MARKER_FILE, _FORMAT)
    if marker is None:
        raise ValueError(f"{folder} holds something other than a reproduction")
    # The file of a user's entry may have been moved. Whether it was changed, too, is checked later,
    # by the digests of the runs.
    new_paths = {Path(record["entry"]).name: record["entry"] for record in new_records}
    try:
        check_line("title", marker["title"])
        for record in marker["parts"]:
            record["entry"] = new_paths.get(Path(record["entry"]).name, record["entry"])
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
        raise ValueError(f"{folder / MARKER_FILE} is damaged: {error}") from error
    return marker


def _load_valid_marker(file: Path, format_name: str) -> Marker | None:
    """Return a marker file's content, or None if it is missing, damaged or of another format."""
    try:
        content: Marker = json.loads(files.read_results_file(file))
        if content["format"] != format_name:
            return None
        version = int(content["version"])
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    files.refuse_newer_format(file.parent, version, _VERSION)
    return content


def _remove_stale_run(folder: Path, spec: Spec) -> None:
    """Remove the run in a folder if its digest differs: another spec or other code wrote it."""
    if (folder / "run.json").is_file() and read_provenance(folder)["digest"] != run_digest(spec):
        shutil.rmtree(folder)


@dataclass(frozen=True)
class ReproducedEntries:
    """Results of the reproduction of many entries.

    They are the index page (`index`), the file with all claims (`claims`), and `parts`: the runs
    and verdicts of each entry.
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
        """A line for each group of claims: how many hold, are open, and do not hold.

        The groups are the papers' claims on their set-ups, the papers' claims on set-ups of ours,
        and Keyhole's own checks. A group without claims has no line.
        """
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
        A folder for reproductions at one scale, created if needed. A second call with the same
        scale resumes an interrupted one; results of other papers in the folder are kept, and shown.
    paper : str, optional
        The paper whose entries are run, one of `PAPERS`; by default all entries.
    scale : {"quick", "paper"}, default "quick"
        Decides the numbers of replications and checkpoints.
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
    entries = [Entry.load(name) for name in ENTRY_FILES]
    folder = Path(out)
    folders = {entry.name: folder / "entries" / entry.name for entry in entries}
    _check_folder_of_entries(folder, scale)
    selection = [entry for entry in entries if paper in (None, entry.paper)]
    runs = [(entry, folders[entry.name], entry.command(scale)) for entry in selection]
    markers = {folder / BATCH_MARKER_FILE: _batch_marker(scale)}
    for entry, entry_folder, _ in runs:
        marker = _entry_marker(entry, scale)
        _check_marker(entry_folder, marker)
        markers[entry_folder / MARKER_FILE] = marker
    # The index also shows entries that earlier calls ran into this folder.
    others = [entry for entry in entries if entry not in selection]
    outcomes = _judge_finished(others, scale, folder / "entries")
    for outcome in _run_entries(runs, scale, markers, folder, threads, progress, on):
        name = outcome.entry.name
        outcomes[name] = outcome
        all_verdicts = verdicts_by_id(outcomes.values())
        write_page_and_figures(folders[name], [outcome], all_verdicts)
        # Pages of entries that judge one of this entry's statements show this entry's verdict, too.
        for related in sorted(outcome.related_entries & outcomes.keys() - {name}):
            write_reproduction_page(folders[related], [outcomes[related]], all_verdicts)
        finished = tuple(outcomes[entry.name] for entry in entries if entry.name in outcomes)
        # The index is written after every entry, so that an interrupted call leaves an index of all
        # finished entries.
        index, claims = write_index(folder, scale, entries, finished)
    return ReproducedEntries(index, claims, finished)


def _check_folder_of_entries(folder: Path, scale: str) -> None:
    """Refuse a folder that holds anything but reproductions of entries at this scale."""
    if files.has_content(folder):
        marker = _load_valid_marker(folder / BATCH_MARKER_FILE, _BATCH_FORMAT)
        if marker is None:
            raise ValueError(f"{folder} holds something else; choose another folder")
        if marker != _batch_marker(scale):
            text = f"reproductions at scale {marker.get('scale')!r}"
            raise ValueError(f"{folder} holds {text}; choose another folder")


def _batch_marker(scale: str) -> Marker:
    return {"format": _BATCH_FORMAT, "version": _VERSION, "scale": scale}
