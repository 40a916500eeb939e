"""Scales of charts: positions on an axis, ticks, and numbers as people write them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import LogLocator, MaxNLocator

ScaleName = Literal["linear", "log"]
Floats = npt.NDArray[np.float64]

# Numbers in between are written with all their digits; beyond, people write 2e12 as well.
_PLAIN_FROM: Final = 1e-5
_PLAIN_BELOW: Final = 1e12
_LARGEST: Final = 1e150  # ticks beyond would overflow
_EQUAL: Final = 1e-12
_MARGIN: Final = 0.04
_SHOWN_INTERVALS: Final = 0.95  # the widest, of the first rounds, would squeeze the curves
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
    name: ScaleName = "linear"

    def fractions(self, values: Sequence[float] | Floats) -> Floats:
        """Return where values lie: 0 at `low`, 1 at `high`; NaN where they cannot be drawn."""
        found = np.array(values, np.float64)
        found[~_is_drawable(found, self.name == "log")] = np.nan
        if self.name == "linear":
            return (found - self.low) / (self.high - self.low)
        low, high = math.log(self.low), math.log(self.high)
        return (np.log(found) - low) / (high - low)

    def percent(self, value: float) -> float:
        """Return where a value lies, in per cent of the axis; NaN if it cannot be drawn."""
        return round(float(self.fractions([value])[0]) * 100, 2)

    def values(self, fractions: Sequence[float] | Floats) -> Floats:
        """Return the values that lie at these fractions of the axis."""
        places = np.asarray(fractions, np.float64)
        if self.name == "linear":
            return self.low + places * (self.high - self.low)
        return np.asarray(self.low * (self.high / self.low) ** places)

    def ticks(self, most: int = 6, *, whole: bool = False) -> list[Tick]:
        """Return at most about `most` ticks within the axis; with `whole`, at whole numbers."""
        values = self.tick_values(most, whole=whole)
        texts = self.tick_texts(values)
        return [Tick(self.percent(v), text) for v, text in zip(values, texts, strict=True)]

    def tick_texts(self, values: Sequence[float]) -> list[str]:
        """Return the labels of ticks at these values."""
        return tick_texts(values) if self.name == "linear" else list(map(format_number, values))

    def tick_values(self, most: int = 6, *, whole: bool = False) -> list[float]:
        """Return the values of the ticks: see `ticks`."""
        values = self._log_ticks() if self.name == "log" else None
        if values is None:
            locator = MaxNLocator(most - 1, steps=_TICK_STEPS, integer=whole)
            values = locator.tick_values(self.low, self.high)
        slack = 1e-9
        return [float(v) for v in values if -slack <= self.fractions([v])[0] <= 1 + slack]

    def _log_ticks(self) -> Sequence[float] | None:
        """Return powers of ten, or these with 2 and 5 between; None where linear ticks are more."""
        for between in ((1.0,), (1.0, 2.0, 5.0)):
            found = LogLocator(subs=between, numticks=_MOST_LOG_TICKS).tick_values(
                self.low, self.high
            )
            inside = [float(v) for v in found if self.low <= v <= self.high]
            if len(inside) >= _FEWEST_LOG_TICKS:
                return inside
        return None


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return labels of equally spaced ticks, all with the same number of decimals.

    Examples
    --------
    >>> tick_texts([-2.5, 0.0, 2.5]), tick_texts([0.0, 500.0, 1000.0])
    (['-2.5', '0', '2.5'], ['0', '500', '1,000'])
    """
    if len(values) < 2:
        return [format_number(value) for value in values]
    step = abs(values[1] - values[0])
    largest = max(abs(value) for value in values)
    if largest >= _PLAIN_BELOW or step < _PLAIN_FROM:
        # Rounding errors make a number such as 1e-17 of the tick at 0.
        return [format_number(value if abs(value) > step / 2 else 0.0) for value in values]
    # Steps have at most two digits, such as 25.
    decimals = max(0, 1 - math.floor(math.log10(step) + 1e-9))
    texts = [f"{value:,.{decimals}f}" for value in values]
    while decimals and all(text.endswith("0") for text in texts):
        texts = [text[:-1].removesuffix(".") for text in texts]
        decimals -= 1
    return ["0" if not float(text.replace(",", "")) else text.rstrip() for text in texts]


def format_number(value: float) -> str:
    """Return a number as people write it, with at most seven significant digits.

    Examples
    --------
    >>> [format_number(v) for v in (0.2, 1000, -2.5, 0.00012, 3e15, 2e-9, 0)]
    ['0.2', '1,000', '-2.5', '0.00012', '3e15', '2e-9', '0']
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else ("infinite" if value > 0 else "-infinite")
    if value != 0 and not _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        mantissa, _, power = f"{value:.4g}".partition("e")
        return f"{mantissa}e{int(power)}"
    digits = 6 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{round(value, digits):,.{max(digits, 0)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"


def fit_scale(
    name: ScaleName,
    values: Iterable[Floats],
    *,
    low: float | None = None,
    high: float | None = None,
    intervals: Sequence[tuple[Floats, Floats]] = (),
    margin: bool = True,
) -> Scale:
    """Return the scale that shows all values, and all intervals but the widest few.

    A linear axis of values from 0 on does not begin below 0; a logarithmic one begins at half of
    the least value at the lowest. Ends that are given are kept. Without anything to show it goes
    from 0 to 1, or from 1 to 10.
    """
    is_log = name == "log"
    least, most = _range(values, is_log)
    if not least <= most:
        # Nothing can be drawn: the ends that are given determine the axis; else it is arbitrary.
        fixed = [end for end in (low, high) if end is not None]
        least, most = (min(fixed), max(fixed)) if fixed else ((1, 10) if is_log else (0, 1))
    lowest, highest = _interval_range(intervals, is_log)
    # Where nothing is negative, no margin begins below 0. On a logarithmic axis, intervals reach no
    # further down than half of the least value.
    floor = least / 2 if is_log else (0.0 if min(least, lowest) >= 0 else -math.inf)
    lowest = max(lowest, floor)
    to, back = (math.log, math.exp) if is_log else (float, float)
    a, b = to(min(least, lowest)), to(max(most, highest))
    size = max(abs(a), abs(b))
    if b - a <= max(size * _EQUAL, 1 / _LARGEST):  # no ticks lie between
        reach = 1.0 if is_log or size <= 1 / _LARGEST else size / 2
        a, b = a - reach, b + reach
    elif margin:
        gap = b * _MARGIN - a * _MARGIN
        a, b = a - gap, b + gap
    if not is_log:
        a = max(a, floor)
    return Scale(*_fix_ends(back(a), back(b), low, high), name)


def _fix_ends(a: float, b: float, low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of an axis, of which some are given, in their order."""
    first, last = a if low is None else low, b if high is None else high
    if first < last:
        return first, last
    # The end that is given lies beyond all values.
    if low is not None:
        return low, low + (abs(low) or 1.0)
    return (last / 2, last) if last > 0 else (last - (abs(last) or 1.0), last)


def _interval_range(
    intervals: Sequence[tuple[Floats, Floats]], is_log: bool
) -> tuple[float, float]:
    """Return the range of the last interval of each curve, and of 95 of 100 of all."""
    found = [math.inf, -math.inf]
    for side, choose in enumerate((min, max)):
        ends = [each[side] for each in intervals]
        ends = [end[_is_drawable(end, is_log)] for end in ends]
        ends = [end for end in ends if end.size]
        if ends:
            known = np.sort(np.concatenate(ends))
            skipped = int((1 - _SHOWN_INTERVALS) * known.size)
            usual = known[[skipped, -1 - skipped][side]]
            found[side] = float(choose(usual, *(end[-1] for end in ends)))
    return found[0], found[1]


def _is_drawable(values: Floats, is_log: bool) -> npt.NDArray[np.bool_]:
    """Return which numbers have a place on an axis; NaN and infinities have none."""
    found: npt.NDArray[np.bool_] = np.abs(values) <= _LARGEST
    return found & (values >= 1 / _LARGEST) if is_log else found


def _range(values: Iterable[Floats], is_log: bool) -> tuple[float, float]:
    least, most = math.inf, -math.inf
    for each in values:
        usable = each[_is_drawable(each, is_log)]
        if usable.size:
            least, most = min(least, float(usable.min())), max(most, float(usable.max()))
    return least, most
