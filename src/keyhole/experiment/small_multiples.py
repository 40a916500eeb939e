"""Small multiples: figures of an experiment that varies entries, a panel for each combination."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from keyhole.experiment.sweep_summary import (
    MOST_PANELS,
    Summaries,
    Summary,
    is_number,
    points_to_compare,
    short_names,
    spread_evenly,
)
from keyhole.pages.figure_files import blank_figure
from keyhole.results.drawn_curves import Scale, arms_divisor, log_floor
from keyhole.results.estimate import Estimate
from keyhole.results.plot import MOST_STYLES, matplotlib_styles, plot_curves, set_title

Panel = tuple[str, Callable[[Axes], None]]
"""The title of a panel, and the function that draws it."""

_COLUMNS: Final = 4
_WIDTH: Final = 8.2
_HEIGHT: Final = 1.9
_ONE_HEIGHT: Final = 3.4
_SMALL: Final = 7.5
SHARED_RATIO: Final = 8.0
"""Panels share an axis if none would use less than 1/8 of its height."""
_LOG_RATIO: Final = 30.0  # a parameter whose ends have this ratio gets a logarithmic axis
_TICKS: Final = 5
_TITLE: Final = 0.13  # the height of a further line of a title
_TITLE_LETTERS: Final = 116  # on a line that spans all columns
_LETTERS_AN_INCH: Final = 15
_TIE: Final = "\0=\0"  # stands for " = " while lines are broken: of equal length, without spaces
_LEGEND: Final = 0.2  # the height of a line
_LEGEND_LETTERS: Final = 120  # on a line, including the samples of lines
_SAMPLE_LETTERS: Final = 10


def plot_by_round(
    summaries: Summaries, metric: str, *, x: Scale = "linear", y: Scale | None = None
) -> Figure:
    """Return the figure of a metric over the rounds, with a panel for each point."""
    shown = [panel for panel in summaries.panels if metric in panel.known]
    arms = {id(panel): arms_divisor(panel, metric, y) or 1 for panel in shown}
    # One floor for all panels, in the unit that is drawn, so that they can share an axis.
    floor = min((log_floor(p, metric) / arms[id(p)] for p in shown), default=math.inf)

    def drawing(panel: Summary) -> Callable[[Axes], None]:
        return lambda axes: _draw_curves(
            axes, summaries, panel, metric, x, y, floor * arms[id(panel)]
        )

    panels: list[Panel] = [
        (format_point_title(panel.names, summaries.sweep), drawing(panel)) for panel in shown
    ]
    beside = [*shown[0].names]
    whole = len(shown) == math.prod(len(summaries.sweep[name]) for name in beside)
    # The last entry varies fastest: with a column for each of its values, the panels form a table.
    columns = len(summaries.sweep[beside[-1]]) if whole and len(beside) > 1 else _COLUMNS
    return _figure(summaries.labels, panels, columns)


def plot_by_parameter(
    summaries: Summaries, metric: str, name: str, *, y: Scale | None = None
) -> tuple[Figure, int]:
    """Return the figure of a metric at the last checkpoint against a varied entry.

    It has a panel for each combination of the other entries; the second value is the number of
    panels left out. Points that differ only in policies share a panel.
    """
    lines: dict[str, list[tuple[float, Summary]]] = {}
    places = dict(zip(map(id, summaries.points), point_places(summaries, name), strict=True))
    for beside, points in points_to_compare(summaries.points, MOST_STYLES):
        others = {other: text for other, text in beside.items() if other != name}
        line = lines.setdefault(format_point_title(others, summaries.sweep), [])
        line += [(places[id(point)], point) for point in points]
    shown = spread_evenly(list(lines.items()), MOST_PANELS)
    panels: list[Panel] = [
        (title, lambda axes, p=line: _draw_line(axes, summaries, p, metric, name, y))  # type: ignore[misc]
        for title, line in shown
    ]
    return _figure(summaries.labels, panels, _COLUMNS), len(lines) - len(shown)


def format_point_title(names: Mapping[str, str], among: Iterable[str] = ()) -> str:
    """Return the short names of a point's values on a line; `among` are all varied entries."""
    short = _short([*(among or names)])
    return ", ".join(
        text if text.startswith(f"{short[name]} ") else f"{short[name]} = {text}"
        for name, text in names.items()
    )


def _short(names: Sequence[str]) -> dict[str, str]:
    """Return the last component of each name, or the whole name where that would be ambiguous."""
    last = {name: name.rpartition(".")[2] for name in names}
    whose = {name.partition(".")[0] for name in names if name.startswith("policy[")}
    several = {name for name in names if len(whose) > 1 and name.startswith("policy")}
    twice = {name for name in names if [*last.values()].count(last[name]) > 1}
    return {name: name if name in several | twice else last[name] for name in names}


def point_places(summaries: Summaries, name: str) -> list[float]:
    """Return the position of each point on the axis of an entry: its number, or its index."""
    values = summaries.sweep[name]
    names = short_names(summaries.sweep)[name]
    places = [names.index(point.names[name]) for point in summaries.points]
    return [values[p] if all(map(is_number, values)) else p + 1 for p in places]


def _draw_curves(
    axes: Axes,
    summaries: Summaries,
    point: Summary,
    metric: str,
    x: Scale,
    y: Scale | None,
    floor: float,
) -> None:
    plot_curves(point, metric, axes, x=x, y=y, floor=floor)
    if (legend := axes.get_legend()) is not None:  # all panels have one legend, above them
        legend.remove()
    # A policy has the same style in all panels, also where other policies are missing.
    for label, line, band in zip(point.labels, axes.lines, axes.collections, strict=True):
        style = _style_of(summaries.labels, label)
        line.set(**style)
        band.set_facecolor(style["color"])


def _style_of(labels: Sequence[str], label: str) -> dict[str, Any]:
    return matplotlib_styles(labels)[label] | {"markersize": 3.0, "linewidth": 1.1}


def _draw_line(
    axes: Axes,
    summaries: Summaries,
    line: Sequence[tuple[float, Summary]],
    metric: str,
    name: str,
    y: Scale | None,
) -> None:
    numbers = all(map(is_number, summaries.sweep[name]))
    for label in summaries.labels:
        # Points at the same x differ in other policies only, and have the same mean of this one.
        known = {x: mean for x, point in line if (mean := point.last(label, metric)) is not None}
        if not known:
            continue
        xs, means = zip(*sorted(known.items()), strict=True)
        style = _style_of(summaries.labels, label)
        if not numbers:  # no line: there is nothing between two problems
            style["linestyle"] = "none"
        bars = np.transpose([_bar(mean) for mean in means])
        axes.errorbar(
            xs, [mean.value for mean in means], yerr=bars, capsize=2, elinewidth=0.8, **style
        )
    axes.set_xlabel(name if numbers else f"{name}, by its position", parse_math=False)
    axes.set_ylabel(summaries.metrics[metric].title)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if parameter_scale(summaries.sweep[name]) == "log":
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if y != "log" and summaries.metrics[metric].drawn != "mean":
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    if y == "log" and has_positive_mean(line, metric):
        axes.set_yscale("log", nonpositive="mask")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def parameter_scale(values: Sequence[Any]) -> Scale:
    """Return the scale of the axis of a varied entry."""
    numbers = all(map(is_number, values))
    return "log" if numbers and 0 < min(values) * _LOG_RATIO <= max(values) else "linear"


def has_positive_mean(line: Sequence[tuple[float, Summary]], metric: str) -> bool:
    """Return whether a mean at the last checkpoint has a logarithm."""
    means = (point.last(label, metric) for _, point in line for label in point.labels)
    return any(mean is not None and mean.value > 0 for mean in means)


def _bar(mean: Estimate) -> tuple[float, float]:
    """Return the lengths of an error bar below and above; NaN for one replication."""
    if not math.isfinite(mean.reach):
        return math.nan, math.nan
    return mean.value - mean.low, mean.high - mean.value


def _figure(labels: Sequence[str], panels: Sequence[Panel], columns: int) -> Figure:
    """Return a figure of panels, row by row, with one legend above them."""
    columns = min(columns, _COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    longest = max(len(label) for label in labels) + _SAMPLE_LETTERS
    beside = max(1, min(len(labels), _LEGEND_LETTERS // longest))
    legend_height = _LEGEND * (1 + math.ceil(len(labels) / beside))
    titles = [_wrap(title, _TITLE_LETTERS // columns) for title, _ in panels]
    title_height = _TITLE * max(title.count("\n") for title in titles)
    height = (_HEIGHT if columns > 1 else _ONE_HEIGHT) + title_height
    figure = blank_figure(_WIDTH, height * rows + legend_height)
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    drawn = list(places[: len(panels)])
    for axes in places[len(panels) :]:
        axes.remove()
    for axes, title, (_, draw) in zip(drawn, titles, panels, strict=True):
        draw(axes)
        if len(panels) > 1:
            set_title(axes, title)
            axes.title.set_fontsize(_SMALL)
        axes.tick_params(labelsize=_SMALL)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "linear":
                axis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 5, 10]))
    _share_axis(drawn)
    # One axis label for all panels, since a long one would run into that of the next row. It is
    # centred on the panels, which end below the legend and above the other label.
    middle = (height * rows + _LEGEND) / (height * rows + legend_height) / 2
    words = _wrap(drawn[0].get_ylabel(), int(_LETTERS_AN_INCH * height * rows))
    figure.supylabel(words, y=middle, fontsize=_SMALL, multialignment="center")
    figure.supxlabel(drawn[0].get_xlabel(), fontsize=_SMALL, parse_math=False)
    for axes in drawn:
        axes.set_xlabel("")
        axes.set_ylabel("")
    # Made by hand, since a panel need not have the lines of all policies.
    handles = [Line2D([], [], label=label, **_style_of(labels, label)) for label in labels]
    legend = figure.legend(
        handles=handles, loc="outside upper left", ncols=beside, frameon=False,
        fontsize=_SMALL, handlelength=3.2,
    )  # fmt: skip
    for text in legend.get_texts():  # a dollar sign begins no formula
        text.set_parse_math(False)
    return figure


def _wrap(text: str, letters: int) -> str:
    """Wrap a text to lines of about so many letters, but never at " = "."""
    lines = wrap(text.replace(" = ", _TIE), letters, break_on_hyphens=False)
    return "\n".join(lines).replace(_TIE, " = ")


def _share_axis(panels: Sequence[Axes]) -> None:
    """Give panels the same axis of means, unless one of them would become too flat to read."""
    ends = [axes.get_ylim() for axes in panels]
    heights = [high - low for low, high in ends]
    if max(heights) <= SHARED_RATIO * min(heights):
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        # Panels of similar height may still lie far from each other.
        if high - low <= SHARED_RATIO * min(heights):
            for axes in panels:
                axes.set_ylim(low, high)
