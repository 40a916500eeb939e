"""The numbers that are drawn of a metric's curves: means and intervals, on the metric's scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.metric import PER_ARM_LOGARITHM, Metric
from keyhole.results.estimate import Estimate

Scale = Literal["linear", "log"]


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

    def mean(self, policy: str, metric: str) -> FloatArray:
        """Return the mean by checkpoint."""

    def estimates(self, policy: str, metric: str) -> Sequence[Estimate]:
        """Return the mean with its interval by checkpoint."""


class DrawnCurve(NamedTuple):
    """Mean and ends of the 95 % interval by checkpoint; NaN where nothing is drawn.

    `low` ends where the axis does. `exact_low` is the lower end itself: it may lie below, and is
    minus infinity where it has no logarithm.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    exact_low: FloatArray


@dataclass(frozen=True)
class DrawnCurves:
    """The curves of a metric as they are drawn, by policy.

    `axis` is the title of the axis of means, `scale` its scale, and `least` its lower end, if the
    metric fixes one. `begins_at_zero` says that the axis includes 0.
    """

    curves: Mapping[str, DrawnCurve]
    axis: str
    scale: Scale
    least: float | None
    begins_at_zero: bool

    def low_end(self) -> float | None:
        """Return the lower end of the axis where it does not follow from the means alone."""
        if not self.begins_at_zero:
            return self.least
        lows = [np.fmin(curve.mean, curve.low) for curve in self.curves.values()]
        return min(0.0, float(np.nanmin(np.concatenate(lows), initial=0.0)))


def arms_divisor(curves: CurveSet, metric: str, y: Scale | None) -> int | None:
    """Return the number of arms if the metric is drawn as ln(mean / arms), else None.

    It is None if an axis `y` is given, or if the number of arms is unknown.
    """
    drawn = curves.metric(metric).drawn
    return curves.arms if y is None and drawn == PER_ARM_LOGARITHM else None


def log_floor(curves: CurveSet, metric: str) -> float:
    """Return the lower end of a logarithmic axis, half of the least positive mean."""
    means = np.concatenate([curves.mean(label, metric) for label in curves.labels])
    return float(means[means > 0].min(initial=np.inf)) / 2


def interval(curves: CurveSet, label: str, metric: str) -> DrawnCurve:
    """Return mean, lower and upper end of the 95 % interval, by checkpoint.

    The ends are NaN, which is not drawn, for one replication.
    """
    found = curves.estimates(label, metric)
    mean, low, high = (
        np.array([getattr(number, end) for number in found]) for end in ("value", "low", "high")
    )
    # One replication has an infinite interval, of which nothing is drawn.
    known = np.isfinite(low)
    low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
    return DrawnCurve(mean, low, high, low)


def draw_numbers(
    curves: CurveSet, metric: str, y: Scale | None = None, floor: float = np.inf
) -> DrawnCurves:
    """Return the numbers that are drawn of a metric, on the scale that it declares or `y`.

    On a logarithmic scale, means that are not positive are left out; if none is positive, the scale
    is linear. There an interval ends at the `log_floor` of the curves, or at a lower `floor`, which
    several panels share.
    """
    arms, known = arms_divisor(curves, metric, y), curves.metric(metric)
    scale = y or "linear"
    # No mean has a logarithm: the axis is linear, whatever was asked for.
    if not any((curves.mean(label, metric) > 0).any() for label in curves.labels):
        arms, scale = None, "linear"
    logarithm = arms is not None or scale == "log"
    bottom = log_floor(curves, metric)
    # On a logarithmic axis the bands of figures end at the floor; charts draw exact lower ends.
    floor = min(floor, bottom) if logarithm else -np.inf
    drawn = {}
    for label in curves.labels:
        lines = interval(curves, label, metric)
        drawable = np.isfinite(lines.mean)
        if logarithm:
            drawable &= lines.mean > 0
        # NaN breaks the line where a point is left out.
        mean, low, high = (np.where(drawable, np.maximum(x, floor), np.nan) for x in lines[:3])
        exact = np.where(drawable, lines.exact_low, np.nan)
        if arms is not None:
            with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity
                mean, low, high, exact = (
                    np.log(np.maximum(x, 0.0) / arms) for x in (mean, low, high, exact)
                )
        elif logarithm:
            # It has no logarithm: charts draw it to the end of their axis.
            exact = np.where(exact <= 0, -np.inf, exact)
        drawn[label] = DrawnCurve(mean, low, high, exact)
    axis = known.title if arms is None else f"ln({known.title} / arms)"
    least = None
    if logarithm:
        least = bottom if arms is None else float(np.log(bottom / arms))
    # An axis that begins above 0 hides linear growth.
    return DrawnCurves(drawn, axis, scale, least, not logarithm and known.drawn != "mean")
