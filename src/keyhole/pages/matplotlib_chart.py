"""The charts of pages as figures of Matplotlib: for files, notebooks, and the axes of users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, Formatter, Locator, NullFormatter

from keyhole.pages import figure_files
from keyhole.pages.chart_scales import PlotArea, Scale
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart, ScaleName
from keyhole.pages.line_chart_drawing import place_references
from keyhole.pages.policy_colours import add_legend, figure_size, matplotlib_styles, wrap_axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REFERENCE: Final[Any] = {"color": "black", "linewidth": 1.0, "linestyle": (0, (6, 3))}
_RING: Final[Any] = {"color": "black", "marker": "o", "markersize": 12.0, "fillstyle": "none"}
_PANEL: Final[Any] = {"markersize": 3.0, "linewidth": 1.1}
_OPACITY: Final = 0.15  # of bands
_MARGIN: Final = 0.05  # share of an axis: with it, markers at an end of the axis are not cut
_NEAR_END: Final = 0.02  # share of an axis: a point less than this from an end counts as at the end
# The most ticks of an axis, and the most letters of the labels of the horizontal axis together.
_TICK_LIMITS: Final = 7, 48
_PANEL_TICK_LIMITS: Final = 6, 26
_MARKERS_PER_CURVE: Final = 10
_RIGHT_HALF: Final = 0.55  # share of the width: farther right, a ring has its name on its left
_SMALL_TEXT: Final = 8.0  # points

# For a figure of panels: sizes in inches, and numbers of letters on a line.
_COLUMNS: Final = 4
_WIDTH: Final = 8.2
_PANEL_HEIGHT: Final = 1.9
_WIDE_PANEL_HEIGHT: Final = 3.4  # of panels in a single column
_PANEL_TEXT: Final = 7.5  # points
_TITLE_LINE: Final = 0.13  # the height of each line of a title after the first
_TITLE_LETTERS: Final = 116  # on a line that spans all columns
_LETTERS_PER_INCH: Final = 15
_TIE: Final = "\0=\0"  # stands for " = " while lines are broken: as long, but without spaces
_LEGEND_LINE: Final = 0.2  # the height of a line of text
_LEGEND_LETTERS: Final = 120  # on a line of text, if each entry counts `_MARK_LETTERS` more
_MARK_LETTERS: Final = 10  # as wide as the curve that is drawn before the label of an entry

ChartType = TypeVar("ChartType", bound=LineChart | ChartGrid)


def write_chart(chart: ChartType, path: Path, *, title: str) -> ChartType:
    """Write a chart to a figure file of each type; return the chart with the files' names.

    `path` is the path of the files without their suffix.
    """
    files = figure_files.write_figure(chart_figure(chart), path, title=title, caption=chart.caption)
    return replace(chart, files=[file.name for file in files])


def chart_figure(chart: LineChart | ChartGrid) -> Figure:
    """Return the figure of a chart, or of a grid: its panels with one legend above them."""
    if isinstance(chart, ChartGrid):
        return _grid_figure(chart)
    figure = figure_files.blank_figure(*figure_size(chart.labels))
    plot_chart(chart, figure.subplots())
    return figure


def plot_chart(chart: LineChart, axes: Axes | None = None) -> Axes:
    """Draw a chart on axes, by default in a new figure of pyplot; return the axes.

    The legend has the curves in the order of their last values, the highest first.
    """
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(figsize=figure_size(chart.labels), layout="constrained")[1]
    lines = _draw_chart(chart, axes)
    axes.yaxis.label.set_text(wrap_axis_label(axes.get_ylabel()))
    # Each array has the last value, or is empty (its sum is 0) if a curve has no points.
    last_values = {curve.label: np.nan_to_num(curve.y[-1:], nan=-np.inf) for curve in chart.curves}
    labels = sorted(lines, key=lambda label: -last_values[label].sum())
    add_legend(axes, [lines[label] for label in labels], labels)
    return axes


def _draw_chart(
    chart: LineChart, axes: Axes, *, grid_labels: Sequence[str] = (), **panel_style: float
) -> dict[str, Line2D]:
    """Draw a chart without a legend; return the lines by label.

    For a panel of a grid, `grid_labels` are the labels of all curves of the grid, and `panel_style`
    has the entries that all lines' styles have in panels.
    """
    plot = PlotArea.from_chart(chart, height=chart.height, is_panel=bool(grid_labels))
    styles = matplotlib_styles([*(grid_labels or chart.siblings), *chart.labels], chart.by_position)
    # Axes on which the user has drawn before keep what they show.
    earlier_ends = (axes.get_xlim(), axes.get_ylim()) if axes.has_data() else ((), ())
    lines = {}
    for number, curve in enumerate(chart.curves):
        style = styles[curve.label] | panel_style
        if curve.is_bound:
            style |= _REFERENCE | {"marker": "_"}
        lines[curve.label] = _draw_curve(curve, axes, plot, number, style)
    _draw_marks(chart, axes, plot)
    tick_count, letters = _PANEL_TICK_LIMITS if grid_labels else _TICK_LIMITS
    locator: Locator = _PageLocator(plot.x.spacing, tick_count, letters, whole=plot.has_whole_x)
    if len(plot.x_values) == 1:
        locator = FixedLocator(plot.x_values.tolist())
    _set_axis(axes, "x", chart.x, _scale_with_margin(plot, chart, 0), locator, earlier_ends[0])
    locator = _PageLocator(plot.y.spacing, tick_count, np.inf, whole=False)
    _set_axis(axes, "y", chart.y, _scale_with_margin(plot, chart, 1), locator, earlier_ends[1])
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return lines


def _draw_curve(curve: Curve, axes: Axes, plot: PlotArea, number: int, style: Any) -> Line2D:
    """Draw a curve with its band, and an interval as a bar where a point has no neighbours.

    `number` is the number of the curve in its chart.
    """
    x = np.asarray(curve.x, np.float64)
    y = np.asarray(curve.y, np.float64)
    if curve.label in plot.x_shifts:  # the curve is drawn beside its points, to cover no other
        x = plot.x.to_values(plot.point_fractions(curve)[0])
    is_drawn = ~np.isnan(plot.y.to_fractions(y))
    is_isolated = is_drawn & ~np.append(False, is_drawn[:-1]) & ~np.append(is_drawn[1:], False)
    (line,) = axes.plot(
        x, np.where(is_drawn, y, np.nan), label=curve.label,
        drawstyle="steps-post" if curve.steps else "default",
        markevery=_marker_points(number, is_isolated), **style,
    )  # fmt: skip
    low, high = plot.interval_ends(curve)
    if not np.isnan(low + high).all():
        step: Any = "post" if curve.steps else None
        colour = style["color"]
        axes.fill_between(x, low, high, step=step, color=colour, alpha=_OPACITY, linewidth=0)
        if is_isolated.any():
            bars = x[is_isolated], low[is_isolated], high[is_isolated]
            axes.vlines(*bars, color=colour, linewidth=0.9)
    return line


def _marker_points(number: int, is_isolated: npt.NDArray[np.bool_]) -> list[int]:
    """Return the points of a curve that get a marker: some ten, and those without neighbours.

    The points differ between curves, so that the markers of close curves do not overlap.
    """
    point_count = len(is_isolated)
    step = max(1, point_count // _MARKERS_PER_CURVE)
    return sorted({*range(number % step, point_count, step), *np.flatnonzero(is_isolated).tolist()})


def _draw_marks(chart: LineChart, axes: Axes, plot: PlotArea) -> None:
    """Draw reference lines and rings, with their names."""
    background = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 1.0}
    style: Any = {"fontsize": _SMALL_TEXT, "parse_math": False, "bbox": background}
    for line in chart.references:
        if plot.y.low <= line.value <= plot.y.high:
            axes.axhline(line.value, **_REFERENCE)
    for _, placed_name in place_references(chart.references, plot, chart.y.unit):
        position = (0.01, 1 - placed_name.place / 100)  # the place is in per cent from the top
        axes.annotate(placed_name.text, position, xycoords="axes fraction", va="center", **style)
    for ring in chart.rings:
        axes.plot([ring.x], [ring.y], **_RING)
        direction = -1 if plot.x.to_fractions([ring.x])[0] > _RIGHT_HALF else 1
        axes.annotate(
            ring.label, (ring.x, ring.y), xytext=(9 * direction, 6), textcoords="offset points",
            ha="left" if direction > 0 else "right", **style,
        )  # fmt: skip


class _PageLocator(Locator):
    """A locator that places ticks on the shown part of an axis as pages do.

    It places at most about `tick_count`, and fewer if their labels have more than `letters` letters
    in all.
    """

    def __init__(self, spacing: ScaleName, tick_count: int, letters: float, *, whole: bool) -> None:
        self._spacing = spacing
        self._most_ticks = tick_count
        self._most_letters = letters
        self._whole = whole

    def __call__(self) -> list[float]:
        """Return the values of the ticks."""
        return self.tick_values(*self.axis.get_view_interval())  # type: ignore[union-attr]

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the values of the ticks from `vmin` to `vmax`."""
        low, high = sorted((float(vmin), float(vmax)))
        scale = Scale(low, high, self._spacing)
        for tick_count in range(self._most_ticks, 1, -1):
            values = scale.tick_values(tick_count, whole=self._whole)
            if sum(len(text) + 2 for text in scale.tick_texts(values)) <= self._most_letters:
                break
        return values


class _PageFormatter(Formatter):
    """A formatter that writes the numbers at ticks as pages do."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text of a number by itself."""
        return self._scale.tick_texts([x])[0]

    def format_ticks(self, values: Any) -> list[str]:
        """Return the texts of all ticks."""
        return self._scale.tick_texts([*map(float, values)])


def _scale_with_margin(plot: PlotArea, chart: LineChart, axis_index: int) -> Scale:
    """Return the scale of `x` (0) or `y` (1), with a margin at each end where there are points."""
    scale = (plot.x, plot.y)[axis_index]
    fractions = np.concatenate(
        [np.empty(0), *(plot.point_fractions(curve)[axis_index] for curve in chart.curves)]
    )
    low_fraction = -_MARGIN if np.nanmin(fractions, initial=0.5) < _NEAR_END else 0.0
    high_fraction = 1 + _MARGIN if np.nanmax(fractions, initial=0.5) > 1 - _NEAR_END else 1.0
    low, high = scale.to_values([low_fraction, high_fraction]).tolist()
    return Scale(low, high, scale.spacing)


def _set_axis(
    axes: Axes, name: str, axis: Axis, scale: Scale, locator: Locator, earlier_ends: Sequence[float]
) -> None:
    """Set scale, title, ticks and ends of an axis.

    The axis also shows `earlier_ends`; these are empty if nothing was drawn on it before.
    """
    ends = [scale.low, scale.high, *earlier_ends]
    axes.set(**{f"{name}scale": scale.spacing, f"{name}lim": (min(ends), max(ends))})
    drawn_axis = getattr(axes, f"{name}axis")
    drawn_axis.set_label_text(axis.heading, parse_math=False)
    drawn_axis.set_major_locator(locator)
    drawn_axis.set_major_formatter(_PageFormatter(scale))
    drawn_axis.set_minor_formatter(NullFormatter())


def _grid_figure(grid: ChartGrid) -> Figure:
    """Return a figure of panels, row by row, with one legend above them."""
    columns = min(grid.columns, _COLUMNS, len(grid.charts))
    rows = math.ceil(len(grid.charts) / columns)
    entry_letters = max(len(label) for label in grid.labels) + _MARK_LETTERS
    legend_columns = max(1, min(len(grid.labels), _LEGEND_LETTERS // entry_letters))
    # The rows of the legend, and a line for the label of the horizontal axes.
    legend_height = _LEGEND_LINE * (1 + math.ceil(len(grid.labels) / legend_columns))
    titles = [_wrap_text(chart.title, _TITLE_LETTERS // columns) for chart in grid.charts]
    title_height = _TITLE_LINE * max(title.count("\n") for title in titles)
    height = (_PANEL_HEIGHT if columns > 1 else _WIDE_PANEL_HEIGHT) + title_height
    figure = figure_files.blank_figure(_WIDTH, height * rows + legend_height)
    all_axes = figure.subplots(rows, columns, squeeze=False).ravel()
    headings = [chart.y.heading for chart in grid.charts]
    shared_heading = max(headings, key=headings.count)
    for axes, title, chart in zip(all_axes, titles, grid.charts, strict=False):
        _draw_chart(chart, axes, grid_labels=grid.labels, **_PANEL)
        axes.set_title(title, fontsize=_PANEL_TEXT, parse_math=False)
        axes.tick_params(labelsize=_PANEL_TEXT)
        heading = "" if chart.y.heading == shared_heading else wrap_axis_label(chart.y.heading)
        axes.set(xlabel="", ylabel=heading)
        axes.yaxis.label.set_fontsize(_PANEL_TEXT)
    for axes in all_axes[len(grid.charts) :]:
        axes.remove()
    for axis in {chart.y for chart in grid.charts}:  # panels with equal axes share their ends
        pairs = zip(figure.axes, grid.charts, strict=True)
        same_axes = [axes for axes, chart in pairs if chart.y == axis]
        ends = [end for axes in same_axes for end in axes.get_ylim()]
        for axes in same_axes:
            axes.set_ylim(min(ends), max(ends))
    # The panels share one label of their vertical axes: a long label of a panel would run into that
    # of the next row. The shared label is centred on the panels, which lie between the legend and
    # the label of the horizontal axes (one `_LEGEND_LINE`).
    middle = (height * rows + _LEGEND_LINE) / (height * rows + legend_height) / 2
    text_style: Any = {"fontsize": _PANEL_TEXT, "parse_math": False}
    heading = _wrap_text(shared_heading, int(_LETTERS_PER_INCH * height * rows))
    figure.supylabel(heading, y=middle, multialignment="center", **text_style)
    figure.supxlabel(grid.charts[0].x.heading, **text_style)
    # The lines of the legend are made here, since every panel may lack some policies.
    styles = matplotlib_styles(grid.labels)
    handles = [Line2D([], [], label=label, **style | _PANEL) for label, style in styles.items()]
    legend = figure.legend(
        handles=handles, loc="outside upper left", ncols=legend_columns, frameon=False,
        fontsize=_PANEL_TEXT, handlelength=3.2,
    )  # fmt: skip
    for entry in legend.get_texts():  # a dollar sign begins no formula
        entry.set_parse_math(False)
    return figure


def _wrap_text(text: str, letters: int) -> str:
    """Break a text into lines of at most about this many letters, but not at " = "."""
    lines = wrap(text.replace(" = ", _TIE), letters, break_on_hyphens=False)
    return "\n".join(lines).replace(_TIE, " = ")
