"""The report of a sweep: the best policy at each point, and charts and tables of metrics."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from keyhole.experiment import sweep_summary
from keyhole.experiment.run_folder import CURVES_FILE, VALUES_FILE, RunFolder
from keyhole.experiment.sweep_charts import best_tiles, charts_by_parameter, charts_by_round
from keyhole.experiment.sweep_summary import PointSummary, SweepSummary
from keyhole.pages.matplotlib_chart import write_chart
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text
from keyhole.results.curve_chart import cell_note, count_nonpositive, is_drawn_as_logarithm
from keyhole.text_formatting import capitalize, count_text

_MOST_ROWS: Final = 200
_MIN_CHART_VALUES: Final = 3  # a numeric entry of the sweep with fewer values gets no chart


def sweep_page(run: RunFolder, summary: SweepSummary, title: str) -> Page:
    """Return the page of a sweep: the best policies first, then each metric.

    Its figures are also written to files in the run folder.
    """
    metrics = list(summary.metrics)
    files = ["figure", *(f"figure-{metric}" for metric in metrics[1:])]
    sections = [
        _write_metric_section(run, summary, m, file) for m, file in zip(metrics, files, strict=True)
    ]
    all_leaders = sweep_summary.find_leaders_by_problem(summary)
    figures: list[PageBlock] = []
    if len(all_leaders) > 1 and len(summary.labels) > 1:
        figures.append(best_tiles(summary, all_leaders))
    # The first chart, if there is one, moves to the first screen.
    first, *others = sections[0].blocks
    if not isinstance(first, Table):
        figures.append(first)
        sections[0] = replace(sections[0], blocks=others)
    return Page(
        title=title,
        answer=[
            Answer(
                capitalize(sweep_summary.summarize_sweep(summary)),
                f"{sweep_summary.explain_best(summary)} {_points_sentence(summary)}".strip(),
            ),
            Text(run.spec.get("notes", "")),
        ],
        figures=figures[:1],
        beside=figures[1:],
        sections=[*sections, *_short_names_sections(summary)],
    )


def _points_sentence(summary: SweepSummary) -> str:
    """Return a sentence: how many points and replications there are, and which entries vary."""
    counts = [point.replications for point in summary.points]
    replications = " to ".join(f"{n:,}" for n in dict.fromkeys((min(counts), max(counts))))
    points = count_text(len(summary.points), "point")
    return f"{points} of {replications} replications each; {', '.join(summary.sweep)} varied."


def _short_names_sections(summary: SweepSummary) -> list[Section]:
    """Return the section with the values of short names such as `means 1`, as a list.

    The list is empty if every value is short enough to be its own name.
    """
    names_and_values = sweep_summary.list_shortened_values(summary.sweep)
    omitted_count = len(names_and_values) - _MOST_ROWS
    note = f"; {omitted_count:,} more are in the spec" if omitted_count > 0 else ""
    rows = [[name, value] for name, value in names_and_values[:_MOST_ROWS]]
    table = Table(f"The values of short names{note}.", ["name", "value"], rows)
    return [Section("key", "Short names", [table])] if rows else []


def _write_metric_section(run: RunFolder, summary: SweepSummary, metric: str, file: str) -> Section:
    """Return the charts and tables of a metric; write figures, whose names begin with `file`."""
    declaration = summary.metrics[metric]
    axes: dict[str, Any] = run.spec.get("figure", {})
    y_scale = axes.get("y")
    title = f"{run.spec.get('title') or run.spec['name']}: {declaration.title}"
    blocks: list[PageBlock] = []
    numeric_entries = [
        name
        for name, values in summary.sweep.items()
        if len(values) >= _MIN_CHART_VALUES and sweep_summary.are_numbers(values)
    ]
    for number, name in enumerate(numeric_entries, 1):
        path = run.folder / f"{file}-against-{number}"
        caption = f"At the last checkpoint, against {name}, with 95 % intervals."
        chart = charts_by_parameter(
            summary, metric, name, anchor=f"chart-{path.name}", y=y_scale, caption=caption
        )
        blocks.append(write_chart(chart, path, title=f"{title} against {name}"))
    panels = [panel for panel in summary.panels if metric in panel.metrics]
    if any(len(panel.checkpoints) > 1 for panel in panels):
        caption = "Means over the rounds, with their 95 % intervals."
        if any(
            is_drawn_as_logarithm(p, metric, y_scale) and count_nonpositive(p, metric)
            for p in panels
        ):
            caption += " Means that are not above 0 are left out: they have no logarithm."
        chart = charts_by_round(summary, metric, anchor=f"chart-{file}", **axes, caption=caption)
        blocks.append(write_chart(chart, run.folder / file, title=title))
    note = f"{cell_note(declaration)}, at the last checkpoint"
    blocks.append(
        _points_table(summary, note, CURVES_FILE, lambda p, label: p.last_mean_text(label, metric))
    )
    if declaration.drawn != "share":  # a share has no tail: in a single run it is 0 or 1
        note = f"{declaration.title}: 90 % quantile and worst run, at the last checkpoint"
        blocks.append(
            _points_table(summary, note, VALUES_FILE, lambda p, label: p.tail_text(label, metric))
        )
    return Section(file, capitalize(declaration.title), blocks)


def _points_table(
    summary: SweepSummary, note: str, file: str, cell_text: Callable[[PointSummary, str], str]
) -> Table:
    """Return a table with a row for each of the first 200 points, and a cell for each policy.

    `file` has the numbers of all points; `cell_text` makes the text of a cell from a point and a
    label.
    """
    rows = [
        [*point.names.values(), *(cell_text(point, label) for label in summary.labels)]
        for point in summary.points[:_MOST_ROWS]
    ]
    if len(summary.points) > _MOST_ROWS:
        note += f"; the first {_MOST_ROWS} of {len(summary.points):,} points, {file} has all"
    return Table(f"{note}.", [*summary.sweep, *summary.labels], rows)
