"""The report of a reproduction: claims first, then figures and tables, problem by problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from keyhole.experiment import Run
from keyhole.experiment.html import heading, inline, page, paragraph, table, unbroken
from keyhole.experiment.plots import write_figure
from keyhole.experiment.report import Decorate, metric_figure, provenance_section, run_section
from keyhole.files import write_atomically
from keyhole.papers.claims import BOUNDS, LEVEL, Bounded, comparisons
from keyhole.papers.drawings import Drawing
from keyhole.papers.entry import Entry
from keyhole.papers.figures import draw_bound, overview_figure, ratio_figure
from keyhole.papers.overview import Overview
from keyhole.papers.sections import claims_section, summary_section
from keyhole.papers.verdicts import Verdict
from keyhole.results.curves import Curves

RULES = (
    "A claim holds, does not hold, or is undecided: too few replications to tell, or a witness, a "
    "bad policy that should break it, keeps it too. Differences are "
    "paired over common random numbers; intervals are 95 %: Student's t for means, the delta "
    "method for ratios, exact ones for shares of replications. The comparisons of one claim are "
    "adjusted together (Holm, 5 %), those of different claims are not."
)


@dataclass(frozen=True)
class Part:
    """An entry that has been run."""

    entry: Entry
    scale: str
    runs: dict[str, Run]  # the finished runs, by problem
    verdicts: tuple[Verdict, ...]  # on its claims

    @property
    def picture(self) -> str | None:
        """The file of the figure that says most, if there is one, in the folder of the report."""
        if self.entry.overviews:
            return "overview-1.png"
        if self.entry.drawings:
            return "drawing-1.png"
        for key, run in self.runs.items():
            for metric in _shown(self.entry, run):
                return f"{key}-{metric}.png"
        return None


def write_pages(folder: Path, title: str, parts: Sequence[Part]) -> Path:
    """Write ``report.html`` and the figures of a reproduction."""
    verdicts = [verdict for part in parts for verdict in part.verdicts]
    body = "".join(_about(part, alone=len(parts) == 1) for part in parts)
    body += claims_section(verdicts) + (paragraph(RULES) if verdicts else "")
    drawings = [(part, drawing) for part in parts for drawing in part.entry.drawings]
    for i, (part, drawing) in enumerate(drawings):
        body += _drawing(part, drawing, folder, f"drawing-{i + 1}")
    overviews = [(part, overview) for part in parts for overview in part.entry.overviews]
    for i, (part, overview) in enumerate(overviews):
        body += _overview(part, overview, folder, f"overview-{i + 1}")
    for part in parts:
        for key, run in part.runs.items():
            bounds = partial(_draw_bounds, part, key)
            body += _problem(part.entry, key, run, bounds)
            for metric in _shown(part.entry, run):
                figure = metric_figure(run, metric, decorate=bounds)
                write_figure(figure, folder, f"{key}-{metric}")
            body += _relative(part.entry, key, run, folder)
    body += provenance_section([run for part in parts for run in part.runs.values()])
    path = folder / "report.html"
    write_atomically(path, page(title, body, summary=summary_section(verdicts)).encode())
    return path


def _shown(entry: Entry, run: Run) -> list[str]:
    """Return the metrics to show: the entry's, as far as the problem has them."""
    return [metric for metric in entry.metrics if metric in run.curves.metrics]


def _about(part: Part, *, alone: bool) -> str:
    entry = part.entry
    head = "" if alone else heading(2, entry.title)
    return f"{head}<p>{escape(entry.about)}<br><small>{escape(entry.source)}</small></p>"


def _draw_bounds(part: Part, key: str, figure: Figure, metric: str) -> None:
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


def _problem(entry: Entry, key: str, run: Run, bounds: Decorate) -> str:
    instance = entry.problems[key]
    head = heading(2, instance.title) + (paragraph(instance.note) if instance.note else "")
    tests = _tests(run.curves, entry.metrics[0]) if entry.tests else ""
    return head + tests + run_section(run, _shown(entry, run), decorate=bounds)


def _drawing(part: Part, drawing: Drawing, folder: Path, name: str) -> str:
    """Return a figure of problems alone; write it as files too."""
    shown = {
        part.entry.problems[key].title: part.entry.spec(key, part.scale).plan.problem
        for key in drawing.problems
    }
    figure = drawing.figure(shown)
    write_figure(figure, folder, name)
    note = paragraph(drawing.note) if drawing.note else ""
    return heading(2, drawing.title) + inline(figure, drawing.title) + note


def _overview(part: Part, overview: Overview, folder: Path, name: str) -> str:
    """Return the figure over several problems with its table; write the figure as files too."""
    metric = overview.metric or part.entry.metrics[0]
    curves = {key: run.curves for key, run in part.runs.items()}
    called = next(iter(curves.values())).metric(metric).title
    points = overview.estimates(curves, metric)
    figure = overview_figure(
        points,
        [policy["label"] for policy in part.entry.policies],
        title=overview.title,
        x_label=overview.x_label,
        name=called,
    )
    write_figure(figure, folder, name)
    first = next(iter(points.values()))
    rows = [[label, *(mean.plus_minus() for _, mean in line)] for label, line in points.items()]
    head = ["policy", *(f"{overview.x_label} = {x:g}" for x, _ in first)]
    note = f"Mean {called} ± half of the 95 % interval."
    return heading(2, overview.title) + inline(figure, overview.title) + table(note, head, rows)


def _relative(entry: Entry, key: str, run: Run, folder: Path) -> str:
    """Return the figures relative to one policy, where asked for; write them as files too."""
    if entry.ratio_to is None:
        return ""
    body = ""
    for metric in _shown(entry, run):
        called = run.curves.metric(metric).title
        title = f"{entry.problems[key].title}: {called} relative to {entry.ratio_to}"
        figure = ratio_figure(run.curves, metric, entry.ratio_to, title=title)
        write_figure(figure, folder, f"{key}-{metric}-ratio")
        body += heading(3, title) + inline(figure, title)
    return body


def _tests(curves: Curves, metric: str) -> str:
    """Return the paired tests of the first policy against each other, at every checkpoint."""
    first, *others = curves.labels
    pairs = [(first, other, t) for other in others for t in curves.checkpoints]
    cells = iter(comparisons(curves, metric, pairs))
    rows = []
    for other in others:
        row = [other]
        for _ in curves.checkpoints:
            cell = next(cells)
            row.append(unbroken(f"{cell.gap}{' *' if cell.p_value < LEVEL else ''}"))
        rows.append(row)
    head = [f"{first} minus", *(f"T = {t:,}" for t in curves.checkpoints)]
    note = (
        "Mean difference, its 95 % interval and the p-value of the two-tailed paired t-test; "
        "* marks those that stay significant at 5 % after adjusting for all in the table (Holm)."
    )
    return heading(3, "Paired t-tests") + table(note, head, rows)
