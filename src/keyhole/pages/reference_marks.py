"""Marks in a chart: horizontal reference lines, and rings around points."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keyhole.pages.chart_lines import Name
from keyhole.pages.chart_plot import LABEL, Plot
from keyhole.pages.chart_scale import format_number
from keyhole.pages.label_placement import place_labels
from keyhole.pages.line_chart import ReferenceLine, Ring

_RIGHT_HALF = 55.0  # per cent: from here on, a ring's name stands at its left


class DrawnReference(NamedTuple):
    """A horizontal line, in per cent from the top; only a name where it lies beyond the axis."""

    place: float | None
    name: Name


class DrawnRing(NamedTuple):
    """A circle with its interval; places in per cent from the left and from the top."""

    ring: Ring
    left: float
    top: float
    interval: tuple[float, float] | None  # from the top: begin and length
    is_left: bool  # of its name


def draw_references(
    references: Sequence[ReferenceLine], plot: Plot, unit: str
) -> list[DrawnReference]:
    """Return the lines; those beyond the axis are names at its end, with value and arrow."""
    # What has no logarithm lies below every logarithmic axis.
    heights = np.nan_to_num(plot.y.fractions([line.value for line in references]), nan=-1.0)
    texts = []
    for line, up in zip(references, heights, strict=True):
        arrow = "" if 0 <= up <= 1 else "↑" if up > 1 else "↓"
        number = f"{format_number(line.value)} {unit}".strip()
        texts.append(f"{line.label} ({number} {arrow})" if arrow else line.label)
    # Names stand above their lines.
    above = np.clip((1 - heights) * plot.height - LABEL / 2, LABEL / 2, plot.height - LABEL / 2)
    places = place_labels(above.tolist(), size=LABEL, length=plot.height, farthest=plot.height)
    return [
        DrawnReference(
            round((1 - float(up)) * 100, 2) if 0 <= up <= 1 else None,
            Name(text, text, plot.percent(place)),
        )
        for text, up, place in zip(texts, heights, places, strict=True)
        if place is not None
    ]


def draw_rings(rings: Sequence[Ring], plot: Plot) -> list[DrawnRing]:
    """Return the rings that lie within the axes."""
    found = []
    for ring in rings:
        left, up = plot.x.percent(ring.x), plot.y.percent(ring.y)
        if 0 <= left <= 100 and 0 <= up <= 100:
            is_left = left > _RIGHT_HALF
            found.append(
                DrawnRing(ring, left, round(100 - up, 2), _ring_interval(ring, plot), is_left)
            )
    return found


def _ring_interval(ring: Ring, plot: Plot) -> tuple[float, float] | None:
    if ring.low is None or ring.high is None:
        return None
    # As for bands: an end that has no logarithm is the end of the axis.
    reaches_0 = plot.y.name == "log" and ring.low <= 0
    low = 0.0 if reaches_0 else plot.y.percent(ring.low)
    low, high = (min(max(end, 0.0), 100.0) for end in (low, plot.y.percent(ring.high)))
    return None if math.isnan(low + high) else (round(100 - high, 2), round(high - low, 2))
