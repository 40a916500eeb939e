"""Report page of a reproduction: claims first, then figures and tables by problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from keyhole.experiment import RunFolder
from keyhole.experiment.plots import cell_note
from keyhole.experiment.report import metric_section, provenance_section
from keyhole.pages.page import Page, PageBlock, Section, Text, write_page
from keyhole.pages.picture import Picture
from keyhole.pages.table import Table
from keyhole.papers.claims import BOUNDS, LEVEL, Bounded, comparisons
from keyhole.papers.entry import Entry
from keyhole.papers.report.claims_section import RULES, ClaimsSection, ClaimsSummary
from keyhole.papers.report.comparison_figures import draw_bound, draw_parameter_figure, ratio_figure
from keyhole.papers.report.parameter_figures import ParameterFigure
from keyhole.papers.report.problem_drawings import ProblemFigure
from keyhole.papers.report.shared_claims import RepeatedClaim, repeated_verdicts
from keyhole.papers.verdicts import Verdict
from keyhole.results.curves import Curves

BATCH_MARKER: Final = "everything.json"
"""The marker file of a folder of many reproductions, each in ``entries/NAME``."""


@dataclass(frozen=True)
class ReportPart:
    """An entry that has been run, with its verdicts."""

    entry: Entry
    scale: str
    runs: dict[str, RunFolder]  # the finished runs, by problem
    verdicts: tuple[Verdict, ...]  # on its claims

    @property
    def picture(self) -> str | None:
        """The file of the main figure in the folder of the report, if there is one."""
        if self.entry.parameter_figures:
            return "overview-1.png"
        if self.entry.problem_figures:
            return "drawing-1.png"
        for key, run in self.runs.items():
            for metric in _metrics_of(self.entry, run):
                return f"{key}-{metric}.png"
        return None


def write_pages(folder: Path, title: str, parts: Sequence[ReportPart]) -> Path:
    """Write ``report.html`` and the figures of a reproduction."""
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    front = "../../index.html" if (folder.parent.parent / BATCH_MARKER).is_file() else ""
    opening: list[PageBlock] = [ClaimsSummary(verdicts, front=front)] if verdicts else []
    opening += [Text(part.entry.about, part.entry.source) for part in parts]
    known = {verdict.id: verdict for verdict in verdicts}
    others = dict[str, RepeatedClaim]()
    for part in parts:
        others |= repeated_verdicts(part.verdicts, part.scale, known, "../" if front else "")
    largest = {part.entry.name: part.entry.scales["paper"].replications for part in parts}
    judged = Section(
        "claims", "Claims", [ClaimsSection(verdicts, others, largest), Text("", RULES)]
    )
    sections = [judged] if verdicts else []
    sections += [_published_section(part) for part in parts if part.entry.published]
    of_problems = [(part, figure) for part in parts for figure in part.entry.problem_figures]
    for i, (part, drawn) in enumerate(of_problems, 1):
        sections.append(_problem_figure_section(part, drawn, folder / f"drawing-{i}"))
    over_problems = [(part, figure) for part in parts for figure in part.entry.parameter_figures]
    for i, (part, figure) in enumerate(over_problems, 1):
        sections.append(_parameter_figure_section(part, figure, folder / f"overview-{i}"))
    sections += [_problem_section(part, key, folder) for part in parts for key in part.runs]
    sections.append(provenance_section([run for part in parts for run in part.runs.values()]))
    return write_page(folder / "report.html", Page(title=title, answer=opening, sections=sections))


def _metrics_of(entry: Entry, run: RunFolder) -> list[str]:
    """Return the entry's metrics that the problem has."""
    return [metric for metric in entry.metrics if metric in run.curves.metrics]


def _common_metric(entry: Entry, curves: Mapping[str, Curves]) -> str:
    """Return the first of the entry's metrics that all problems have."""
    common = [m for m in entry.metrics if all(m in one.metrics for one in curves.values())]
    return common[0] if common else entry.metrics[0]


def _draw_bounds(part: ReportPart, key: str, figure: Figure, metric: str) -> None:
    """Draw the bounds that claims on a problem name into the figure of their metric."""
    bounded = [claim for claim in part.entry.claims if isinstance(claim, Bounded)]
    bounded = [claim for claim in bounded if (claim.problem, claim.metric) == (key, metric)]
    if not bounded:
        return
    plan = part.entry.spec(key, part.scale).plan
    # By name: several claims may be about the same bound.
    for name, claim in {f"{claim.bound} of {claim.policy}": claim for claim in bounded}.items():
        rounds = list(claim.rounds or plan.checkpoints)
        policy = plan.policies[claim.policy]
        values = [BOUNDS[claim.bound](plan.problem, policy, t, plan.horizon) for t in rounds]
        draw_bound(figure.axes[0], rounds, values, name)


def _problem_section(part: ReportPart, key: str, folder: Path) -> Section:
    """Return the section on a problem; write its figures to files."""
    entry, run = part.entry, part.runs[key]
    instance, bounds = entry.problems[key], partial(_draw_bounds, part, key)
    inner = []
    if entry.tests:
        tests = _tests_table(run.curves, _metrics_of(entry, run)[0])
        inner.append(Section(f"{key}-tests", "Paired t-tests", [tests]))
    for metric in _metrics_of(entry, run):
        inner.append(metric_section(run, metric, folder / f"{key}-{metric}", decorate=bounds))
    if entry.ratio_to is not None:
        for metric in _metrics_of(entry, run):
            path = folder / f"{key}-{metric}-ratio"
            inner.append(_ratio_section(run.curves, metric, entry.ratio_to, path))
    return Section(key, instance.title, [Text(instance.note)], inner)


def _published_section(part: ReportPart) -> Section:
    """Return the section of published values beside ours."""
    titles = {key: problem.title for key, problem in part.entry.problems.items()}
    curves = {key: run.curves for key, run in part.runs.items()}
    tables = [
        printed.table(titles, curves, printed.metric or _common_metric(part.entry, curves))
        for printed in part.entry.published
    ]
    return Section(f"printed-{part.entry.name}", "Beside the numbers of the paper", tables)


def _problem_figure_section(part: ReportPart, declared: ProblemFigure, path: Path) -> Section:
    """Return the section of a figure of problems."""
    shown = {
        part.entry.problems[key].title: part.entry.spec(key, part.scale).plan.problem
        for key in declared.problems
    }
    title = f"{declared.title}: {', '.join(shown)}"
    figure = Picture.of(declared.draw_figure(shown), path, title=title, caption=declared.note)
    return Section(path.name, declared.title, [figure])


def _parameter_figure_section(part: ReportPart, declared: ParameterFigure, path: Path) -> Section:
    """Return the section of a figure over several problems, with its table."""
    curves = {key: run.curves for key, run in part.runs.items()}
    metric = declared.metric or _common_metric(part.entry, curves)
    known = next(iter(curves.values())).metric(metric)
    points = declared.estimates(curves, metric)
    labels = [policy["label"] for policy in part.entry.policies]
    figure = draw_parameter_figure(points, labels, x_label=declared.x_label, name=known.title)
    first = next(iter(points.values()))
    caption = f"Mean over {first[0][1].replications:,} replications, with its 95 % interval."
    ends = ", ".join(f"{label} {line[-1][1].plus_minus()}" for label, line in points.items())
    alt = f"{known.title} against {declared.x_label}; at {first[-1][0]:g}: {ends}."
    picture = Picture.of(figure, path, title=declared.title, caption=caption, alt=alt)
    rows = [[label, *(mean.plus_minus() for _, mean in line)] for label, line in points.items()]
    head = ["policy", *(f"{declared.x_label} = {x:g}" for x, _ in first)]
    table = Table(f"{cell_note(known)}.", head, rows)
    return Section(path.name, declared.title, [picture, table])


def _ratio_section(curves: Curves, metric: str, to: str, path: Path) -> Section:
    """Return the section of a metric relative to that of one policy."""
    title = f"{curves.metric(metric).title} relative to {to}"
    caption = (
        f"Ratio of the means over {curves.replications:,} replications, with its 95 % interval "
        "(delta method, paired); left out where the mean in the denominator may be 0."
    )
    picture = Picture.of(ratio_figure(curves, metric, to), path, title=title, caption=caption)
    return Section(path.name, title[:1].upper() + title[1:], [picture])


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
