"""Drawing of a metric, such as the reward lost, against a parameter of problems; and of ratios."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.figure import Figure

from keyhole.pages.figure_files import blank_figure
from keyhole.pages.plot_legend import figure_size
from keyhole.papers.claims import ratio_of
from keyhole.results.curves import Curves
from keyhole.results.drawn_curves import Scale
from keyhole.results.estimate import Estimate
from keyhole.results.plot import finish_axes, matplotlib_styles, set_scales

_MARKS_A_CURVE: Final = 10
_BOUND_STYLE: Final[dict[str, Any]] = {
    "color": "black", "linewidth": 1.0, "linestyle": (0, (6, 3)), "marker": "_",
}  # fmt: skip
_FAR: Final = 4.0  # times the height of the axes; drawn, such a bound would flatten all curves

Points = Mapping[str, Sequence[tuple[float, Estimate]]]
"""By policy: x, and the estimate there."""

Bound = tuple[str, Sequence[tuple[float, float]]]
"""The name of a bound; and x, and its value there."""


def draw_parameter_figure(
    points: Points, labels: Sequence[str], *, x_label: str, name: str,
    scales: tuple[Scale, Scale] = ("linear", "linear"), bound: Bound | None = None,
) -> Figure:  # fmt: skip
    """Return the figure of a mean against a number that differs between problems.

    `labels` are all policies of the entry, so that each has the same style in every figure. The
    bars are 95 % intervals; a bound is a thin dashed line.
    """
    figure = blank_figure(*figure_size([*points, *([bound[0]] if bound else [])]))
    axes = figure.subplots()
    drawn: dict[str, tuple[Artist | Container, float]] = {}
    for label, line in points.items():
        style = matplotlib_styles(labels)[label]
        xs = [x for x, _ in line]
        means = [number.value for _, number in line]
        # One replication alone has an infinite interval: nothing to draw.
        bars = [
            [number.value - number.low, number.high - number.value]
            if np.isfinite(number.reach)
            else [np.nan, np.nan]
            for _, number in line
        ]
        curve = axes.errorbar(
            xs, means, yerr=np.transpose(bars), capsize=3, elinewidth=1.0, **style
        )
        drawn[label] = curve, line[-1][1].value
    if bound is not None:
        title, line_of_bound = bound
        (drawn_bound,) = axes.plot(*zip(*line_of_bound, strict=True), **_BOUND_STYLE)
        drawn[title] = drawn_bound, line_of_bound[-1][1]
    set_scales(axes, *scales)
    axes.set_xlabel(x_label, parse_math=False)
    axes.set_ylabel(name)
    finish_axes(axes, drawn)
    return figure


def ratios(curves: Curves, metric: str, to: str) -> dict[str, list[tuple[float, Estimate]]]:
    """Return the mean of every other policy relative to one policy's, by checkpoint.

    Round and ratio, by the delta method on paired replications, without the checkpoints at which
    the denominator may be 0.
    """
    rounds, below = curves.checkpoints, curves.values(to, metric)
    found: dict[str, list[tuple[float, Estimate]]] = {}
    for label in curves.labels:
        if label != to:
            above = curves.values(label, metric)
            each = [(t, ratio_of(a, b)) for t, a, b in zip(rounds, above, below, strict=True)]
            found[label] = [(t, ratio) for t, ratio in each if ratio is not None]
    return found


def ratio_figure(curves: Curves, metric: str, to: str) -> Figure:
    """Return the figure of `ratios` over the rounds, with 95 % intervals and a thin line at 1."""
    figure = blank_figure(*figure_size([label for label in curves.labels if label != to]))
    axes = figure.subplots()
    rounds = curves.checkpoints
    drawn: dict[str, tuple[Artist | Container, float]] = {}
    every = max(1, len(rounds) // _MARKS_A_CURVE)
    for label, line in ratios(curves, metric, to).items():
        style = matplotlib_styles(curves.labels)[label]
        # A line is broken where a point is left out: nothing is claimed of what lies between.
        known = dict(line)
        value, low, high = (
            [getattr(known[t], end) if t in known else np.nan for t in rounds]
            for end in ("value", "low", "high")
        )
        (curve,) = axes.plot(rounds, value, markevery=every, **style)
        axes.fill_between(rounds, low, high, color=style["color"], alpha=0.15, linewidth=0)
        drawn[label] = curve, line[-1][1].value if line else -np.inf
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("round")
    axes.set_ylabel(f"{curves.metric(metric).title} / that of {to}", parse_math=False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    finish_axes(axes, drawn)
    return figure


def is_far_above(values: Sequence[float], highest: float) -> bool:
    """Return whether a bound would flatten the curves, whose highest value is given, if drawn."""
    return max(values) > _FAR * highest


def draw_bound(axes: Axes, rounds: Sequence[int], values: Sequence[float], name: str) -> None:
    """Draw a bound as a dashed line; only name one that is far above the curves.

    Nothing is drawn on a logarithmic axis.
    """
    if axes.get_yscale() != "linear" or axes.get_ylabel().startswith("ln("):
        return
    top = axes.get_ylim()[1]
    style: dict[str, Any] = {"fontsize": 9.0, "color": "black", "parse_math": False}
    if is_far_above(values, top):
        text = f"{name}: {values[-1]:,.4g}, above the figure"
        axes.annotate(text, (0.02, 0.97), xycoords="axes fraction", va="top", **style)
        return
    axes.plot(rounds, values, **_BOUND_STYLE)
    start = (rounds[0], values[0])
    axes.annotate(name, start, xytext=(2, 3), textcoords="offset points", **style)
    axes.set_ylim(top=max(top, 1.08 * max(values)))
