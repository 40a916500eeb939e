"""Report page of a reproduction: the answer, charts and claims first, all else folded."""

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
from keyhole.papers.verdicts import Verdict, counts, split_by_setup
from keyhole.results.curve_chart import cell_note

BATCH_MARKER: Final = "everything.json"
"""The marker file of a folder of many reproductions, each in ``entries/NAME``."""
_MOST_PANELS: Final = 9
"""More charts of problems would make a first part that is scrolled for long."""


def write_reproduction(
    folder: Path, outcomes: Sequence[judged_entry.JudgedEntry], all_verdicts: Mapping[str, Verdict]
) -> Path:
    """Write ``report.html`` and the files of the figures of a reproduction.

    `all_verdicts` are verdicts of pages beside this one, by id.
    """
    for outcome in outcomes:
        entry_charts.write_entry_figures(folder, outcome)
    return write_reproduction_page(folder, outcomes, all_verdicts)


def write_reproduction_page(
    folder: Path, outcomes: Sequence[judged_entry.JudgedEntry], all_verdicts: Mapping[str, Verdict]
) -> Path:
    """Write ``report.html`` alone: the files of its figures are there."""
    all_verdicts = {**all_verdicts, **judged_entry.verdicts_by_id(outcomes)}
    front = "../../index.html" if (folder.parent.parent / BATCH_MARKER).is_file() else ""
    on_page = [outcome.entry.name for outcome in outcomes]
    views = [_EntryView(outcome, folder, all_verdicts, on_page, front) for outcome in outcomes]
    first, *others = views
    rules = [Text(render_template("papers/report/templates/rules.txt.j2"))]
    has_verdicts = any(outcome.verdicts for outcome in outcomes)
    page = Page(
        title=first.outcome.entry.heading,
        answer=first.answer(),
        figures=first.figures(),
        beside=first.claims(),
        sections=[
            *(view.as_section() for view in others),
            *([Section("rules", "How verdicts were reached", rules)] if has_verdicts else []),
            *(
                replace(section, title=f"{section.title}: {view.name}") if others else section
                for view in views
                for section in view.sections()
            ),
            _settings_section(outcomes),
        ],
    )
    return write_page(folder / "report.html", page)


@dataclass
class _EntryView:
    """What a page shows of one of its entries."""

    outcome: judged_entry.JudgedEntry
    folder: Path
    verdicts: Mapping[str, Verdict]  # all, by id
    on_page: Sequence[str]  # the entries of the page
    index_link: str  # to the page of all entries, or empty

    def __post_init__(self) -> None:
        entry = self.outcome.entry
        self.name = entry.name
        self.drawings = list(enumerate(entry.problem_figures, 1))
        self.overviews = list(enumerate(entry.parameter_figures, 1))
        # Charts against a parameter say in one picture what those of the problems say in many.
        problems = list(self.outcome.runs)
        if self.overviews:
            problems = []
        self.shown = problems[:_MOST_PANELS]
        self.left = problems[_MOST_PANELS:]

    def answer(self) -> Sequence[PageBlock]:
        """Return the answer, and the small line below it."""
        line = judged_entry.entry_line(self.outcome, self.verdicts, self.index_link)
        return [judged_entry.entry_answer(self.outcome, self.verdicts), line]

    def figures(self) -> list[PageBlock]:
        """Return the charts of the first screen."""
        charts = [
            entry_charts.parameter_chart(self.outcome, figure, f"overview-{i}")
            for i, figure in self.overviews
        ]
        if len(charts) > 1:
            return [ChartGrid(charts)]
        return [*charts] or [entry_charts.entry_charts(self.outcome, self.shown, "chart")]

    def claims(self) -> list[PageBlock]:
        """Return the rows of the paper's claims; Keyhole's own checks where there are none."""
        judged, replicas = split_by_setup(self.outcome.papers_verdicts)
        blocks: list[PageBlock] = []
        row_budget = MOST_ROWS
        groups = {
            "The paper says": judged,
            f"The paper says; judged on {judged_entry.setup_words(replicas)}": replicas,
        }
        if not self.outcome.papers_verdicts:
            groups = {"Keyhole checks": self.outcome.own_verdicts}
        for heading, verdicts in groups.items():
            if verdicts:
                rows = claim_rows(self.outcome, verdicts, self.verdicts, self.on_page)
                blocks.append(claim_rows_block(heading, rows, max(row_budget, 1)))
                row_budget -= len(rows)
        return blocks

    def as_section(self) -> Section:
        """Return what the first screen shows of an entry that is not the page's first."""
        blocks = [
            *self.answer(),
            judged_entry.TemplateBlock("two_columns", figures=self.figures(), beside=self.claims()),
        ]
        return Section(self.name, self.outcome.entry.heading, blocks)

    def sections(self) -> list[Section]:
        """Return the folded parts."""
        outcome = self.outcome
        sections = []
        if outcome.papers_verdicts and outcome.own_verdicts:
            rows = claim_rows(outcome, outcome.own_verdicts, self.verdicts, self.on_page)
            note = Text(f"They are not the paper's: {counts(outcome.own_verdicts)}.")
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
            pictures = [self._drawing(drawn, f"drawing-{i}") for i, drawn in self.drawings]
            title = "Drawings of the problems"
            sections.append(Section(f"{self.name}-drawings", title, sections=pictures))
        if self.left:
            title = f"Charts of {len(self.left)} more problems"
            chart = entry_charts.entry_charts(outcome, self.left, "more")
            sections.append(Section(f"{self.name}-more", title, [chart]))
        sections += [self._overview(figure, f"overview-{i}") for i, figure in self.overviews]
        problems = [self._problem(key) for key in outcome.runs]
        return [*sections, Section(f"{self.name}-tables", "Tables", sections=problems)]

    def _drawing(self, declared: ProblemFigure, name: str) -> Section:
        title = entry_charts.drawing_title(self.outcome, declared)
        picture = judged_entry.TemplateBlock(
            "picture",
            alt=title,
            caption=declared.note,
            image=image_html((self.folder / f"{name}.svg").read_bytes(), title),
            files=[f"{name}.{suffix}" for suffix in FIGURE_KINDS],
        )
        return Section(name, declared.title, [picture])

    def _overview(self, declared: ParameterFigure, stem: str) -> Section:
        """Return the table of a figure against a number that differs between problems."""
        metric = declared.metric or self.outcome.common_metric()
        metric_entry = next(iter(self.outcome.curves.values())).metric(metric)
        points = declared.estimates(self.outcome.curves, metric)
        rows = [[label, *(mean.plus_minus() for _, mean in line)] for label, line in points.items()]
        first = next(iter(points.values()))
        head = ["policy", *(f"{declared.x_label} = {x:g}" for x, _ in first)]
        return Section(stem, declared.title, [Table(f"{cell_note(metric_entry)}.", head, rows)])

    def _problem(self, problem: str) -> Section:
        """Return the tables of a problem, and the charts that stand nowhere else on the page."""
        outcome = self.outcome
        entry = outcome.entry
        run = outcome.runs[problem]
        has_chart = problem in (*self.shown, *self.left)
        metrics = outcome.metrics_of(problem)
        sections = []
        for i, metric in enumerate(metrics):
            blocks: list[PageBlock] = []
            if i or not has_chart:
                blocks.append(entry_charts.problem_chart(outcome, problem, metric))
            if entry.ratio_to is not None:
                blocks.append(entry_charts.ratio_chart(run.curves, problem, metric, entry.ratio_to))
            blocks += metric_tables(run, metric)
            title = run.curves.metric(metric).title
            sections.append(Section(f"{problem}-{metric}", title[:1].upper() + title[1:], blocks))
        note = entry.problems[problem].note
        notes = [Text(note)] if note else []
        return Section(problem, entry.problems[problem].title, notes, sections)


def _settings_section(outcomes: Sequence[judged_entry.JudgedEntry]) -> Section:
    """Return what the entries are about, their sources, their specs, and their versions."""
    blocks: list[PageBlock] = []
    for outcome in outcomes:
        blocks.append(Text(outcome.entry.about, outcome.entry.source))
        for run in outcome.runs.values():
            blocks += spec_report_section(run.spec).blocks
    runs = [run for outcome in outcomes for run in outcome.runs.values()]
    return Section("settings", "Settings", blocks, [provenance_section(runs)])
