"""Charts of a sweep: the best policies, and each metric against parameters and rounds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from keyhole.experiment import sweep_summary
from keyhole.experiment.run_summary import Leaders
from keyhole.experiment.sweep_summary import MOST_PANELS, Summaries, Summary
from keyhole.pages.best_policy_tiles import Tile, TileTable
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart
from keyhole.pages.policy_colours import MOST_STYLES
from keyhole.results.curve_chart import Scale, arms_divisor, curve_chart

_SHARED_RATIO: Final = 8.0  # panels share an axis if none would use less than 1/8 of its height
_LOG_RATIO: Final = 30.0  # a parameter whose ends have this ratio gets a logarithmic axis
_MOST_TILES: Final = 200
_MOST_COLUMNS: Final = 12
_MARGIN: Final = 0.04
_SMALL: Final = 200  # pixels
_LARGE: Final = 300


def best_table(summaries: Summaries, leaders: Sequence[Leaders]) -> TileTable:
    """Return the table that shows who is best where: a tile for each problem that is compared."""
    metric = next(iter(summaries.metrics.values()))
    entries = [*leaders[0].names]
    # The entry that varies fastest has a column for each value, if these are few.
    values = {leader.names[entries[-1]] for leader in leaders}
    column_entry = entries[-1] if len(values) <= _MOST_COLUMNS else ""
    tiles: dict[str, dict[str, Tile]] = {}
    for leader in leaders:
        row_names = {name: text for name, text in leader.names.items() if name != column_entry}
        column = {column_entry: leader.names[column_entry]} if column_entry else {}
        row = tiles.setdefault(sweep_summary.format_point_title(row_names, summaries.sweep), {})
        tile = Tile(text=leader.text, label=leader.best or "", note=_describe_means(leader))
        row[sweep_summary.format_point_title(column, summaries.sweep) or "best"] = tile
    columns = list(dict.fromkeys(name for row in tiles.values() for name in row))
    rows = sweep_summary.pick_evenly([*tiles], _MOST_TILES // len(columns))
    cells = {(name, column): tile for name in rows for column, tile in tiles[name].items()}
    caption = f"Best policy and its {metric.title} in the end, with 95 % intervals."
    if len(rows) < len(tiles):
        caption += f" {len(rows):,} of {len(tiles):,} rows, evenly spread over all."
    return TileTable(rows=rows, columns=columns, cells=cells, caption=caption)


def _describe_means(leaders: Leaders) -> str:
    """Return the best mean, and that of the best policy whose interval does not overlap."""
    if leaders.rival is None:
        return f"{leaders.mean}"
    label, mean = leaders.rival
    return f"{leaders.mean}; next {label} {mean}"


def charts_by_parameter(
    summaries: Summaries, metric: str, entry: str, *, anchor: str, y: Scale | None = None,
    caption: str = "",
) -> LineChart | ChartGrid:  # fmt: skip
    """Return the chart of a metric at the last checkpoint against a varied entry.

    It has a panel for each combination of the other entries, at most `MOST_PANELS`. Points that
    differ only in policies share a panel.
    """
    panels: dict[str, list[tuple[float, Summary]]] = {}
    positions = dict(zip(map(id, summaries.points), _point_places(summaries, entry), strict=True))
    for shared_names, points in sweep_summary.group_points(summaries.points, MOST_STYLES):
        others = {name: text for name, text in shared_names.items() if name != entry}
        panel = panels.setdefault(sweep_summary.format_point_title(others, summaries.sweep), [])
        panel += [(positions[id(point)], point) for point in points]
    declaration = summaries.metrics[metric]
    values = summaries.sweep[entry]
    axis_title = entry if sweep_summary.are_numbers(values) else f"{entry}, by its position"
    axis = Axis(title=axis_title, scale=_parameter_scale(values))
    charts = [
        LineChart(
            id=f"{anchor}-{number}",
            x=axis,
            y=Axis(
                title=declaration.title,
                scale="log" if y == "log" and _has_positive_mean(panel, metric) else "linear",
            ),
            curves=_curves_by_parameter(summaries, panel, metric, entry),
            alt=_describe_panel(title, declaration.title, entry, panel, metric),
            title=title if len(panels) > 1 else "",
        )
        for number, (title, panel) in enumerate(
            sweep_summary.pick_evenly(list(panels.items()), MOST_PANELS), 1
        )
    ]
    begins_at_zero = y != "log" and declaration.drawn != "mean"
    return _combine_charts(charts, len(panels), caption, begins_at_zero=begins_at_zero)


def _point_places(summaries: Summaries, name: str) -> list[float]:
    """Return where each point is on the axis of an entry: at its number, or its place in order."""
    values = summaries.sweep[name]
    names = sweep_summary.short_names(summaries.sweep)[name]
    indices = [names.index(point.names[name]) for point in summaries.points]
    return [values[p] if sweep_summary.are_numbers(values) else p + 1 for p in indices]


def _curves_by_parameter(
    summaries: Summaries, panel: Sequence[tuple[float, Summary]], metric: str, entry: str
) -> list[Curve]:
    is_numeric = sweep_summary.are_numbers(summaries.sweep[entry])
    curves = []
    for label in summaries.labels:
        # Points at the same x differ in other policies only, and have the same mean of this one.
        means = {x: mean for x, point in panel if (mean := point.last(label, metric)) is not None}
        if not means:
            continue
        rows = []
        for position, mean in sorted(means.items()):
            ends = (mean.low, mean.high) if math.isfinite(mean.reach) else (math.nan, math.nan)
            rows.append((position, mean.value, *ends))
            # No line is drawn: there is nothing between two problems.
            if not is_numeric and position < max(means):
                rows.append((position, math.nan, math.nan, math.nan))
        x, y, low, high = map(list, zip(*rows, strict=True))
        curves.append(Curve(label=label, x=x, y=y, low=low, high=high))
    return curves


def _parameter_scale(values: Sequence[Any]) -> Scale:
    """Return the scale of the axis of a varied entry."""
    is_wide = sweep_summary.are_numbers(values) and 0 < min(values) * _LOG_RATIO <= max(values)
    return "log" if is_wide else "linear"


def _has_positive_mean(panel: Sequence[tuple[float, Summary]], metric: str) -> bool:
    """Return whether a mean at the last checkpoint is positive: a logarithmic axis can show it."""
    means = (point.last(label, metric) for _, point in panel for label in point.labels)
    return any(mean is not None and mean.value > 0 for mean in means)


def _describe_panel(
    title: str, metric_title: str, entry: str, panel: Sequence[tuple[float, Summary]], metric: str
) -> str:
    """Return the alternative text of a panel: the means at the last value."""
    _, point = max(panel, key=lambda pair: pair[0])
    means = ((label, point.last(label, metric)) for label in point.labels)
    ends = ", ".join(f"{label} {mean.plus_minus()}" for label, mean in means if mean)
    where = f"{title}: " if title else ""
    return f"{where}{metric_title} against {entry}; at its last value: {ends}."


def charts_by_round(
    summaries: Summaries, metric: str, *, anchor: str, x: Scale = "linear",
    y: Scale | None = None, caption: str = "",
) -> LineChart | ChartGrid:  # fmt: skip
    """Return the chart of a metric over the rounds, with a panel for each problem compared."""
    panels = [panel for panel in summaries.panels if metric in panel.known]
    charts = [
        curve_chart(
            panel,
            metric,
            anchor=f"{anchor}-{number}",
            x=x,
            y=y,
            title=sweep_summary.format_point_title(panel.names, summaries.sweep)
            if len(panels) > 1
            else "",
        )
        for number, panel in enumerate(panels, 1)
    ]
    panel_count = len(sweep_summary.group_points(summaries.points, MOST_STYLES))
    # `arms_divisor` gives a number exactly where the logarithm of the mean / arms is drawn.
    has_logarithms = y == "log" or any(arms_divisor(panel, metric, y) for panel in panels)
    chart = _combine_charts(charts, panel_count, caption, shares_lower_end=has_logarithms)
    *row_entries, column_entry = panels[0].names or [""]
    has_all_combinations = len(panels) == math.prod(
        len(summaries.sweep[name]) for name in panels[0].names
    )
    # The last entry varies fastest: with a column for each of its values, the panels form a table.
    if isinstance(chart, ChartGrid) and row_entries and has_all_combinations:
        return replace(chart, columns=len(summaries.sweep[column_entry]))
    return chart


def _combine_charts(
    charts: Sequence[LineChart], panel_count: int, caption: str,
    *, begins_at_zero: bool = False, shares_lower_end: bool = False,
) -> LineChart | ChartGrid:  # fmt: skip
    """Return one chart as it is, or a grid of several, which share their axes if they can."""
    if panel_count > len(charts):
        caption += f" {len(charts)} of {panel_count:,} panels, evenly spread over all."
    # A panel without positive means has a linear axis: only those with the most frequent axis share
    # their range.
    axes = [(chart.y.title, chart.y.scale) for chart in charts]
    usual = [i for i, axis in enumerate(axes) if axis == max(axes, key=axes.count)]
    ranges = [_range(chart, begins_at_zero=begins_at_zero) for chart in charts]
    if len(charts) == 1:
        y_axis = replace(charts[0].y, low=ranges[0][0]) if begins_at_zero else charts[0].y
        return replace(charts[0], y=y_axis, caption=caption, height=_LARGE)
    lows = [low for i in usual if (low := charts[i].y.low) is not None]
    # Curves that leave the axis below are cut off at the same value in all panels.
    if shares_lower_end and lows:
        for i in usual:
            ranges[i] = min(lows), ranges[i][1]
    ends = np.array([ranges[i] for i in usual])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    heights = [height for height in ends[:, 1] - ends[:, 0] if height > 0]
    if high - low <= _SHARED_RATIO * min(heights, default=0.0):
        for i in usual:
            ranges[i] = low, high
    if len(set(ranges)) > 1:
        caption += " Panels differ in their vertical axes."
    drawn = [
        replace(chart, y=replace(chart.y, low=low, high=high)) if high > low else chart
        for chart, (low, high) in zip(charts, ranges, strict=True)
    ]
    return ChartGrid(charts=drawn, caption=caption, height=_SMALL)


def _range(chart: LineChart, *, begins_at_zero: bool) -> tuple[float, float]:
    """Return the ends of the vertical axis that show all means and intervals of a chart."""
    is_log = chart.y.scale == "log"
    values = [
        value
        for curve in chart.curves
        # The lower end of an interval may be close to 0, whose logarithm no axis has.
        for line in (curve.y, () if is_log else curve.low or (), curve.high or ())
        for value in line
        if math.isfinite(value) and (value > 0 or not is_log)
    ]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if is_log:
        low /= 2
    if begins_at_zero:
        low = min(0.0, low)
    # A margin above: the highest interval would else touch the edge of the plot.
    return (low if chart.y.low is None else chart.y.low), high + (high - low) * _MARGIN
