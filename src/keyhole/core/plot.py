"""How curves are drawn, everywhere the same."""

from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from keyhole.core.curves import Curves
from keyhole.core.memory import FloatArray

# Okabe and Ito's (2008) palette, told apart by readers with any colour vision; the line styles and
# markers tell the curves apart in grey print. A policy keeps its place, and so its look, by label.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES: Final = ("-", "--", "-.", ":")
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
_TWO_SIDED_95: Final = 1.959963984540054

LABELS: Final = {
    "aggregate_regret": "mean number of wrong labels",
    "simple_regret": "chance of any wrong label",
    "gold_agreement": "share of gold labels met",
}


def look(number: int) -> dict[str, Any]:
    """Return colour, line and marker of the policy with this number."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _STYLES[number // len(_COLOURS) % len(_STYLES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 3.5,
        "linewidth": 1.3,
    }


def interval(curves: Curves, label: str, metric: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, lower and upper end of the 95 % interval, by checkpoint."""
    mean, reach = curves.mean(label, metric), _TWO_SIDED_95 * curves.std_error(label, metric)
    return mean, mean - reach, mean + reach


def plot_curves(
    curves: Curves, metric: str, axes: Axes | None = None, *, log_per: float | None = None
) -> Axes:
    """Draw a metric over the checkpoints, with its 95 % intervals.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    axes : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    log_per : float, optional
        Draw the natural logarithm of the metric divided by this; checkpoints at which the mean
        is 0 are left out. Where all means are 0, they are drawn as they are.

    Returns
    -------
    matplotlib Axes
        What was drawn on.
    """
    if axes is None:
        _, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    if not any((curves.mean(label, metric) > 0).any() for label in curves.labels):
        log_per = None
    rounds = np.array(curves.checkpoints)
    last = {}
    for number, label in enumerate(curves.labels):
        lines = interval(curves, label, metric)
        seen = np.isfinite(lines[0])
        if log_per is not None:
            seen = lines[0] > 0
            lines = tuple(np.log(np.maximum(line, 1e-300) / log_per) for line in lines)  # type: ignore[assignment]
        mean, low, high = (line[seen] for line in lines)
        style = look(number)
        every = max(1, len(mean) // 10)
        axes.plot(rounds[seen], mean, label=label, markevery=every, **style)
        axes.fill_between(rounds[seen], low, high, color=style["color"], alpha=0.15, linewidth=0)
        last[label] = mean[-1] if len(mean) else -np.inf
    name = LABELS.get(metric, metric.replace("_", " "))
    axes.set_ylabel(name if log_per is None else f"ln({name} / arms)")
    axes.set_xlabel("rounds")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: -last[labels[i]])
    axes.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        frameon=False,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )
    if log_per is not None:
        _keep_intervals_readable(axes)
    return axes


def _keep_intervals_readable(axes: Axes) -> None:
    """Cut the axis below the lowest mean: the logarithm of an interval's end may be anything."""
    means = [np.asarray(line.get_ydata()) for line in axes.get_lines()]
    ends = [float(mean.min()) for mean in means if mean.size]
    if ends:
        axes.set_ylim(bottom=min(ends) - 0.6)
