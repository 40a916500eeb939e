"""The curves of a line chart: paths, bands of intervals, and names at the curves' ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from keyhole.pages.chart_paths import (
    UNITS,
    band_path,
    dots_path,
    line_path,
    thin_band,
    thin_line,
    whiskers_path,
)
from keyhole.pages.chart_plot import LABEL, Plot
from keyhole.pages.label_placement import place_labels
from keyhole.pages.line_chart import Curve
from keyhole.pages.policy_colours import LineStyle

# With these, 11 curves of 1,000 points make less than 60 kB.
_LINE_POINTS: Final = 240
_BAND_POINTS: Final = 90
_PANEL_LINE_POINTS: Final = 120
_PANEL_BAND_POINTS: Final = 60

_FARTHEST: Final = 2.5 * LABEL
_MOST_CHARACTERS: Final = 22  # of a name; the whole name is in its tooltip
_MOST_NAMED: Final = 12  # where the author says nothing
_REACHES_EDGE: Final = 0.985

# How many kinds of dashes the style sheet has: for lines of one colour, and for print.
_DASHES: Final = 5
_PRINT_DASHES: Final = 10


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
    dots: str
    band: str = ""
    whiskers: str = ""
    name: Name | None = None
    leader: str = ""  # from the end of the curve to the name, in a box of 10 x 100
    extension: str = ""  # from the end of the curve to the edge
    is_named: bool = False
    rank: int = 0  # among those with a name: its dashes in print
    is_overlaid: bool = False  # a line that is drawn later covers it

    @property
    def is_drawn(self) -> bool:
        """Whether it has a point."""
        return bool(self.path or self.dots)

    @property
    def classes(self) -> str:
        """The classes of its look in the style sheet."""
        dashes = f"d{self.style.dashes % _DASHES} p{self.rank % _PRINT_DASHES}"
        named, overlaid = " named" * self.is_named, " overlaid" * self.is_overlaid
        return f"c{self.style.colour} {dashes}{named}{overlaid}"


def draw_lines(
    curves: Sequence[Curve], plot: Plot, styles: Mapping[str, LineStyle], named: Sequence[str]
) -> list[DrawnLine]:
    """Return the lines of curves; those of `named`, or the first, have colours and names.

    In a panel, which has a legend instead, they have colours alone.
    """
    lines = [_draw_line(curve, plot, styles[curve.label]) for curve in curves]
    drawn = [line.curve.label for line in lines if line.is_drawn]
    order = [label for label in named if label in drawn] if named else drawn[:_MOST_NAMED]
    # Panels are too small for names: the grid around them has one legend.
    if plot.is_panel:
        lines = [
            replace(line, is_named=line.curve.label in order, rank=line.style.position)
            for line in lines
        ]
    else:
        lines = _name_lines(lines, plot, order)
    return [_draw_band(line, plot) for line in _mark_overlaid(lines)]


def shorten(label: str) -> str:
    """Return a label with at most 22 characters.

    Examples
    --------
    >>> shorten("a policy with a very long name")
    'a policy with a very …'
    """
    return label if len(label) <= _MOST_CHARACTERS else f"{label[: _MOST_CHARACTERS - 1]}…"


def _draw_line(curve: Curve, plot: Plot, style: LineStyle) -> DrawnLine:
    across, up = plot.points(curve)
    kept = thin_line(across, up, _PANEL_LINE_POINTS if plot.is_panel else _LINE_POINTS)
    across, up = across[kept], up[kept]
    path = line_path(across, up, plot.units, steps=curve.steps)
    return DrawnLine(curve, style, path, dots_path(across, up, plot.units))


def _name_lines(lines: Sequence[DrawnLine], plot: Plot, order: Sequence[str]) -> list[DrawnLine]:
    """Return the lines, with names of those in `order` for which there is room."""
    by_label = {line.curve.label: line for line in lines}
    ends = [_end(by_label[label].curve, plot) for label in order]
    # A curve that leaves the plot is named at the border where it leaves.
    wanted = [(1 - min(max(up, 0.0), 1.0)) * plot.height for _, up in ends]
    places = place_labels(wanted, size=LABEL, length=plot.height, farthest=_FARTHEST)
    rank = 0
    for label, (across, _), begin, place in zip(order, ends, wanted, places, strict=True):
        if place is None:
            continue
        percent = plot.percent(place)
        down = round(begin / plot.height * plot.units)
        by_label[label] = replace(
            by_label[label],
            is_named=True,
            rank=rank,
            name=Name(shorten(label), label, percent),
            leader=f"M0 {plot.percent(begin)}L10 {percent}",
            extension="" if across > _REACHES_EDGE else f"M{round(across * UNITS)} {down}H{UNITS}",
        )
        rank += 1
    return list(by_label.values())


def _end(curve: Curve, plot: Plot) -> tuple[float, float]:
    """Return the last point of a curve that is drawn, as fractions."""
    across, up = plot.points(curve)
    last = int(np.flatnonzero(~np.isnan(across + up))[-1])
    return float(across[last]), float(up[last])


def _mark_overlaid(lines: Sequence[DrawnLine]) -> list[DrawnLine]:
    """Return the lines; of named ones with the same path, all but the last are marked.

    These are drawn with gaps, through which the last is seen.
    """
    last = {line.path: line for line in lines if line.is_named and line.path}
    return [
        replace(line, is_overlaid=line.is_named and last.get(line.path, line) is not line)
        for line in lines
    ]


def _draw_band(line: DrawnLine, plot: Plot) -> DrawnLine:
    curve = line.curve
    # The script draws the bands of grey curves on touch.
    if curve.low is None or curve.high is None or not line.is_named:
        return line
    across, _ = plot.points(curve)
    low, high = map(plot.y.fractions, plot.interval(curve))
    most = _PANEL_BAND_POINTS if plot.is_panel else _BAND_POINTS
    points = thin_band(across, low, high, most)
    return replace(
        line,
        band=band_path(*points, plot.units, steps=curve.steps),
        whiskers=whiskers_path(*points, plot.units),
    )
