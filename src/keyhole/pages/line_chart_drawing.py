"""The drawing of a line chart: paths in SVG, places of texts in per cent, and numbers as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from keyhole.pages import svg_paths
from keyhole.pages.chart_scales import LABEL_HEIGHT, PlotArea, Scale, Tick, format_number
from keyhole.pages.line_chart import Axis, Curve, LineChart, ReferenceLine, Ring, shorten_label
from keyhole.pages.policy_colours import LineStyle, line_styles
from keyhole.pages.svg_paths import WIDTH, Indices
from keyhole.validation import escape_controls

_EPSILON: Final = 1e-9


def place_labels(
    centres: Sequence[float], *, size: float, length: float, farthest: float
) -> list[float | None]:
    """Return the centre of each label, near its wanted centre, so that labels do not overlap.

    Labels are placed one by one, each at the free position that is nearest to its wanted centre. A
    label gets None if no position within `farthest` is free. Then the labels exchange positions, so
    that they stand in the order of their wanted centres. The exchange does not increase the largest
    distance between a label and its wanted centre.

    Parameters
    ----------
    centres : sequence of float
        The wanted centres, the most important label first.
    size : float
        The height of a label.
    length : float
        The height of the plot; labels lie between 0 and `length`.
    farthest : float
        The largest distance of a label from its wanted centre.

    Examples
    --------
    >>> place_labels([50, 50, 52], size=10, length=100, farthest=10)
    [40.0, 50, 60.0]
    """
    occupied: list[float] = []
    positions: list[float | None] = []
    for centre in centres:
        # The nearest free position is the wanted one, at an end, or next to a label.
        candidates = [centre, size / 2, length - size / 2]
        candidates += [
            neighbour + direction * size for neighbour in occupied for direction in (-1.0, 1.0)
        ]
        free_positions = [
            position
            for position in candidates
            if size / 2 <= position <= length - size / 2
            and abs(position - centre) <= farthest
            and all(abs(position - neighbour) >= size - _EPSILON for neighbour in occupied)
        ]
        nearest = min(free_positions, key=lambda position: abs(position - centre), default=None)
        positions.append(nearest)
        if nearest is not None:
            occupied.append(nearest)
    # In the order of the wanted centres, lines from labels to their curves do not cross.
    placed_indices = [index for index, position in enumerate(positions) if position is not None]
    ascending = sorted(placed_indices, key=lambda index: (centres[index], index))
    for index, position in zip(ascending, sorted(occupied), strict=True):
        positions[index] = position
    return positions


# At most about this many points of a curve are kept: the HTML of 11 curves is less than 60 kB.
_MOST_POINTS: Final = 120
_MOST_PANEL_POINTS: Final = 60

_FARTHEST: Final = 2.5 * LABEL_HEIGHT  # the most pixels from a name to the end of its curve
_MOST_NAMED: Final = 12  # the most curves with names, if the chart does not say which ones to name
_RIGHT_EDGE: Final = 0.985  # share of the width: a curve that ends farther right needs no extension

# The style sheet has these numbers of dash patterns: for the lines of a colour, and for print.
_DASHES: Final = 5
_PRINT_DASHES: Final = 10


class PlacedName(NamedTuple):
    """A name in a drawing."""

    text: str  # the name, shortened if it is long
    full_text: str
    place: float  # in per cent from the top


@dataclass(frozen=True)
class DrawnLine:
    """A curve as it is drawn: its paths, its look, and its name if it has one."""

    curve: Curve
    style: LineStyle
    path: str
    dots: str
    band: str = ""
    whiskers: str = ""
    name: PlacedName | None = None
    leader: str = ""  # path from the end of the curve to the name, in a view box of 10 x 100
    extension: str = ""  # path from the end of the curve to the edge
    is_coloured: bool = False  # a line without colour is grey, and has no name
    # the line's number among the named lines, from 0, or in a panel its position; it gives the
    # dashes in print
    rank: int = 0
    is_overlaid: bool = False  # drawn with gaps, since it lies over a line with the same path

    @property
    def is_drawn(self) -> bool:
        """Whether it has a point."""
        return bool(self.path or self.dots)

    @property
    def classes(self) -> str:
        """The CSS classes that give its look."""
        dashes = f"d{self.style.dashes % _DASHES} p{self.rank % _PRINT_DASHES}"
        coloured = " coloured" * self.is_coloured
        overlaid = " overlaid" * self.is_overlaid
        return f"c{self.style.colour} {dashes}{coloured}{overlaid}"


def make_lines(
    curves: Sequence[Curve], plot: PlotArea, styles: Mapping[str, LineStyle], named: Sequence[str]
) -> list[DrawnLine]:
    """Return the lines of curves, in colour for those in `named`, by default the first 12 drawn.

    The coloured lines are also named, except in a panel: it is small, and its grid has a legend. A
    line whose name finds no space is not coloured.
    """
    lines = [_make_line(curve, plot, styles[curve.label]) for curve in curves]
    labels = [line.curve.label for line in lines if line.is_drawn]
    coloured = [label for label in named if label in labels] if named else labels[:_MOST_NAMED]
    if plot.is_panel:
        lines = [
            replace(line, is_coloured=line.curve.label in coloured, rank=line.style.position)
            for line in lines
        ]
    else:
        lines = _add_names(lines, plot, coloured)
    return [_add_band(line, plot) for line in _mark_overlaid(lines)]


def _make_line(curve: Curve, plot: PlotArea, style: LineStyle) -> DrawnLine:
    across, up = plot.point_fractions(curve)
    indices = svg_paths.line_point_indices(across, up, _point_count(plot))
    points = across[indices], up[indices]
    path = svg_paths.line_path(*points, plot.height_units, steps=curve.steps)
    return DrawnLine(curve, style, path, svg_paths.dots_path(*points, plot.height_units))


def _add_names(lines: Sequence[DrawnLine], plot: PlotArea, named: Sequence[str]) -> list[DrawnLine]:
    """Return the lines; those with the labels `named` are coloured and named, if there is space.

    `named` has the most important label first.
    """
    line_by_label = {line.curve.label: line for line in lines}
    ends = [_last_point(line_by_label[label].curve, plot) for label in named]
    # A curve that ends outside the plot is named at the nearer border.
    centres = [(1 - min(max(up, 0.0), 1.0)) * plot.height for _, up in ends]
    positions = place_labels(centres, size=LABEL_HEIGHT, length=plot.height, farthest=_FARTHEST)
    rank = 0
    for label, (across, _), centre, position in zip(named, ends, centres, positions, strict=True):
        if position is None:
            continue
        percent = plot.height_percent(position)
        down = round(centre / plot.height * plot.height_units)
        line_by_label[label] = replace(
            line_by_label[label],
            is_coloured=True,
            rank=rank,
            name=PlacedName(shorten_label(label), label, percent),
            leader=f"M0 {plot.height_percent(centre)}L10 {percent}",
            extension="" if across > _RIGHT_EDGE else f"M{round(across * WIDTH)} {down}H{WIDTH}",
        )
        rank += 1
    return list(line_by_label.values())


def _last_point(curve: Curve, plot: PlotArea) -> tuple[float, float]:
    """Return where the last drawn point of a curve lies, as fractions of the plot."""
    across, up = plot.point_fractions(curve)
    last = int(np.flatnonzero(~np.isnan(across + up))[-1])
    return float(across[last]), float(up[last])


def _mark_overlaid(lines: Sequence[DrawnLine]) -> list[DrawnLine]:
    """Mark each coloured line that is drawn over another one with the same path as overlaid.

    An overlaid line has gaps, through which the lowest line with its path shows.
    """
    by_rank = sorted(lines, key=lambda line: line.rank)
    # The line of the highest rank is drawn first, and so lies lowest.
    base_lines = {line.path: line for line in by_rank if line.is_coloured and line.path}
    return [
        replace(line, is_overlaid=line.is_coloured and base_lines.get(line.path, line) is not line)
        for line in lines
    ]


def _add_band(line: DrawnLine, plot: PlotArea) -> DrawnLine:
    """Return a line with the band and the whiskers of its interval, if it is coloured."""
    # The script draws the band of a grey curve when the reader touches the curve.
    if not line.is_coloured:
        return line
    across, _ = plot.point_fractions(line.curve)
    low, high = map(plot.y.to_fractions, plot.interval_ends(line.curve))
    points = svg_paths.thin_band(across, low, high, _point_count(plot))
    band = svg_paths.band_path(*points, plot.height_units, steps=line.curve.steps)
    whiskers = svg_paths.whiskers_path(*points, plot.height_units)
    return replace(line, band=band, whiskers=whiskers)


class PlacedReference(NamedTuple):
    """A horizontal line with its name."""

    place: float | None  # in per cent from the top; None if it lies beyond the axis
    name: PlacedName


def place_references(
    references: Sequence[ReferenceLine], plot: PlotArea, unit: str
) -> list[PlacedReference]:
    """Return the reference lines, without those whose name finds no space.

    If a line lies beyond an end of the axis, only its name is drawn, at that end, with the line's
    value and an arrow.
    """
    # A logarithmic axis has no place for 0 and for negative values: they lie below it.
    heights = np.nan_to_num(plot.y.to_fractions([line.value for line in references]), nan=-1.0)
    texts = []
    for line, up in zip(references, heights, strict=True):
        text = line.label
        if not 0 <= up <= 1:
            number = f"{format_number(line.value)} {unit}".strip()
            text += f" ({number} {'↑' if up > 1 else '↓'})"
        texts.append(text)
    # Names stand above their lines.
    half = LABEL_HEIGHT / 2
    middles = np.clip((1 - heights) * plot.height - half, half, plot.height - half).tolist()
    positions = place_labels(middles, size=LABEL_HEIGHT, length=plot.height, farthest=plot.height)
    return [
        PlacedReference(
            round((1 - float(up)) * 100, 2) if 0 <= up <= 1 else None,
            PlacedName(text, text, plot.height_percent(position)),
        )
        for text, up, position in zip(texts, heights, positions, strict=True)
        if position is not None
    ]


class PlacedRing(NamedTuple):
    """A ring and the place of its centre, in per cent from the left and from the top."""

    ring: Ring
    left: float
    top: float


def place_rings(rings: Sequence[Ring], plot: PlotArea) -> list[PlacedRing]:
    """Return the rings that lie within the axes."""
    placed_rings = [
        PlacedRing(ring, plot.x.percent(ring.x), round(100 - plot.y.percent(ring.y), 2))
        for ring in rings
    ]
    return [ring for ring in placed_rings if 0 <= ring.left <= 100 and 0 <= ring.top <= 100]


_DIGITS: Final = 6  # of a number without an interval
_DIGITS_OF_INTERVAL: Final = 2  # of its half-width; the mean gets as many decimals as that has
_LARGEST_WHOLE: Final = 1e15


def chart_json(chart: LineChart, plot: PlotArea) -> str:
    """Return the numbers of the curves as JSON that may stand within HTML.

    Since most curves share their values of x, each list of these is written once, in `places`; the
    `x` of a curve is the index of its list.
    """
    x_lists: list[list[float | None]] = []
    curves = []
    for curve in chart.curves:
        # Which points are kept depends on x alone, so that curves with the same x share a list.
        points = svg_paths.spread_indices(plot.point_fractions(curve)[0], _point_count(plot))
        x = list(map(_round_number, np.asarray(curve.x, np.float64)[points].tolist()))
        if x not in x_lists:
            x_lists.append(x)
        label, note = map(escape_controls, (curve.label, curve.note))
        entry: dict[str, Any] = {"label": label, "note": note, "x": x_lists.index(x)}
        if curve.steps:
            entry["steps"] = True
        if shift := plot.x_shifts.get(curve.label):
            entry["shift"] = round(shift, 4)
        curves.append(entry | _curve_numbers(curve, points, plot.y))
    axes = {"x": _axis_entry(chart.x, plot.x), "y": _axis_entry(chart.y, plot.y)}
    content = axes | {"places": x_lists, "curves": curves}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # no "</script>" within


def _point_count(plot: PlotArea) -> int:
    return _MOST_PANEL_POINTS if plot.is_panel else _MOST_POINTS


def _axis_entry(axis: Axis, scale: Scale) -> dict[str, Any]:
    return {
        "title": axis.title,
        "unit": axis.unit,
        "log": scale.spacing == "log",
        "low": scale.low,
        "high": scale.high,
    }


def _curve_numbers(curve: Curve, points: Indices, scale: Scale) -> dict[str, list[float | None]]:
    """Return a curve's means at the indices `points`, and the ends of their intervals, if any."""
    y = np.asarray(curve.y, np.float64)[points]
    # The script shows no number where the axis has no place for it, such as 0 on a logarithmic one.
    means = np.where(np.isnan(scale.to_fractions(y)), np.nan, y).tolist()
    if curve.low is None or curve.high is None:
        return {"y": list(map(_round_number, means))}
    low, high = (np.asarray(end, np.float64)[points].tolist() for end in (curve.low, curve.high))
    # If an interval is open below, the part above the mean gives the precision.
    half_widths = [
        above - mean if math.isinf(below) else (above - below) / 2
        for mean, below, above in zip(means, low, high, strict=True)
    ]
    return {
        name: list(map(_round_number, numbers, half_widths))
        for name, numbers in (("y", means), ("low", low), ("high", high))
    }


def _round_number(value: float, precision: float = math.nan) -> float | None:
    """Return a number rounded to two digits of `precision`; None if it is not finite.

    If the precision is unknown, the number itself keeps six digits.
    """
    if not math.isfinite(value):
        return None
    if value != int(value):
        is_known = 0 < precision < math.inf
        size = precision if is_known else abs(value)
        digits = _DIGITS_OF_INTERVAL if is_known else _DIGITS
        value = round(value, digits - 1 - math.floor(math.log10(size)))
    # JSON writes whole numbers without a point.
    return int(value) if value == int(value) and abs(value) < _LARGEST_WHOLE else value


_PHONE_CHARACTERS: Final = 25  # the width of a plot on a phone, in characters
_HIGH_PLOT: Final = 240  # pixels; a lower plot has fewer ticks


@dataclass(frozen=True)
class Drawing:
    """A chart as shapes and texts."""

    chart: LineChart
    plot: PlotArea
    lines: Sequence[DrawnLine]
    references: Sequence[PlacedReference]
    rings: Sequence[PlacedRing]

    @cached_property
    def x_ticks(self) -> Sequence[Tick]:
        """The ticks of the horizontal axis, at whole numbers if all points are."""
        if len(self.plot.x_values) == 1:
            x = float(self.plot.x_values[0])
            return [Tick(self.plot.x.percent(x), format_number(x))]
        return self.plot.x.ticks(4 if self.plot.is_panel else 6, whole=self.plot.has_whole_x)

    @cached_property
    def y_ticks(self) -> Sequence[Tick]:
        """The ticks of the vertical axis."""
        return self.plot.y.ticks(6 if self.plot.height >= _HIGH_PLOT else 5)

    @property
    def view_box(self) -> str:
        """The view box of the drawing."""
        return f"0 0 {WIDTH} {self.plot.height_units}"

    @property
    def lines_bottom_up(self) -> list[DrawnLine]:
        """The lines in the order of drawing: grey ones first, the most important one last."""
        return sorted(self.lines, key=lambda line: (line.is_coloured, -line.rank))

    @property
    def grey_labels(self) -> list[str]:
        """The labels of the grey curves."""
        return [line.curve.label for line in self.lines if line.is_drawn and not line.is_coloured]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(line.is_drawn for line in self.lines) and not self.rings

    @property
    def y_label_characters(self) -> int:
        """The number of characters of the longest label of the vertical axis."""
        return max((len(tick.text) for tick in self.y_ticks), default=1)

    @property
    def overhang_characters(self) -> float:
        """How many characters of the horizontal axis's last label lie beyond the axis."""
        if not self.x_ticks:
            return 0.0
        last = self.x_ticks[-1]
        space = (100 - last.place) / 100 * _PHONE_CHARACTERS
        return round(max(len(last.text) / 2 + 0.5 - space, 0.0), 1)

    @property
    def is_crowded(self) -> bool:
        """Whether a phone has no space for all labels of the horizontal axis."""
        return sum(len(tick.text) + 2 for tick in self.x_ticks) > _PHONE_CHARACTERS

    @property
    def name_characters(self) -> int:
        """The number of characters of the longest name at a curve's end."""
        return max((len(line.name.text) for line in self.lines if line.name), default=0)

    @cached_property
    def json_for_script(self) -> str:
        """The numbers for the script, as JSON that may stand within HTML."""
        return chart_json(self.chart, self.plot)


def draw_chart(
    chart: LineChart, *, grid_labels: Sequence[str] = (), height: int | None = None
) -> Drawing:
    """Return the drawing of a chart.

    For a panel of a grid, `grid_labels` are the labels of all curves of the grid: then names stand
    in the grid's legend, and not at the ends of curves.
    """
    plot = PlotArea.from_chart(chart, height=height or chart.height, is_panel=bool(grid_labels))
    styles = line_styles([*(grid_labels or chart.siblings), *chart.labels], chart.by_position)
    return Drawing(
        chart=chart,
        plot=plot,
        lines=make_lines(chart.curves, plot, styles, chart.named),
        references=place_references(chart.references, plot, chart.y.unit),
        rings=place_rings(chart.rings, plot),
    )
