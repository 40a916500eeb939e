"""Charts of a tune over a parameter space: gain by limit and over time, and of its validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.pages.line_chart import Axis, Curve, LineChart, Ring
from keyhole.tune.charts import Survival
from keyhole.tune.space_tune import replay_records
from keyhole.tune.summary import describe_objective
from keyhole.tune.validation import YARDSTICK, is_known_from

if TYPE_CHECKING:
    from keyhole.tune.space_tune import SavedSpaceTune
    from keyhole.tune.value_estimates import Interval

_POINTS: Final = 20
_MANY_RUNS: Final = 2_000
_POINTS_OF_MANY: Final = 8
_PERCENT: Final = 100.0
_MARGIN: Final = 0.9  # of a logarithmic axis of seconds
_LARGE: Final = 335  # height in pixels
_SMALL: Final = 170


def gain_chart(tune: SavedSpaceTune) -> LineChart:
    """Return the chart of gains by limit, with a ring around what is recommended."""
    best = tune.best().incumbent
    limits = list(tune.spec.limits)
    estimates = tune.estimates()
    del estimates[YARDSTICK]  # the last point of the default
    curves = [
        _interval_curve(name, limits[-len(estimate.gains) :], list(estimate.gains))
        for name, estimate in estimates.items()
    ]
    return LineChart(
        id="gain-chart",
        x=Axis(title="time limit", scale="log", unit="s", low=limits[0] * _MARGIN,
               high=limits[-1] / _MARGIN),
        y=Axis(title="gain of a run", unit="of a success"),
        curves=curves,
        alt=f"Gain of a run by time limit. Recommended is {best.limit:g} s: {best.gain}.",
        caption=f"95 % intervals. {describe_objective(tune)}",
        rings=[Ring(x=best.limit, y=best.gain.value, label=f"{best.limit:g} s")],
        height=_LARGE,
    )  # fmt: skip


def _interval_curve(label: str, x: list[float], intervals: list[Interval]) -> Curve:
    y, low, high = zip(*((i.value, i.low, i.high) for i in intervals), strict=True)
    return Curve(label=label, x=x, y=y, low=low, high=high)


def history_chart(tune: SavedSpaceTune) -> LineChart:
    """Return the chart of the gain of what was recommended over time, beside the default's."""
    count = len(tune.runs)
    points = _POINTS if count < _MANY_RUNS else _POINTS_OF_MANY
    ends = set(np.unique(np.geomspace(1, count, points).round().astype(np.int64)).tolist())
    times, best_gains, default_gains = [], [], []
    for number, decider in enumerate(replay_records(tune.folder, tune.spec, tune.runs)):
        if number in ends:
            recommendation = decider.recommend()
            times.append(tune.runs[number - 1].elapsed)
            best_gains.append(recommendation.incumbent.gain)
            default_gains.append(recommendation.default_at_cutoff.gain)
    return LineChart(
        id="history-chart",
        title="Recommended after so much time",
        x=Axis(title="time of the tune", scale="log", unit="s"),
        y=Axis(title="gain of a run", unit="of a success"),
        curves=[
            _interval_curve("recommended", times, best_gains),
            _interval_curve(YARDSTICK, times, default_gains),
        ],
        alt=f"Gain of what was recommended over time: at last {best_gains[-1]}, of the default "
        f"{default_gains[-1]}.",
        caption="As estimated then, replayed from the log; 95 % intervals.",
        height=_SMALL,
    )


def validation_chart(tune: SavedSpaceTune) -> LineChart:
    """Return the chart of the share of instances kept aside that are solved within a time."""
    curves = []
    for name, estimate in tune.estimates().items():
        if name == "default":  # the same runs as those with the full cut-off
            continue
        runs = [run for run in tune.validation_runs if is_known_from(run, estimate)]
        curve = Survival.from_runs(runs)
        percents = (_PERCENT * (1.0 - np.array([*curve.share, *curve.share[-1:]]))).tolist()
        times = [*curve.seconds, max(estimate.limit, *curve.seconds, 0.0)][: len(percents)]
        curves.append(Curve(label=name, x=times, y=percents, steps=True))
    return LineChart(
        id="validation-chart",
        x=Axis(title="time", scale="log", unit="s"),
        y=Axis(title="instances solved", unit="%", low=0.0, high=_PERCENT),
        curves=curves,
        alt="Share of the instances kept aside that each configuration solves within a time.",
        caption="Share of the instances kept aside that are solved within a time, each "
        "configuration with its limit.",
    )
