"""Charts of a sweep: the best policies, and each metric against parameters and rounds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from keyhole.experiment import sweep_summary
from keyhole.experiment.run_summary import Leaders
from keyhole.experiment.sweep_summary import MOST_PANELS, PointSummary, SweepSummary
from keyhole.pages.best_policy_tiles import Tile, TileTable
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart, ScaleName
from keyhole.pages.policy_colours import MOST_STYLES
from keyhole.results.curve_chart import curve_chart, estimates_curve, is_drawn_as_logarithm

_SHARED_RATIO: Final = 8.0  # panels share an axis if each of them uses at least 1/8 of its height
# The axis of a varied number is logarithmic if all its values are above 0, and the largest value is
# at least this many times the smallest.
_LOG_RATIO: Final = 30.0
_MOST_TILES: Final = 200
_MOST_COLUMNS: Final = 12
_MARGIN: Final = 0.04  # free space above the highest interval, as a share of the range
_PANEL_HEIGHT: Final = 200  # pixels
_CHART_HEIGHT: Final = 300  # pixels, of a single chart

Panel = Sequence[tuple[float, PointSummary]]
"""The points of a panel, each with its value of the entry on the horizontal axis."""


def best_tiles(summary: SweepSummary, all_leaders: Sequence[Leaders]) -> TileTable:
    """Return the table of the best policies: a tile for each problem on which they are compared."""
    metric = next(iter(summary.metrics.values()))
    entries = [*all_leaders[0].names]
    # The entry that varies fastest has a column for each value, if these are few.
    values = {leaders.names[entries[-1]] for leaders in all_leaders}
    column_entry = entries[-1] if len(values) <= _MOST_COLUMNS else ""
    tiles = {}
    for leaders in all_leaders:
        row_names = {name: text for name, text in leaders.names.items() if name != column_entry}
        column_names = {name: text for name, text in leaders.names.items() if name == column_entry}
        row = sweep_summary.format_point_title(row_names, summary.sweep)
        column = sweep_summary.format_point_title(column_names, summary.sweep) or "best"
        best = leaders.best or ""
        tiles[row, column] = Tile(text=leaders.text, label=best, note=f"{leaders.mean}")
    all_rows = list(dict.fromkeys(row for row, _ in tiles))
    columns = list(dict.fromkeys(column for _, column in tiles))
    rows = sweep_summary.pick_evenly(all_rows, _MOST_TILES // len(columns))
    cells = {key: tile for key, tile in tiles.items() if key[0] in rows}
    caption = f"Best policy and its {metric.title} in the end, with 95 % intervals."
    if len(rows) < len(all_rows):
        caption += f" {len(rows):,} of {len(all_rows):,} rows, evenly spread over all."
    return TileTable(rows=rows, columns=columns, cells=cells, caption=caption)


def charts_by_parameter(
    summary: SweepSummary, metric: str, entry: str, *, anchor: str, y: ScaleName | None = None,
    caption: str = "",
) -> LineChart | ChartGrid:  # fmt: skip
    """Return the chart of a metric at the last checkpoint against `entry`, a varied number.

    The chart has a panel for each combination of values of the other varied entries, but at most
    `MOST_PANELS` panels. Points that differ only in policies share a panel. `y` is the scale of the
    vertical axis, which is linear by default.
    """
    panels: dict[str, list[tuple[float, PointSummary]]] = {}
    values = summary.sweep[entry]
    numbers = dict(zip(sweep_summary.short_names(summary.sweep)[entry], values, strict=True))
    for shared_names, points in sweep_summary.group_points(summary.points, MOST_STYLES):
        other_names = {name: text for name, text in shared_names.items() if name != entry}
        panel = panels.setdefault(sweep_summary.format_point_title(other_names, summary.sweep), [])
        panel += [(numbers[point.names[entry]], point) for point in points]
    x_scale: ScaleName = "log" if 0 < min(values) * _LOG_RATIO <= max(values) else "linear"
    declaration = summary.metrics[metric]
    # Metrics that are not drawn as a mean have a natural zero.
    begins_at_zero = y != "log" and declaration.drawn != "mean"
    charts: list[LineChart] = []
    for title, panel in sweep_summary.pick_evenly(list(panels.items()), MOST_PANELS):
        curves = _curves_by_parameter(summary.labels, panel, metric)
        scale: ScaleName = "log" if y == "log" and _has_positive_mean(panel, metric) else "linear"
        negative_values = [value for c in curves for value in (*c.y, *(c.low or ())) if value < 0]
        low = min(negative_values, default=0.0) if begins_at_zero else None
        chart = LineChart(
            id=f"{anchor}-{len(charts) + 1}",
            x=Axis(title=entry, scale=x_scale),
            y=Axis(title=declaration.title, scale=scale, low=low),
            curves=curves,
            alt=_describe_panel(title, declaration.title, entry, panel, metric),
            title=title if len(panels) > 1 else "",
        )
        charts.append(chart)
    return _combine_charts(charts, len(panels), caption)


def _curves_by_parameter(labels: Sequence[str], panel: Panel, metric: str) -> list[Curve]:
    """Return a curve with intervals for each policy that has a value at any point of the panel."""
    curves = []
    for label in labels:
        # Points with the same x differ only in their policies. If several of these points have this
        # policy, its means at them are equal.
        means = {x: mean for x, point in panel if (mean := point.last_mean(label, metric))}
        if means:
            curves.append(estimates_curve(label, sorted(means.items())))
    return curves


def _has_positive_mean(panel: Panel, metric: str) -> bool:
    """Return whether a logarithmic axis can show a mean at the last checkpoint."""
    means = (point.last_mean(label, metric) for _, point in panel for label in point.labels)
    return any(mean is not None and mean.value > 0 for mean in means)


def _describe_panel(title: str, metric_title: str, entry: str, panel: Panel, metric: str) -> str:
    """Return the alternative text of a panel: the means at the largest value of the entry."""
    _, point = max(panel, key=lambda pair: pair[0])
    means = ((label, point.last_mean(label, metric)) for label in point.labels)
    means_text = ", ".join(f"{label} {mean.plus_minus()}" for label, mean in means if mean)
    prefix = f"{title}: " if title else ""
    return f"{prefix}{metric_title} against {entry}; at its largest value: {means_text}."


def charts_by_round(
    summary: SweepSummary, metric: str, *, anchor: str, x: ScaleName = "linear",
    y: ScaleName | None = None, caption: str = "",
) -> LineChart | ChartGrid:  # fmt: skip
    """Return the chart of a metric over the rounds, with a panel for each problem compared.

    `x` and `y` are the scales of the axes; by default, the metric declares the scale `y`.
    """
    panels = [panel for panel in summary.panels if metric in panel.metrics]
    charts = []
    for number, panel in enumerate(panels, 1):
        title = ""
        if len(panels) > 1:
            title = sweep_summary.format_point_title(panel.names, summary.sweep)
        charts.append(
            curve_chart(panel, metric, anchor=f"{anchor}-{number}", x=x, y=y, title=title)
        )
    panel_count = len(sweep_summary.group_points(summary.points, MOST_STYLES))
    has_logarithms = any(is_drawn_as_logarithm(panel, metric, y) for panel in panels)
    chart = _combine_charts(charts, panel_count, caption, shares_lower_end=has_logarithms)
    value_counts = [len(summary.sweep[name]) for name in panels[0].names]
    is_table = len(value_counts) > 1 and len(panels) == math.prod(value_counts)
    # The last entry varies fastest: the table has a column for each of its values.
    if isinstance(chart, ChartGrid) and is_table:
        return replace(chart, columns=value_counts[-1])
    return chart


def _combine_charts(
    charts: Sequence[LineChart], panel_count: int, caption: str, *, shares_lower_end: bool = False
) -> LineChart | ChartGrid:
    """Return a single chart, or a grid of several, which share their vertical axis if they can."""
    if panel_count > len(charts):
        caption += f" {len(charts)} of {panel_count:,} panels, evenly spread over all."
    if len(charts) == 1:
        return replace(charts[0], caption=caption, height=_CHART_HEIGHT)
    # A panel without positive means has a linear axis even if the other panels have logarithmic
    # axes. Only panels with the most frequent kind of axis share a range.
    axes = [(chart.y.title, chart.y.scale) for chart in charts]
    usual_positions = [i for i, axis in enumerate(axes) if axis == max(axes, key=axes.count)]
    ranges = [_value_range(chart) for chart in charts]
    shared_low = min(ranges[i][0] for i in usual_positions)
    shared_high = max(ranges[i][1] for i in usual_positions)
    # Curves that go below the axis are cut off at the same value in all panels.
    if shares_lower_end:
        for i in usual_positions:
            ranges[i] = shared_low, ranges[i][1]
    heights = [high - low for low, high in (ranges[i] for i in usual_positions) if high > low]
    if shared_high - shared_low <= _SHARED_RATIO * min(heights, default=0.0):
        for i in usual_positions:
            ranges[i] = shared_low, shared_high
    if len(set(ranges)) > 1:
        caption += " Panels differ in their vertical axes."
    panels = [
        replace(chart, y=replace(chart.y, low=low, high=high)) if high > low else chart
        for chart, (low, high) in zip(charts, ranges, strict=True)
    ]
    return ChartGrid(charts=panels, caption=caption, height=_PANEL_HEIGHT)


def _value_range(chart: LineChart) -> tuple[float, float]:
    """Return the range that the vertical axis of a chart needs for its means and intervals."""
    is_log = chart.y.scale == "log"
    values = [
        value
        for curve in chart.curves
        # Logarithmic axes may cut off lower ends of intervals: ends close to 0 would stretch them.
        for line in (curve.y, () if is_log else curve.low or (), curve.high or ())
        for value in line
        if math.isfinite(value) and (value > 0 or not is_log)
    ]
    low = min(values, default=0.0)
    high = max(values, default=1.0)
    if chart.y.low is not None:
        low = chart.y.low
    elif is_log:
        low /= 2
    # With a margin above, the highest interval does not touch the edge of the plot.
    return low, high + (high - low) * _MARGIN
