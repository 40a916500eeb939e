"""Folded parts of a reproduction's page: how claims were judged, checks, tables, other charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.experiment.plots import cell_note
from keyhole.experiment.report import (
    metric_tables,
    provenance_section,
    spec_section,
)
from keyhole.pages.figure_files import FIGURE_KINDS
from keyhole.pages.line_chart import LineChart
from keyhole.pages.page import PageBlock, Section, Text
from keyhole.pages.picture import Picture
from keyhole.pages.table import Table
from keyhole.papers.claims import LEVEL, comparisons
from keyhole.papers.report.claim_rows import ClaimRow, ClaimRows
from keyhole.papers.report.entry_answer import counts
from keyhole.papers.report.entry_charts import (
    entry_charts,
    parameter_chart,
    parameter_points,
    problem_chart,
    ratio_chart,
)
from keyhole.papers.report.entry_figures import drawing_title
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.report.judging_rules import MARK_RULE, RULES
from keyhole.papers.report.parameter_figures import ParameterFigure
from keyhole.papers.report.problem_figures import ProblemFigure
from keyhole.results.curves import Curves


@dataclass(frozen=True)
class FigureLinks:
    """Links to the files of a figure, given the beginning of their names."""

    stem: str
    kinds: Sequence[str] = FIGURE_KINDS
    template: ClassVar[str] = "papers/report/templates/figure_links.html.j2"


def rules_section() -> Section:
    """Return the rules by which claims are judged and counted."""
    return Section("rules", "How verdicts were reached", [Text(RULES), Text(MARK_RULE)])


def checks_section(part: JudgedEntry, rows: Sequence[ClaimRow]) -> Section:
    """Return the section of Keyhole's own checks."""
    own = part.own_verdicts
    note = Text(f"They are not the paper's: {counts(own)}.")
    title = "Keyhole's checks"
    return Section(f"{part.entry.name}-checks", title, [note, ClaimRows("", rows, len(rows))])


def figure_sections(
    part: JudgedEntry, folder: Path, first: int, left: Sequence[str]
) -> list[Section]:
    """Return the sections of figures that are not on the first screen.

    Parameters
    ----------
    part : JudgedEntry
        The entry.
    folder : Path
        The folder of the report.
    first : int
        The number of the entry's first drawing in the folder.
    left : sequence of str
        The problems whose charts are not on the first screen, for lack of space.
    """
    drawings = [
        _drawing_section(part, drawn, folder / f"drawing-{i}")
        for i, drawn in enumerate(part.entry.problem_figures, first)
    ]
    name = f"{part.entry.name}-drawings"
    sections = [Section(name, "Drawings of the problems", sections=drawings)] if drawings else []
    if left:
        title = f"Charts of {len(left)} more problems"
        charts = entry_charts(part, left, "more")
        sections.append(Section(f"{part.entry.name}-more", title, [charts]))
    return sections


def parameter_section(part: JudgedEntry, declared: ParameterFigure, stem: str) -> Section:
    """Return the section of a figure against a number that differs between problems."""
    metric = declared.metric or part.common_metric()
    known = next(iter(part.curves.values())).metric(metric)
    points = parameter_points(part, declared)
    rows = [[label, *(mean.plus_minus() for _, mean in line)] for label, line in points.items()]
    first = next(iter(points.values()))
    head = ["policy", *(f"{declared.x_label} = {x:g}" for x, _ in first)]
    return Section(stem, declared.title, [Table(f"{cell_note(known)}.", head, rows)])


def published_section(part: JudgedEntry) -> Section:
    """Return the section of published values beside ours."""
    titles = {key: problem.title for key, problem in part.entry.problems.items()}
    tables = [
        printed.table(titles, part.curves, printed.metric or part.common_metric())
        for printed in part.entry.published
    ]
    return Section(f"printed-{part.entry.name}", "Beside the numbers of the paper", tables)


def tables_section(part: JudgedEntry, with_chart: Sequence[str]) -> Section:
    """Return the tables of all problems, and the charts that stand nowhere else on the page."""
    sections = [_problem_section(part, key, has_chart=key in with_chart) for key in part.runs]
    return Section(f"{part.entry.name}-tables", "Tables", sections=sections)


def settings_section(parts: Sequence[JudgedEntry]) -> Section:
    """Return what the entries are about, their sources, their specs, and their versions."""
    blocks: list[PageBlock] = []
    for part in parts:
        blocks.append(Text(part.entry.about, part.entry.source))
        for run in part.runs.values():
            blocks += spec_section(run.spec).blocks
    runs = [run for part in parts for run in part.runs.values()]
    return Section("settings", "Settings", blocks, [provenance_section(runs)])


def charts_of_parameters(part: JudgedEntry, first: int) -> list[LineChart]:
    """Return the charts against numbers that differ between problems."""
    figures = enumerate(part.entry.parameter_figures, first)
    return [parameter_chart(part, declared, f"overview-{i}") for i, declared in figures]


def _problem_section(part: JudgedEntry, problem: str, *, has_chart: bool) -> Section:
    """Return the tables of a problem, and its charts but for that of its first metric."""
    instance, curves = part.entry.problems[problem], part.runs[problem].curves
    metrics, inner = part.metrics_of(problem), list[Section]()
    if part.entry.tests:
        tests = _tests_table(curves, metrics[0])
        inner.append(Section(f"{problem}-tests", "Paired t-tests", [tests]))
    for i, metric in enumerate(metrics):
        blocks: list[PageBlock] = []
        if i or not has_chart:
            blocks.append(problem_chart(part, problem, metric))
        elif len(part.runs) > 1:
            blocks.append(FigureLinks(f"{problem}-{metric}"))
        if part.entry.ratio_to is not None:
            blocks.append(ratio_chart(part, problem, metric, part.entry.ratio_to))
        blocks += metric_tables(part.runs[problem], metric)
        heading = curves.metric(metric).title
        inner.append(Section(f"{problem}-{metric}", heading[:1].upper() + heading[1:], blocks))
    notes = [Text(instance.note)] if instance.note else []
    return Section(problem, instance.title, notes, inner)


def _drawing_section(part: JudgedEntry, declared: ProblemFigure, path: Path) -> Section:
    picture = Picture.read(path, caption=declared.note, alt=drawing_title(part, declared))
    return Section(path.name, declared.title, [picture])


def _tests_table(curves: Curves, metric: str) -> Table:
    """Return the table of paired tests of the first policy against the others, by checkpoint."""
    first, *others = curves.labels
    rounds = curves.checkpoints
    cells = comparisons(curves, metric, [(first, other, t) for other in others for t in rounds])
    texts = [f"{cell.gap} *" if cell.p_value < LEVEL else str(cell.gap) for cell in cells]
    rows = [[other, *texts[i * len(rounds) :][: len(rounds)]] for i, other in enumerate(others)]
    head = [f"{first} minus", *(f"T = {t:,}" for t in rounds)]
    note = (
        "Mean difference, its 95 % interval and the p-value of the two-tailed paired t-test; "
        "* marks those that stay significant at 5 % after adjusting for all in the table (Holm)."
    )
    return Table(note, head, rows)
