"""Index page of many reproductions: what papers claim, what was found, and all figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Final

from keyhole.contract.text_formatting import count_text
from keyhole.pages.page import Answer, Page, PageBlock, Section, write_page
from keyhole.pages.table import Table
from keyhole.papers.claims_json import write_claims
from keyhole.papers.entry import Entry
from keyhole.papers.entry_files import FILES, PAPERS
from keyhole.papers.paper_coverage import Coverage
from keyhole.papers.report.claim_rows import ClaimRow, JudgedClaim, claim_rows, format_range
from keyhole.papers.report.coverage_page import uncovered_table, write_coverage_page
from keyhole.papers.report.entry_answer import count_sentence, counts, entry_answer
from keyhole.papers.report.judged_entry import JudgedEntry, verdicts_by_id
from keyhole.papers.verdicts import SETUPS, Setup, Status, Verdict, one_per_statement

STATUS_WORDS: Final[dict[Status, str]] = {
    "holds": "holds",
    "undecided": "open",
    "does not hold": "does not hold",
}
"""Short words for what became of a claim."""


@dataclass(frozen=True)
class ClaimBar:
    """The squares of some claims, with a label."""

    label: str
    verdicts: Sequence[Verdict]

    @property
    def counts(self) -> str:
        """How many claims hold, are open, and do not hold."""
        return counts(self.verdicts)

    @property
    def entries(self) -> list[list[Verdict]]:
        """The verdicts of each entry, in order."""
        return [list(found) for _, found in groupby(self.verdicts, entry_of)]


@dataclass(frozen=True)
class ClaimSquares:
    """Bars of claims below each other, with a heading or a legend."""

    heading: str  # empty for the legend
    bars: Sequence[ClaimBar]
    template: ClassVar[str] = "papers/report/templates/claim_squares.html.j2"

    @property
    def legend(self) -> Sequence[tuple[Status, str]]:
        """The statuses with their words."""
        return list(STATUS_WORDS.items())

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


@dataclass(frozen=True)
class Thumbnail:
    """A figure of an entry."""

    file: str  # from the index
    alt: str


@dataclass(frozen=True)
class GalleryTile:
    """An entry with its figures, the main one first."""

    part: JudgedEntry
    answer: Answer
    thumbnails: Sequence[Thumbnail]

    @property
    def status(self) -> str:
        """What became of the paper's claims; empty where it judges none."""
        return self.answer.status

    @property
    def words(self) -> str:
        """The answer in a word."""
        return self.answer.mark or (self.answer.status if self.status else "Checks alone.")

    @property
    def page(self) -> str:
        """The address of the entry's page."""
        return f"entries/{self.part.entry.name}/report.html"


@dataclass(frozen=True)
class FigureGallery:
    """Tiles of entries, in a grid."""

    tiles: Sequence[GalleryTile]
    template: ClassVar[str] = "papers/report/templates/figure_gallery.html.j2"


def gallery_tile(part: JudgedEntry, known: Mapping[str, Verdict]) -> GalleryTile:
    """Return the tile of an entry; `known` are all verdicts by id."""
    answer = next(one for one in entry_answer(part, known, "") if isinstance(one, Answer))
    return GalleryTile(part, answer, _thumbnails(part))


def _thumbnails(part: JudgedEntry) -> list[Thumbnail]:
    """Return all figures of an entry: against parameters, of problems, and of metrics."""
    entry, shown = part.entry, list[tuple[str, str]]()
    shown += [(f"overview-{i}", one.title) for i, one in enumerate(entry.parameter_figures, 1)]
    shown += [(f"drawing-{i}", one.title) for i, one in enumerate(entry.problem_figures, 1)]
    for problem, curves in part.curves.items():
        for metric in part.metrics_of(problem):
            title = f"{entry.problems[problem].title}: {curves.metric(metric).title}"
            shown.append((f"{problem}-{metric}", title))
            if entry.ratio_to is not None:
                ratio = f"{title} relative to {entry.ratio_to}"
                shown.append((f"{problem}-{metric}-ratio", ratio))
    return [Thumbnail(f"entries/{entry.name}/{name}.png", title) for name, title in shown]


_MOST_PROBLEMS: Final = 4


@dataclass(frozen=True)
class UnmetClaim:
    """A statement that does not hold, on one or several problems."""

    row: ClaimRow
    paper: str  # its citation

    @property
    def shown(self) -> JudgedClaim:
        """The verdict whose number is shown."""
        return self.row.worst

    @property
    def setup(self) -> str:
        """Whose set-up it is judged on."""
        return SETUPS[self.row.first.setup]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The address of each verdict, and its problems as the words of the link."""
        verdicts = [one.verdict for one in self.row.judged]
        links = [(claim_address(one), one.about or one.id) for one in verdicts]
        if len(links) <= _MOST_PROBLEMS:
            return links
        left = len(links) - _MOST_PROBLEMS
        return [*links[:_MOST_PROBLEMS], (links[_MOST_PROBLEMS][0], f"{left} more")]

    @property
    def found(self) -> str:
        """The number that decides it; without one, all that was found."""
        number = self.shown.deciding
        if number is None:
            return self.shown.verdict.detail
        return f"{number}, not {format_range(number.at_least, number.at_most)}"

    @property
    def found_of(self) -> str:
        """The name of the number that decides it."""
        return self.shown.deciding.name if self.shown.deciding else ""

    @property
    def runs(self) -> str:
        """The number of runs, and the larger one of the other scale."""
        part, verdict = self.shown.part, self.shown.verdict
        text = f"{verdict.replications:,} runs"
        most = part.entry.scales["paper"].replications
        if part.scale == "paper" or most <= verdict.replications:
            return text
        return f"{text}; {most:,} with --scale paper"


@dataclass(frozen=True)
class UnmetClaims:
    """A heading, and the claims that do not hold."""

    heading: str
    claims: Sequence[UnmetClaim]
    in_brief: bool  # few words for a claim, and its number without a name
    template: ClassVar[str] = "papers/report/templates/unmet_claims.html.j2"


def unmet_claims(
    parts: Sequence[JudgedEntry],
    verdicts: Sequence[Verdict],
    known: Mapping[str, Verdict],
    citations: Mapping[str, str],
) -> list[UnmetClaim]:
    """Return those of some verdicts that do not hold, one for each statement, in order.

    Parameters
    ----------
    parts : sequence of JudgedEntry
        The entries.
    verdicts : sequence of Verdict
        The verdicts that count.
    known : mapping of str to Verdict
        By id, all verdicts.
    citations : mapping of str to str
        By paper, its short citation.
    """
    unmet = {verdict.id for verdict in verdicts if verdict.status == "does not hold"}
    return [
        UnmetClaim(row, citations[part.entry.paper])
        for part in parts
        if (found := [verdict for verdict in part.verdicts if verdict.id in unmet])
        for row in claim_rows(part, found, known, [])
    ]


_SETUP_ROWS: Final[dict[Setup, str]] = {
    "paper": "the paper's",
    "any": "any: a statement about every set-up, such as a theorem",
    "replica": "a replica, made by us where the paper's could not be read in full",
    "ours": "ours",
}
_ON_OURS: Final = "On set-ups of ours"
_ABOUT_NO_PAPER: Final = "about no paper"


@dataclass(frozen=True)
class IndexLine:
    """The small line below the answer: how much was run, and what the answer does not count."""

    scale: str
    done: int
    entries: int
    replicas: str  # how many of the papers' claims hold on set-ups of ours; empty for none
    checks: str  # how many of Keyhole's own checks hold; empty for none
    deeper: str  # how many open claims the other scale would decide; empty for none
    missing: str  # what has not been run
    template: ClassVar[str] = "papers/report/templates/index_line.html.j2"


def write_index(
    folder: Path, scale: str, entries: Sequence[Entry], parts: Sequence[JudgedEntry]
) -> tuple[Path, Path]:
    """Write ``index.html``, ``coverage.html`` and ``claims.json``; return the first and the last.

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
    run = {part.entry.name for part in parts}
    shown = {part.entry.paper for part in parts}
    papers = {key: Coverage.load(key) for key in PAPERS if key in shown}
    write_coverage_page(folder, papers, run)
    page = _Index(scale, entries, parts, papers).page()
    index = write_page(folder / "index.html", page)
    # Rewritten with the page, which links to it.
    claims = folder / "claims.json"
    write_claims(claims, parts)
    return index, claims


class _Index:
    """What the index shows."""

    def __init__(
        self,
        scale: str,
        entries: Sequence[Entry],
        parts: Sequence[JudgedEntry],
        papers: Mapping[str, Coverage],
    ) -> None:
        self.scale, self.entries, self.parts, self.papers = scale, entries, parts, papers
        self.known = verdicts_by_id(parts)
        self.verdicts = one_per_statement([v for part in parts for v in part.verdicts])
        self.citations = {key: paper.short_citation for key, paper in papers.items()}
        claimed = [verdict for verdict in self.verdicts if verdict.origin != "ours"]
        self.judged = [verdict for verdict in claimed if verdict.is_on_papers_setup]
        self.replicas = [verdict for verdict in claimed if not verdict.is_on_papers_setup]
        self.checks = [verdict for verdict in self.verdicts if verdict.origin == "ours"]

    def page(self) -> Page:
        """Return the page."""
        return Page(
            title=f"What {self._papers()}, and what was found",
            answer=self._answer(),
            figures=[
                ClaimSquares("", self._bars(self.judged)),
                *([ClaimSquares(_ON_OURS, self._bars(self.replicas))] if self.replicas else []),
            ],
            sections=[
                *self._unmet_section(),
                Section("set-ups", "Whose set-ups they were judged on", [self._setups_table()]),
                Section("figures", "Figures", [self._gallery()], is_open=True),
                self._checks_section(),
                self._uncovered_section(),
            ],
        )

    def _papers(self) -> str:
        if len(self.citations) == 1:
            (citation,) = self.citations.values()
            return f"{citation} claim"
        return f"{count_text(len(self.citations), 'paper')} claim"

    def _answer(self) -> list[PageBlock]:
        sentence = count_sentence(self.judged, "the papers'", "claim", " on their set-ups")
        line = IndexLine(
            self.scale,
            len(self.parts),
            len(self.entries),
            counts(self.replicas),
            counts(self.checks),
            self._deeper(),
            self._missing(),
        )
        return [Answer(sentence), line]

    def _deeper(self) -> str:
        """Return how many open claims on the papers' set-ups the other scale would decide."""
        if self.scale == "paper":
            return ""
        most = {part.entry.name: part.entry.scales["paper"].replications for part in self.parts}
        deeper = [
            verdict
            for verdict in self.judged
            if verdict.status == "undecided"
            and verdict.needed is not None
            and verdict.needed <= most[entry_of(verdict)]
        ]
        if not deeper:
            return ""
        return f"More runs (--scale paper) would decide some {len(deeper)} of the open claims."

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

    def _of(self, paper: str, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """Return those of some verdicts whose entries are about a paper."""
        return [one for one in verdicts if FILES[entry_of(one)].rpartition("/")[0] == paper]

    def _bars(self, verdicts: Sequence[Verdict]) -> list[ClaimBar]:
        """Return a bar for each paper, and one for entries about none; of one paper, by entry."""
        if len(self.citations) == 1:
            headings = {part.entry.name: part.entry.heading for part in self.parts}
            return [
                ClaimBar(headings[name], list(found)) for name, found in groupby(verdicts, entry_of)
            ]
        return [
            ClaimBar(self.citations.get(paper, _ABOUT_NO_PAPER), found)
            for paper in (*self.citations, "")
            if (found := self._of(paper, verdicts))
        ]

    def _unmet_section(self) -> list[Section]:
        blocks = list[PageBlock]()
        for verdicts, where, in_brief in (
            (self.judged, "On the papers' set-ups", False),
            (self.replicas, _ON_OURS, True),
        ):
            found = unmet_claims(self.parts, verdicts, self.known, self.citations)
            if found:
                blocks.append(UnmetClaims(where, found, in_brief))
        if not blocks:
            return []
        return [Section("unmet", "What does not hold", blocks, is_open=True)]

    def _setups_table(self) -> Table:
        rows = []
        claimed = self.judged + self.replicas
        for setup, words in _SETUP_ROWS.items():
            found = [verdict for verdict in claimed if verdict.setup == setup]
            if not found:
                continue
            statuses = [verdict.status for verdict in found]
            entries = list(dict.fromkeys(map(entry_of, found)))
            named = ", ".join(entries) if setup in ("replica", "ours") else ""
            counted = [str(statuses.count(status)) for status in STATUS_WORDS]
            rows.append([words, str(len(found)), *counted, named])
        head = ["set-up", "claims", *STATUS_WORDS.values(), "entries"]
        return Table("Claims of the papers, by whose set-up they were judged on", head, rows)

    def _gallery(self) -> FigureGallery:
        return FigureGallery([gallery_tile(part, self.known) for part in self.parts])

    def _checks_section(self) -> Section:
        squares = ClaimSquares("", self._bars(self.checks))
        return Section("checks", "Keyhole's own checks", [squares], note=counts(self.checks))

    def _uncovered_section(self) -> Section:
        tables = [table for paper in self.papers.values() if (table := uncovered_table(paper))]
        number = sum(len(table.rows) for table in tables)
        return Section(
            "uncovered",
            "What is not covered, and why",
            [CoverageLink(), *tables],
            note=f"{number} of {sum(len(paper.items) for paper in self.papers.values())} items",
        )


@dataclass(frozen=True)
class CoverageLink:
    """A link to the page of all figures, tables and statements of the papers."""

    template: ClassVar[str] = "papers/report/templates/coverage_link.html.j2"
