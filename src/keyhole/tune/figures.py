"""Figures of a tune: how many runs have succeeded by a time, and gains by time limit."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter, PercentFormatter

from keyhole.pages.figure_files import blank_figure
from keyhole.pages.plot_legend import figure_size
from keyhole.results.plot import finish_axes, matplotlib_styles
from keyhole.tune.chart_numbers import (
    cactus_arrays,
    gain_curves,
    ordered_gain_curves,
    shortest_time,
    step_arrays,
    survival_curves,
)
from keyhole.tune.saved_tune import SavedTune


def survival_figure(tune: SavedTune) -> Figure:
    """Return survival curves by arm with intervals: the share of runs without success by a time."""
    figure = blank_figure(*_size(tune))
    axes = figure.subplots()
    drawn = {}
    styles = arm_styles(tune)
    for name, curve in survival_curves(tune):
        style = {**styles[name], "marker": ""}
        times, share, low, high = step_arrays(curve)
        (line,) = axes.step(times, share, where="post", **style)
        axes.fill_between(
            times, low, high, step="post", color=style["color"], alpha=0.12, linewidth=0
        )
        drawn[name] = line, float(share[-1])
    _set_seconds_axis(axes, "x", tune)
    axes.set_ylabel("share without success")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylim(0.0, 1.02)
    finish_axes(axes, drawn)
    return figure


def cactus_figure(tune: SavedTune) -> Figure:
    """Return the cactus plot: seconds within which a share of the runs succeeds, by arm."""
    figure = blank_figure(*_size(tune))
    axes = figure.subplots()
    drawn = {}
    styles = arm_styles(tune)
    for name, curve in survival_curves(tune):
        done, seconds = cactus_arrays(curve)
        (line,) = axes.step(done, seconds, where="pre", **{**styles[name], "marker": ""})
        drawn[name] = line, float(done.max(initial=0.0))
    _set_seconds_axis(axes, "y", tune)
    axes.set_xlabel("share with success")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(0.0, 1.0)
    finish_axes(axes, drawn)
    return figure


def gains_figure(tune: SavedTune) -> Figure:
    """Return the figure of gains by arm and limit, with intervals."""
    figure = blank_figure(*_size(tune))
    plot_gains(tune, figure.subplots())
    return figure


def plot_gains(tune: SavedTune, axes: Axes | None = None) -> Axes:
    """Draw gains by arm and limit, with intervals: see `SavedTune.plot`."""
    best = tune.best()
    if axes is None:
        _, axes = plt.subplots(figsize=_size(tune), layout="constrained")
    drawn = {}
    styles = arm_styles(tune)
    for curve in gain_curves(tune):
        style = styles[curve.arm]
        (line,) = axes.plot(curve.limits, curve.mean, **style)
        axes.fill_between(
            curve.limits, curve.low, curve.high, color=style["color"], alpha=0.12, linewidth=0
        )
        drawn[curve.arm] = line, float(curve.mean.max())
    # A ring, since a filled marker would cover the point of the curve.
    axes.plot(
        [best.limit], [best.gain.value], "o", markersize=12, fillstyle="none", color="#000000"
    )
    _set_seconds_axis(axes, "x", tune)
    axes.set_xlim(tune.spec.limits[0] * 0.9, tune.spec.limits[-1] * 1.1)
    axes.set_xlabel("time limit (s)")
    axes.set_ylabel("gain of a run")
    finish_axes(axes, drawn)
    return axes


def _size(tune: SavedTune) -> tuple[float, float]:
    """Return width and height of a figure, which has a line for each arm."""
    return figure_size(list(arm_styles(tune)))


def arm_styles(tune: SavedTune) -> dict[str, dict[str, Any]]:
    """Return the style of each arm's line, with the colours of the report's charts."""
    return matplotlib_styles([curve.arm for curve in ordered_gain_curves(tune)])


class _PlainFormatter(LogFormatter):
    """Formatter of the ticks that Matplotlib labels, without powers of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        # The base class decides which ticks get a label; its text for the others is empty.
        return f"{x:,.10g}" if super().__call__(x, pos) else ""


def _set_seconds_axis(axes: Axes, which: str, tune: SavedTune) -> None:
    """Make an axis logarithmic, in seconds."""
    first = shortest_time(tune)
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axis = axes.xaxis if which == "x" else axes.yaxis
    if which == "x":
        axes.set_xscale("log")
        axes.set_xlim(first * 0.8, tune.spec.limits[-1] * 1.05)
        axes.set_xlabel("seconds")
    else:
        axes.set_yscale("log")
        axes.set_ylim(first * 0.8, tune.spec.limits[-1] * 1.05)
        axes.set_ylabel("seconds")
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(_PlainFormatter())  # of which some are named on a short axis
