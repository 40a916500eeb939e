"""Interactive charts of a metric, such as the reward lost, over the rounds, by policy."""

from collections.abc import Sequence

from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.results.drawn_curves import CurveSet, Scale, draw_numbers


def curve_chart(
    curves: CurveSet,
    metric: str,
    *,
    anchor: str,
    x: Scale = "linear",
    y: Scale | None = None,
    title: str = "",
    caption: str = "",
    named: Sequence[str] = (),
    more: Sequence[Curve] = (),
    files: Sequence[str] = (),
) -> LineChart:
    """Return the chart of a metric over the checkpoints, with its 95 % intervals.

    It shows the numbers of `keyhole.results.drawn_curves.draw_numbers`. `anchor` is its id on the
    page; `named` are the policies whose names matter most; `more` are further curves, such as
    bounds, on the same scale.
    """
    drawn = draw_numbers(curves, metric, y)
    rounds = [float(t) for t in curves.checkpoints]
    lines = [
        Curve(label=label, x=rounds, y=line.mean.tolist(), low=line.exact_low.tolist(),
              high=line.high.tolist())
        for label, line in drawn.curves.items()
    ]  # fmt: skip
    return LineChart(
        id=anchor,
        x=Axis(title="round", scale=x),
        y=Axis(title=drawn.axis, scale=drawn.scale, low=drawn.low_end()),
        curves=[*lines, *more],
        alt=describe_curves(curves, metric),
        caption=caption,
        title=title,
        named=named,
        files=files,
    )


def describe_curves(curves: CurveSet, metric: str) -> str:
    """Return the alternative text of a figure, for screen readers: the last means, in order."""
    last = {label: curves.estimates(label, metric)[-1] for label in curves.labels}
    order = sorted(last, key=lambda label: -last[label].value)
    ends = ", ".join(f"{label} {last[label].plus_minus()}" for label in order)
    first, end = curves.checkpoints[0], curves.checkpoints[-1]
    return (
        f"{curves.metric(metric).title} over the rounds {first:,} to {end:,}. At the end, from the "
        f"highest: {ends}."
    )
