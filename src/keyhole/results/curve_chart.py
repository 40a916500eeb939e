"""Charts of a metric, such as the reward lost, over the rounds, by policy."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol

import numpy as np

from keyhole.metric import PER_ARM_LOGARITHM, Metric
from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.validate import check_choice

Scale = Literal["linear", "log"]
_SCALES: Final = ("linear", "log")


class CurveSet(Protocol):
    """The interface of curves that can be drawn: see `keyhole.Curves`."""

    @property
    def labels(self) -> Sequence[str]:
        """The labels of the policies."""

    @property
    def checkpoints(self) -> Sequence[int]:
        """The rounds."""

    @property
    def arms(self) -> int | None:
        """The number of arms."""

    def metric(self, name: str) -> Metric:
        """Return a metric by its name."""

    def estimates(self, policy: str, metric: str) -> Sequence[Estimate]:
        """Return the mean with its interval by checkpoint."""


def curve_chart(
    curves: CurveSet,
    metric: str,
    *,
    anchor: str = "curves",
    x: Scale = "linear",
    y: Scale | None = None,
    title: str = "",
    caption: str = "",
    named: Sequence[str] = (),
    more: Sequence[Curve] = (),
) -> LineChart:
    """Return the chart of a metric over the checkpoints, with its 95 % intervals.

    Means are drawn on the scale that the metric declares, or on `y`. On a logarithmic scale, means
    that are not positive are left out (see `count_nonpositive`); if none is positive, the scale is
    linear. `anchor` is the id of the chart on a page; `named` are the policies whose names matter
    most; `more` are further curves, such as bounds, on the same scale.
    """
    check_choice("x", x, _SCALES)
    scale: Scale = y or "linear"
    check_choice("y", scale, _SCALES)
    arms = arms_divisor(curves, metric, y)
    metric_description = curves.metric(metric)
    means = np.array([n.value for label in curves.labels for n in curves.estimates(label, metric)])
    smallest_mean = float(means[means > 0].min(initial=np.inf))
    # No mean has a logarithm: the axis is linear, whatever was asked for.
    if np.isinf(smallest_mean):
        arms = None
        scale = "linear"
    is_logarithm = arms is not None or scale == "log"
    lines = [_curve(curves, label, metric, arms, is_logarithm) for label in curves.labels]
    low = None
    if is_logarithm:  # half of the least mean, as far as intervals are shown
        low = smallest_mean / 2 if arms is None else float(np.log(smallest_mean / 2 / arms))
    elif metric_description.drawn != "mean":  # an axis that begins above 0 hides linear growth
        low = float(np.nanmin(np.array([[line.y, line.low] for line in lines]), initial=0.0))
    return LineChart(
        id=anchor,
        x=Axis(title="round", scale=x),
        y=Axis(
            title=metric_description.title
            if arms is None
            else f"ln({metric_description.title} / arms)",
            scale=scale,
            low=low,
        ),
        curves=[*lines, *more],
        alt=describe_curves(curves, metric),
        caption=caption,
        title=title,
        named=named,
    )


def _curve(
    curves: CurveSet, label: str, metric: str, arms: int | None, is_logarithm: bool
) -> Curve:
    """Return the curve of a policy, with NaN where nothing is drawn.

    A lower end is minus infinity where it has no logarithm: it is drawn to the end of the axis.
    """
    estimates = curves.estimates(label, metric)
    curve = estimates_curve(label, zip(curves.checkpoints, estimates, strict=True))
    if not is_logarithm:
        return curve
    lines = [np.array(line, float) for line in (curve.y, curve.low, curve.high)]
    mean, low, high = (np.where(lines[0] > 0, line, np.nan) for line in lines)
    low = np.where(low <= 0, -np.inf if arms is None else 0.0, low)
    if arms is not None:
        with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity
            mean, low, high = (np.log(line / arms) for line in (mean, low, high))
    return replace(curve, y=mean.tolist(), low=low.tolist(), high=high.tolist())


def estimates_curve(label: str, points: Iterable[tuple[float, Estimate | None]]) -> Curve:
    """Return the curve through estimates, broken where there is none."""
    no_estimate = Estimate(math.nan, math.nan, 0)
    known_points = [(float(x), estimate or no_estimate) for x, estimate in points]
    # One replication alone has an infinite interval: nothing to draw.
    bars = [mean if math.isfinite(mean.half_width) else no_estimate for _, mean in known_points]
    return Curve(
        label=label,
        x=[x for x, _ in known_points],
        y=[mean.value for _, mean in known_points],
        low=[bar.low for bar in bars],
        high=[bar.high for bar in bars],
    )


def arms_divisor(curves: CurveSet, metric: str, y: Scale | None) -> int | None:
    """Return the number of arms if the metric is drawn as ln(mean / arms), else None.

    It is None if an axis `y` is given, or if the number of arms is unknown.
    """
    drawn = curves.metric(metric).drawn
    return curves.arms if y is None and drawn == PER_ARM_LOGARITHM else None


def count_nonpositive(curves: CurveSet, metric: str) -> dict[str, int]:
    """Count the checkpoints at which each policy's mean is not positive, if there are any.

    The result is empty if no mean is positive: then no logarithm is drawn.
    """
    counts = {
        label: sum(number.value <= 0 for number in curves.estimates(label, metric))
        for label in curves.labels
    }
    # Without any positive mean the axis is linear, whatever was asked for, and leaves nothing out.
    if all(count == len(curves.checkpoints) for count in counts.values()):
        return {}
    return {label: count for label, count in counts.items() if count}


def describe_curves(curves: CurveSet, metric: str) -> str:
    """Return the alternative text of a figure, for screen readers: the last means, in order."""
    last = {label: curves.estimates(label, metric)[-1] for label in curves.labels}
    order = sorted(last, key=lambda label: -last[label].value)
    last_means = ", ".join(f"{label} {last[label].plus_minus()}" for label in order)
    first_round = curves.checkpoints[0]
    last_round = curves.checkpoints[-1]
    return (
        f"{curves.metric(metric).title} over the rounds {first_round:,} to {last_round:,}. At the "
        f"end, from the highest: {last_means}."
    )


def caption(curves: Curves, metric: str, y: Scale | None) -> str:
    """Return the caption of a figure, with the points that a logarithmic axis leaves out.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        Which metric.
    y : {"linear", "log"}, optional
        The axis of means; by default as the metric is drawn.
    """
    text = interval_caption(curves.replications)
    is_logarithm = y == "log" or arms_divisor(curves, metric, y) is not None
    if is_logarithm and (omitted := count_nonpositive(curves, metric)):
        listed = ", ".join(f"{label} ({count})" for label, count in omitted.items())
        text += (
            " Left out, because a mean that is not above 0 has no logarithm (number of "
            f"checkpoints): {listed}."
        )
    return text


def interval_caption(replications: int) -> str:
    """Return the caption of a figure of means."""
    if replications == 1:
        return "One replication, which has no interval."
    return f"Mean over {replications:,} replications, with its 95 % interval."


def cell_note(metric: Metric) -> str:
    """Return the note that explains the cells in a table of a metric."""
    if metric.drawn == "share":
        return f"{metric.title}: share of replications [exact 95 % interval]"
    return f"{metric.title}: mean ± half of the 95 % interval"
