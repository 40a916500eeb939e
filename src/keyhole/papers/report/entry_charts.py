"""Charts of an entry and their files: means against rounds or a parameter, and ratios of means."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from keyhole.metric import Metric
from keyhole.pages import figure_files
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart, ReferenceLine
from keyhole.pages.matplotlib_chart import write_chart
from keyhole.papers.claims.bounds import plan_bound
from keyhole.papers.claims.statistics import ratio_of
from keyhole.papers.entry import ParameterFigure, ProblemFigure
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.report.problem_figure_drawing import draw_problem_figure
from keyhole.results.curve_chart import caption, curve_chart, estimates_curve, interval_caption
from keyhole.results.curves import Curves

_MOST_NAMED: Final = 5
"""How many curves have their names beside them: as many as are read in ten seconds."""
_SHORT_CAPTION: Final = "Mean and 95 % interval."
_FAR_ABOVE: Final = 4.0  # times the highest mean: a higher bound would flatten all curves


def entry_charts(outcome: JudgedEntry, problems: Sequence[str], id: str) -> LineChart | ChartGrid:
    """Return the chart of an entry's first metric on some problems, with a panel for each.

    `id` begins the identifier of each problem's chart.
    """
    charts = [problem_chart(outcome, key, outcome.metrics_of(key)[0], id=id) for key in problems]
    # The page shows the number of replications above the chart, so a short caption replaces the
    # part of each caption that has this number; a grid has it once, below its panels. `notes` are
    # the remaining parts.
    notes = [chart.caption.removeprefix(interval_caption(outcome.replications)) for chart in charts]
    if len(charts) == 1:
        return replace(charts[0], caption=f"{_SHORT_CAPTION}{notes[0]}")
    panels = [
        replace(chart, caption=note.strip()) for chart, note in zip(charts, notes, strict=True)
    ]
    return ChartGrid(panels, _SHORT_CAPTION)


def problem_chart(outcome: JudgedEntry, problem: str, metric: str, id: str = "chart") -> LineChart:
    """Return the chart of a metric on a problem, with the bounds that claims name.

    `id` begins the identifier of the chart.
    """
    curves = outcome.runs[problem].curves
    bounds, references = _bound_curves_and_lines(outcome, problem, metric)
    means = {label: float(curves.mean(label, metric)[-1]) for label in curves.labels}
    title = ""
    if len(outcome.runs) > 1:
        title = outcome.entry.problems[problem].title
    chart = curve_chart(
        curves,
        metric,
        anchor=f"{id}-{problem}-{metric}",
        title=title,
        caption=caption(curves, metric, None),
        named=_choose_labels(outcome, means, curves.metric(metric)) if len(means) > 1 else (),
        bounds=bounds,
    )
    files = [f"{problem}-{metric}.{suffix}" for suffix in figure_files.FIGURE_KINDS]
    return replace(chart, references=references, files=files)


def parameter_chart(outcome: JudgedEntry, declaration: ParameterFigure, stem: str) -> LineChart:
    """Return the chart of a metric against a number that differs between problems.

    `stem` begins the names of the chart's files.
    """
    metric_name = declaration.metric or outcome.common_metric()
    metric = next(iter(outcome.curves.values())).metric(metric_name)
    points = declaration.points_by_policy(outcome.curves, metric_name)
    last_x = next(iter(points.values()))[-1][0]
    last_means = {label: line[-1][1] for label, line in points.items()}
    means_text = ", ".join(f"{label} {mean.plus_minus()}" for label, mean in last_means.items())
    return LineChart(
        id=f"chart-{stem}",
        x=Axis(title=declaration.x_label, scale=declaration.x_scale),
        y=Axis(title=metric.title, scale=declaration.axis_scale(points)),
        curves=[
            *(estimates_curve(label, line) for label, line in points.items()),
            *_parameter_bound_curves(outcome, declaration),
        ],
        alt=f"{metric.title} against {declaration.x_label}; at {last_x:g}: {means_text}.",
        caption=interval_caption(outcome.replications),
        title=declaration.title,
        named=_choose_labels(outcome, {key: end.value for key, end in last_means.items()}, metric),
        files=[f"{stem}.{suffix}" for suffix in figure_files.FIGURE_KINDS],
        siblings=[policy["label"] for policy in outcome.entry.policies],
    )


def _parameter_bound_curves(outcome: JudgedEntry, declaration: ParameterFigure) -> list[Curve]:
    """Return the curve of the bound that a figure names, in a list; empty if it names none."""
    if declaration.bound is None:
        return []
    plans = {key: outcome.entry.spec(key, outcome.scale).plan for key in declaration.x}
    name = declaration.bound.partition(".")[2].replace("_", " ")
    xs, values = map(list, zip(*declaration.bound_points(plans), strict=True))
    return [Curve(label=f"bound: {name}", x=xs, y=values, note="bound", is_bound=True)]


def ratio_chart(curves: Curves, problem: str, metric: str, denominator: str) -> LineChart:
    """Return the chart of the ratios of other policies' means to the mean of `denominator`.

    A line is broken where the mean in the denominator may be 0.
    """
    title = curves.metric(metric).title
    denominators = curves.values(denominator, metric)
    curve_list = []
    for label in curves.labels:
        if label != denominator:
            ratios = map(ratio_of, curves.values(label, metric), denominators)
            curve_list.append(estimates_curve(label, zip(curves.checkpoints, ratios, strict=True)))
    return LineChart(
        id=f"chart-{problem}-{metric}-ratio",
        x=Axis(title="round"),
        y=Axis(title=f"{title} / that of {denominator}"),
        curves=curve_list,
        alt=f"{title} relative to {denominator}, over the rounds",
        caption=f"Ratio of the means over {curves.replications:,} replications, with its 95 % "
        "interval (delta method, paired); left out where the mean in the denominator may be 0.",
        references=[ReferenceLine(value=1.0, label=f"as {denominator}")],
        files=[f"{problem}-{metric}-ratio.{suffix}" for suffix in figure_files.FIGURE_KINDS],
        siblings=curves.labels,
    )


def bounds_by_name(
    outcome: JudgedEntry, problem: str, metric: str
) -> dict[str, tuple[list[int], list[float]]]:
    """Return the bounds that claims name for a metric on a problem: rounds and values by name."""
    claims: list[Any] = [
        claim
        for claim in outcome.entry.claims
        if claim.judged_by in ("above-bound", "below-bound")
        and (claim.problem_keys, claim.metric) == ((problem,), metric)
    ]
    if not claims:
        return {}
    plan = outcome.entry.spec(problem, outcome.scale).plan
    bounds = {}
    # By name, since several claims may be about the same bound, which is drawn once.
    for name, claim in {f"{claim.bound} of {claim.policy}": claim for claim in claims}.items():
        rounds = list(claim.rounds or plan.checkpoints)
        values = [plan_bound(claim.bound, claim.policy or "", plan, t) for t in rounds]
        bounds[name] = rounds, values
    return bounds


def _bound_curves_and_lines(
    outcome: JudgedEntry, problem: str, metric: str
) -> tuple[list[Curve], list[ReferenceLine]]:
    """Return bounds as curves, or as horizontal lines if constant or far above the means."""
    curves = outcome.runs[problem].curves
    bound_curves = []
    references = []
    if curves.metric(metric).drawn in ("mean", "from 0"):
        highest = max(float(curves.mean(label, metric).max()) for label in curves.labels)
        for name, (rounds, values) in bounds_by_name(outcome, problem, metric).items():
            if len(set(values)) == 1 or max(values) > _FAR_ABOVE * highest:
                references.append(ReferenceLine(value=values[-1], label=name))
            else:
                x = [float(t) for t in rounds]
                bound_curves.append(Curve(label=name, x=x, y=values, note="bound", is_bound=True))
    return bound_curves, references


def _choose_labels(outcome: JudgedEntry, means: Mapping[str, float], metric: Metric) -> list[str]:
    """Return the policies to name in a chart: those in the paper's claims, then the best ones.

    `means` are the means at the last point of each policy's curve.
    """
    best_first = metric.rank(means)
    subjects = [
        label
        for claim in outcome.entry.claims
        if claim.origin != "ours"
        for label in (claim.subject, *(cell.policy for cell in claim.named_cells))
        if label in best_first
    ]
    return list(dict.fromkeys([*subjects, *best_first]))[:_MOST_NAMED]


def entry_figures(
    outcome: JudgedEntry,
) -> Iterator[tuple[str, str, Callable[[], LineChart] | ProblemFigure]]:
    """Yield for each figure the stem of its files, its title, and a function that draws its chart.

    A figure of problems has its declaration in place of the function.
    """
    for i, declaration in enumerate(outcome.entry.parameter_figures, 1):
        stem = f"overview-{i}"
        yield stem, declaration.title, partial(parameter_chart, outcome, declaration, stem)
    for i, problem_figure in enumerate(outcome.entry.problem_figures, 1):
        yield f"drawing-{i}", problem_figure.title, problem_figure
    for problem, curves in outcome.curves.items():
        for metric in outcome.metrics_of(problem):
            title = f"{outcome.entry.problems[problem].title}: {curves.metric(metric).title}"
            yield f"{problem}-{metric}", title, partial(problem_chart, outcome, problem, metric)
            if (denominator := outcome.entry.ratio_to) is not None:
                draw = partial(ratio_chart, curves, problem, metric, denominator)
                yield f"{problem}-{metric}-ratio", f"{title} relative to {denominator}", draw


def write_entry_figures(folder: Path, outcome: JudgedEntry) -> None:
    """Write the files of all figures of an entry."""
    for stem, title, draw in entry_figures(outcome):
        if isinstance(draw, ProblemFigure):
            _write_problem_figure(outcome, draw, folder / stem)
        else:
            write_chart(draw(), folder / stem, title=title)


def drawing_title(outcome: JudgedEntry, declaration: ProblemFigure) -> str:
    """Return the title of a figure of problems, followed by the titles of the problems."""
    titles = ", ".join(outcome.entry.problems[key].title for key in declaration.problems)
    return f"{declaration.title}: {titles}"


def _write_problem_figure(outcome: JudgedEntry, declaration: ProblemFigure, path: Path) -> None:
    problems = {
        outcome.entry.problems[key].title: outcome.entry.spec(key, outcome.scale).plan.problem
        for key in declaration.problems
    }
    figure = draw_problem_figure(declaration, problems)
    title = drawing_title(outcome, declaration)
    figure_files.write_figure(figure, path, title=title, caption=declaration.note)
