"""Charts of a metric over the rounds, with a curve for each policy."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from keyhole.metric import Metric
from keyhole.pages.line_chart import Axis, Curve, LineChart, ScaleName
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.validation import check_choice

_SCALES: Final = ("linear", "log")


class CurveSet(Protocol):
    """The part of the interface of `keyhole.Curves` that a chart needs."""

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
    x: ScaleName = "linear",
    y: ScaleName | None = None,
    title: str = "",
    caption: str = "",
    named: Sequence[str] = (),
    bounds: Sequence[Curve] = (),
) -> LineChart:
    """Return the chart of a metric over the checkpoints, with its 95 % intervals.

    `x` is the scale of rounds, and `y` the scale of means. Without `y` the metric declares whether
    means or their logarithms are drawn, on a linear scale. A mean that is not positive has no
    logarithm, and is left out (see `count_nonpositive`); if no mean is positive, the means
    themselves are drawn on a linear scale. `anchor` is the id of the chart on a page; `named` are
    the labels of the policies to name, the most important first; `bounds` are further curves, whose
    numbers are drawn as they are.
    """
    check_choice("x", x, _SCALES)
    scale: ScaleName = y or "linear"
    check_choice("y", scale, _SCALES)
    divisor = _arms_divisor(curves, metric, y)
    declaration = curves.metric(metric)
    means = np.array([e.value for label in curves.labels for e in curves.estimates(label, metric)])
    smallest_mean = float(means[means > 0].min(initial=np.inf))
    # No mean has a logarithm: the scale is linear, even with `y="log"`.
    if np.isinf(smallest_mean):
        divisor = None
        scale = "linear"
    is_logarithm = divisor is not None or scale == "log"
    policy_curves = [
        _curve(curves, label, metric, divisor, is_logarithm) for label in curves.labels
    ]
    low = None
    if is_logarithm:  # the axis begins at half of the smallest mean, and cuts intervals off there
        low = smallest_mean / 2 if divisor is None else float(np.log(smallest_mean / 2 / divisor))
    elif declaration.drawn != "mean":  # an axis that begins above 0 hides linear growth
        drawn_numbers = np.array([[curve.y, curve.low] for curve in policy_curves])
        low = float(np.nanmin(drawn_numbers, initial=0.0))
    axis_title = declaration.title
    if divisor is not None:
        axis_title = f"ln({axis_title} / arms)"
    return LineChart(
        id=anchor,
        x=Axis(title="round", scale=x),
        y=Axis(title=axis_title, scale=scale, low=low),
        curves=[*policy_curves, *bounds],
        alt=describe_curves(curves, metric),
        caption=caption,
        title=title,
        named=named,
    )


def _curve(
    curves: CurveSet, label: str, metric: str, divisor: int | None, is_logarithm: bool
) -> Curve:
    """Return the curve of a policy, with NaN where nothing is drawn.

    If the lower end of an interval has no logarithm, it becomes minus infinity, so that the
    interval reaches the end of the axis.
    """
    estimates = curves.estimates(label, metric)
    curve = estimates_curve(label, zip(curves.checkpoints, estimates, strict=True))
    if not is_logarithm:
        return curve
    lines = [np.array(line, float) for line in (curve.y, curve.low, curve.high)]
    mean, low, high = (np.where(lines[0] > 0, line, np.nan) for line in lines)
    low = np.where(low <= 0, -np.inf if divisor is None else 0.0, low)
    if divisor is not None:
        with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity
            mean, low, high = (np.log(line / divisor) for line in (mean, low, high))
    return replace(curve, y=mean.tolist(), low=low.tolist(), high=high.tolist())


def estimates_curve(label: str, points: Iterable[tuple[float, Estimate | None]]) -> Curve:
    """Return the curve through points; it is broken at a point whose estimate is None."""
    no_estimate = Estimate(math.nan, math.nan, 0)
    pairs = [(float(x), estimate or no_estimate) for x, estimate in points]
    # The infinite interval of a single replication is not drawn.
    intervals = [mean if math.isfinite(mean.half_width) else no_estimate for _, mean in pairs]
    return Curve(
        label=label,
        x=[x for x, _ in pairs],
        y=[mean.value for _, mean in pairs],
        low=[interval.low for interval in intervals],
        high=[interval.high for interval in intervals],
    )


def is_drawn_as_logarithm(curves: CurveSet, metric: str, y: ScaleName | None) -> bool:
    """Return whether positive means of a metric would be drawn on a logarithmic scale."""
    return y == "log" or _arms_divisor(curves, metric, y) is not None


def _arms_divisor(curves: CurveSet, metric: str, y: ScaleName | None) -> int | None:
    """Return the number of arms if the metric is drawn as ln(mean / arms), else None.

    If the scale `y` is given, or the number of arms is unknown, the result is None, too.
    """
    drawn = curves.metric(metric).drawn
    return curves.arms if y is None and drawn == "ln(mean / arms)" else None


def count_nonpositive(curves: CurveSet, metric: str) -> dict[str, int]:
    """Count the checkpoints at which the mean of a policy is not positive, by the policy's label.

    Policies without such checkpoints have no count. If no mean is positive, the result is empty,
    since the axis is linear and leaves nothing out.
    """
    counts = {
        label: sum(mean.value <= 0 for mean in curves.estimates(label, metric))
        for label in curves.labels
    }
    if all(count == len(curves.checkpoints) for count in counts.values()):
        return {}
    return {label: count for label, count in counts.items() if count}


def describe_curves(curves: CurveSet, metric: str) -> str:
    """Return the text of a figure for screen readers, with the last means in falling order."""
    last_means = {label: curves.estimates(label, metric)[-1] for label in curves.labels}
    labels = sorted(last_means, key=lambda label: -last_means[label].value)
    listed = ", ".join(f"{label} {last_means[label].plus_minus()}" for label in labels)
    first_round = curves.checkpoints[0]
    last_round = curves.checkpoints[-1]
    return (
        f"{curves.metric(metric).title} over the rounds {first_round:,} to {last_round:,}. At the "
        f"end, from the highest: {listed}."
    )


def caption(curves: Curves, metric: str, y: ScaleName | None) -> str:
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
    """Return the caption of a figure of means over `replications` replications."""
    if replications == 1:
        return "One replication, which has no interval."
    return f"Mean over {replications:,} replications, with its 95 % interval."


def cell_note(metric: Metric) -> str:
    """Return the note that explains the cells in a table of a metric."""
    if metric.drawn == "share":
        return f"{metric.title}: share of replications [exact 95 % interval]"
    return f"{metric.title}: mean ± half of the 95 % interval"
