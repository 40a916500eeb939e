"""Index page of many reproductions, with all claims and figures, and the claims as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Final

from keyhole.files import write_atomically
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, write_page
from keyhole.papers.claims.statistics import format_range
from keyhole.papers.entry import Entry
from keyhole.papers.entry_files import FILES, PAPERS
from keyhole.papers.paper_coverage import Coverage
from keyhole.papers.report.claim_rows import ClaimRow, claim_rows
from keyhole.papers.report.entry_charts import entry_figures
from keyhole.papers.report.judged_entry import (
    JudgedEntry,
    TemplateBlock,
    count_sentence,
    entry_answer,
    verdicts_by_id,
)
from keyhole.papers.verdicts import (
    SETUPS,
    Number,
    Setup,
    Status,
    Verdict,
    counts,
    deciding_verdicts,
    split_by_origin,
)
from keyhole.text_formatting import count_text

STATUS_WORDS: Final[dict[Status, str]] = {
    "holds": "holds",
    "undecided": "open",
    "does not hold": "does not hold",
}
"""Short words for what became of a claim."""
_SETUP_ROWS: Final[dict[Setup, str]] = {
    "paper": "the paper's",
    "any": "any: a statement about every set-up, such as a theorem",
    "replica": "a replica, made by us where the paper's could not be read in full",
    "ours": "ours",
}
_ON_OURS: Final = "On set-ups of ours"
_ABOUT_NO_PAPER: Final = "about no paper"
_MOST_LINKS: Final = 4


def entry_of(verdict: Verdict) -> str:
    """Return the name of the entry of a verdict."""
    return verdict.id.partition("/")[0]


def claim_address(verdict: Verdict) -> str:
    """Return the address of a claim on the page of its entry, as a link of the index."""
    return f"entries/{entry_of(verdict)}/report.html#{verdict.id}"


@dataclass(frozen=True)
class ClaimSquares:
    """Bars of squares, one for each claim, with a heading or a legend."""

    heading: str  # empty for the legend
    bars: Sequence[tuple[str, Sequence[Verdict]]]  # each with its label
    template: ClassVar[str] = "papers/report/templates/claim_squares.html.j2"
    legend: ClassVar = STATUS_WORDS
    counts = staticmethod(counts)
    address = staticmethod(claim_address)

    def by_entry(self, verdicts: Sequence[Verdict]) -> list[list[Verdict]]:
        """Return the verdicts of each entry, in order."""
        return [list(group) for _, group in groupby(verdicts, entry_of)]

    def words(self, verdict: Verdict) -> str:
        """Return the name of a square: verdict, problem, claim, and set-up if not the paper's."""
        text = f"{STATUS_WORDS[verdict.status].capitalize()}. "
        if verdict.about:
            text += f"{verdict.about}: "
        text += verdict.headline
        if verdict.origin == "ours" or verdict.is_on_papers_setup:
            return text
        return f"{text} ({SETUPS[verdict.setup]})"


def write_index(
    folder: Path, scale: str, entries: Sequence[Entry], outcomes: Sequence[JudgedEntry]
) -> tuple[Path, Path]:
    """Write ``index.html`` and ``claims.json``; return both.

    Parameters
    ----------
    folder : Path
        The folder of all; the report of an entry is in ``entries/NAME``.
    scale : str
        The scale at which they were run.
    entries : sequence of Entry
        All entries, run or not.
    outcomes : sequence of JudgedEntry
        The entries that have been run.
    """
    index = write_page(folder / "index.html", _Index(scale, entries, outcomes).page())
    # Rewritten with the page, which links to it.
    claims = folder / "claims.json"
    write_claims_json(claims, outcomes)
    return index, claims


@dataclass
class _Index:
    """What the index shows."""

    scale: str
    entries: Sequence[Entry]  # all, run or not
    parts: Sequence[JudgedEntry]

    def __post_init__(self) -> None:
        folders = {outcome.entry.paper for outcome in self.parts}
        self.papers = {key: Coverage.load(key) for key in PAPERS if key in folders}
        self.citations = {key: paper.short_citation for key, paper in self.papers.items()}
        self.known = verdicts_by_id(self.parts)
        self.judged, self.replicas, self.checks = split_by_origin([*self.known.values()])

    def page(self) -> Page:
        """Return the page."""
        figures = [ClaimSquares("", self._verdict_bars(self.judged))]
        if self.replicas:
            figures.append(ClaimSquares(_ON_OURS, self._verdict_bars(self.replicas)))
        return Page(
            title=f"What {self._papers()} claim, and what was found",
            answer=self._answer(),
            figures=figures,
            sections=[
                *self._unmet_section(),
                Section("set-ups", "Whose set-ups they were judged on", [self._setups_table()]),
                Section("figures", "Figures", [gallery(self.parts, self.known)], is_open=True),
                Section(
                    "checks",
                    "Keyhole's own checks",
                    [ClaimSquares("", self._verdict_bars(self.checks))],
                    note=counts(self.checks),
                ),
                self._uncovered_section(),
            ],
        )

    def _papers(self) -> str:
        if len(self.citations) == 1:
            return next(iter(self.citations.values()))
        return count_text(len(self.citations), "paper")

    def _answer(self) -> list[PageBlock]:
        sentence = count_sentence(self.judged, "the papers'", "claim", " on their set-ups")
        line = TemplateBlock(
            "index_line", scale=self.scale, done=len(self.parts), entries=len(self.entries),
            replicas=counts(self.replicas), checks=counts(self.checks), deeper=self._decidable(),
            missing=self._entries_not_run(),
        )  # fmt: skip
        return [Answer(sentence), line]

    def _decidable(self) -> str:
        """Return how many open claims on the papers' set-ups the other scale would decide."""
        replications = {outcome.entry.name: outcome.paper_replications for outcome in self.parts}
        number = sum(
            verdict.status == "undecided"
            and verdict.needed is not None
            and verdict.needed <= replications[entry_of(verdict)]
            for verdict in self.judged
        )
        if self.scale == "paper" or not number:
            return ""
        return f"More runs (--scale paper) would decide some {number} of the open claims."

    def _entries_not_run(self) -> str:
        """Return what has not been run: papers, and entries of the others."""
        names_run = {outcome.entry.name for outcome in self.parts}
        texts = []
        for paper in (*PAPERS, ""):
            names = [entry.name for entry in self.entries if entry.paper == paper]
            missing_names = [name for name in names if name not in names_run]
            if not missing_names:
                continue
            entries = count_text(len(missing_names), "entry")
            if not paper:
                texts.append(f"{entries} {_ABOUT_NO_PAPER}")
            elif missing_names == names:
                texts.append(Coverage.load(paper).short_citation)
            else:
                texts.append(f"{entries} of {Coverage.load(paper).short_citation}")
        return ", ".join(texts)

    def _verdict_bars(self, verdicts: Sequence[Verdict]) -> list[tuple[str, Sequence[Verdict]]]:
        """Return a bar for each paper, and one for entries about none; of one paper, by entry."""
        if len(self.citations) == 1:
            headings = {outcome.entry.name: outcome.entry.heading for outcome in self.parts}
            return [(headings[name], list(group)) for name, group in groupby(verdicts, entry_of)]
        bars: dict[str, list[Verdict]] = {paper: [] for paper in (*self.citations, "")}
        for verdict in verdicts:
            bars[FILES[entry_of(verdict)].rpartition("/")[0]].append(verdict)
        return [(self.citations.get(key, _ABOUT_NO_PAPER), bar) for key, bar in bars.items() if bar]

    def _unmet_section(self) -> list[Section]:
        blocks: list[PageBlock] = [
            # in brief: few words for a claim, and its number without a name
            TemplateBlock("unmet_claims", heading=where, claims=claims, in_brief=in_brief)
            for verdicts, where, in_brief in (
                (self.judged, "On the papers' set-ups", False),
                (self.replicas, _ON_OURS, True),
            )
            if (claims := self._unmet_claims(verdicts))
        ]
        if not blocks:
            return []
        return [Section("unmet", "What does not hold", blocks, is_open=True)]

    def _unmet_claims(self, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
        """Return those of some verdicts that do not hold, one for each statement, in order."""
        unmet = {verdict.id for verdict in verdicts if verdict.status == "does not hold"}
        claims = []
        for outcome in self.parts:
            entry_verdicts = [verdict for verdict in outcome.verdicts if verdict.id in unmet]
            for row in claim_rows(outcome, entry_verdicts, self.known, []):
                claims.append(_unmet_claim(row, self.citations[outcome.entry.paper]))
        return claims

    def _setups_table(self) -> Table:
        rows = []
        for setup, description in _SETUP_ROWS.items():
            verdicts = [v for v in self.judged + self.replicas if v.setup == setup]
            statuses = [verdict.status for verdict in verdicts]
            counted = [str(statuses.count(status)) for status in STATUS_WORDS]
            our_setups = [verdict for verdict in verdicts if not verdict.is_on_papers_setup]
            entries = ", ".join(dict.fromkeys(map(entry_of, our_setups)))
            if verdicts:
                rows.append([description, str(len(verdicts)), *counted, entries])
        head = ["set-up", "claims", *STATUS_WORDS.values(), "entries"]
        return Table("Claims of the papers, by whose set-up they were judged on", head, rows)

    def _uncovered_section(self) -> Section:
        tables = []
        for paper in self.papers.values():
            items = [item for item in paper.items if item.covered == "not"]
            rows = [[item.name, item.says, item.why] for item in items]
            if rows:
                tables.append(Table(paper.short_citation, ["where", "what", "why not"], rows))
        number = sum(len(table.rows) for table in tables)
        total = sum(len(paper.items) for paper in self.papers.values())
        title = "What is not covered, and why"
        return Section("uncovered", title, tables, note=f"{number} of {total} items")


def _unmet_claim(row: ClaimRow, citation: str) -> dict[str, Any]:
    """Return what is shown of a statement that does not hold, on one or several problems."""
    worst = row.worst
    verdicts = [judged.verdict for judged in row.judged]
    links = [(claim_address(verdict), verdict.about or verdict.id) for verdict in verdicts]
    shown_links = links[:_MOST_LINKS]
    if len(links) > _MOST_LINKS:
        shown_links.append((links[_MOST_LINKS][0], f"{len(links) - _MOST_LINKS} more"))
    number = worst.deciding
    finding = worst.verdict.detail
    if number is not None:
        finding = f"{number}, not {format_range(number.at_least, number.at_most)}"
    runs = f"{worst.verdict.replications:,} runs"
    paper_runs = worst.part.paper_replications
    if worst.part.scale != "paper" and paper_runs > worst.verdict.replications:
        runs += f"; {paper_runs:,} with --scale paper"
    return {
        "row": row,
        "paper": citation,
        "setup": SETUPS[row.first.setup],
        "shown": worst,  # the verdict whose number is shown
        "links": shown_links,
        "found": finding,
        "runs": runs,
    }


def gallery(outcomes: Sequence[JudgedEntry], all_verdicts: Mapping[str, Verdict]) -> TemplateBlock:
    """Return tiles of entries in a grid, with their figures; `all_verdicts` are those by id.

    The status of a tile says what became of the paper's claims; it is empty where it judges none.
    """
    tiles = []
    for outcome in outcomes:
        answer, _ = entry_answer(outcome, all_verdicts, "")
        folder = f"entries/{outcome.entry.name}"
        figures = entry_figures(outcome)
        tiles.append(
            {
                "part": outcome,
                "status": answer.status,
                "words": answer.mark or answer.status or "Checks alone.",
                "page": f"{folder}/report.html",
                "thumbnails": [(f"{folder}/{stem}.png", title) for stem, title, _ in figures],
            }
        )
    return TemplateBlock("figure_gallery", tiles=tiles)


def write_claims_json(path: Path, outcomes: Sequence[JudgedEntry]) -> None:
    """Write the claims of entries, all run at one scale, with their verdicts."""
    # A file has one scale: verdicts at different scales are not to be compared.
    scales = {outcome.scale for outcome in outcomes}
    if len(scales) != 1:
        raise ValueError(f"parts must be of one scale, got {sorted(scales)}")
    deciding = deciding_verdicts([verdict for outcome in outcomes for verdict in outcome.verdicts])
    content = {
        "format": "keyhole-claims",
        "version": 1,
        "keyhole": version("keyhole"),
        "scale": scales.pop(),
        "claims": [
            _claim_record(outcome, verdict, deciding[verdict.id].id)
            for outcome in outcomes
            for verdict in outcome.verdicts
        ],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())


def _claim_record(outcome: JudgedEntry, verdict: Verdict, decided_by: str) -> dict[str, Any]:
    run = next(iter(outcome.runs.values()))
    return {
        "id": verdict.id,
        "entry": outcome.entry.name,
        "paper": outcome.entry.paper or "ours",
        "source": verdict.source,
        "origin": verdict.origin,
        "setup": verdict.setup,
        "same_as": verdict.same_as,
        "decided_by": decided_by,
        "statement": verdict.text,
        "reading": verdict.reading,
        "about": verdict.about,
        "kind": verdict.kind,
        "metric": verdict.metric,
        "verdict": verdict.status,
        "found": verdict.detail,
        "numbers": [_number_record(number) for number in verdict.numbers],
        "replications": run.curves.replications,
        "replications_needed": verdict.needed,
        "seed": run.provenance["seed"],
    }


def _number_record(number: Number) -> dict[str, Any]:
    """Return the fields of a number; infinite ones, and those that are not numbers, are null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(number).items()
    }
