"""The numbers of a chart for its script, as JSON."""

import json
import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from keyhole.pages.chart_paths import spread_points
from keyhole.pages.chart_plot import Plot
from keyhole.pages.chart_scale import Floats, Scale
from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.validate import escape_controls

_POINTS: Final = 90  # more cannot be pointed at
_PANEL_POINTS: Final = 60
_DIGITS: Final = 6  # of a number without an interval
_DIGITS_OF_INTERVAL: Final = 2
_LARGEST_WHOLE: Final = 1e15


def chart_json(chart: LineChart, plot: Plot) -> str:
    """Return the numbers of the curves as JSON that may stand within HTML.

    Places that several curves share are listed once.
    """
    places: list[list[float | None]] = []
    curves = []
    for curve in chart.curves:
        kept = spread_points(plot.points(curve)[0], _PANEL_POINTS if plot.is_panel else _POINTS)
        x = _rounded(np.asarray(curve.x, np.float64)[kept])
        # Curves of a chart mostly have the same places, which are then written once.
        if x not in places:
            places.append(x)
        label, note = map(escape_controls, (curve.label, curve.note))
        shown: dict[str, Any] = {"label": label, "note": note, "x": places.index(x)}
        if curve.steps:
            shown["steps"] = True
        if shift := plot.shifts.get(curve.label):
            shown["shift"] = round(shift, 4)
        curves.append(shown | _numbers(curve, kept, plot.y))
    axes = {"x": _axis(chart.x, plot.x), "y": _axis(chart.y, plot.y)}
    found = axes | {"places": places, "curves": curves}
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # no "</script>" within


def _axis(axis: Axis, scale: Scale) -> dict[str, Any]:
    return {
        "title": axis.title,
        "unit": axis.unit,
        "log": scale.name == "log",
        "low": scale.low,
        "high": scale.high,
    }


def _numbers(
    curve: Curve, kept: npt.NDArray[np.intp], scale: Scale
) -> dict[str, list[float | None]]:
    y = np.asarray(curve.y, np.float64)[kept]
    # The script shows no number where the axis has no place for it, such as 0 on a logarithmic one.
    y = np.where(np.isnan(scale.fractions(y)), np.nan, y)
    if curve.low is None or curve.high is None:
        return {"y": _rounded(y)}
    low, high = (np.asarray(end, np.float64)[kept] for end in (curve.low, curve.high))
    # Two digits of the interval's half: more are noise.
    with np.errstate(invalid="ignore"):  # two infinite ends
        # An interval that is open below is as precise as its upper half.
        half = np.where(np.isneginf(low), high - y, (high - low) / 2)
    half = np.where(np.isfinite(half) & (half > 0), half, np.nan)
    decimals = _DIGITS_OF_INTERVAL - 1 - np.floor(np.log10(half))
    shown = {"y": y, "low": low, "high": high}
    return {name: _rounded(values, decimals) for name, values in shown.items()}


def _rounded(values: Floats, decimals: Floats | None = None) -> list[float | None]:
    """Return numbers rounded to these decimals, else to six digits; None if unknown."""
    with np.errstate(divide="ignore"):
        own = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    if decimals is not None:
        own = np.where(np.isfinite(decimals), decimals, own)
    return list(map(_round, values.tolist(), own.tolist()))


def _round(value: float, decimals: float) -> float | None:
    if not math.isfinite(value):
        return None
    is_whole = value == int(value)
    found = value if is_whole or not math.isfinite(decimals) else round(value, int(decimals))
    # JSON writes whole numbers without a point.
    return int(found) if found == int(found) and abs(found) < _LARGEST_WHOLE else found
