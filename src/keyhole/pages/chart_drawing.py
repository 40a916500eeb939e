"""The drawing of a line chart: paths in SVG, places of texts in per cent, and numbers as JSON."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from keyhole.pages.chart_paths import (
    UNITS,
    band_path,
    dots_path,
    line_path,
    spread_points,
    thin_band,
    thin_line,
    whiskers_path,
)
from keyhole.pages.chart_scale import Floats, Scale, Tick, fit_scale, format_number
from keyhole.pages.label_placement import place_labels
from keyhole.pages.line_chart import Axis, Curve, LineChart, Ring
from keyhole.pages.policy_colours import LineStyle, line_styles

# Sizes in pixels.
_LABEL: Final = 17
_FARTHEST: Final = 2.5 * _LABEL
_WIDE_PANEL: Final = 240  # plots that are lower than this have fewer ticks
_UNITS_A_PIXEL: Final = 2

_MOST_CHARACTERS: Final = 22  # of a name; the whole name is in its tooltip
_MOST_NAMED: Final = 12  # where the author says nothing
_FAR: Final = 1.0  # references further outside than this share of the range are only named
_REACHES_EDGE: Final = 0.985

# With these, 11 curves of 1,000 points make less than 60 kB.
_LINE_POINTS: Final = 240
_BAND_POINTS: Final = 90
_SHOWN_POINTS: Final = 90
_PANEL_POINTS: Final = 60

_DIGITS: Final = 6  # of a number without an interval
_DIGITS_OF_INTERVAL: Final = 2


class Name(NamedTuple):
    """A name in a drawing: the text, the whole name, and its place in per cent from the top."""

    text: str
    whole: str
    place: float


@dataclass(frozen=True)
class DrawnLine:
    """A curve: its paths, its look, and its name where it has one."""

    curve: Curve
    style: LineStyle
    path: str
    dots: str = ""
    band: str = ""
    whiskers: str = ""
    name: Name | None = None
    leader: str = ""  # from the end of the curve to the name, in a box of 10 x 100
    extension: str = ""  # from the end of the curve to the edge
    is_named: bool = False
    is_overlaid: bool = False  # another line covers it, or it another

    @property
    def is_drawn(self) -> bool:
        """Whether it has a point."""
        return bool(self.path or self.dots)

    @property
    def classes(self) -> str:
        """The classes of its look in the style sheet."""
        found = f"c{self.style.colour} d{self.style.dashes % 5} p{self.style.position % 10}"
        return found + " named" * self.is_named + " overlaid" * self.is_overlaid


class DrawnReference(NamedTuple):
    """A horizontal line, or only its name where it lies beyond the axis."""

    place: float | None
    name: Name


class DrawnRing(NamedTuple):
    """A circle with its interval; places in per cent from the left and from the top."""

    ring: Ring
    left: float
    top: float
    interval: tuple[float, float] | None  # from the top: begin and length
    is_left: bool  # of its name


@dataclass(frozen=True)
class Drawing:
    """A chart as shapes and texts."""

    chart: LineChart
    height: int
    x: Scale
    y: Scale
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    lines: Sequence[DrawnLine]
    references: Sequence[DrawnReference]
    rings: Sequence[DrawnRing]
    names: bool

    @property
    def view_box(self) -> str:
        """The view box of the drawing."""
        return f"0 0 {UNITS} {self.height * _UNITS_A_PIXEL}"

    @property
    def bottom_up(self) -> list[DrawnLine]:
        """The lines in the order in which they are drawn: grey ones first, the weightiest last."""
        order = {label: place for place, label in enumerate(self.chart.named)}
        return sorted(
            self.lines,
            key=lambda line: (line.is_named, -order.get(line.curve.label, line.style.position)),
        )

    @property
    def grey(self) -> list[str]:
        """The labels of the curves that have no name at their end."""
        return [line.curve.label for line in self.lines if line.is_drawn and not line.is_named]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(line.is_drawn for line in self.lines) and not self.rings

    @property
    def left_characters(self) -> int:
        """The number of characters of the longest label of the vertical axis."""
        return max((len(tick.text) for tick in self.y_ticks), default=1)

    @property
    def name_characters(self) -> int:
        """The number of characters of the longest name at a curve's end."""
        return max((len(line.name.text) for line in self.lines if line.name), default=0)

    @property
    def data(self) -> str:
        """The numbers for the script, as JSON that may stand within HTML."""
        most = _SHOWN_POINTS if self.names else _PANEL_POINTS
        places: list[list[float | None]] = []
        curves = []
        for line in self.lines:
            curve = line.curve
            kept = spread_points(self.x.fractions(curve.x), most)
            x = _rounded(np.asarray(curve.x, np.float64)[kept])
            if x not in places:
                places.append(x)
            shown = {"label": curve.label, "note": curve.note, "x": places.index(x)}
            if curve.steps:
                shown["steps"] = True
            curves.append(shown | self._numbers(curve, kept))
        axes = {"x": _axis(self.chart.x, self.x), "y": _axis(self.chart.y, self.y)}
        text = json.dumps(
            axes | {"places": places, "curves": curves}, ensure_ascii=False, separators=(",", ":")
        )
        return text.replace("<", "\\u003c")  # no "</script>" within

    def _numbers(self, curve: Curve, kept: Any) -> dict[str, list[float | None]]:
        y = np.asarray(curve.y, np.float64)[kept]
        y = np.where(np.isnan(self.y.fractions(y)), np.nan, y)
        if curve.low is None or curve.high is None:
            return {"y": _rounded(y)}
        low, high = (np.asarray(end, np.float64)[kept] for end in (curve.low, curve.high))
        # Two digits of the interval's half: more are noise.
        half = np.where(np.isfinite(high - low) & (high > low), (high - low) / 2, np.nan)
        decimals = _DIGITS_OF_INTERVAL - 1 - np.floor(np.log10(half))
        return {
            name: _rounded(values, decimals)
            for name, values in (("y", y), ("low", low), ("high", high))
        }


def draw_chart(
    chart: LineChart, *, among: Sequence[str] = (), height: int | None = None
) -> Drawing:
    """Return the drawing of a chart.

    As a panel of a grid, whose labels are `among`, its curves have no names at their ends, since
    the grid has a legend.
    """
    is_panel = bool(among)
    height = height or chart.height
    x = _x_scale(chart)
    y = _y_scale(chart)
    styles = line_styles(list(among) or chart.labels)
    most = _PANEL_POINTS * 2 if is_panel else _LINE_POINTS
    lines = [_draw_line(curve, styles[curve.label], x, y, height, most) for curve in chart.curves]
    lines = _name_lines(lines, chart.named, y, x, height, are_shown=not is_panel)
    lines = [_draw_band(line, x, y, height, is_panel) for line in _mark_overlaid(lines)]
    most_ticks = 6 if height >= _WIDE_PANEL else 4
    return Drawing(
        chart=chart,
        height=height,
        x=x,
        y=y,
        x_ticks=_x_ticks(chart, x, 4 if is_panel else 6),
        y_ticks=y.ticks(most_ticks),
        lines=lines,
        references=_draw_references(chart, y, height),
        rings=[_draw_ring(ring, x, y) for ring in chart.rings if _is_drawable(ring, x, y)],
        names=not is_panel,
    )


def shorten(label: str) -> str:
    """Return a label with at most 22 characters.

    Examples
    --------
    >>> shorten("a policy with a very long name")
    'a policy with a very …'
    """
    return label if len(label) <= _MOST_CHARACTERS else f"{label[: _MOST_CHARACTERS - 1]}…"


def _x_scale(chart: LineChart) -> Scale:
    places = [np.asarray(curve.x, np.float64) for curve in chart.curves]
    places.append(np.array([ring.x for ring in chart.rings], np.float64))
    axis = chart.x
    return fit_scale(axis.scale, places, low=axis.low, high=axis.high, margin=bool(chart.rings))


def _y_scale(chart: LineChart) -> Scale:
    axis = chart.y
    values = [np.asarray(curve.y, np.float64) for curve in chart.curves]
    values.append(np.array([ring.y for ring in chart.rings], np.float64))
    intervals = [
        (np.asarray(low, np.float64), np.asarray(high, np.float64))
        for low, high in (
            *((curve.low, curve.high) for curve in chart.curves),
            *(([ring.low], [ring.high]) for ring in chart.rings if ring.low is not None),
        )
        if low is not None and high is not None
    ]

    def fit() -> Scale:
        return fit_scale(axis.scale, values, low=axis.low, high=axis.high, intervals=intervals)

    first = fit()
    near = [
        line.value
        for line in chart.references
        if -_FAR <= first.fractions([line.value])[0] <= 1 + _FAR
    ]
    values.append(np.array(near, np.float64))
    return fit() if near else first


def _x_ticks(chart: LineChart, x: Scale, most: int) -> list[Tick]:
    """Return the ticks of the horizontal axis; at whole numbers where all places are."""
    places = {float(place) for curve in chart.curves for place in curve.x}
    if len(places) == 1:
        (place,) = places
        return [Tick(x.percent(place), format_number(place))]
    return x.ticks(most, whole=bool(places) and all(map(float.is_integer, places)))


def _draw_line(
    curve: Curve, style: LineStyle, x: Scale, y: Scale, height: int, most: int
) -> DrawnLine:
    across, up = x.fractions(curve.x), y.fractions(curve.y)
    kept = thin_line(across, up, most)
    points, units = (across[kept], up[kept]), height * _UNITS_A_PIXEL
    path = line_path(*points, units, steps=curve.steps)
    return DrawnLine(curve, style, path, dots_path(*points, units))


def _name_lines(
    lines: Sequence[DrawnLine],
    named: Sequence[str],
    y: Scale,
    x: Scale,
    height: int,
    *,
    are_shown: bool,
) -> list[DrawnLine]:
    """Return the lines, with those named for which there is room."""
    by_label = {line.curve.label: line for line in lines if line.is_drawn}
    order = [label for label in named or list(by_label)[:_MOST_NAMED] if label in by_label]
    if not are_shown:
        return [replace(line, is_named=line.curve.label in order) for line in lines]
    ends = {label: _end(by_label[label].curve, x, y) for label in order}
    wanted = [(1 - min(max(up, 0.0), 1.0)) * height for _, up in ends.values()]
    places = place_labels(wanted, size=_LABEL, length=height, farthest=_FARTHEST)
    found = dict(zip(order, zip(wanted, places, strict=True), strict=True))
    result = []
    for line in lines:
        label = line.curve.label
        end, place = found.get(label, (0.0, None))
        if place is None:
            result.append(line)
            continue
        begin, percent = _percent(end, height), _percent(place, height)
        across = ends[label][0]
        result.append(
            replace(
                line,
                is_named=True,
                name=Name(shorten(label), label, percent),
                leader=f"M0 {begin}L10 {percent}",
                extension=""
                if across > _REACHES_EDGE
                else f"M{round(across * UNITS)} {round(end * _UNITS_A_PIXEL)}H{UNITS}",
            )
        )
    return result


def _percent(pixels: float, height: int) -> float:
    return round(pixels / height * 100, 2)


def _end(curve: Curve, x: Scale, y: Scale) -> tuple[float, float]:
    """Return the last point of a curve that is drawn, as fractions."""
    across, up = x.fractions(curve.x), y.fractions(curve.y)
    last = int(np.flatnonzero(~np.isnan(across + up))[-1])
    return float(across[last]), float(up[last])


def _mark_overlaid(lines: Sequence[DrawnLine]) -> list[DrawnLine]:
    """Return the lines; of named ones with the same path, all but the last are marked.

    These are drawn with gaps, through which the line below is seen.
    """
    last = {line.path: line for line in lines if line.is_named and line.path}
    return [
        replace(line, is_overlaid=line.is_named and last.get(line.path, line) is not line)
        for line in lines
    ]


def _draw_band(line: DrawnLine, x: Scale, y: Scale, height: int, is_panel: bool) -> DrawnLine:
    curve = line.curve
    # The script draws the bands of grey curves on touch.
    if curve.low is None or curve.high is None or not line.is_named:
        return line
    across, up = x.fractions(curve.x), y.fractions(curve.y)
    low, high = _interval_fractions(curve, y)
    low, high = np.where(np.isnan(up), np.nan, low), np.where(np.isnan(up), np.nan, high)
    points = thin_band(across, low, high, _PANEL_POINTS if is_panel else _BAND_POINTS)
    units = height * _UNITS_A_PIXEL
    return replace(
        line,
        band=band_path(*points, units, steps=curve.steps),
        whiskers=whiskers_path(*points, units),
    )


def _interval_fractions(curve: Curve, y: Scale) -> tuple[Floats, Floats]:
    """Return the ends of the interval; a lower one without a logarithm is the end of the axis."""
    low, high = np.array(curve.low, np.float64), np.array(curve.high, np.float64)
    if y.name == "log":
        low = np.where(low <= 0, y.low, low)
    return y.fractions(low), y.fractions(high)


def _draw_references(chart: LineChart, y: Scale, height: int) -> list[DrawnReference]:
    """Return the references: those beyond the axis as names at its end, with an arrow."""
    fractions = [float(y.fractions([line.value])[0]) for line in chart.references]
    texts = []
    for line, up in zip(chart.references, fractions, strict=True):
        arrow = (
            "" if 0 <= up <= 1 else f" ({_number(line.value, chart.y)} {'↑' if up > 1 else '↓'})"
        )
        texts.append(line.label + arrow)
    # Names stand above their lines.
    wanted = [
        min(max((1 - np.nan_to_num(min(max(up, 0), 1))) * height - _LABEL / 2, _LABEL / 2), height)
        for up in fractions
    ]
    places = place_labels(wanted, size=_LABEL, length=height, farthest=height)
    return [
        DrawnReference(
            round((1 - up) * 100, 2) if 0 <= up <= 1 else None,
            Name(text, text, _percent(place, height)),
        )
        for text, up, place in zip(texts, fractions, places, strict=True)
        if place is not None
    ]


def _number(value: float, axis: Axis) -> str:
    return f"{format_number(value)} {axis.unit}".strip()


def _is_drawable(ring: Ring, x: Scale, y: Scale) -> bool:
    return bool(np.isfinite(x.fractions([ring.x])[0] + y.fractions([ring.y])[0]))


def _draw_ring(ring: Ring, x: Scale, y: Scale) -> DrawnRing:
    left, top = x.percent(ring.x), round(100 - y.percent(ring.y), 2)
    interval = None
    if ring.low is not None and ring.high is not None:
        low = 0.0 if y.name == "log" and ring.low <= 0 else y.percent(ring.low)
        ends = [min(max(end, 0.0), 100.0) for end in (low, y.percent(ring.high))]
        if not any(map(math.isnan, ends)):
            interval = round(100 - ends[1], 2), round(ends[1] - ends[0], 2)
    return DrawnRing(ring, left, top, interval, is_left=left > 55)


def _axis(axis: Axis, scale: Scale) -> dict[str, Any]:
    return {
        "title": axis.title,
        "unit": axis.unit,
        "log": scale.name == "log",
        "low": scale.low,
        "high": scale.high,
    }


def _rounded(values: Floats, decimals: Floats | None = None) -> list[float | None]:
    """Return numbers for JSON, rounded to these decimals, else to six digits; None if unknown."""
    with np.errstate(divide="ignore"):
        own = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    if decimals is not None:
        own = np.where(np.isfinite(decimals), decimals, own)
    return [
        _round(value, places) for value, places in zip(values.tolist(), own.tolist(), strict=True)
    ]


def _round(value: float, decimals: float) -> float | None:
    if not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 1e15:
        return int(value)
    found = round(value, int(decimals)) if math.isfinite(decimals) else value
    return int(found) if found == int(found) and abs(found) < 1e15 else found
