"""Reproduction of all entries (published experiments), or of one paper's, with an index page."""

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.clusters.cluster import THREADS, check_address
from keyhole.experiment.missing_run_simulation import connect_if_missing, simulate_missing
from keyhole.experiment.planned_work import list_work
from keyhole.experiment.result_cache import ResultCache
from keyhole.files import has_content, read_saved_file, refuse_newer
from keyhole.papers.background_compilation import background_compilation
from keyhole.papers.entry import SCALES, Entry
from keyhole.papers.entry_files import FILES, PAPERS
from keyhole.papers.report.index_page import write_index
from keyhole.papers.report.judged_entry import JudgedEntry, verdicts_by_id
from keyhole.papers.report.reproduction_page import BATCH_MARKER, write_reproduction_page
from keyhole.papers.reproduction import (
    SHARED_FOLDER,
    ProgressOf,
    load_finished_entry,
    simulate_entries,
    write_marker,
)
from keyhole.papers.verdicts import Verdict, counts_line, verdicts_by_origin
from keyhole.play.progress import TotalProgress, track_total
from keyhole.validate import check_choice

_FORMAT: Final = "keyhole-everything"
_VERSION: Final = 1


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
    (`keyhole.papers.claims_json`). Both are rewritten after each entry.

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
        write_marker(folder / BATCH_MARKER, _make_marker(scale))
        simulate_missing(cache, at, cluster, threads, progress)
    # Entries of earlier calls into this folder remain in its index.
    found = {
        e.name: load_finished_entry(e, scale, places[e.name]) for e in entries if e not in wanted
    }
    parts = {name: part for name, part in found.items() if part is not None}
    shown, ahead = progress and on == THREADS, on == THREADS and threads != 1
    work = (
        list_work({_place_name(*at): spec for at, spec in specs.items()}, cache, threads)
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
    return lambda entry, problem: count.of(_place_name(entry.name, problem))


def _place_name(entry: str, problem: str) -> str:
    return f"{entry}/{problem}"


def _check_folder(folder: Path, scale: str) -> None:
    """Refuse a folder with other contents, or with reproductions at another scale."""
    if has_content(folder):
        try:
            found = json.loads(read_saved_file(folder / BATCH_MARKER))
        except (OSError, ValueError, RecursionError):
            found = None
        if found != _make_marker(scale):
            same = isinstance(found, dict) and found.get("format") == _FORMAT
            if same:
                refuse_newer(folder, found.get("version"), _VERSION)
            what = f"reproductions at scale {found.get('scale')!r}" if same else "something else"
            raise ValueError(f"{folder} holds {what}; choose another folder")


def _make_marker(scale: str) -> dict[str, Any]:
    return {"format": _FORMAT, "version": _VERSION, "scale": scale}
