"""Index page of many reproductions: what papers claim, what was found, all figures; the JSON."""

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
from keyhole.papers.claims.base import format_range
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


@dataclass(frozen=True)
class ClaimSquares:
    """Bars of squares, one for each claim, with a heading or a legend."""

    heading: str  # empty for the legend
    bars: Sequence[tuple[str, Sequence[Verdict]]]  # each with its label
    template: ClassVar[str] = "papers/report/templates/claim_squares.html.j2"
    legend: ClassVar = STATUS_WORDS
    counts = staticmethod(counts)

    def by_entry(self, verdicts: Sequence[Verdict]) -> list[list[Verdict]]:
        """Return the verdicts of each entry, in order."""
        return [list(group) for _, group in groupby(verdicts, entry_of)]

    def address(self, verdict: Verdict) -> str:
        """Return the address of a claim on the page of its entry."""
        return claim_address(verdict)

    def words(self, verdict: Verdict) -> str:
        """Return the name of a square: verdict, problem, claim, and set-up if not the paper's."""
        about = f"{verdict.about}: " if verdict.about else ""
        text = f"{STATUS_WORDS[verdict.status].capitalize()}. {about}{verdict.headline}"
        if verdict.origin == "ours" or verdict.is_on_papers_setup:
            return text
        return f"{text} ({SETUPS[verdict.setup]})"


def entry_of(verdict: Verdict) -> str:
    """Return the name of the entry of a verdict."""
    return verdict.id.partition("/")[0]


def claim_address(verdict: Verdict) -> str:
    """Return the address of a claim on the page of its entry, as a link of the index."""
    return f"entries/{entry_of(verdict)}/report.html#{verdict.id}"


def write_index(
    folder: Path, scale: str, entries: Sequence[Entry], parts: Sequence[JudgedEntry]
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
    parts : sequence of JudgedEntry
        The entries that have been run.
    """
    index = write_page(folder / "index.html", _Index(scale, entries, parts).page())
    # Rewritten with the page, which links to it.
    claims = folder / "claims.json"
    write_claims_json(claims, parts)
    return index, claims


class _Index:
    """What the index shows."""

    def __init__(self, scale: str, entries: Sequence[Entry], parts: Sequence[JudgedEntry]) -> None:
        self.scale, self.entries, self.parts = scale, entries, parts
        shown = {part.entry.paper for part in parts}
        self.papers = {key: Coverage.load(key) for key in PAPERS if key in shown}
        self.citations = {key: paper.short_citation for key, paper in self.papers.items()}
        self.known = verdicts_by_id(parts)
        self.judged, self.replicas, self.checks = split_by_origin([*self.known.values()])

    def page(self) -> Page:
        """Return the page."""
        replicas = [ClaimSquares(_ON_OURS, self._bars(self.replicas))] if self.replicas else []
        return Page(
            title=f"What {self._papers()} claim, and what was found",
            answer=self._answer(),
            figures=[ClaimSquares("", self._bars(self.judged)), *replicas],
            sections=[
                *self._unmet_section(),
                Section("set-ups", "Whose set-ups they were judged on", [self._setups_table()]),
                Section("figures", "Figures", [gallery(self.parts, self.known)], is_open=True),
                Section(
                    "checks",
                    "Keyhole's own checks",
                    [ClaimSquares("", self._bars(self.checks))],
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
            replicas=counts(self.replicas), checks=counts(self.checks), deeper=self._deeper(),
            missing=self._missing(),
        )  # fmt: skip
        return [Answer(sentence), line]

    def _deeper(self) -> str:
        """Return how many open claims on the papers' set-ups the other scale would decide."""
        most = {part.entry.name: part.entry.scales["paper"].replications for part in self.parts}
        number = sum(
            verdict.status == "undecided"
            and verdict.needed is not None
            and verdict.needed <= most[entry_of(verdict)]
            for verdict in self.judged
        )
        if self.scale == "paper" or not number:
            return ""
        return f"More runs (--scale paper) would decide some {number} of the open claims."

    def _missing(self) -> str:
        """Return what has not been run: papers, and entries of the others."""
        done = {part.entry.name for part in self.parts}
        texts = []
        for paper in (*PAPERS, ""):
            names = [entry.name for entry in self.entries if entry.paper == paper]
            left = [name for name in names if name not in done]
            whose = Coverage.load(paper).short_citation if paper else _ABOUT_NO_PAPER
            if paper and left and len(left) == len(names):
                texts.append(whose)
            elif left:
                entries = count_text(len(left), "entry")
                texts.append(f"{entries} of {whose}" if paper else f"{entries} {whose}")
        return ", ".join(texts)

    def _bars(self, verdicts: Sequence[Verdict]) -> list[tuple[str, Sequence[Verdict]]]:
        """Return a bar for each paper, and one for entries about none; of one paper, by entry."""
        if len(self.citations) == 1:
            headings = {part.entry.name: part.entry.heading for part in self.parts}
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
            if (claims := self._unmet(verdicts))
        ]
        section = Section("unmet", "What does not hold", blocks, is_open=True)
        return [section] if blocks else []

    def _unmet(self, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
        """Return those of some verdicts that do not hold, one for each statement, in order."""
        unmet = {verdict.id for verdict in verdicts if verdict.status == "does not hold"}
        return [
            _unmet_claim(row, self.citations[part.entry.paper])
            for part in self.parts
            for row in claim_rows(part, [v for v in part.verdicts if v.id in unmet], self.known, [])
        ]

    def _setups_table(self) -> Table:
        rows = []
        for setup, words in _SETUP_ROWS.items():
            verdicts = [v for v in self.judged + self.replicas if v.setup == setup]
            statuses = [verdict.status for verdict in verdicts]
            entries = dict.fromkeys(map(entry_of, verdicts))
            named = ", ".join(entries) if setup in ("replica", "ours") else ""
            counted = [str(statuses.count(status)) for status in STATUS_WORDS]
            if verdicts:
                rows.append([words, str(len(verdicts)), *counted, named])
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
    shown, verdicts = row.worst, [judged.verdict for judged in row.judged]
    links = [(claim_address(one), one.about or one.id) for one in verdicts]
    left = links[_MOST_LINKS:]
    number, replications = shown.deciding, shown.verdict.replications
    found = shown.verdict.detail
    if number is not None:
        found = f"{number}, not {format_range(number.at_least, number.at_most)}"
    most = shown.part.entry.scales["paper"].replications
    more = f"; {most:,} with --scale paper" if most > replications else ""
    return {
        "row": row,
        "paper": citation,
        "setup": SETUPS[row.first.setup],
        "shown": shown,  # the verdict whose number is shown
        "links": links[:_MOST_LINKS] + [(to, f"{len(left)} more") for to, _ in left[:1]],
        "found": found,
        "runs": f"{replications:,} runs{more if shown.part.scale != 'paper' else ''}",
    }


def gallery(parts: Sequence[JudgedEntry], known: Mapping[str, Verdict]) -> TemplateBlock:
    """Return tiles of entries in a grid, with their figures; `known` are all verdicts by id.

    The status of a tile says what became of the paper's claims; it is empty where it judges none.
    """
    tiles = []
    for part in parts:
        answer = next(block for block in entry_answer(part, known, "") if isinstance(block, Answer))
        folder = f"entries/{part.entry.name}"
        figures = entry_figures(part)
        tiles.append(
            {
                "part": part,
                "status": answer.status,
                "words": answer.mark or answer.status or "Checks alone.",
                "page": f"{folder}/report.html",
                "thumbnails": [(f"{folder}/{stem}.png", title) for stem, title, _ in figures],
            }
        )
    return TemplateBlock("figure_gallery", tiles=tiles)


def write_claims_json(path: Path, parts: Sequence[JudgedEntry]) -> None:
    """Write the claims of entries, all run at one scale, with their verdicts."""
    # A file has one scale: verdicts at different scales are not to be compared.
    scales = {part.scale for part in parts}
    if len(scales) != 1:
        raise ValueError(f"parts must be of one scale, got {sorted(scales)}")
    deciding = deciding_verdicts([verdict for part in parts for verdict in part.verdicts])
    content = {
        "format": "keyhole-claims",
        "version": 1,
        "keyhole": version("keyhole"),
        "scale": scales.pop(),
        "claims": [
            _claim_record(part, verdict, deciding[verdict.id].id)
            for part in parts
            for verdict in part.verdicts
        ],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, (text + "\n").encode())


def _claim_record(part: JudgedEntry, verdict: Verdict, decided_by: str) -> dict[str, Any]:
    run = next(iter(part.runs.values()))
    return {
        "id": verdict.id,
        "entry": part.entry.name,
        "paper": part.entry.paper or "ours",
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
