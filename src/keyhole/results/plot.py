"""How curves are drawn, everywhere the same."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import Container
from matplotlib.ticker import FuncFormatter, NullFormatter

from keyhole.contract.memory import FloatArray
from keyhole.results.estimate import Estimate
from keyhole.validate import choice

Scale = Literal["linear", "log"]


class Drawable(Protocol):
    """What can be drawn: see `keyhole.Curves`."""

    @property
    def labels(self) -> Sequence[str]:
        """The policies."""

    @property
    def checkpoints(self) -> Sequence[int]:
        """The rounds."""

    @property
    def words(self) -> Mapping[str, str]:
        """What metrics are called."""

    def mean(self, policy: str, metric: str) -> FloatArray:
        """Return the mean by checkpoint."""

    def estimates(self, policy: str, metric: str) -> Sequence[Estimate]:
        """Return the mean with its interval by checkpoint."""


SCALES: Final = ("linear", "log")

# Okabe and Ito's (2008) palette without its yellow, told apart by readers with any colour vision;
# line styles and markers tell the curves apart in grey print. A policy keeps its look by its place.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES: Final = ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
_MARKS_A_CURVE: Final = 10

LABELS: Final = {
    "aggregate_regret": "mean number of wrong labels",
    "simple_regret": "simple regret",
    "gold_agreement": "share of gold labels met",
    "regret": "cumulative regret",
    "best_share": "share of rounds with a best arm",
    "wrong_best": "levels with a wrong best arm",
    "settled_levels": "levels settled",
    "reached_share": "share of rounds that reached the threshold",
    "censored_share": "share of rounds whose limit was exceeded",
    "best_arm_share": "share of rounds with the best arm",
    "best_pair_share": "share of rounds with the best pair",
    "threshold_rounds": "rounds of search for thresholds",
    "threshold_error": "largest error of a threshold",
    "too_low": "thresholds estimated too low",
    "phase": "phase",
    "eliminated_at": "round in which an arm was first given up",
    "lemma_4_misses": "share of estimates off by more than Lemma 4 allows",
}
"""What metrics are called in figures and reports, with the unit where there is one. A world whose
setting has a word of its own declares it (`keyhole.contract.world.World.words`)."""


def name_of(metric: str, words: Mapping[str, str] | None = None) -> str:
    """Return what a metric is called in figures and reports, given its setting's own words."""
    return (words or {}).get(metric) or LABELS.get(metric, metric.replace("_", " "))


def look(number: int) -> dict[str, Any]:
    """Return colour, line and marker of the policy with this number."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _STYLES[number % len(_STYLES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 4.0,
        "linewidth": 1.4,
    }


def interval(
    curves: Drawable, label: str, metric: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, lower and upper end of the 95 % interval, by checkpoint.

    The ends are NaN, and nothing is drawn, where there is but one replication.
    """
    found = curves.estimates(label, metric)
    mean, low, high = (
        np.array([getattr(number, end) for number in found]) for end in ("value", "low", "high")
    )
    known = np.isfinite(low)
    return mean, np.where(known, low, np.nan), np.where(known, high, np.nan)


def without_logarithm(curves: Drawable, metric: str) -> dict[str, int]:
    """Return at how many checkpoints a policy's mean has no logarithm, for those that have any.

    Empty where no mean has one: then all are drawn as they are.
    """
    counts = {label: int((curves.mean(label, metric) <= 0).sum()) for label in curves.labels}
    if all(count == len(curves.checkpoints) for count in counts.values()):
        return {}
    return {label: count for label, count in counts.items() if count}


def plot_curves(
    curves: Drawable,
    metric: str,
    axes: Axes | None = None,
    *,
    log_per: float | None = None,
    x: Scale = "linear",
    y: Scale = "linear",
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
        Draw the natural logarithm of the metric divided by this, on a linear axis.
    x, y : {"linear", "log"}, default "linear"
        The axes. Means that are not positive have no logarithm: with `log_per` or a logarithmic
        axis `y` they are left out (see `without_logarithm`), unless all are such: then they are
        drawn as they are.

    Returns
    -------
    matplotlib Axes
        What was drawn on.
    """
    choice("x", x, SCALES)
    choice("y", y, SCALES)
    if axes is None:
        _, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    if not any((curves.mean(label, metric) > 0).any() for label in curves.labels):
        log_per, y = None, "linear"
    logarithm = log_per is not None or y == "log"
    floor = _floor(curves, metric) if logarithm else -np.inf
    rounds = np.array(curves.checkpoints)
    drawn: dict[str, tuple[Artist | Container, float]] = {}
    for number, label in enumerate(curves.labels):
        lines = interval(curves, label, metric)
        drawable = np.isfinite(lines[0])
        if logarithm:
            drawable &= lines[0] > 0
        # A line is broken where a point is left out: nothing is claimed of what lies between.
        mean, low, high = (np.where(drawable, np.maximum(one, floor), np.nan) for one in lines)
        if log_per is not None:
            mean, low, high = (np.log(one / log_per) for one in (mean, low, high))
        style = look(number)
        (line,) = axes.plot(rounds, mean, markevery=_marked(number, drawable), **style)
        axes.fill_between(rounds, low, high, color=style["color"], alpha=0.15, linewidth=0)
        drawn[label] = line, float(curves.mean(label, metric)[-1])
    name = name_of(metric, curves.words)
    axes.set_ylabel(name if log_per is None else f"ln({name} / arms)")
    axes.set_xlabel("round")
    _set_scales(axes, x, y)
    finish(axes, drawn)
    if logarithm:
        axes.set_ylim(bottom=floor if log_per is None else np.log(floor / log_per))
    elif metric.endswith("regret"):  # what begins above 0 hides that it grows in a straight line
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    return axes


def _marked(number: int, drawable: npt.NDArray[np.bool_]) -> list[int]:
    """Return the points of a curve that get a marker: some ten, and those without neighbours.

    Each curve's markers begin elsewhere, so that those of close curves do not cover each other.
    """
    step = max(1, len(drawable) // _MARKS_A_CURVE)
    walled = np.concatenate([[False], drawable, [False]])
    alone = drawable & ~walled[:-2] & ~walled[2:]
    return sorted({*range(number % step, len(drawable), step), *np.flatnonzero(alone).tolist()})


def _floor(curves: Drawable, metric: str) -> float:
    """Return where a logarithmic axis ends: an interval's end may be anything below the means."""
    means = np.concatenate([curves.mean(label, metric) for label in curves.labels])
    return float(means[means > 0].min()) / 2


def _set_scales(axes: Axes, x: Scale, y: Scale) -> None:
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.set_xscale(x)
    axes.set_yscale(y)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
    axes.xaxis.set_minor_formatter(NullFormatter())


def entitle(axes: Axes, title: str) -> None:
    """Set a title as it is written: a dollar sign begins no formula."""
    axes.set_title(title, fontsize=10, parse_math=False)


def finish(axes: Axes, drawn: Mapping[str, tuple[Artist | Container, float]]) -> None:
    """Add the grid, and name the curves in the order in which they end, the highest first.

    Parameters
    ----------
    axes : matplotlib Axes
        What they were drawn on.
    drawn : mapping of str to (Artist, float)
        By label: the curve, and where it ends.
    """
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    order = sorted(drawn, key=lambda label: -drawn[label][1])
    legend = axes.legend(
        [drawn[label][0] for label in order],
        order,
        frameon=False,
        fontsize=8,
        handlelength=3.2,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )
    for text in legend.get_texts():  # written as they are, like titles
        text.set_parse_math(False)
