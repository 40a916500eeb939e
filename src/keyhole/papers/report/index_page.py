"""Index page of many reproductions with all claims and figures, and the claims as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Final

from keyhole.files import write_atomically
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, write_page
from keyhole.papers.claims.statistics import describe_range
from keyhole.papers.entry import Entry
from keyhole.papers.entry_files import ENTRY_FILES, PAPERS
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
    Status,
    Verdict,
    deciding_verdicts,
    format_counts,
    split_by_origin,
)
from keyhole.text_formatting import count_text

STATUS_WORDS: Final[dict[Status, str]] = {
    "holds": "holds",
    "undecided": "open",
    "does not hold": "does not hold",
}
"""Short words for each status of a claim."""
_ON_OURS: Final = "On set-ups of ours"
_ABOUT_NO_PAPER: Final = "about no paper"


def entry_name(verdict: Verdict) -> str:
    """Return the name of the entry of a verdict."""
    return verdict.id.partition("/")[0]


def claim_address(verdict: Verdict) -> str:
    """Return the link from the index to a claim on the page of its entry."""
    return f"entries/{entry_name(verdict)}/report.html#{verdict.id}"


Bars = Sequence[tuple[str, Sequence[Verdict]]]
"""Pairs of a label and the verdicts of its bar."""


def claim_squares(heading: str, bars: Bars) -> TemplateBlock:
    """Return bars with a square for each claim; without a heading, a legend stands above them."""
    counted_bars = [
        (label, format_counts(bar), [list(group) for _, group in groupby(bar, entry_name)])
        for label, bar in bars
    ]
    return TemplateBlock(
        "claim_squares", heading=heading, bars=counted_bars, legend=STATUS_WORDS,
        setups=SETUPS, address=claim_address,
    )  # fmt: skip


def write_index(
    folder: Path, scale: str, entries: Sequence[Entry], outcomes: Sequence[JudgedEntry]
) -> tuple[Path, Path]:
    """Write ``index.html`` and ``claims.json``, and return their paths.

    Parameters
    ----------
    folder : Path
        The folder of all reproductions; the report of an entry is in ``entries/NAME``.
    scale : str
        The scale at which the entries were run.
    entries : sequence of Entry
        All entries, run or not.
    outcomes : sequence of JudgedEntry
        The entries that have been run.
    """
    index = write_page(folder / "index.html", _IndexContent(scale, entries, outcomes).page())
    # The page links to this file, so both are rewritten together.
    claims = folder / "claims.json"
    write_claims_json(claims, outcomes)
    return index, claims


@dataclass
class _IndexContent:
    """Content of the index page."""

    scale: str
    entries: Sequence[Entry]  # all entries, run or not
    outcomes: Sequence[JudgedEntry]  # the entries that have been run

    def __post_init__(self) -> None:
        paper_keys = {outcome.entry.paper for outcome in self.outcomes}
        self.papers = {key: Coverage.load(key) for key in PAPERS if key in paper_keys}
        self.citations = {key: paper.short_citation for key, paper in self.papers.items()}
        self.verdicts = verdicts_by_id(self.outcomes)
        self.on_papers_setups, self.on_our_setups, self.own_checks = split_by_origin(
            list(self.verdicts.values())
        )

    def page(self) -> Page:
        """Return the page."""
        figures = [claim_squares("", self._verdict_bars(self.on_papers_setups))]
        if self.on_our_setups:
            figures.append(claim_squares(_ON_OURS, self._verdict_bars(self.on_our_setups)))
        gallery = figure_gallery(self.outcomes, self.verdicts)
        subject = count_text(len(self.citations), "paper")
        if len(self.citations) == 1:
            (subject,) = self.citations.values()
        return Page(
            title=f"What {subject} claim, and what was found",
            answer=self._answer_blocks(),
            figures=figures,
            sections=[
                *self._unmet_sections(),
                Section("figures", "Figures", [gallery], is_open=True),
                Section(
                    "checks",
                    "Keyhole's own checks",
                    [claim_squares("Each square is a check", self._verdict_bars(self.own_checks))],
                    note=format_counts(self.own_checks),
                ),
                self._uncovered_section(),
            ],
        )

    def _answer_blocks(self) -> list[PageBlock]:
        """Return the sentence that counts the papers' claims, and the small line below it."""
        sentence = count_sentence(
            self.on_papers_setups, "The papers'", "claim", " on their set-ups"
        )
        line = TemplateBlock(
            "index_line", scale=self.scale, done=len(self.outcomes), entries=len(self.entries),
            on_ours=format_counts(self.on_our_setups), checks=format_counts(self.own_checks),
        )  # fmt: skip
        return [Answer(sentence), line]

    def _verdict_bars(self, verdicts: Sequence[Verdict]) -> Bars:
        """Return a bar for each paper, and one for the entries about no paper.

        If there is only one paper, return a bar for each entry.
        """
        if len(self.citations) == 1:
            headings = {outcome.entry.name: outcome.entry.heading for outcome in self.outcomes}
            return [(headings[name], list(group)) for name, group in groupby(verdicts, entry_name)]
        bars: dict[str, list[Verdict]] = {paper: [] for paper in (*self.citations, "")}
        for verdict in verdicts:
            bars[ENTRY_FILES[entry_name(verdict)].rpartition("/")[0]].append(verdict)
        return [(self.citations.get(key, _ABOUT_NO_PAPER), bar) for key, bar in bars.items() if bar]

    def _unmet_sections(self) -> list[Section]:
        """Return a list with the section of the papers' unmet claims, if there are any."""
        blocks: list[PageBlock] = [
            # With `in_brief`, claims are shown by their headlines, and numbers without names.
            TemplateBlock(
                "unmet_claims",
                heading=heading,
                claims=claims,
                in_brief=in_brief,
                setups=SETUPS,
                address=claim_address,
                describe_range=describe_range,
            )
            for verdicts, heading, in_brief in (
                (self.on_papers_setups, "On the papers' set-ups", False),
                (self.on_our_setups, _ON_OURS, True),
            )
            if (claims := self._unmet_claims(verdicts))
        ]
        if not blocks:
            return []
        return [Section("unmet", "What does not hold", blocks, is_open=True)]

    def _unmet_claims(self, verdicts: Sequence[Verdict]) -> list[tuple[str, ClaimRow]]:
        """Return the citation and the row of each statement that does not hold."""
        unmet = {verdict.id for verdict in verdicts if verdict.status == "does not hold"}
        claims = []
        for outcome in self.outcomes:
            entry_verdicts = [verdict for verdict in outcome.verdicts if verdict.id in unmet]
            rows = claim_rows(outcome, entry_verdicts, self.verdicts, [])
            claims += [(self.citations[outcome.entry.paper], row) for row in rows]
        return claims

    def _uncovered_section(self) -> Section:
        """Return the section of items of papers that no entry covers, with the reasons."""
        tables = []
        for paper in self.papers.values():
            items = [item for item in paper.items if item.coverage == "not"]
            rows = [[item.name, item.says, item.why] for item in items]
            if rows:
                tables.append(Table(paper.short_citation, ["where", "what", "why not"], rows))
        number = sum(len(table.rows) for table in tables)
        total = sum(len(paper.items) for paper in self.papers.values())
        title = "What is not covered, and why"
        return Section("uncovered", title, tables, note=f"{number} of {total} items")


def figure_gallery(
    outcomes: Sequence[JudgedEntry], all_verdicts: Mapping[str, Verdict]
) -> TemplateBlock:
    """Return a grid with a tile for each entry and its figures; `all_verdicts` are by id.

    A tile has the status of the entry's answer, or none if the entry has no claims of a paper.
    """
    tiles = []
    for outcome in outcomes:
        answer = entry_answer(outcome, all_verdicts)
        folder = f"entries/{outcome.entry.name}"
        figures = entry_figures(outcome)
        tiles.append(
            {
                "outcome": outcome,
                "status": answer.status,
                "words": answer.mark or answer.status or "Checks alone.",
                "page": f"{folder}/report.html",
                "thumbnails": [(f"{folder}/{stem}.png", title) for stem, title, _ in figures],
            }
        )
    return TemplateBlock("figure_gallery", tiles=tiles)


def write_claims_json(path: Path, outcomes: Sequence[JudgedEntry]) -> None:
    """Write the claims of entries, all run at one scale, with their verdicts as JSON."""
    # Verdicts at different scales are not comparable, so a file has one scale.
    scales = {outcome.scale for outcome in outcomes}
    if len(scales) != 1:
        raise ValueError(f"outcomes must be of one scale, got {sorted(scales)}")
    # Claims that are the same statement (`same_as`) are decided by one of their verdicts.
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


def _claim_record(outcome: JudgedEntry, verdict: Verdict, decided_by: str) -> dict[str, object]:
    """Return the fields of a claim in ``claims.json``."""
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


def _number_record(number: Number) -> dict[str, object]:
    """Return the fields of a number in ``claims.json``, where infinity and NaN are null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(number).items()
    }
