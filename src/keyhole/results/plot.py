"""Plots of the curves of a simulation, such as the reward lost over the rounds, by policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from keyhole.pages.plot_legend import add_legend, figure_size, wrap_label
from keyhole.pages.policy_colours import COLOURS, line_styles
from keyhole.results.drawn_curves import CurveSet, Scale, draw_numbers
from keyhole.validate import check_choice

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import Container

SCALES: Final = ("linear", "log")

# Line styles and markers distinguish curves in grey print.
_STYLES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
_MARKS_A_CURVE: Final = 10
_TICKS: Final = 6  # intervals between the numbers of a linear x axis

MOST_STYLES: Final = len(_MARKERS)
"""More curves cannot be distinguished."""


def matplotlib_styles(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, line style and marker of each line of a figure, by label.

    A policy has the same colour in all figures and on all pages.
    """
    return {
        label: {
            "color": COLOURS[style.colour],
            "linestyle": _STYLES[style.dashes % len(_STYLES)],
            "marker": _MARKERS[style.position % len(_MARKERS)],
            "markersize": 4.0,
            "linewidth": 1.4,
        }
        for label, style in line_styles(labels).items()
    }


def count_nonpositive(curves: CurveSet, metric: str) -> dict[str, int]:
    """Return at how many checkpoints each policy's mean is not positive, if at any.

    The result is empty if no mean is positive: then no logarithm is drawn.
    """
    counts = {label: int((curves.mean(label, metric) <= 0).sum()) for label in curves.labels}
    # Without any positive mean the axis is linear, whatever was asked for, and leaves nothing out.
    if all(count == len(curves.checkpoints) for count in counts.values()):
        return {}
    return {label: count for label, count in counts.items() if count}


def plot_curves(
    curves: CurveSet,
    metric: str,
    axes: Axes | None = None,
    *,
    x: Scale = "linear",
    y: Scale | None = None,
    floor: float = np.inf,
) -> Axes:
    """Draw a metric over the checkpoints, with its 95 % intervals.

    Means are drawn as the metric declares, unless `y` is given. On a logarithmic axis, means that
    are not positive are left out (see `count_nonpositive`); if none is positive, the axis is
    linear. There an interval ends at the `log_floor` of the curves, or at a lower `floor`, which
    several panels share.
    """
    check_choice("x", x, SCALES)
    if y is not None:
        check_choice("y", y, SCALES)
    shown = draw_numbers(curves, metric, y, floor)
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=figure_size(curves.labels), layout="constrained")
    rounds = np.array(curves.checkpoints)
    drawn: dict[str, tuple[Artist | Container, float]] = {}
    styles = matplotlib_styles(list(shown.curves))
    for number, (label, (mean, low, high, _)) in enumerate(shown.curves.items()):
        style = styles[label]
        (line,) = axes.plot(rounds, mean, markevery=_marked(number, np.isfinite(mean)), **style)
        axes.fill_between(rounds, low, high, color=style["color"], alpha=0.15, linewidth=0)
        drawn[label] = line, float(curves.mean(label, metric)[-1])
    axes.dataLim.update_from_data_x(rounds, ignore=False)  # includes rounds without a point
    axes.set_ylabel(shown.axis)
    axes.set_xlabel("round")
    set_scales(axes, x, shown.scale)
    finish_axes(axes, drawn)
    if shown.least is not None:
        axes.dataLim.y0 = max(axes.dataLim.y0, shown.least)  # margins are a share of its range
        axes.set_ylim(bottom=shown.least)
    elif shown.begins_at_zero:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    return axes


def _marked(number: int, drawable: npt.NDArray[np.bool_]) -> list[int]:
    """Return the points of a curve that get a marker: some ten, and those without neighbours.

    Markers of different curves are shifted, so that those of close curves do not overlap.
    """
    step = max(1, len(drawable) // _MARKS_A_CURVE)
    # Nothing lies beyond the ends, so that the first and the last point may be alone too.
    walled = np.concatenate([[False], drawable, [False]])
    alone = drawable & ~walled[:-2] & ~walled[2:]
    # Curves have their markers at different rounds, so that none covers another.
    return sorted({*range(number % step, len(drawable), step), *np.flatnonzero(alone).tolist()})


def set_scales(axes: Axes, x: Scale, y: Scale) -> None:
    """Set the scales of both axes, whose numbers are written in full."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.set_xscale(x)
    axes.set_yscale(y)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
    if x == "linear":  # few, since numbers such as 17,500 are long
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10]))
    # Minor ticks would be labelled, too, on an axis that spans less than a power of ten.
    axes.xaxis.set_minor_formatter(NullFormatter())


def set_title(axes: Axes, title: str) -> None:
    """Set a title without formulas: a dollar sign is a plain character."""
    axes.set_title(title, fontsize=10, parse_math=False)


def finish_axes(axes: Axes, drawn: Mapping[str, tuple[Artist | Container, float]]) -> None:
    """Add a grid, and a legend below in the order of the curves' last values, the highest first."""
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.label.set_text(wrap_label(axes.get_ylabel()))
    for label, (artist, _) in drawn.items():
        artist.set_label(label)
    order = sorted(drawn, key=lambda label: -drawn[label][1])
    add_legend(axes, [drawn[label][0] for label in order], order)
