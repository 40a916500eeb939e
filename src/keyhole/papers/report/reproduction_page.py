"""Report page of a reproduction: the answer, charts and claims first, the rest folded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from keyhole.experiment.report import metric_tables, provenance_section, spec_report_section
from keyhole.pages.figure_files import FIGURE_KINDS
from keyhole.pages.line_chart import ChartGrid
from keyhole.pages.notebook_html import image_html
from keyhole.pages.page import Page, PageBlock, Section, Table, Text, render_template, write_page
from keyhole.papers.entry import ParameterFigure, ProblemFigure
from keyhole.papers.report import entry_charts, judged_entry
from keyhole.papers.report.claim_rows import MOST_ROWS, claim_rows, claim_rows_block
from keyhole.papers.verdicts import Verdict, format_counts, split_by_setup
from keyhole.results.curve_chart import cell_note

BATCH_MARKER_FILE: Final = "everything.json"
"""The marker file of a folder of many reproductions, each in ``entries/NAME``."""
_MOST_PANELS: Final = 9
"""The most charts of problems on the first screen; further charts are folded."""


def write_page_and_figures(
    folder: Path, outcomes: Sequence[judged_entry.JudgedEntry], all_verdicts: Mapping[str, Verdict]
) -> Path:
    """Write ``report.html`` and the files of the figures of a reproduction.

    `all_verdicts` are the verdicts of pages beside this one, by id.
    """
    for outcome in outcomes:
        entry_charts.write_entry_figures(folder, outcome)
    return write_reproduction_page(folder, outcomes, all_verdicts)


def write_reproduction_page(
    folder: Path, outcomes: Sequence[judged_entry.JudgedEntry], all_verdicts: Mapping[str, Verdict]
) -> Path:
    """Write ``report.html``; the files of its figures must be written already."""
    all_verdicts = {**all_verdicts, **judged_entry.verdicts_by_id(outcomes)}
    index_link = ""
    if (folder.parent.parent / BATCH_MARKER_FILE).is_file():
        index_link = "../../index.html"
    on_page = [outcome.entry.name for outcome in outcomes]
    views = [_EntryView(outcome, folder, all_verdicts, on_page, index_link) for outcome in outcomes]
    first, *others = views
    sections = [view.as_section() for view in others]
    if any(outcome.verdicts for outcome in outcomes):
        rules = Text(render_template("papers/report/templates/rules.txt.j2"))
        sections.append(Section("rules", "How verdicts were reached", [rules]))
    for view in views:
        ending = f": {view.name}" if others else ""
        for section in view.folded_sections():
            sections.append(replace(section, title=section.title + ending))
    page = Page(
        title=first.outcome.entry.heading,
        answer=first.answer(),
        figures=first.figures(),
        beside=first.claims(),
        sections=[*sections, _specs_section(outcomes)],
    )
    return write_page(folder / "report.html", page)


@dataclass
class _EntryView:
    """A view of one entry of a page: the blocks and sections that show it."""

    outcome: judged_entry.JudgedEntry
    folder: Path
    all_verdicts: Mapping[str, Verdict]  # those of this page and of the pages beside it, by id
    on_page: Sequence[str]  # the names of the entries of the page
    index_link: str  # the link to the page of all entries, or empty

    def __post_init__(self) -> None:
        entry = self.outcome.entry
        self.name = entry.name
        # Each figure has a number, which is part of its files' names.
        self.drawings = list(enumerate(entry.problem_figures, 1))
        self.overviews = list(enumerate(entry.parameter_figures, 1))
        problems = list(self.outcome.runs)
        # A chart against a parameter takes the place of the charts of all problems.
        if self.overviews:
            problems = []
        self.charted_problems = problems[:_MOST_PANELS]
        self.folded_problems = problems[_MOST_PANELS:]

    def answer(self) -> Sequence[PageBlock]:
        """Return the answer, and the small line below it."""
        line = judged_entry.line_below_answer(self.outcome, self.all_verdicts, self.index_link)
        return [judged_entry.entry_answer(self.outcome, self.all_verdicts), line]

    def figures(self) -> list[PageBlock]:
        """Return the charts of the first screen."""
        if not self.overviews:
            return [entry_charts.entry_charts(self.outcome, self.charted_problems, "chart")]
        charts = [
            entry_charts.parameter_chart(self.outcome, figure, f"overview-{i}")
            for i, figure in self.overviews
        ]
        return [ChartGrid(charts)] if len(charts) > 1 else [*charts]

    def claims(self) -> list[PageBlock]:
        """Return the rows of the paper's claims, or of Keyhole's own checks if there are none."""
        on_papers_setup, on_ours = split_by_setup(self.outcome.papers_verdicts)
        groups = {
            "The paper says": on_papers_setup,
            f"The paper says; judged on {judged_entry.describe_setups(on_ours)}": on_ours,
        }
        if not self.outcome.papers_verdicts:
            groups = {"Keyhole checks": self.outcome.own_check_verdicts}
        blocks: list[PageBlock] = []
        row_budget = MOST_ROWS  # but each group shows at least one row
        for heading, verdicts in groups.items():
            if verdicts:
                rows = claim_rows(self.outcome, verdicts, self.all_verdicts, self.on_page)
                blocks.append(claim_rows_block(heading, rows, max(row_budget, 1)))
                row_budget -= len(rows)
        return blocks

    def as_section(self) -> Section:
        """Return the section of an entry after the first, with the blocks of a first screen."""
        blocks = [
            *self.answer(),
            judged_entry.TemplateBlock("two_columns", figures=self.figures(), beside=self.claims()),
        ]
        return Section(self.name, self.outcome.entry.heading, blocks)

    def folded_sections(self) -> list[Section]:
        """Return the folded sections."""
        outcome = self.outcome
        sections = []
        if outcome.papers_verdicts and outcome.own_check_verdicts:
            rows = claim_rows(outcome, outcome.own_check_verdicts, self.all_verdicts, self.on_page)
            note = Text(f"They are not the paper's: {format_counts(outcome.own_check_verdicts)}.")
            checks = claim_rows_block("", rows, len(rows))
            sections.append(Section(f"{self.name}-checks", "Keyhole's checks", [note, checks]))
        if outcome.entry.published:
            titles = {key: problem.title for key, problem in outcome.entry.problems.items()}
            tables = [
                published.table(titles, outcome.curves, published.metric or outcome.common_metric())
                for published in outcome.entry.published
            ]
            title = "Beside the numbers of the paper"
            sections.append(Section(f"printed-{self.name}", title, tables))
        if self.drawings:
            pictures = [self._drawing_section(drawn, f"drawing-{i}") for i, drawn in self.drawings]
            title = "Drawings of the problems"
            sections.append(Section(f"{self.name}-drawings", title, sections=pictures))
        if self.folded_problems:
            title = f"Charts of {len(self.folded_problems)} more problems"
            chart = entry_charts.entry_charts(outcome, self.folded_problems, "more")
            sections.append(Section(f"{self.name}-more", title, [chart]))
        sections += [self._figure_table(figure, f"overview-{i}") for i, figure in self.overviews]
        problems = [self._problem_section(key) for key in outcome.runs]
        return [*sections, Section(f"{self.name}-tables", "Tables", sections=problems)]

    def _drawing_section(self, declaration: ProblemFigure, name: str) -> Section:
        """Return the section of a figure of problems, with the drawing from the file `name`.svg."""
        title = entry_charts.drawing_title(self.outcome, declaration)
        picture = judged_entry.TemplateBlock(
            "picture",
            alt=title,
            caption=declaration.note,
            image=image_html((self.folder / f"{name}.svg").read_bytes(), title),
            files=[f"{name}.{suffix}" for suffix in FIGURE_KINDS],
        )
        return Section(name, declaration.title, [picture])

    def _figure_table(self, declaration: ParameterFigure, stem: str) -> Section:
        """Return the section with the means of a parameter figure as a table."""
        metric = declaration.metric or self.outcome.common_metric()
        metric_entry = next(iter(self.outcome.curves.values())).metric(metric)
        points = declaration.points_by_policy(self.outcome.curves, metric)
        rows = [[label, *(mean.plus_minus() for _, mean in line)] for label, line in points.items()]
        first = next(iter(points.values()))
        head = ["policy", *(f"{declaration.x_label} = {x:g}" for x, _ in first)]
        return Section(stem, declaration.title, [Table(f"{cell_note(metric_entry)}.", head, rows)])

    def _problem_section(self, problem: str) -> Section:
        """Return the section of a problem: its tables, and the charts that are shown only here."""
        outcome = self.outcome
        entry = outcome.entry
        run = outcome.runs[problem]
        sections = []
        for i, metric in enumerate(outcome.metrics_of(problem)):
            blocks: list[PageBlock] = []
            # Without overviews the chart of the first metric stands above.
            if i or self.overviews:
                blocks.append(entry_charts.problem_chart(outcome, problem, metric))
            if entry.ratio_to is not None:
                blocks.append(entry_charts.ratio_chart(run.curves, problem, metric, entry.ratio_to))
            blocks += metric_tables(run, metric)
            title = run.curves.metric(metric).title
            sections.append(Section(f"{problem}-{metric}", title[:1].upper() + title[1:], blocks))
        note = entry.problems[problem].note
        notes = [Text(note)] if note else []
        return Section(problem, entry.problems[problem].title, notes, sections)


def _specs_section(outcomes: Sequence[judged_entry.JudgedEntry]) -> Section:
    """Return the section with texts about the entries, their sources, specs and versions."""
    blocks: list[PageBlock] = []
    for outcome in outcomes:
        blocks.append(Text(outcome.entry.about, outcome.entry.source))
        for run in outcome.runs.values():
            blocks += spec_report_section(run.spec).blocks
    runs = [run for outcome in outcomes for run in outcome.runs.values()]
    return Section("settings", "Settings", blocks, [provenance_section(runs)])
