"""Report page of a reproduced experiment: the answer, charts and claims first, all else folded."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import ClassVar, Final

from keyhole.pages.line_chart import ChartGrid
from keyhole.pages.page import Page, PageBlock, Section, write_page
from keyhole.papers.report.claim_rows import MOST_ROWS, ClaimRows, claim_rows
from keyhole.papers.report.entry_answer import entry_answer, setup_words
from keyhole.papers.report.entry_charts import entry_charts
from keyhole.papers.report.entry_figures import write_entry_figures
from keyhole.papers.report.entry_sections import (
    charts_of_parameters,
    checks_section,
    figure_sections,
    parameter_section,
    published_section,
    rules_section,
    settings_section,
    tables_section,
)
from keyhole.papers.report.judged_entry import JudgedEntry, verdicts_by_id
from keyhole.papers.verdicts import Verdict

BATCH_MARKER: Final = "everything.json"
"""The marker file of a folder of many reproductions, each in ``entries/NAME``."""
_MOST_PANELS: Final = 9
"""More charts of problems would make a first part that is scrolled for long."""


def write_reproduction(
    folder: Path, parts: Sequence[JudgedEntry], known: Mapping[str, Verdict]
) -> Path:
    """Write ``report.html`` and the files of the figures of a reproduction.

    `known` are verdicts of pages beside this one, by id.
    """
    for part, numbers in zip(parts, _first_numbers(parts), strict=True):
        write_entry_figures(folder, part, *numbers)
    return write_reproduction_page(folder, parts, known)


def write_reproduction_page(
    folder: Path, parts: Sequence[JudgedEntry], known: Mapping[str, Verdict]
) -> Path:
    """Write ``report.html`` alone: the files of its figures are there."""
    known = {**known, **verdicts_by_id(parts)}
    front = "../../index.html" if (folder.parent.parent / BATCH_MARKER).is_file() else ""
    views = [
        _EntryView(part, folder, known, [one.entry.name for one in parts], front, *numbers)
        for part, numbers in zip(parts, _first_numbers(parts), strict=True)
    ]
    first, *others = views
    sections = _name_by_entry([(view.part.entry.name, view.sections()) for view in views])
    page = Page(
        title=first.part.entry.heading,
        answer=first.answer(),
        figures=first.figures(),
        beside=first.claims(),
        sections=[
            *(view.as_section() for view in others),
            *([rules_section()] if any(part.verdicts for part in parts) else []),
            *sections,
            settings_section(parts),
        ],
    )
    return write_page(folder / "report.html", page)


def _name_by_entry(entries: Sequence[tuple[str, Sequence[Section]]]) -> list[Section]:
    """Return all sections, with the name of the entry where several have the same heading."""
    counts = Counter(section.title for _, sections in entries for section in sections)
    return [
        replace(section, title=f"{section.title}: {entry}")
        if counts[section.title] > 1
        else section
        for entry, sections in entries
        for section in sections
    ]


@dataclass(frozen=True)
class TwoColumns:
    """Charts beside claims, as on the first screen."""

    figures: Sequence[PageBlock]
    beside: Sequence[PageBlock]
    template: ClassVar[str] = "papers/report/templates/two_columns.html.j2"


class _EntryView:
    """What a page shows of one of its entries."""

    def __init__(
        self,
        part: JudgedEntry,
        folder: Path,
        known: Mapping[str, Verdict],
        on_page: Sequence[str],
        front: str,
        first_drawing: int,
        first_overview: int,
    ) -> None:
        self.part, self.folder, self.known, self.on_page = part, folder, known, on_page
        self.front, self.first_drawing, self.first_overview = front, first_drawing, first_overview
        # Charts against a parameter say in one picture what those of the problems say in many.
        problems = list(part.runs)
        self.shown = [] if part.entry.parameter_figures else problems[:_MOST_PANELS]
        self.left = problems[_MOST_PANELS:] if self.shown else []

    def answer(self) -> Sequence[PageBlock]:
        """Return the answer in one line, and the small line below it."""
        return entry_answer(self.part, self.known, self.front)

    def figures(self) -> list[PageBlock]:
        """Return the charts of the first screen."""
        overviews = charts_of_parameters(self.part, self.first_overview)
        if len(overviews) > 1:
            return [ChartGrid(overviews)]
        return [*overviews] or [entry_charts(self.part, self.shown, "chart")]

    def claims(self) -> list[PageBlock]:
        """Return the rows of the paper's claims; Keyhole's own checks where there are none."""
        judged = [v for v in self.part.papers_verdicts if v.setup in ("paper", "any")]
        replicas = [v for v in self.part.papers_verdicts if v.setup not in ("paper", "any")]
        blocks, left = list[PageBlock](), MOST_ROWS
        for heading, verdicts in (
            ("The paper says", judged),
            (f"The paper says; judged on {setup_words(replicas)}", replicas),
            ("Keyhole checks", [] if judged or replicas else self.part.own_verdicts),
        ):
            if verdicts:
                rows = claim_rows(self.part, verdicts, self.known, self.on_page)
                blocks.append(ClaimRows(heading, rows, max(left, 1)))
                left -= len(rows)
        return blocks

    def sections(self) -> list[Section]:
        """Return the folded parts."""
        part, sections = self.part, list[Section]()
        if part.papers_verdicts and part.own_verdicts:
            rows = claim_rows(part, part.own_verdicts, self.known, self.on_page)
            sections.append(checks_section(part, rows))
        if part.entry.published:
            sections.append(published_section(part))
        sections += figure_sections(part, self.folder, self.first_drawing, self.left)
        sections += [
            parameter_section(part, declared, f"overview-{i}")
            for i, declared in enumerate(part.entry.parameter_figures, self.first_overview)
        ]
        return [*sections, tables_section(part, [*self.shown, *self.left])]

    def as_section(self) -> Section:
        """Return what the first screen shows of an entry that is not the page's first."""
        blocks = [*self.answer(), TwoColumns(self.figures(), self.claims())]
        return Section(self.part.entry.name, self.part.entry.heading, blocks)


def _first_numbers(parts: Sequence[JudgedEntry]) -> list[tuple[int, int]]:
    """Return the numbers of each entry's first drawing and first overview in the folder."""
    drawings = accumulate((len(part.entry.problem_figures) for part in parts), initial=1)
    overviews = accumulate((len(part.entry.parameter_figures) for part in parts), initial=1)
    return [one for one, _ in zip(zip(drawings, overviews, strict=True), parts, strict=False)]
