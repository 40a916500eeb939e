"""The report of a reproduction: claims first, then figures and tables, problem by problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from keyhole.experiment import RunFolder
from keyhole.experiment.html_page import Block, Picture, Section, Text, write_page
from keyhole.experiment.plots import cell_note
from keyhole.experiment.report import metric_section, provenance_section
from keyhole.papers.claims import BOUNDS, LEVEL, Bounded, comparisons
from keyhole.papers.claims_section import RULES, ClaimsSection, ClaimsSummary
from keyhole.papers.comparison_figures import draw_bound, overview_figure, ratio_figure
from keyhole.papers.entry import Entry
from keyhole.papers.parameter_figures import ParameterFigure
from keyhole.papers.problem_figures import ProblemFigure
from keyhole.papers.repeated_claims import RepeatedClaim, repeated_verdicts
from keyhole.papers.verdicts import Verdict
from keyhole.results.curves import Curves
from keyhole.results.html import Table

ALL: Final = "everything.json"
"""The file that marks the folder of all entries, each in ``entries/NAME``."""


@dataclass(frozen=True)
class ReportPart:
    """An entry that has been run."""

    entry: Entry
    scale: str
    runs: dict[str, RunFolder]  # the finished runs, by problem
    verdicts: tuple[Verdict, ...]  # on its claims

    @property
    def picture(self) -> str | None:
        """The file of the figure that says most, if there is one, in the folder of the report."""
        if self.entry.parameter_figures:
            return "overview-1.png"
        if self.entry.problem_figures:
            return "drawing-1.png"
        for key, run in self.runs.items():
            for metric in _shown(self.entry, run):
                return f"{key}-{metric}.png"
        return None


def write_pages(folder: Path, title: str, parts: Sequence[ReportPart]) -> Path:
    """Write ``report.html`` and the figures of a reproduction."""
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    front = "../../index.html" if (folder.parent.parent / ALL).is_file() else ""
    opening: list[Block] = [ClaimsSummary(verdicts, front=front)] if verdicts else []
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
    sections += [_printed(part) for part in parts if part.entry.published]
    drawings = [(part, drawing) for part in parts for drawing in part.entry.problem_figures]
    for i, (part, drawing) in enumerate(drawings, 1):
        sections.append(_drawing(part, drawing, folder / f"drawing-{i}"))
    overviews = [(part, overview) for part in parts for overview in part.entry.parameter_figures]
    for i, (part, overview) in enumerate(overviews, 1):
        sections.append(_overview(part, overview, folder / f"overview-{i}"))
    sections += [_problem(part, key, folder) for part in parts for key in part.runs]
    sections.append(provenance_section([run for part in parts for run in part.runs.values()]))
    return write_page(folder / "report.html", title, opening, sections)


def _shown(entry: Entry, run: RunFolder) -> list[str]:
    """Return the metrics to show: the entry's, as far as the problem has them."""
    return [metric for metric in entry.metrics if metric in run.curves.metrics]


def _first(entry: Entry, curves: Mapping[str, Curves]) -> str:
    """Return the first of the entry's metrics that all problems have."""
    common = [m for m in entry.metrics if all(m in one.metrics for one in curves.values())]
    return common[0] if common else entry.metrics[0]


def _draw_bounds(part: ReportPart, key: str, figure: Figure, metric: str) -> None:
    """Draw the bounds that claims of a problem name into the figure of their metric."""
    bounded = [claim for claim in part.entry.claims if isinstance(claim, Bounded)]
    bounded = [claim for claim in bounded if (claim.problem, claim.metric) == (key, metric)]
    if not bounded:
        return
    plan = part.entry.spec(key, part.scale).plan
    for name, claim in {f"{claim.bound} of {claim.policy}": claim for claim in bounded}.items():
        rounds = list(claim.rounds or plan.checkpoints)
        policy = plan.policies[claim.policy]
        values = [BOUNDS[claim.bound](plan.problem, policy, t, plan.horizon) for t in rounds]
        draw_bound(figure.axes[0], rounds, values, name)


def _problem(part: ReportPart, key: str, folder: Path) -> Section:
    """Return what became of a problem; write its figures as files too."""
    entry, run = part.entry, part.runs[key]
    instance, bounds = entry.problems[key], partial(_draw_bounds, part, key)
    inner = []
    if entry.tests:
        tests = _tests(run.curves, _shown(entry, run)[0])
        inner.append(Section(f"{key}-tests", "Paired t-tests", [tests]))
    for metric in _shown(entry, run):
        inner.append(metric_section(run, metric, folder / f"{key}-{metric}", decorate=bounds))
    if entry.ratio_to is not None:
        for metric in _shown(entry, run):
            path = folder / f"{key}-{metric}-ratio"
            inner.append(_relative(run.curves, metric, entry.ratio_to, path))
    return Section(key, instance.title, [Text(instance.note)], inner)


def _printed(part: ReportPart) -> Section:
    """Return what the paper prints beside what was found."""
    titles = {key: problem.title for key, problem in part.entry.problems.items()}
    curves = {key: run.curves for key, run in part.runs.items()}
    tables = [
        printed.table(titles, curves, printed.metric or _first(part.entry, curves))
        for printed in part.entry.published
    ]
    return Section(f"printed-{part.entry.name}", "Beside the numbers of the paper", tables)


def _drawing(part: ReportPart, drawing: ProblemFigure, path: Path) -> Section:
    """Return a figure of problems alone."""
    shown = {
        part.entry.problems[key].title: part.entry.spec(key, part.scale).plan.problem
        for key in drawing.problems
    }
    title = f"{drawing.title}: {', '.join(shown)}"
    figure = Picture.of(drawing.figure(shown), path, title=title, caption=drawing.note)
    return Section(path.name, drawing.title, [figure])


def _overview(part: ReportPart, overview: ParameterFigure, path: Path) -> Section:
    """Return the figure over several problems with its table."""
    curves = {key: run.curves for key, run in part.runs.items()}
    metric = overview.metric or _first(part.entry, curves)
    known = next(iter(curves.values())).metric(metric)
    points = overview.estimates(curves, metric)
    labels = [policy["label"] for policy in part.entry.policies]
    figure = overview_figure(points, labels, x_label=overview.x_label, name=known.title)
    first = next(iter(points.values()))
    caption = f"Mean over {first[0][1].replications:,} replications, with its 95 % interval."
    ends = ", ".join(f"{label} {line[-1][1].plus_minus()}" for label, line in points.items())
    alt = f"{known.title} against {overview.x_label}; at {first[-1][0]:g}: {ends}."
    picture = Picture.of(figure, path, title=overview.title, caption=caption, alt=alt)
    rows = [[label, *(mean.plus_minus() for _, mean in line)] for label, line in points.items()]
    head = ["policy", *(f"{overview.x_label} = {x:g}" for x, _ in first)]
    table = Table(f"{cell_note(known)}.", head, rows)
    return Section(path.name, overview.title, [picture, table])


def _relative(curves: Curves, metric: str, to: str, path: Path) -> Section:
    """Return the figure of a metric relative to that of one policy."""
    title = f"{curves.metric(metric).title} relative to {to}"
    caption = (
        f"Ratio of the means over {curves.replications:,} replications, with its 95 % interval "
        "(delta method, paired); left out where the mean in the denominator may be 0."
    )
    picture = Picture.of(ratio_figure(curves, metric, to), path, title=title, caption=caption)
    return Section(path.name, title[:1].upper() + title[1:], [picture])


def _tests(curves: Curves, metric: str) -> Table:
    """Return the paired tests of the first policy against each other, at every checkpoint."""
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
