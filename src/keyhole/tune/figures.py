"""Figures of a tune: unfinished runs and solved instances over time, and gains by time limit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter, PercentFormatter

from keyhole.contract.state_arrays import FloatArray
from keyhole.pages.figure_files import blank_figure
from keyhole.results.plot import finish_axes, line_style
from keyhole.tune.saved_tune import Tune
from keyhole.tune.survival import Survival

_MAX_STEPS: Final = 500


def survival_figure(tune: Tune) -> Figure:
    """Return survival curves by arm with intervals: the share of runs without success by a time."""
    figure = blank_figure()
    axes = figure.subplots()
    drawn = {}
    for number, (name, curve) in enumerate(_curves(tune)):
        style = _line_without_markers(number)
        times, share, low, high = _step_arrays(curve)
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


def cactus_figure(tune: Tune) -> Figure:
    """Return the cactus plot: seconds within which a share of the runs succeeds, by arm."""
    figure = blank_figure()
    axes = figure.subplots()
    drawn = {}
    for number, (name, curve) in enumerate(_curves(tune)):
        done = np.concatenate([[0.0], 1.0 - curve.share])
        seconds = np.concatenate([curve.seconds[:1], curve.seconds])
        (line,) = axes.step(
            done[: len(seconds)], seconds, where="pre", **_line_without_markers(number)
        )
        drawn[name] = line, float(done[-1])
    _set_seconds_axis(axes, "y", tune)
    axes.set_xlabel("share with success")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlim(0.0, 1.0)
    finish_axes(axes, drawn)
    return figure


def gains_figure(tune: Tune) -> Figure:
    """Return the figure of gains by arm and limit, with intervals."""
    figure = blank_figure()
    axes = figure.subplots()
    draws, limits = tune.gains.draws, np.array(tune.spec.limits)
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    drawn = {}
    for number, arm in enumerate(tune.spec.arms):
        has_runs = tune.gains.run_counts[number] > 0
        if has_runs.any():
            style = line_style(number)
            mean = draws[:, number].mean(axis=0)
            (line,) = axes.plot(limits[has_runs], mean[has_runs], **style)
            axes.fill_between(
                limits[has_runs], low[number][has_runs], high[number][has_runs],
                color=style["color"], alpha=0.12, linewidth=0,
            )  # fmt: skip
            drawn[arm.name] = line, float(mean[has_runs].max())
    best = tune.best()
    axes.plot(
        [best.limit], [best.gain.value], "o", markersize=12, fillstyle="none", color="#000000"
    )
    _set_seconds_axis(axes, "x", tune)
    axes.set_xlim(tune.spec.limits[0] * 0.9, tune.spec.limits[-1] * 1.1)
    axes.set_xlabel("limit (s)")
    axes.set_ylabel("gain of a run")
    finish_axes(axes, drawn)
    return figure


def _curves(tune: Tune) -> list[tuple[str, Survival]]:
    return [
        (arm.name, thin_curve(Survival.from_runs(runs)))
        for arm in tune.spec.arms
        if (runs := tune.runs_of(arm.name))
    ]


def thin_curve(curve: Survival) -> Survival:
    """Return a curve with at most 500 steps, the first and the last included."""
    steps = len(curve.seconds)
    if steps <= _MAX_STEPS:
        return curve
    # More steps than these cannot be distinguished, and would only make the SVG longer.
    kept = np.unique(np.linspace(0, steps - 1, _MAX_STEPS).round().astype(np.int64))
    names = ("seconds", "share", "low", "high")
    return replace(curve, **{name: getattr(curve, name)[kept] for name in names})


def _line_without_markers(number: int) -> dict[str, Any]:
    return {key: value for key, value in line_style(number).items() if not key.startswith("marker")}


def _step_arrays(curve: Survival) -> Sequence[FloatArray]:
    """Return times, shares and interval ends, extended to time 0 and to the largest limit."""
    times = np.concatenate([[0.0], curve.seconds, [max(curve.last_limit, *curve.seconds, 0.0)]])
    ends = []
    for values in (curve.share, curve.low, curve.high):
        whole = np.concatenate([[1.0], values])
        ends.append(np.append(whole, whole[-1]))
    return [times, *ends]


class _PlainFormatter(LogFormatter):
    """Formatter of the ticks that Matplotlib labels, without powers of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        # The base class decides which ticks get a label; its text for the others is empty.
        return f"{x:,.10g}" if super().__call__(x, pos) else ""


def _set_seconds_axis(axes: Axes, which: str, tune: Tune) -> None:
    """Make an axis logarithmic, in seconds."""
    done = [run.seconds for run in tune.runs if run.outcome == "ok" and run.seconds > 0.0]
    first = min([*done, tune.spec.limits[0]])
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
