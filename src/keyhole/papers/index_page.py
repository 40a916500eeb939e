"""The page in front of many reproductions: paper by paper, what is covered, and every verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from keyhole.experiment.html_page import Block, Section, Text, write_page
from keyhole.papers.claims_json import write_claims
from keyhole.papers.claims_section import RULES, ClaimsSection, ClaimsSummary, by_origin
from keyhole.papers.coverage import Coverage, Item
from keyhole.papers.entry import Entry
from keyhole.papers.entry_files import PAPERS
from keyhole.papers.repeated_claims import repeated_verdicts
from keyhole.papers.report_pages import ReportPart
from keyhole.papers.verdicts import Verdict, counts_line, verdicts_by_origin

_OURS: Final = "Beyond the papers"


@dataclass(frozen=True)
class CoverageSummary:
    """What a paper shows and states, and what covers each."""

    items: Sequence[Item]
    template: ClassVar[str] = "papers/templates/covered.html.j2"

    @property
    def caption(self) -> str:
        """How many are covered by what."""
        kinds = [item.covered for item in self.items]
        return (
            f"{len(kinds)} items: {kinds.count('by entries')} covered by entries, "
            f"{kinds.count('by tests')} by tests, {kinds.count('not')} not."
        )


@dataclass(frozen=True)
class EntryCard:
    """An entry in short, with the way to its report."""

    entry: Entry
    scale: str
    part: ReportPart | None  # None where it has not been run
    template: ClassVar[str] = "papers/templates/card.html.j2"


def write_index(
    folder: Path, scale: str, entries: Sequence[Entry], parts: Sequence[ReportPart]
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
    known = {verdict.id: verdict for verdict in verdicts}
    index = write_page(
        folder / "index.html",
        f"What the papers claim, and what was found ({scale} scale)",
        [
            ClaimsSummary(verdicts, f"{len(done)} of {len(entries)} entries, ", "claims.json"),
            by_origin(verdicts),
            Text("", RULES),
        ],
        [
            _chapter(paper, [e for e in entries if e.paper == paper], done, scale, known)
            for paper in (*PAPERS, "")
        ],
    )
    claims = folder / "claims.json"
    write_claims(claims, parts)
    return index, claims


def _chapter(
    paper: str,
    entries: Sequence[Entry],
    done: Mapping[str, ReportPart],
    scale: str,
    known: Mapping[str, Verdict],
) -> Section:
    parts = [done[entry.name] for entry in entries if entry.name in done]
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    inner = [_entry(entry, scale, done.get(entry.name), known) for entry in entries]
    if not paper:
        text = Text("Experiments that are about no paper.")
        return Section("ours", _OURS, [text], inner, _counts(verdicts))
    coverage = Coverage.load(paper)
    stated = [CoverageSummary(coverage.items)]
    inner.insert(0, Section(f"{paper}-stated", "What the paper shows and states", stated))
    blocks: list[Block] = [
        Text(coverage.format_citation),
        *([by_origin(verdicts)] if verdicts else []),
    ]
    return Section(paper, coverage.title, blocks, inner, _counts(verdicts))


def _entry(
    entry: Entry, scale: str, part: ReportPart | None, known: Mapping[str, Verdict]
) -> Section:
    blocks: list[Block] = [EntryCard(entry, scale, part)]
    if part is None:
        return Section(entry.name, entry.title, blocks, note="not run")
    if part.verdicts:
        others = repeated_verdicts(part.verdicts, scale, known, "entries/")
        largest = {entry.name: entry.scales["paper"].replications}
        blocks.append(ClaimsSection(part.verdicts, others, largest))
    return Section(entry.name, entry.title, blocks, note=_counts(part.verdicts))


def _counts(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims there are, whose, and what became of them."""
    groups = [
        f"{words}: {counts_line(found, every=False)}"
        for words, found in verdicts_by_origin(verdicts)
    ]
    return "; ".join(groups) or "no claims"
