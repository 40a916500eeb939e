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

from keyhole.contract.state_memory import FloatArray
from keyhole.metric import PER_ARM_LOGARITHM, Metric
from keyhole.results.estimate import Estimate
from keyhole.validate import check_choice

Scale = Literal["linear", "log"]


class CurveSet(Protocol):
    """What can be drawn: see `keyhole.Curves`."""

    @property
    def labels(self) -> Sequence[str]:
        """The policies."""

    @property
    def checkpoints(self) -> Sequence[int]:
        """The rounds."""

    @property
    def arms(self) -> int | None:
        """How many arms there are."""

    def metric(self, name: str) -> Metric:
        """Return what is to be known of a metric."""

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

MOST_LOOKS: Final = len(_MARKERS)
"""More curves are not told apart."""


def line_style(number: int) -> dict[str, Any]:
    """Return colour, line and marker of the policy with this number."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _STYLES[number % len(_STYLES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 4.0,
        "linewidth": 1.4,
    }


def interval(
    curves: CurveSet, label: str, metric: str
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


def count_nonpositive(curves: CurveSet, metric: str) -> dict[str, int]:
    """Return at how many checkpoints a policy's mean has no logarithm, for those that have any.

    Empty where no mean has one: then all are drawn as they are.
    """
    counts = {label: int((curves.mean(label, metric) <= 0).sum()) for label in curves.labels}
    if all(count == len(curves.checkpoints) for count in counts.values()):
        return {}
    return {label: count for label, count in counts.items() if count}


def arms_divisor(curves: CurveSet, metric: str, y: Scale | None) -> int | None:
    """Return the number of arms where ln(mean / arms) is drawn, as the metric says, else none.

    It is not where an axis `y` is asked for, or nobody says how many arms there are.
    """
    drawn = curves.metric(metric).drawn
    return curves.arms if y is None and drawn == PER_ARM_LOGARITHM else None


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

    Means are drawn as the metric says, unless `y` says otherwise. Those that are not positive have
    no logarithm: where one is drawn they are left out (see `count_nonpositive`), unless all are
    such: then they are drawn as they are. An interval over a logarithm ends at the `log_floor` the
    curves, or at a `floor` that is lower: that of several panels.
    """
    check_choice("x", x, SCALES)
    if y is not None:
        check_choice("y", y, SCALES)
    arms, known = arms_divisor(curves, metric, y), curves.metric(metric)
    y = y or "linear"
    if axes is None:
        _, axes = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    if not any((curves.mean(label, metric) > 0).any() for label in curves.labels):
        arms, y = None, "linear"
    logarithm = arms is not None or y == "log"
    bottom = log_floor(curves, metric)
    floor = min(floor, bottom) if logarithm else -np.inf
    rounds = np.array(curves.checkpoints)
    drawn: dict[str, tuple[Artist | Container, float]] = {}
    for number, label in enumerate(curves.labels):
        lines = interval(curves, label, metric)
        drawable = np.isfinite(lines[0])
        if logarithm:
            drawable &= lines[0] > 0
        # A line is broken where a point is left out: nothing is claimed of what lies between.
        mean, low, high = (np.where(drawable, np.maximum(one, floor), np.nan) for one in lines)
        if arms is not None:
            mean, low, high = (np.log(one / arms) for one in (mean, low, high))
        style = line_style(number)
        (line,) = axes.plot(rounds, mean, markevery=_marked(number, drawable), **style)
        axes.fill_between(rounds, low, high, color=style["color"], alpha=0.15, linewidth=0)
        drawn[label] = line, float(curves.mean(label, metric)[-1])
    axes.dataLim.update_from_data_x(rounds, ignore=False)  # also those where nothing is drawn
    axes.set_ylabel(known.title if arms is None else f"ln({known.title} / arms)")
    axes.set_xlabel("round")
    _set_scales(axes, x, y)
    finish_axes(axes, drawn)
    if logarithm:
        end = bottom if arms is None else np.log(bottom / arms)
        axes.dataLim.y0 = max(axes.dataLim.y0, end)  # or what is far below makes room above
        axes.set_ylim(bottom=end)
    elif known.drawn != "mean":  # what begins above 0 hides that it grows in a straight line
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


def log_floor(curves: CurveSet, metric: str) -> float:
    """Return where a logarithmic axis ends: an interval's end may be anything below the means."""
    means = np.concatenate([curves.mean(label, metric) for label in curves.labels])
    return float(means[means > 0].min(initial=np.inf)) / 2


def _set_scales(axes: Axes, x: Scale, y: Scale) -> None:
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.set_xscale(x)
    axes.set_yscale(y)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
    axes.xaxis.set_minor_formatter(NullFormatter())


def set_title(axes: Axes, title: str) -> None:
    """Set a title as it is written: a dollar sign begins no formula."""
    axes.set_title(title, fontsize=10, parse_math=False)


def finish_axes(axes: Axes, drawn: Mapping[str, tuple[Artist | Container, float]]) -> None:
    """Add the grid, and name the curves in the order in which they end, the highest first."""
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
