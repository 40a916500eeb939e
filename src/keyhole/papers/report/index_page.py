"""Index page of many reproductions: by paper, its coverage, and every verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from keyhole.pages.page import Page, PageBlock, Section, Text, write_page
from keyhole.papers.claims_json import write_claims
from keyhole.papers.coverage import Coverage, Item
from keyhole.papers.entry import Entry
from keyhole.papers.entry_files import PAPERS
from keyhole.papers.report.claims_section import ClaimsSection, ClaimsSummary, origin_table
from keyhole.papers.report.judging_rules import RULES
from keyhole.papers.report.report_part import ReportPart
from keyhole.papers.report.shared_claims import repeated_verdicts
from keyhole.papers.verdicts import Verdict, counts_line, verdicts_by_origin

_OURS: Final = "Beyond the papers"


@dataclass(frozen=True)
class CoverageSummary:
    """Table of a paper's items, and the entries that cover each."""

    items: Sequence[Item]
    template: ClassVar[str] = "papers/report/templates/covered.html.j2"

    @property
    def caption(self) -> str:
        """The numbers of items that entries, tests and nothing cover."""
        kinds = [item.covered for item in self.items]
        return (
            f"{len(kinds)} items: {kinds.count('by entries')} covered by entries, "
            f"{kinds.count('by tests')} by tests, {kinds.count('not')} not."
        )


@dataclass(frozen=True)
class EntryCard:
    """Short view of an entry, with a link to its report."""

    entry: Entry
    scale: str
    part: ReportPart | None  # None where it has not been run
    template: ClassVar[str] = "papers/report/templates/card.html.j2"


def write_index(
    folder: Path, scale: str, entries: Sequence[Entry], parts: Sequence[ReportPart]
) -> tuple[Path, Path]:
    """Write ``index.html`` and ``claims.json``; return their paths.

    Parameters
    ----------
    folder : Path
        The folder of all; the report of an entry is in ``entries/NAME``.
    scale : str
        The scale at which they were run.
    entries : sequence of Entry
        All entries, run or not.
    parts : sequence of ReportPart
        The entries that have been run.
    """
    done = {part.entry.name: part for part in parts}
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    known = {verdict.id: verdict for verdict in verdicts}
    index = write_page(
        folder / "index.html",
        Page(
            title=f"Claims of the papers, and what was found ({scale} scale)",
            answer=[
                ClaimsSummary(verdicts, f"{len(done)} of {len(entries)} entries, ", "claims.json"),
                origin_table(verdicts),
                Text("", RULES),
            ],
            sections=[
                _paper_section(paper, [e for e in entries if e.paper == paper], done, scale, known)
                for paper in (*PAPERS, "")
            ],
        ),
    )
    # Rewritten with the page, whose summary links to it.
    claims = folder / "claims.json"
    write_claims(claims, parts)
    return index, claims


def _paper_section(
    paper: str,
    entries: Sequence[Entry],
    done: Mapping[str, ReportPart],
    scale: str,
    known: Mapping[str, Verdict],
) -> Section:
    parts = [done[entry.name] for entry in entries if entry.name in done]
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    inner = [_entry_section(entry, scale, done.get(entry.name), known) for entry in entries]
    if not paper:
        text = Text("Experiments that are about no paper.")
        return Section("ours", _OURS, [text], inner, _format_counts(verdicts))
    coverage = Coverage.load(paper)
    stated = [CoverageSummary(coverage.items)]
    inner.insert(
        0, Section(f"{paper}-stated", "Figures, tables and statements of the paper", stated)
    )
    blocks: list[PageBlock] = [
        Text(coverage.citation),
        *([origin_table(verdicts)] if verdicts else []),
    ]
    return Section(paper, coverage.title, blocks, inner, _format_counts(verdicts))


def _entry_section(
    entry: Entry, scale: str, part: ReportPart | None, known: Mapping[str, Verdict]
) -> Section:
    blocks: list[PageBlock] = [EntryCard(entry, scale, part)]
    if part is None:
        return Section(entry.name, entry.title, blocks, note="not run")
    if part.verdicts:
        others = repeated_verdicts(part.verdicts, scale, known, "entries/")
        largest = {entry.name: entry.scales["paper"].replications}
        blocks.append(ClaimsSection(part.verdicts, others, largest))
    return Section(entry.name, entry.title, blocks, note=_format_counts(part.verdicts))


def _format_counts(verdicts: Sequence[Verdict]) -> str:
    """Return the text on how many claims hold, by origin."""
    groups = [
        f"{words}: {counts_line(found, every=False)}"
        for words, found in verdicts_by_origin(verdicts)
    ]
    return "; ".join(groups) or "no claims"
