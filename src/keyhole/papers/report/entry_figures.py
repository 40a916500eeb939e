"""Files of a reproduced experiment's figures, for papers and slides: SVG, PNG and PDF."""

from pathlib import Path

from keyhole.pages import figure_files
from keyhole.pages.chart_figure import write_chart
from keyhole.papers.figure_declarations import ProblemFigure
from keyhole.papers.report.entry_charts import parameter_chart, problem_chart, ratio_chart
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.report.problem_figure_drawing import draw_problem_figure


def write_entry_figures(
    folder: Path, part: JudgedEntry, first_drawing: int, first_overview: int
) -> None:
    """Write the figures of each problem's metrics, of problems, and against parameters.

    The numbers are those of the entry's first figures of the last two kinds in the folder.
    """
    for problem, run in part.runs.items():
        for metric in part.metrics_of(problem):
            title = f"{part.entry.problems[problem].title}: {run.curves.metric(metric).title}"
            write_chart(
                problem_chart(part, problem, metric), folder / f"{problem}-{metric}", title=title
            )
            if (to := part.entry.ratio_to) is not None:
                chart = ratio_chart(part, problem, metric, to)
                path = folder / f"{problem}-{metric}-ratio"
                write_chart(chart, path, title=f"{title} relative to {to}")
    for i, drawn in enumerate(part.entry.problem_figures, first_drawing):
        _write_drawing(part, drawn, folder / f"drawing-{i}")
    for i, declared in enumerate(part.entry.parameter_figures, first_overview):
        chart = parameter_chart(part, declared, f"overview-{i}")
        write_chart(chart, folder / f"overview-{i}", title=declared.title)


def drawing_title(part: JudgedEntry, declared: ProblemFigure) -> str:
    """Return the title of a figure of problems, with their titles."""
    shown = ", ".join(part.entry.problems[key].title for key in declared.problems)
    return f"{declared.title}: {shown}"


def _write_drawing(part: JudgedEntry, declared: ProblemFigure, path: Path) -> None:
    problems = {
        part.entry.problems[key].title: part.entry.spec(key, part.scale).plan.problem
        for key in declared.problems
    }
    figure, title = draw_problem_figure(declared, problems), drawing_title(part, declared)
    figure_files.write_figure(figure, path, title=title, caption=declared.note)
