"""The plot of a chart: its scales, its ticks, and where points lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from keyhole.pages.chart_scale import Floats, Scale, Tick, fit_scale, format_number
from keyhole.pages.line_chart import Curve, LineChart

LABEL: Final = 17
"""Height of a label in pixels."""

_UNITS_A_PIXEL: Final = 2
_HIGH_PLOT: Final = 240  # lower ones have fewer ticks
_FAR: Final = 1.0  # references further outside than this share of the range are only named
_WIDEST_SHIFT: Final = 0.08


@dataclass(frozen=True)
class Plot:
    """The rectangle in which curves are drawn.

    `shifts` has the distances by which curves of a single place stand beside it, so that their
    intervals do not cover one another.
    """

    x: Scale
    y: Scale
    height: int
    """In pixels."""
    is_panel: bool = False
    """Whether it is small, one of several."""
    shifts: Mapping[str, float] = field(default_factory=dict)
    places: Floats = field(default_factory=lambda: np.empty(0))
    """The different places of all points, ascending."""

    @classmethod
    def of(cls, chart: LineChart, *, height: int, is_panel: bool) -> "Plot":
        """Return the plot of a chart."""
        places = _places(chart)
        count = len(chart.curves)
        # Curves that have one common place would cover each other, and so stand side by side.
        step = min(_WIDEST_SHIFT, 0.8 / max(count, 1))
        shifts = {
            curve.label: (number - (count - 1) / 2) * step
            for number, curve in enumerate(chart.curves)
        }
        shown = shifts if len(places) == 1 and count > 1 else {}
        return cls(_x_scale(chart), _y_scale(chart), height, is_panel, shown, places)

    @cached_property
    def units(self) -> int:
        """The height in the units of the drawing."""
        return self.height * _UNITS_A_PIXEL

    def points(self, curve: Curve) -> tuple[Floats, Floats]:
        """Return where the points of a curve lie, as fractions; NaN where they are not drawn."""
        across = self.x.fractions(curve.x) + self.shifts.get(curve.label, 0.0)
        return across, self.y.fractions(curve.y)

    def interval(self, curve: Curve) -> tuple[Floats, Floats]:
        """Return both ends of the interval of a curve, NaN where it has none or no point.

        A lower end without a place, minus infinity or one without a logarithm, is that of the axis.
        """
        if curve.low is None or curve.high is None:
            return (nothing := np.full(len(curve.x), np.nan)), nothing
        low, high = np.array(curve.low, np.float64), np.array(curve.high, np.float64)
        beyond = np.isneginf(low) | ((low <= 0) & (self.y.name == "log"))
        low = np.where(beyond, self.y.low, low)
        is_drawn = ~np.isnan(self.y.fractions(curve.y))
        return np.where(is_drawn, low, np.nan), np.where(is_drawn, high, np.nan)

    @property
    def has_whole_x(self) -> bool:
        """Whether all points are at whole numbers."""
        return self.places.size > 0 and bool((self.places == np.rint(self.places)).all())

    def x_ticks(self) -> Sequence[Tick]:
        """Return the ticks of the horizontal axis; at whole numbers where all places are."""
        if len(self.places) == 1:
            place = float(self.places[0])
            return [Tick(self.x.percent(place), format_number(place))]
        return self.x.ticks(4 if self.is_panel else 6, whole=self.has_whole_x)

    def y_ticks(self) -> Sequence[Tick]:
        """Return the ticks of the vertical axis."""
        return self.y.ticks(6 if self.height >= _HIGH_PLOT else 5)

    def percent(self, pixels: float) -> float:
        """Return a height in pixels in per cent of the plot's."""
        return round(pixels / self.height * 100, 2)


def _places(chart: LineChart) -> Floats:
    """Return the different places of all points, ascending."""
    places = np.concatenate([np.empty(0), *(np.asarray(one.x, float) for one in chart.curves)])
    return np.unique(places[np.isfinite(places)])


def _x_scale(chart: LineChart) -> Scale:
    places = [np.asarray(curve.x, np.float64) for curve in chart.curves]
    places.append(np.array([ring.x for ring in chart.rings], np.float64))
    axis = chart.x
    return fit_scale(axis.scale, places, low=axis.low, high=axis.high, margin=bool(chart.rings))


def _y_scale(chart: LineChart) -> Scale:
    axis = chart.y
    values = [np.asarray(curve.y, np.float64) for curve in chart.curves]
    values.append(np.array([ring.y for ring in chart.rings], np.float64))
    of_rings = [(ring.low, ring.high) for ring in chart.rings]
    intervals = [
        (np.atleast_1d(np.asarray(low, np.float64)), np.atleast_1d(np.asarray(high, np.float64)))
        for low, high in [*((curve.low, curve.high) for curve in chart.curves), *of_rings]
        if low is not None and high is not None
    ]

    def fit() -> Scale:
        return fit_scale(axis.scale, values, low=axis.low, high=axis.high, intervals=intervals)

    scale = fit()
    near = [
        line.value
        for line in chart.references
        if -_FAR <= scale.fractions([line.value])[0] <= 1 + _FAR
    ]
    if near:
        values.append(np.array(near, np.float64))
        scale = fit()
    return scale
