"""Reproduction: simulate entries (published experiments) again, and judge what the papers say."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.clusters.cluster import THREADS, check_address
from keyhole.experiment import RunFolder, Spec, open_run, run
from keyhole.experiment.forecast import list_work
from keyhole.experiment.result_cache import ResultCache, connect_if_missing, simulate_missing
from keyhole.experiment.run_folder import read_provenance
from keyhole.experiment.runner import run_digest
from keyhole.files import (
    has_content,
    read_saved_file,
    refuse_newer,
    remove_drafts,
    write_atomically,
)
from keyhole.pages.notebook_html import notebook_html
from keyhole.pages.page import Table
from keyhole.papers.background_compilation import background_compilation
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
from keyhole.papers.verdicts import Verdict, counts_line, verdicts_by_origin
from keyhole.play.progress import Report, TotalProgress, print_step, progress_report, track_total
from keyhole.text_formatting import count_text
from keyhole.validate import check_choice, check_distinct, check_line

SHARED_FOLDER: Final = "shared"
"""Folder of the results that runs share, until they are finished."""
MARKER: Final = "reproduction.json"
_FORMAT: Final = "keyhole-reproduction"
_BATCH_FORMAT: Final = "keyhole-everything"
_VERSION: Final = 1
_Choice = tuple[Entry, str]

ProgressOf = Callable[[Entry, str], Report]
"""Returns the progress callback of an entry's problem, given its key."""


@dataclass(frozen=True, repr=False)
class Reproduction:
    """Results of a reproduction: its report, and the runs and verdicts of each entry."""

    title: str
    report: Path
    parts: tuple[JudgedEntry, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts."""
        return tuple(verdict for part in self.parts for verdict in part.verdicts)

    def __repr__(self) -> str:
        """Return the title, how many of the paper's claims hold, and where the report is."""
        return f"{self._headline()}\n  report: {self.report}"

    def _repr_html_(self) -> str:
        """Return what notebooks show: how many claims hold, and each with its verdict."""
        rows = [[one.headline, one.status, one.origin] for one in self.verdicts]
        tables = [
            Table("What is claimed, and what was found.", ["claim", "verdict", "whose"], rows)
        ]
        return notebook_html(tables if rows else [], line=f"{self._headline()} ({self.report})")

    def _headline(self) -> str:
        theirs = [verdict for verdict in self.verdicts if verdict.origin != "ours"]
        ours = [verdict for verdict in self.verdicts if verdict.origin == "ours"]
        groups = {"of the paper": theirs, "of ours": ours}
        words = [
            f"{count_text(len(found), 'claim')} {whose}, {counts_line(found, every=False)}"
            for whose, found in groups.items()
            if found
        ]
        return f"{self.title}: {'; '.join(words) or 'no claims'}"


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
    return simulate_entries([(entry, scale)], Path(out), threads=threads, progress=progress, on=on)


def demo(out: str | Path, *, threads: int | None = None, progress: bool = False) -> Reproduction:
    """Run Set-up 1 of Tao et al. (2019) in full, and the same policies on real labels.

    `out`, `threads` and `progress` are as for `reproduce`; a demo in `out` that an older version of
    Keyhole wrote is replaced.
    """
    choices = [
        (Entry.load("tao2019-setup1"), "paper"),
        (Entry.load("crowd-labels").with_problems("bluebirds"), "paper"),
    ]
    title = "Keyhole: eleven policies, a paper's claims, and real labels"
    return simulate_entries(
        choices, Path(out), title=title, threads=threads, progress=progress,
        command="keyhole demo", renew=True,
    )  # fmt: skip


def report_again(out: str | Path) -> Reproduction:
    """Judge the claims of a finished reproduction again, and rewrite its report."""
    folder = Path(out)
    marker = _read_marker(folder)
    parts = []
    for table in marker["parts"]:
        entry = Entry.find(table["entry"]).with_problems(*table["problems"])
        runs = {key: open_run(folder / key) for key in entry.problems}
        parts.append(_judge(entry, table["scale"], runs))
    return Reproduction(marker["title"], _write_report(folder, parts), tuple(parts))


def load_finished_entry(entry: Entry, scale: str, folder: Path) -> JudgedEntry | None:
    """Return the results of an entry in a folder, or None if they are not complete."""
    try:
        runs = {key: open_run(folder / key) for key in entry.problems}
    except (FileNotFoundError, ValueError):
        return None
    return _judge(entry, scale, runs)


def is_reproduction(folder: str | Path) -> bool:
    """Return whether `reproduce` or `demo` wrote a folder."""
    return (Path(folder) / MARKER).is_file()


def simulate_entries(
    choices: Sequence[_Choice],
    folder: Path,
    *,
    title: str | None = None,
    threads: int | None = None,
    progress: bool | ProgressOf = False,
    command: str | None = None,
    renew: bool = False,
    cache: ResultCache | None = None,
    ahead: bool = True,
    on: str | Executor = THREADS,
) -> Reproduction:
    """Run entries at their scales into one folder, judge their claims, and write one report.

    The title and the user's command are by default those of the first entry. `renew` replaces runs
    that other code wrote into the folder; `cache` holds results that the runs share with others;
    `ahead` compiles later policies in a second process, if there is more than one thread.
    """
    check_address(on, threads)
    entry, scale = choices[0]
    title = title or f"{entry.title} ({scale} scale)"
    # Records contain no paths.
    command = command or f"keyhole reproduce {Path(entry.identifier).name} --scale {scale}"
    marker = _make_marker(title, choices, command)
    # Refuse a folder with other contents before connecting, and connect before writing: neither a
    # wrong folder nor a cluster that does not answer leaves anything behind.
    _check_marker(folder, marker, renew=renew)
    specs = {folder / key: e.spec(key, scale) for e, scale in choices for key in e.problems}
    with connect_if_missing(specs, on, threads) as cluster:
        write_marker(folder / MARKER, marker)
        if renew:
            for place, spec in specs.items():
                _remove_stale_run(place, spec)
        own = ResultCache(folder / SHARED_FOLDER, specs.values()) if cache is None else cache
        simulate_missing(own, specs, cluster, threads, progress is True)
    parts = []
    ahead = ahead and on == THREADS and threads != 1
    count = None
    if progress is True and on == THREADS:
        work = list_work({str(place): spec for place, spec in specs.items()}, own, threads)
        count = TotalProgress(work)
    with background_compilation([entry for entry, _ in choices], wanted=ahead):
        for entry, scale in choices:
            runs = {}
            for key in entry.problems:
                # `run` returns at once where a finished run is in the folder, which is how a second
                # call resumes.
                with _shown_progress(progress, count, entry, key, folder / key) as report:
                    runs[key] = run(
                        specs[folder / key], folder / key, threads=threads, command=command,
                        progress=report or False, cache=own,
                    )  # fmt: skip
            parts.append(_judge(entry, scale, runs))
    # The cache of a batch outlives its entries; one of our own is not needed any more.
    if cache is None:
        shutil.rmtree(own.folder, ignore_errors=True)
    if progress is True:
        print_step("drawing the report")
    return Reproduction(title, _write_report(folder, parts), tuple(parts))


@contextmanager
def _shown_progress(
    progress: bool | ProgressOf,
    count: TotalProgress | None,
    entry: Entry,
    problem: str,
    place: Path,
) -> Iterator[Report | None]:
    """Return a context manager with the progress callback of a problem, if progress is shown."""
    if callable(progress):
        yield progress(entry, problem)
    elif count is None:
        yield None
    else:
        print_step(f"{entry.problems[problem].title}:")
        with progress_report(True, count.of(str(place))) as report:
            yield report
        count.finish(str(place))


def _write_report(folder: Path, parts: Sequence[JudgedEntry]) -> Path:
    """Write the report, with the verdicts of finished entries beside it on the same statements."""
    beside = list[JudgedEntry]()
    # In a batch this folder is ``entries/NAME``, and those of the other entries are beside it.
    if (folder.parent.parent / BATCH_MARKER).is_file():
        names = {part.entry.name for part in parts}
        same = {one for part in parts for verdict in part.verdicts for one in verdict.same_as}
        for name in sorted({one.partition("/")[0] for one in same} - names):
            entry = Entry.load(name)
            found = load_finished_entry(entry, parts[0].scale, folder.parent / name)
            beside += [found] if found is not None else []
    return write_reproduction(folder, parts, verdicts_by_id(beside))


def _judge(entry: Entry, scale: str, runs: Mapping[str, RunFolder]) -> JudgedEntry:
    results = {}
    for key, done in runs.items():
        # A run folder has results alone, and bounds need the problem and the policies.
        plan = entry.spec(key, scale).plan
        results[key] = Result(entry.problems[key].title, plan.problem, done.curves, plan.policies)
    verdicts = tuple(claim.verdict(results) for claim in entry.claims)
    return JudgedEntry(entry, scale, dict(runs), verdicts)


def _make_marker(title: str, choices: Sequence[_Choice], command: str) -> dict[str, Any]:
    parts = [
        {"entry": entry.identifier, "scale": scale, "problems": list(entry.problems)}
        for entry, scale in choices
    ]
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "title": title,
        "command": command,
        "parts": parts,
    }


def _check_marker(folder: Path, marker: Mapping[str, Any], *, renew: bool) -> None:
    """Refuse a folder with other contents."""
    if has_content(folder):
        found = _read_marker(folder, marker["parts"])
        # With `renew` the parts may differ, as after a new version, but not the command.
        if found != marker and not (renew and found.get("command") == marker["command"]):
            raise ValueError(f"{folder} holds another reproduction; choose another folder")


def write_marker(file: Path, marker: Mapping[str, Any]) -> None:
    """Create a folder with its marker file, and remove temporary files of interrupted writes."""
    if has_content(file.parent):
        remove_drafts(file.parent)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = (json.dumps(marker, indent=2) + "\n").encode()
    if not file.is_file() or file.read_bytes() != content:
        write_atomically(file, content)


def _read_marker(folder: Path, parts: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the marker of a folder, with the entries of `parts` for those of the same name."""
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    try:
        found: dict[str, Any] = json.loads(read_saved_file(folder / MARKER))
        form, version = found["format"], int(found["version"])
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        # Any damage to the marker means that the folder is not ours to write into.
        form, version = "", 0
    if form != _FORMAT:
        raise ValueError(f"{folder} holds something other than a reproduction")
    refuse_newer(folder, version, _VERSION)
    # An entry of the user's own may have been moved since; each run has a digest of what it is.
    moved = {Path(part["entry"]).name: part["entry"] for part in parts}
    try:
        check_line("title", found["title"])
        for part in found["parts"]:
            part["entry"] = moved.get(Path(part["entry"]).name, part["entry"])
            known = Entry.find(part["entry"]).problems
            check_choice("scale", part["scale"], SCALES)
            check_distinct(
                "problems", [check_choice("problem", name, known) for name in part["problems"]]
            )
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{folder} belongs to an entry that was moved or removed: {error}; if it was moved, "
            "reproduce it again into this folder"
        ) from None
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / MARKER} is damaged: {error}") from error
    return found


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
        return tuple(verdict for part in self.parts for verdict in part.verdicts)

    @property
    def counts(self) -> tuple[str, ...]:
        """How many claims hold, are undecided, and do not hold: one line per origin."""
        return tuple(
            f"{whose}: {counts_line(found)}" for whose, found in verdicts_by_origin(self.verdicts)
        )


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
    check_address(on, threads)
    entries = [Entry.load(name) for name in FILES]
    wanted = [entry for entry in entries if paper in (None, entry.paper)]
    folder = Path(out)
    places = {entry.name: folder / "entries" / entry.name for entry in entries}
    _check_folder(folder, scale)
    specs = {(e.name, key): e.spec(key, scale) for e in wanted for key in e.problems}
    at = {places[name] / key: spec for (name, key), spec in specs.items()}
    # All specs at once: runs that differ only in their checkpoints share one simulation, at the
    # checkpoints of all.
    cache = ResultCache(folder / SHARED_FOLDER, specs.values())
    # Connected before anything is written: a cluster that does not answer leaves no folder behind.
    with connect_if_missing(at, on, threads) as cluster:
        write_marker(folder / BATCH_MARKER, _batch_marker(scale))
        simulate_missing(cache, at, cluster, threads, progress)
    # Entries of earlier calls into this folder remain in its index.
    found = {
        e.name: load_finished_entry(e, scale, places[e.name]) for e in entries if e not in wanted
    }
    parts = {name: part for name, part in found.items() if part is not None}
    shown, ahead = progress and on == THREADS, on == THREADS and threads != 1
    work = (
        list_work({"/".join(at): spec for at, spec in specs.items()}, cache, threads)
        if shown
        else []
    )
    with (
        background_compilation(wanted, wanted=ahead),
        track_total(shown, work) as count,
    ):
        for entry in wanted:
            result = simulate_entries(
                [(entry, scale)], places[entry.name], threads=threads,
                progress=_entry_progress(count), cache=cache, ahead=False,
            )  # fmt: skip
            if count is not None:
                count.finish(entry.name)
            parts[entry.name] = result.parts[0]
            _rewrite_pages(result.parts[0], parts, places)
            done = tuple(parts[e.name] for e in entries if e.name in parts)
            # After every entry, so that an interrupted call leaves a complete index of what is
            # done.
            index, claims = write_index(folder, scale, entries, done)
    # By now each run folder has its own results.
    shutil.rmtree(cache.folder, ignore_errors=True)
    return ReproducedEntries(index, claims, done)


def _rewrite_pages(
    new: JudgedEntry, parts: Mapping[str, JudgedEntry], places: Mapping[str, Path]
) -> None:
    """Rewrite the pages of entries that judge statements which a new entry judges too."""
    known = verdicts_by_id(parts.values())
    same = {one for verdict in new.verdicts for one in verdict.same_as}
    for name in sorted({one.partition("/")[0] for one in same} & parts.keys() - {new.entry.name}):
        write_reproduction_page(places[name], [parts[name]], known)


def _entry_progress(count: TotalProgress | None) -> bool | ProgressOf:
    if count is None:
        return False
    return lambda entry, problem: count.of(f"{entry.name}/{problem}")


def _check_folder(folder: Path, scale: str) -> None:
    """Refuse a folder with other contents, or with reproductions at another scale."""
    if has_content(folder):
        try:
            found = json.loads(read_saved_file(folder / BATCH_MARKER))
        except (OSError, ValueError, RecursionError):
            found = None
        if found != _batch_marker(scale):
            same = isinstance(found, dict) and found.get("format") == _BATCH_FORMAT
            if same:
                refuse_newer(folder, found.get("version"), _VERSION)
            what = f"reproductions at scale {found.get('scale')!r}" if same else "something else"
            raise ValueError(f"{folder} holds {what}; choose another folder")


def _batch_marker(scale: str) -> dict[str, Any]:
    return {"format": _BATCH_FORMAT, "version": _VERSION, "scale": scale}
