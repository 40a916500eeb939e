"""Files of a reproduced experiment's figures, for papers and slides: SVG, PNG and PDF."""

from pathlib import Path

from matplotlib.figure import Figure

from keyhole.experiment.plots import caption
from keyhole.experiment.report import metric_figure
from keyhole.pages import figure_files
from keyhole.papers.figure_declarations import ParameterFigure, ProblemFigure
from keyhole.papers.report.entry_charts import (
    bounds_of,
    interval_caption,
    parameter_bound,
    parameter_points,
    ratio_caption,
)
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.report.parameter_figure_drawing import (
    draw_bound,
    draw_parameter_figure,
    ratio_figure,
)
from keyhole.papers.report.problem_figure_drawing import draw_problem_figure


def write_entry_figures(
    folder: Path, part: JudgedEntry, first_drawing: int, first_overview: int
) -> None:
    """Write the figures of each problem's metrics, of problems, and against parameters.

    The numbers are those of the entry's first figures of the last two kinds in the folder.
    """
    for problem in part.runs:
        for metric in part.metrics_of(problem):
            _write_metric_figures(folder, part, problem, metric)
    for i, drawn in enumerate(part.entry.problem_figures, first_drawing):
        _write_drawing(part, drawn, folder / f"drawing-{i}")
    for i, declared in enumerate(part.entry.parameter_figures, first_overview):
        _write_parameter_figure(part, declared, folder / f"overview-{i}")


def drawing_title(part: JudgedEntry, declared: ProblemFigure) -> str:
    """Return the title of a figure of problems, with their titles."""
    shown = ", ".join(part.entry.problems[key].title for key in declared.problems)
    return f"{declared.title}: {shown}"


def _write_drawing(part: JudgedEntry, declared: ProblemFigure, path: Path) -> None:
    problems = {
        part.entry.problems[key].title: part.entry.spec(key, part.scale).plan.problem
        for key in declared.problems
    }
    title = drawing_title(part, declared)
    figure_files.write_figure(
        draw_problem_figure(declared, problems), path, title=title, caption=declared.note
    )


def _write_parameter_figure(part: JudgedEntry, declared: ParameterFigure, path: Path) -> None:
    metric = declared.metric or part.common_metric()
    known = next(iter(part.curves.values())).metric(metric)
    labels = [policy["label"] for policy in part.entry.policies]
    points = parameter_points(part, declared)
    figure = draw_parameter_figure(
        points,
        labels,
        x_label=declared.x_label,
        name=known.title,
        scales=(declared.x_scale, declared.mean_scale(points)),
        bound=parameter_bound(part, declared),
    )
    note = interval_caption(part.replications)
    figure_files.write_figure(figure, path, title=declared.title, caption=note)


def _write_metric_figures(folder: Path, part: JudgedEntry, problem: str, metric: str) -> None:
    run, to = part.runs[problem], part.entry.ratio_to

    def draw_bounds(figure: Figure, metric: str) -> None:
        for name, (rounds, values) in bounds_of(part, problem, metric).items():
            draw_bound(figure.axes[0], rounds, values, name)

    title = f"{part.entry.problems[problem].title}: {run.curves.metric(metric).title}"
    figure_files.write_figure(
        metric_figure(run, metric, decorate=draw_bounds),
        folder / f"{problem}-{metric}",
        title=title,
        caption=caption(run.curves, metric, None),
    )
    if to is not None:
        figure_files.write_figure(
            ratio_figure(run.curves, metric, to),
            folder / f"{problem}-{metric}-ratio",
            title=f"{title} relative to {to}",
            caption=ratio_caption(run.curves.replications),
        )
