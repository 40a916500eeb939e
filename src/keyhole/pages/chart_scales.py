"""The scales of the axes of charts, their ticks, and the area in which curves are drawn."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import LogLocator, MaxNLocator

from keyhole.pages.line_chart import Curve, LineChart, Ring, ScaleName

Floats = npt.NDArray[np.float64]

# Numbers from `_PLAIN_FROM` to `_PLAIN_BELOW` are written out, others with a power of ten: 2e12.
_PLAIN_FROM: Final = 1e-5
_PLAIN_BELOW: Final = 1e12
_LARGEST: Final = 1e150  # the largest number on an axis, since ticks would overflow beyond it
_ENDS_TOLERANCE: Final = 1e-12  # relative difference up to which ends count as equal
_MARGIN: Final = 0.04  # at either end of an axis, as a share of the range
# The share of intervals that an axis shows whole. The widest intervals, those of the first rounds,
# would squeeze the curves.
_SHOWN_INTERVALS: Final = 0.95
_TICK_STEPS: Final = (1, 2, 2.5, 5, 10)
_FEWEST_LOG_TICKS: Final = 3
_MOST_LOG_TICKS: Final = 7


class Tick(NamedTuple):
    """A tick: its place in per cent of the axis, and its label."""

    place: float
    text: str


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, linear or logarithmic."""

    low: float
    high: float
    spacing: ScaleName = "linear"

    def to_fractions(self, values: Sequence[float] | Floats) -> Floats:
        """Return where values lie: 0 at `low`, 1 at `high`; NaN where they cannot be drawn."""
        numbers = np.array(values, np.float64)
        numbers[~_is_drawable(numbers, self.spacing == "log")] = np.nan
        if self.spacing == "linear":
            return (numbers - self.low) / (self.high - self.low)
        low = math.log(self.low)
        high = math.log(self.high)
        return (np.log(numbers) - low) / (high - low)

    def percent(self, value: float) -> float:
        """Return where a value lies, in per cent of the axis; NaN if it cannot be drawn."""
        return round(float(self.to_fractions([value])[0]) * 100, 2)

    def to_values(self, fractions: Sequence[float] | Floats) -> Floats:
        """Return the values that lie at these fractions of the axis."""
        fractions = np.asarray(fractions, np.float64)
        if self.spacing == "linear":
            return self.low + fractions * (self.high - self.low)
        return np.asarray(self.low * (self.high / self.low) ** fractions)

    def ticks(self, tick_count: int = 6, *, whole: bool = False) -> list[Tick]:
        """Return at most about `tick_count` ticks within the axis; if `whole`, at whole numbers.

        A logarithmic axis has ticks at powers of ten instead, or also at 2 and 5 times these, if it
        then has at least three ticks.
        """
        values = self.tick_values(tick_count, whole=whole)
        texts = self.tick_texts(values)
        return [Tick(self.percent(v), text) for v, text in zip(values, texts, strict=True)]

    def tick_texts(self, values: Sequence[float]) -> list[str]:
        """Return the labels of ticks at these values."""
        return format_ticks(values) if self.spacing == "linear" else [*map(format_number, values)]

    def tick_values(self, tick_count: int = 6, *, whole: bool = False) -> list[float]:
        """Return the values at which `ticks` are."""
        values = self._log_ticks() if self.spacing == "log" else None
        if values is None:
            # The locator counts the intervals between ticks.
            locator = MaxNLocator(tick_count - 1, steps=_TICK_STEPS, integer=whole)
            values = locator.tick_values(self.low, self.high)
        slack = 1e-9
        return [float(v) for v in values if -slack <= self.to_fractions([v])[0] <= 1 + slack]

    def _log_ticks(self) -> Sequence[float] | None:
        """Return the powers of ten on the axis; if they are too few, also 2 and 5 times them.

        If that is still too few, return None.
        """
        for factors in ((1.0,), (1.0, 2.0, 5.0)):
            tick_values = LogLocator(subs=factors, numticks=_MOST_LOG_TICKS).tick_values(
                self.low, self.high
            )
            values_on_axis = [float(v) for v in tick_values if self.low <= v <= self.high]
            if len(values_on_axis) >= _FEWEST_LOG_TICKS:
                return values_on_axis
        return None


def format_ticks(values: Sequence[float]) -> list[str]:
    """Return labels of equally spaced ticks, all with the same number of decimals.

    Examples
    --------
    >>> format_ticks([-2.5, 0.0, 2.5]), format_ticks([0.0, 500.0, 1000.0])
    (['-2.5', '0', '2.5'], ['0', '500', '1,000'])
    """
    if len(values) < 2:
        return [format_number(value) for value in values]
    step = abs(values[1] - values[0])
    largest = max(abs(value) for value in values)
    if largest >= _PLAIN_BELOW or step < _PLAIN_FROM:
        # Rounding errors turn the tick at 0 into a number such as 1e-17.
        return [format_number(value if abs(value) > step / 2 else 0.0) for value in values]
    # Steps have at most two digits, such as 25.
    decimals = max(0, 1 - math.floor(math.log10(step) + 1e-9))
    texts = [f"{value:,.{decimals}f}" for value in values]
    while decimals and all(text.endswith("0") for text in texts):
        texts = [text[:-1].removesuffix(".") for text in texts]
        decimals -= 1
    # "-0.00" becomes "0".
    return [text if float(text.replace(",", "")) else "0" for text in texts]


def format_number(value: float) -> str:
    """Return a number as people write it, with at most seven significant digits.

    Examples
    --------
    >>> [format_number(v) for v in (0.2, 1000, -2.5, 0.00012, 3e15, 2e-9, 0)]
    ['0.2', '1,000', '-2.5', '0.00012', '3e15', '2e-9', '0']
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    if not _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        mantissa, _, power = f"{value:.4g}".partition("e")
        return f"{mantissa}e{int(power)}"
    digits = 6 - math.floor(math.log10(abs(value)))
    text = f"{round(value, digits):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def fit_scale(
    spacing: ScaleName,
    values: Iterable[Floats],
    *,
    low: float | None = None,
    high: float | None = None,
    intervals: Sequence[tuple[Floats, Floats]] = (),
    margin: bool = True,
) -> Scale:
    """Return the scale that shows all values, and all intervals but the widest few.

    An end that is given as `low` or `high` is kept. With `margin`, an end that is not given moves
    outwards. If neither values nor intervals are negative, a linear scale does not begin below 0.
    Intervals extend a logarithmic scale downwards at most to half of the smallest value. If there
    are no values and no ends are given, a linear scale shows 0 to 1, and a logarithmic scale 1 to
    10.
    """
    is_log = spacing == "log"
    smallest, largest = _value_range(values, is_log)
    if not smallest <= largest:
        # Nothing can be drawn: the given ends determine the scale; without any, it is arbitrary.
        arbitrary = [1, 10] if is_log else [0, 1]
        known_ends = [end for end in (low, high) if end is not None] or arbitrary
        smallest = min(known_ends)
        largest = max(known_ends)
    lowest, highest = _interval_range(intervals, is_log)
    # Intervals do not extend the scale below `floor`. On a linear scale, nor does the margin.
    floor = -math.inf
    if is_log:
        floor = smallest / 2
    elif min(smallest, lowest) >= 0:
        floor = 0.0
    lowest = max(lowest, floor)
    transform, invert = (math.log, math.exp) if is_log else (float, float)
    # From here on, a logarithmic scale is computed in logarithms.
    start = transform(min(smallest, lowest))
    end = transform(max(largest, highest))
    magnitude = max(abs(start), abs(end))
    extension = end * _MARGIN - start * _MARGIN if margin else 0.0
    if end - start <= max(magnitude * _ENDS_TOLERANCE, 1 / _LARGEST):  # no ticks fit in between
        extension = 1.0 if is_log or magnitude <= 1 / _LARGEST else magnitude / 2
    start -= extension
    end += extension
    if not is_log:
        start = max(start, floor)
    return Scale(*_ascending_ends(invert(start), invert(end), low, high), spacing)


def _ascending_ends(
    fitted_low: float, fitted_high: float, low: float | None, high: float | None
) -> tuple[float, float]:
    """Return the ends of an axis in ascending order; an end that is given is kept."""
    first = fitted_low if low is None else low
    last = fitted_high if high is None else high
    if first < last:
        return first, last
    # An end that is given lies beyond all values.
    if low is not None:
        return low, low + (abs(low) or 1.0)
    if last > 0:
        return last / 2, last
    return last - (abs(last) or 1.0), last


def _interval_range(
    intervals: Sequence[tuple[Floats, Floats]], is_log: bool
) -> tuple[float, float]:
    """Return the lowest and the highest end of an interval that an axis shows (`_lowest_shown`)."""
    lows = [low[_is_drawable(low, is_log)] for low, _ in intervals]
    highs = [high[_is_drawable(high, is_log)] for _, high in intervals]
    return _lowest_shown(lows), -_lowest_shown([-ends for ends in highs])


def _lowest_shown(ends_by_curve: Iterable[Floats]) -> float:
    """Return the lowest end of an interval that an axis shows, given the ends of each curve.

    An axis leaves out the lowest 5 % of all ends, but not the end at a curve's last point.
    """
    nonempty_ends = [ends for ends in ends_by_curve if ends.size]
    if not nonempty_ends:
        return math.inf
    ascending = np.sort(np.concatenate(nonempty_ends))
    skipped_count = int((1 - _SHOWN_INTERVALS) * ascending.size)
    last_ends = [ends[-1] for ends in nonempty_ends]
    return float(min(ascending[skipped_count], *last_ends))


def _is_drawable(values: Floats, is_log: bool) -> npt.NDArray[np.bool_]:
    """Return which numbers have a place on an axis; NaN and infinities have none."""
    is_drawable: npt.NDArray[np.bool_] = np.abs(values) <= _LARGEST
    return is_drawable & (values >= 1 / _LARGEST) if is_log else is_drawable


def _value_range(values: Iterable[Floats], is_log: bool) -> tuple[float, float]:
    """Return the smallest and the largest number that has a place on an axis."""
    drawable = np.concatenate(
        [np.empty(0), *(array[_is_drawable(array, is_log)] for array in values)]
    )
    return float(drawable.min(initial=math.inf)), float(drawable.max(initial=-math.inf))


LABEL_HEIGHT: Final = 17
"""The height of a label in pixels."""

_UNITS_PER_PIXEL: Final = 2
# A reference line at most this far from the axis, in lengths of the axis, extends the axis.
_REACH: Final = 1.0
_WIDEST_SHIFT: Final = 0.08  # as a share of the width


@dataclass(frozen=True)
class PlotArea:
    """The rectangle in which curves are drawn.

    Attributes
    ----------
    x, y : Scale
        The scales of the axes.
    height : int
        The height in pixels.
    is_panel : bool
        Whether it is one of the small plots of a grid.
    x_shifts : mapping of str to float
        By a curve's label, how far to the right of its points it is drawn, as a fraction of the
        width.
    x_values : ndarray
        The distinct values of `x` of all points, ascending.
    """

    x: Scale
    y: Scale
    height: int
    is_panel: bool
    x_shifts: Mapping[str, float]
    x_values: Floats

    @classmethod
    def from_chart(cls, chart: LineChart, *, height: int, is_panel: bool) -> "PlotArea":
        """Return the area of a chart."""
        xs = np.concatenate([np.empty(0), *(_as_array(curve.x) for curve in chart.curves)])
        x_values = np.unique(xs[np.isfinite(xs)])
        count = len(chart.curves)
        x_shifts = {}
        # Intervals at a single value of `x` would cover each other, so they stand side by side.
        if len(x_values) == 1 and count > 1:
            step = min(_WIDEST_SHIFT, 0.8 / count)
            x_shifts = {
                curve.label: (number - (count - 1) / 2) * step
                for number, curve in enumerate(chart.curves)
            }
        return cls(_x_scale(chart), _y_scale(chart), height, is_panel, x_shifts, x_values)

    @cached_property
    def height_units(self) -> int:
        """The height in the units of the drawing."""
        return self.height * _UNITS_PER_PIXEL

    def point_fractions(self, curve: Curve) -> tuple[Floats, Floats]:
        """Return where the points of a curve lie, as fractions; NaN where they are not drawn."""
        across = self.x.to_fractions(curve.x) + self.x_shifts.get(curve.label, 0.0)
        return across, self.y.to_fractions(curve.y)

    def interval_ends(self, curve: Curve) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of a curve; NaN where it has no interval or no point.

        A lower end at minus infinity, or on a logarithmic axis at 0 or below, becomes the lower end
        of the axis.
        """
        if curve.low is None or curve.high is None:
            no_interval = np.full(len(curve.x), np.nan)
            return no_interval, no_interval
        low = np.array(curve.low, np.float64)
        high = np.array(curve.high, np.float64)
        is_below = np.isneginf(low) | ((low <= 0) & (self.y.spacing == "log"))
        low = np.where(is_below, self.y.low, low)
        is_drawn = ~np.isnan(self.y.to_fractions(curve.y))
        return np.where(is_drawn, low, np.nan), np.where(is_drawn, high, np.nan)

    @property
    def has_whole_x(self) -> bool:
        """Whether all points are at whole numbers."""
        return self.x_values.size > 0 and bool((self.x_values == np.rint(self.x_values)).all())

    def height_percent(self, pixels: float) -> float:
        """Return a vertical distance in pixels as per cent of the plot's height."""
        return round(pixels / self.height * 100, 2)


def _as_array(values: float | Sequence[float]) -> Floats:
    return np.atleast_1d(np.asarray(values, np.float64))


def _x_scale(chart: LineChart) -> Scale:
    axis = chart.x
    shapes: list[Curve | Ring] = [*chart.curves, *chart.rings]
    xs = [_as_array(shape.x) for shape in shapes]
    return fit_scale(axis.scale, xs, low=axis.low, high=axis.high, margin=bool(chart.rings))


def _y_scale(chart: LineChart) -> Scale:
    """Return the vertical scale, with the reference lines that are not far from the curves."""
    axis = chart.y
    shapes: list[Curve | Ring] = [*chart.curves, *chart.rings]
    values = [_as_array(shape.y) for shape in shapes]
    intervals = [
        (_as_array(curve.low), _as_array(curve.high))
        for curve in chart.curves
        if curve.low is not None and curve.high is not None
    ]
    fit = partial(fit_scale, axis.scale, low=axis.low, high=axis.high, intervals=intervals)
    references = np.array([line.value for line in chart.references], np.float64)
    fractions = fit(values).to_fractions(references)
    return fit([*values, references[(fractions >= -_REACH) & (fractions <= 1 + _REACH)]])
