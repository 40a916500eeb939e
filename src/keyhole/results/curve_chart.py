"""Charts of a metric over the rounds, with a curve for each policy."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, Protocol

import numpy as np

from keyhole.metric import Metric
from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.validation import check_choice

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
        """Return a policy's mean with its interval at each checkpoint."""


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

    Means are drawn on the scale `y`, by default as the metric declares. On a logarithmic scale,
    means that are not positive are left out (see `count_nonpositive`); if none is positive, the
    scale is linear. `anchor` is the id of the chart on a page; `named` are the labels of the
    policies to name, the most important first; `more` are further curves, such as bounds, whose
    numbers are drawn as they are.
    """
    check_choice("x", x, _SCALES)
    scale: Scale = y or "linear"
    check_choice("y", scale, _SCALES)
    arms = _arms_divisor(curves, metric, y)
    metric_description = curves.metric(metric)
    means = np.array([n.value for label in curves.labels for n in curves.estimates(label, metric)])
    smallest_mean = float(means[means > 0].min(initial=np.inf))
    # No mean has a logarithm: the scale is linear, even with `y="log"`.
    if np.isinf(smallest_mean):
        arms = None
        scale = "linear"
    is_logarithm = arms is not None or scale == "log"
    policy_curves = [_curve(curves, label, metric, arms, is_logarithm) for label in curves.labels]
    low = None
    if is_logarithm:  # intervals are shown down to half of the smallest mean
        low = smallest_mean / 2 if arms is None else float(np.log(smallest_mean / 2 / arms))
    elif metric_description.drawn != "mean":  # an axis that begins above 0 hides linear growth
        ends = np.array([[curve.y, curve.low] for curve in policy_curves])
        low = float(np.nanmin(ends, initial=0.0))
    axis_title = metric_description.title
    if arms is not None:
        axis_title = f"ln({axis_title} / arms)"
    return LineChart(
        id=anchor,
        x=Axis(title="round", scale=x),
        y=Axis(title=axis_title, scale=scale, low=low),
        curves=[*policy_curves, *more],
        alt=describe_curves(curves, metric),
        caption=caption,
        title=title,
        named=named,
    )


def _curve(
    curves: CurveSet, label: str, metric: str, arms: int | None, is_logarithm: bool
) -> Curve:
    """Return the curve of a policy, with NaN where nothing is drawn.

    A lower end without a logarithm is minus infinity: the interval reaches the end of the axis.
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
    """Return the curve through points; it is broken at a point whose estimate is None."""
    no_estimate = Estimate(math.nan, math.nan, 0)
    pairs = [(float(x), estimate or no_estimate) for x, estimate in points]
    # The infinite interval of a single replication is not drawn.
    shown_means = [mean if math.isfinite(mean.half_width) else no_estimate for _, mean in pairs]
    return Curve(
        label=label,
        x=[x for x, _ in pairs],
        y=[mean.value for _, mean in pairs],
        low=[mean.low for mean in shown_means],
        high=[mean.high for mean in shown_means],
    )


def is_drawn_as_logarithm(curves: CurveSet, metric: str, y: Scale | None) -> bool:
    """Return whether a metric is drawn on a logarithmic scale if any of its means is positive."""
    return y == "log" or _arms_divisor(curves, metric, y) is not None


def _arms_divisor(curves: CurveSet, metric: str, y: Scale | None) -> int | None:
    """Return the number of arms if the metric is drawn as ln(mean / arms), else None.

    It is also None if the scale `y` is given, or if the number of arms is unknown.
    """
    drawn = curves.metric(metric).drawn
    return curves.arms if y is None and drawn == "ln(mean / arms)" else None


def count_nonpositive(curves: CurveSet, metric: str) -> dict[str, int]:
    """Count, for each policy, the checkpoints at which its mean is not positive.

    The result has only policies with such checkpoints. It is empty if no mean is positive, since
    then the axis is linear and leaves nothing out.
    """
    counts = {
        label: sum(number.value <= 0 for number in curves.estimates(label, metric))
        for label in curves.labels
    }
    if all(count == len(curves.checkpoints) for count in counts.values()):
        return {}
    return {label: count for label, count in counts.items() if count}


def describe_curves(curves: CurveSet, metric: str) -> str:
    """Return the alternative text of a figure, for screen readers: the last means, in order."""
    last_means = {label: curves.estimates(label, metric)[-1] for label in curves.labels}
    labels = sorted(last_means, key=lambda label: -last_means[label].value)
    listed = ", ".join(f"{label} {last_means[label].plus_minus()}" for label in labels)
    first_round = curves.checkpoints[0]
    last_round = curves.checkpoints[-1]
    return (
        f"{curves.metric(metric).title} over the rounds {first_round:,} to {last_round:,}. At the "
        f"end, from the highest: {listed}."
    )


def caption(curves: Curves, metric: str, y: Scale | None) -> str:
    """Return the caption of a figure, which counts the points that a logarithmic axis leaves out.

    Parameters
    ----------
    curves : Curves
        The results.
    metric : str
        The name of the metric.
    y : {"linear", "log"}, optional
        The scale of means; by default as the metric declares.
    """
    text = interval_caption(curves.replications)
    if is_drawn_as_logarithm(curves, metric, y) and (omitted := count_nonpositive(curves, metric)):
        listed = ", ".join(f"{label} ({count})" for label, count in omitted.items())
        text += (
            " Left out, because a mean that is not above 0 has no logarithm (number of "
            f"checkpoints): {listed}."
        )
    return text


def interval_caption(replications: int) -> str:
    """Return the caption of a figure of means over this number of replications."""
    if replications == 1:
        return "One replication, which has no interval."
    return f"Mean over {replications:,} replications, with its 95 % interval."


def cell_note(metric: Metric) -> str:
    """Return the note that explains the cells in a table of a metric."""
    if metric.drawn == "share":
        return f"{metric.title}: share of replications [exact 95 % interval]"
    return f"{metric.title}: mean ± half of the 95 % interval"
