"""Reproduction: simulate entries (published experiments) again, and judge what the papers say."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.clusters.cluster import THREADS, check_address
from keyhole.experiment import RunFolder, Spec, open_run, run
from keyhole.experiment.compile_jobs import spec_jobs
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
from keyhole.play.progress import print_step, track_total
from keyhole.text_formatting import count_text
from keyhole.validate import check_choice, check_distinct, check_line

SHARED_FOLDER: Final = "shared"
"""Folder of the results that runs share, until they are finished."""
MARKER: Final = "reproduction.json"
_FORMAT: Final = "keyhole-reproduction"
_BATCH_FORMAT: Final = "keyhole-everything"
_VERSION: Final = 1


@dataclass(frozen=True)
class _Choice:
    """An entry to run, at a scale, into a folder, and the user's command for it."""

    entry: Entry
    scale: str
    folder: Path
    command: str


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
            f"{count_text(len(found), 'claim')} {whose}, {counts(found)}"
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
    choices = [_choose(entry, scale, Path(out))]
    return _reproduce(choices, _title(entry, scale), threads=threads, progress=progress, on=on)


def demo(out: str | Path, *, threads: int | None = None, progress: bool = False) -> Reproduction:
    """Run Set-up 1 of Tao et al. (2019) in full, and the same policies on real labels.

    `out`, `threads` and `progress` are as for `reproduce`; a demo in `out` that an older version of
    Keyhole wrote is replaced.
    """
    entries = [Entry.load("tao2019-setup1"), Entry.load("crowd-labels").with_problems("bluebirds")]
    choices = [_Choice(entry, "paper", Path(out), "keyhole demo") for entry in entries]
    title = "Keyhole: eleven policies, a paper's claims, and real labels"
    return _reproduce(choices, title, threads=threads, progress=progress, renew=True)


def report_again(out: str | Path) -> Reproduction:
    """Judge the claims of a finished reproduction again, and rewrite its report."""
    folder = Path(out)
    marker = _read_marker(folder)
    parts = []
    for table in marker["parts"]:
        entry = Entry.find(table["entry"]).with_problems(*table["problems"])
        parts.append(_open_entry(entry, table["scale"], folder))
    return Reproduction(marker["title"], _write_report(folder, parts), tuple(parts))


def _open_entry(entry: Entry, scale: str, folder: Path) -> JudgedEntry:
    """Return an entry whose runs are finished."""
    return _judge(entry, scale, {key: open_run(folder / key) for key in entry.problems})


def _find_finished(entry: Entry, scale: str, folder: Path) -> JudgedEntry | None:
    """Return the results of an entry in a folder, or None if they are not complete."""
    try:
        return _open_entry(entry, scale, folder)
    except (FileNotFoundError, ValueError):
        return None


def is_reproduction(folder: str | Path) -> bool:
    """Return whether `reproduce` or `demo` wrote a folder."""
    return (Path(folder) / MARKER).is_file()


def _title(entry: Entry, scale: str) -> str:
    return f"{entry.title} ({scale} scale)"


def _choose(entry: Entry, scale: str, folder: Path) -> _Choice:
    # Records contain no paths.
    command = f"keyhole reproduce {Path(entry.identifier).name} --scale {scale}"
    return _Choice(entry, scale, folder, command)


def _reproduce(
    choices: Sequence[_Choice],
    title: str,
    *,
    threads: int | None,
    progress: bool,
    on: str | Executor = THREADS,
    renew: bool = False,
) -> Reproduction:
    """Run entries into one folder, judge their claims, and write one report.

    `renew` replaces runs that other code wrote into the folder.
    """
    check_address(on, threads)
    folder, marker = choices[0].folder, _make_marker(title, choices)
    _check_marker(folder, marker, renew=renew)
    parts = tuple(
        _run_entries(choices, {folder / MARKER: marker}, folder, threads, progress, on, renew=renew)
    )
    if progress:
        print_step("drawing the report")
    return Reproduction(title, _write_report(folder, parts), parts)


def _run_entries(
    choices: Sequence[_Choice],
    markers: Mapping[Path, Mapping[str, Any]],
    folder: Path,
    threads: int | None,
    progress: bool,
    on: str | Executor,
    *,
    renew: bool = False,
) -> Iterator[JudgedEntry]:
    """Run entries and yield each with its verdicts; write the marker files first.

    The folder holds results that runs share, until all entries are finished.
    """
    specs = {
        choice.folder / key: choice.entry.spec(key, choice.scale)
        for choice in choices
        for key in choice.entry.problems
    }
    # Connected before anything is written: a cluster that does not answer leaves no folder behind.
    with connect_if_missing(specs, on, threads) as cluster:
        for file, marker in markers.items():
            _write_marker(file, marker)
        for run_folder, spec in specs.items() if renew else ():
            _remove_stale_run(run_folder, spec)
        # All specs at once: runs that differ only in their checkpoints share one simulation, at the
        # checkpoints of all.
        cache = ResultCache(folder / SHARED_FOLDER, specs.values())
        simulate_missing(cache, specs, cluster, threads, progress)
    is_local, by_name = on == THREADS, {spec.name: spec for spec in specs.values()}
    work = list_work(by_name, cache, threads) if progress and is_local else []
    entries = [choice.entry for choice in choices]
    with (
        background_compilation(entries, wanted=is_local and threads != 1),
        track_total(progress and is_local, work) as total,
    ):
        for choice in choices:
            runs = {}
            for key in choice.entry.problems:
                spec = specs[choice.folder / key]
                # `run` returns at once where a finished run is in the folder, which is how a second
                # call resumes.
                runs[key] = run(
                    spec, choice.folder / key, threads=threads, command=choice.command, cache=cache,
                    progress=False if total is None else total.of(spec.name),
                )  # fmt: skip
                if total is not None:
                    total.finish(spec.name)
            yield _judge(choice.entry, choice.scale, runs)
    # By now each run folder has its own results.
    shutil.rmtree(cache.folder, ignore_errors=True)


@contextmanager
def background_compilation(entries: Sequence[Entry], *, wanted: bool = True) -> Iterator[None]:
    """Return a context manager: a second process fills the compile cache while its block runs.

    Compiling takes seconds for each policy and kind of problem, once per machine, on one core. If
    the process fails, the main process compiles when it needs to.
    """
    words = [f"{entry.identifier}:{problem}" for entry in entries for problem in entry.problems]
    quiet = subprocess.DEVNULL
    child = None
    if wanted:
        command = [sys.executable, "-m", __name__, *words]
        with suppress(OSError):
            child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        yield
    finally:
        if child is not None:
            # A killed compiler leaves no broken file: the cache writes each file under a temporary
            # name and then renames it.
            child.kill()
            child.wait()


def compile_back_to_front(words: Sequence[str]) -> None:
    """Compile the engines of problems, named ``entry:problem`` in the order of their runs."""
    # Last first: the main process compiles in the order of the runs, so that the two meet in the
    # middle and seldom compile the same engine.
    for word in reversed(words):
        name, _, problem = word.rpartition(":")
        spec = Entry.find(name).spec(problem, "quick")
        for _, compile_it in reversed(spec_jobs(spec, learners=False)):
            compile_it()


def _write_report(folder: Path, parts: Sequence[JudgedEntry]) -> Path:
    """Write the report, with the verdicts of finished entries beside it on the same statements."""
    beside = list[JudgedEntry]()
    # In a batch this folder is ``entries/NAME``, and those of the other entries are beside it.
    if (folder.parent.parent / BATCH_MARKER).is_file():
        names = {part.entry.name for part in parts}
        same = {one for part in parts for verdict in part.verdicts for one in verdict.same_as}
        for name in sorted({one.partition("/")[0] for one in same} - names):
            entry = Entry.load(name)
            found = _find_finished(entry, parts[0].scale, folder.parent / name)
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


def _make_marker(title: str, choices: Sequence[_Choice]) -> dict[str, Any]:
    parts = [
        {"entry": one.entry.identifier, "scale": one.scale, "problems": list(one.entry.problems)}
        for one in choices
    ]
    head = {"format": _FORMAT, "version": _VERSION, "title": title}
    return head | {"command": choices[0].command, "parts": parts}


def _check_marker(folder: Path, marker: Mapping[str, Any], *, renew: bool = False) -> None:
    """Refuse a folder with other contents."""
    if has_content(folder):
        found = _read_marker(folder, marker["parts"])
        # With `renew` the parts may differ, as after a new version, but not the command.
        if found != marker and not (renew and found.get("command") == marker["command"]):
            raise ValueError(f"{folder} holds another reproduction; choose another folder")


def _write_marker(file: Path, marker: Mapping[str, Any]) -> None:
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
    found = _load_marker(folder / MARKER, _FORMAT)
    if found is None:
        raise ValueError(f"{folder} holds something other than a reproduction")
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


def _load_marker(file: Path, form: str) -> dict[str, Any] | None:
    """Return the content of a marker file; None if it is missing, damaged or of another format."""
    try:
        content: dict[str, Any] = json.loads(read_saved_file(file))
        is_ours, version = content["format"] == form, int(content["version"])
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    if not is_ours:
        return None
    refuse_newer(file.parent, version, _VERSION)
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
        return tuple(verdict for part in self.parts for verdict in part.verdicts)

    @property
    def counts(self) -> tuple[str, ...]:
        """How many claims hold, are open, and do not hold: one line per origin."""
        groups = zip(
            ("claim", "claim", "check"),
            ("of the papers", "of the papers on set-ups of ours", "of Keyhole's own"),
            split_by_origin(self.verdicts),
            strict=True,
        )
        return tuple(
            f"{count_text(len(group), noun)} {whose}: {counts(group)}"
            for noun, whose, group in groups
            if group
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
    folder = Path(out)
    places = {entry.name: folder / "entries" / entry.name for entry in entries}
    _check_folder(folder, scale)
    chosen = [entry for entry in entries if paper in (None, entry.paper)]
    wanted = [_choose(entry, scale, places[entry.name]) for entry in chosen]
    markers = {folder / BATCH_MARKER: _batch_marker(scale)}
    for choice in wanted:
        marker = _make_marker(_title(choice.entry, scale), [choice])
        _check_marker(choice.folder, marker)
        markers[choice.folder / MARKER] = marker
    # Entries of earlier calls into this folder remain in its index.
    parts = {
        entry.name: part
        for entry in entries
        if entry not in chosen and (part := _find_finished(entry, scale, places[entry.name]))
    }
    for part in _run_entries(wanted, markers, folder, threads, progress, on):
        name = part.entry.name
        parts[name] = part
        write_reproduction(places[name], [part], verdicts_by_id(parts.values()))
        _rewrite_pages(part, parts, places)
        done = tuple(parts[entry.name] for entry in entries if entry.name in parts)
        # After every entry, so that an interrupted call leaves a complete index of what is done.
        index, claims = write_index(folder, scale, entries, done)
    return ReproducedEntries(index, claims, done)


def _rewrite_pages(
    new: JudgedEntry, parts: Mapping[str, JudgedEntry], places: Mapping[str, Path]
) -> None:
    """Rewrite the pages of entries that judge statements which a new entry judges too."""
    known = verdicts_by_id(parts.values())
    same = {one for verdict in new.verdicts for one in verdict.same_as}
    for name in sorted({one.partition("/")[0] for one in same} & parts.keys() - {new.entry.name}):
        write_reproduction_page(places[name], [parts[name]], known)


def _check_folder(folder: Path, scale: str) -> None:
    """Refuse a folder with other contents, or with reproductions at another scale."""
    if has_content(folder):
        marker = _load_marker(folder / BATCH_MARKER, _BATCH_FORMAT)
        if marker != _batch_marker(scale):
            text = f"reproductions at scale {marker.get('scale')!r}" if marker else "something else"
            raise ValueError(f"{folder} holds {text}; choose another folder")


def _batch_marker(scale: str) -> dict[str, Any]:
    return {"format": _BATCH_FORMAT, "version": _VERSION, "scale": scale}


if __name__ == "__main__":
    compile_back_to_front(sys.argv[1:])
