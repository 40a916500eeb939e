"""Running entries into a folder, judging their claims, and writing one report."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.experiment import Run, Spec, open_run, run
from keyhole.experiment.runner import run_digest
from keyhole.experiment.store import read_provenance
from keyhole.files import remove_drafts, write_atomically
from keyhole.papers.ahead import compiling_ahead
from keyhole.papers.claims import Result
from keyhole.papers.entry import SCALES, Entry
from keyhole.papers.pages import Part, write_pages
from keyhole.papers.verdicts import Verdict
from keyhole.validate import Range, choice, distinct, integer, line

MARKER: Final = "reproduction.json"
_FORMAT: Final = "keyhole-reproduction"
_VERSION: Final = 1
_Choice = tuple[Entry, str]


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction left.

    It has a `title`, the path of the `report`, and `parts`: runs and verdicts, entry by entry.
    """

    title: str
    report: Path
    parts: tuple[Part, ...]

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
) -> Reproduction:
    """Run an entry, judge its claims, and write ``report.html``.

    Parameters
    ----------
    name : str
        The entry's name (see `keyhole.papers.FILES`).
    scale : {"quick", "paper"}, default "quick"
        How many replications and checkpoints.
    out : str or Path
        A folder of its own; made if need be. Called again with the same arguments, it goes on
        where it was interrupted.
    threads : int, optional
        At least 1; by default one for each processor.
    progress : bool, default False
        Whether to show progress on standard error.
    """
    entry = Entry.load(name)
    choice("scale", scale, SCALES)
    command = f"keyhole reproduce {name} --scale {scale}"
    return _play(
        f"{entry.title} ({scale} scale)", [(entry, scale)], Path(out), threads, progress, command
    )


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
    return _play(title, choices, Path(out), threads, progress, "keyhole demo", renew=True)


def report_again(out: str | Path) -> Reproduction:
    """Judge the claims of a finished reproduction, by its folder, and write its report anew."""
    folder = Path(out)
    marker = _read_marker(folder)
    parts = []
    for table in marker["parts"]:
        entry = Entry.load(table["entry"]).only(*table["problems"])
        runs = {key: open_run(folder / key) for key in entry.problems}
        parts.append(_judged(entry, table["scale"], runs))
    return Reproduction(marker["title"], write_pages(folder, marker["title"], parts), tuple(parts))


def is_reproduction(folder: str | Path) -> bool:
    """Return whether a folder is one that `reproduce` or `demo` wrote."""
    return (Path(folder) / MARKER).is_file()


def _play(
    title: str,
    choices: Sequence[_Choice],
    folder: Path,
    threads: int | None,
    progress: bool,
    command: str,
    *,
    renew: bool = False,
) -> Reproduction:
    if threads is not None:
        integer("threads", threads, Range(ge=1))
    _begin(folder, _marker(title, choices, command), renew=renew)
    parts = []
    with compiling_ahead([entry for entry, _ in choices], wanted=threads != 1):
        for entry, scale in choices:
            runs = {}
            for key in entry.problems:
                spec = entry.spec(key, scale)
                if progress:
                    print(f"{spec.title}:", file=sys.stderr, flush=True)  # noqa: T201
                if renew:
                    _drop_stale(folder / key, spec)
                runs[key] = run(
                    spec, folder / key, threads=threads, progress=progress, command=command
                )
            parts.append(_judged(entry, scale, runs))
    return Reproduction(title, write_pages(folder, title, parts), tuple(parts))


def _judged(entry: Entry, scale: str, runs: Mapping[str, Run]) -> Part:
    results = {}
    for key, done in runs.items():
        plan = entry.spec(key, scale).plan
        results[key] = Result(entry.problems[key].title, plan.problem, done.curves, plan.policies)
    verdicts = tuple(claim.verdict(results) for claim in entry.claims)
    return Part(entry, scale, dict(runs), verdicts)


def _marker(title: str, choices: Sequence[_Choice], command: str) -> dict[str, Any]:
    parts = [
        {"entry": entry.name, "scale": scale, "problems": list(entry.problems)}
        for entry, scale in choices
    ]
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "title": title,
        "command": command,
        "parts": parts,
    }


def _begin(folder: Path, marker: Mapping[str, Any], *, renew: bool) -> None:
    """Mark the folder as the reproduction's; refuse one that is something else's."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"out must be a folder, got the file {folder}")
    # Hidden files are drafts that a killed process left.
    if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
        found = _read_marker(folder)
        remove_drafts(folder)
        if found == marker:
            return
        if not (renew and found.get("command") == marker["command"]):
            raise ValueError(f"{folder} holds another reproduction; choose another folder")
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
        line("title", found["title"])
        for part in found["parts"]:
            known = Entry.load(part["entry"]).problems
            choice("scale", part["scale"], SCALES)
            distinct("problems", [choice("problem", name, known) for name in part["problems"]])
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / MARKER} is damaged: {error}") from error
    return found


def _drop_stale(folder: Path, spec: Spec) -> None:
    """Remove a run that other code left."""
    if (folder / "run.json").is_file() and read_provenance(folder)["digest"] != run_digest(spec):
        shutil.rmtree(folder)
