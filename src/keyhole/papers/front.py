"""The page in front of many reproductions: paper by paper, what is covered, and every verdict."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from keyhole.experiment.html import STYLE, together
from keyhole.files import write_atomically
from keyhole.papers.coverage import Coverage, Item
from keyhole.papers.entry import Entry
from keyhole.papers.files import PAPERS
from keyhole.papers.pages import RULES, Part
from keyhole.papers.records import write_claims
from keyhole.papers.verdicts import counts_line

_OURS: Final = "Beyond the papers"
_PAGES: Final = Environment(
    loader=PackageLoader("keyhole.papers"), autoescape=True, undefined=StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip


def write_front(
    folder: Path, scale: str, entries: Sequence[Entry], parts: Sequence[Part]
) -> tuple[Path, Path]:
    """Write ``index.html`` and ``claims.json``; return their paths.

    Parameters
    ----------
    folder : Path
        Of all; the report of an entry lies in ``entries/NAME``.
    scale : str
        At which they were run.
    entries : sequence of Entry
        All that there are, run or not.
    parts : sequence of Part
        Those that have been run.
    """
    done = {part.entry.name: part for part in parts}
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    page = _PAGES.get_template("index.html.j2").render(
        title=f"What the papers claim, and what was found ({scale} scale)",
        style=STYLE,
        summary=f"{len(done)} of {len(entries)} entries, {_counts(verdicts)}",
        rules=RULES,
        chapters=[
            _chapter(paper, [e for e in entries if e.paper == paper], done, scale)
            for paper in (*PAPERS, "")
        ],
    )
    index, claims = folder / "index.html", folder / "claims.json"
    write_atomically(index, page.encode())
    write_claims(claims, parts)
    return index, claims


def _chapter(
    paper: str, entries: Sequence[Entry], done: dict[str, Part], scale: str
) -> dict[str, Any]:
    verdicts = [v for e in entries if e.name in done for v in done[e.name].verdicts]
    known = Coverage.load(paper) if paper else None
    return {
        "key": paper or "ours",
        "title": known.title if known else _OURS,
        "citation": known.citation if known else "Experiments that are about no paper.",
        "stated": known.items if known else [],
        "covered": _covered(known.items if known else []),
        "counts": _counts(verdicts),
        "entries": [_entry(entry, done.get(entry.name), scale) for entry in entries],
    }


def _covered(items: Sequence[Item]) -> str:
    kinds = [item.covered for item in items]
    return (
        f"{len(kinds)} items: {kinds.count('by entries')} covered by entries, "
        f"{kinds.count('by tests')} by tests, {kinds.count('not')} not."
    )


def _entry(entry: Entry, part: Part | None, scale: str) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": entry.name,
        "title": entry.title,
        "about": entry.about,
        "command": f"keyhole reproduce {_option(entry)} --scale {scale} --out DIR",
        "report": None,
    }
    if part is None:
        return shown
    folder = f"entries/{entry.name}"
    size = entry.scales[scale]
    return shown | {
        "report": f"{folder}/report.html",
        "picture": f"{folder}/{part.picture}" if part.picture else None,
        "size": f"{size.replications:,} replications",
        "counts": _counts(part.verdicts),
        "claims": [
            {"status": v.status, "claim": v.claim, "source": v.cited,
             "found": together(v.detail)}
            for v in part.verdicts
        ],
    }  # fmt: skip


def _option(entry: Entry) -> str:
    return f"--paper {entry.paper}" if entry.paper else "--all"


def _counts(verdicts: Sequence[Any]) -> str:
    return f"{len(verdicts)} claims: {counts_line(verdicts)}" if verdicts else "no claims"
