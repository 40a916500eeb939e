"""Interactive charts of a tune's report: gains by time limit, runs that succeed by a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.pages.line_chart import Axis, Curve, LineChart, Ring
from keyhole.tune.chart_numbers import (
    MOST_ARMS,
    cactus_arrays,
    drawn_arms,
    ordered_gain_curves,
    shortest_time,
    step_arrays,
    survival_curves,
)
from keyhole.tune.interval import Interval
from keyhole.tune.recommendation import format_runs
from keyhole.tune.recommendation_history import PastRecommendation
from keyhole.tune.summary import describe_objective, gain_unit
from keyhole.tune.survival import Survival

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune

_PERCENT: Final = 100.0
_MARGIN: Final = 0.9  # of a logarithmic axis of seconds
_LARGE: Final = 335  # height in pixels
_SMALL: Final = 170


def gain_chart(tune: SavedTune) -> LineChart:
    """Return the chart of gains by limit and arm, with a ring around the recommended pair."""
    best, limits = tune.best(), tune.spec.limits
    curves = ordered_gain_curves(tune)
    ring = Ring(
        x=best.limit, y=best.gain.value, low=best.gain.low, high=best.gain.high,
        label=f"{best.limit:g} s",
    )  # fmt: skip
    return LineChart(
        id="gain-chart",
        x=_seconds_axis("time limit", limits[0] * _MARGIN, limits[-1] / _MARGIN),
        y=Axis(title="gain of a run", unit=gain_unit(tune)),
        curves=[
            Curve(
                label=curve.arm, x=curve.limits.tolist(), y=curve.mean.tolist(),
                low=curve.low.tolist(), high=curve.high.tolist(),
                note=format_runs(len(tune.runs_of(curve.arm))),
            )
            for curve in curves
        ],
        alt=f"Gain of a run by time limit and command. The largest is that of {best.arm} with "
        f"{best.limit:g} s: {best.gain}.",
        caption=f"95 % intervals. {describe_objective(tune)}{_describe_left_out(tune)}",
        rings=[ring],
        height=_LARGE,
    )  # fmt: skip


def _describe_left_out(tune: SavedTune) -> str:
    """Return the sentences on arms and limits that are not drawn."""
    counts = tune.gains.run_counts
    tried, drawn = int((counts[:, 0] > 0).sum()), len(drawn_arms(tune))
    texts = []
    if untried := tune.best().untried:
        listed = ", ".join(untried[:3]) + (", ..." if len(untried) > 3 else "")
        texts.append(f"Left out, since not tried yet: {listed}.")
    if drawn < tried:
        texts.append(f"Of {tried:,} commands, the {MOST_ARMS} with the largest gains.")
    if (counts[counts[:, 0] > 0] == 0).any():
        texts.append("A command's curve ends at the largest limit that it was run with.")
    return "".join(f" {text}" for text in texts)


def history_chart(tune: SavedTune, history: list[PastRecommendation]) -> LineChart:
    """Return the chart of the recommended pair over the runs, with its estimated gain then."""
    spec = tune.spec
    names = [f"{spec.names[past.arm]}, {spec.limits[past.place]:g} s" for past in history]
    runs = [float(past.runs) for past in history]
    curves = [
        _history_curve(name, [past if mine == name else None
                              for mine, past in zip(names, history, strict=True)], runs)
        # The pair recommended last comes first, and so has the first colour.
        for name in dict.fromkeys(reversed(names))
    ]  # fmt: skip
    # The recommendation has been the same since the run after the last that named another pair.
    same = [name == names[-1] for name in names]
    first = max((k + 1 for k, is_same in enumerate(same) if not is_same), default=0)
    since = f"{names[-1]} since run {history[first].runs:,} of {len(tune.runs):,}"
    return LineChart(
        id="history-chart",
        title="Recommended pair after so many runs",
        x=Axis(title="runs", scale="log"),
        y=Axis(title="gain of a run", unit=gain_unit(tune)),
        curves=curves,
        alt=f"Recommended pair over the runs, with the gain that it was estimated to have then: "
        f"{since}.",
        caption=f"Recommended: {since}. Its gain as estimated then, replayed from the log; "
        "95 % intervals.",
        height=_SMALL,
    )


def _history_curve(name: str, history: list[PastRecommendation | None], runs: list[float]) -> Curve:
    """Return the curve of a pair, with gaps where another one was recommended."""
    # NaN breaks a line, so that the curves of different pairs are not connected.
    nothing = Interval(math.nan, math.nan, math.nan)
    gains = [nothing if past is None else past.gain for past in history]
    return Curve(
        label=name,
        x=runs,
        y=[gain.value for gain in gains],
        low=[gain.low for gain in gains],
        high=[gain.high for gain in gains],
    )


def survival_chart(tune: SavedTune, caption: str) -> LineChart:
    """Return the chart of the share of runs without success by a time."""
    first = shortest_time(tune) * _MARGIN
    curves = []
    for name, curve in _ordered_survival(tune):
        times, *ends = step_arrays(curve, first)
        share, low, high = ((_PERCENT * end).tolist() for end in ends)
        times = np.maximum(times, first)  # a run of 0 s has no place on a logarithmic axis
        curves.append(Curve(label=name, x=times.tolist(), y=share, low=low, high=high, steps=True))
    return LineChart(
        id="survival-chart",
        x=_seconds_axis("time", first, tune.spec.limits[-1] / _MARGIN),
        y=Axis(title="runs without success", unit="%", low=0.0, high=_PERCENT),
        curves=curves,
        alt="Share of runs without success by time and command.",
        caption=caption,
    )


def cactus_chart(tune: SavedTune, caption: str) -> LineChart:
    """Return the cactus plot: the seconds within which a share of the runs succeeds."""
    first = shortest_time(tune) * _MARGIN
    curves = []
    for name, curve in _ordered_survival(tune):
        done, seconds = cactus_arrays(curve)
        # Each share is reached at the seconds of the next step: the height holds until there.
        curves.append(
            Curve(
                label=name,
                x=(_PERCENT * done).tolist(),
                y=np.maximum([*seconds[1:], *seconds[-1:]], first).tolist(),
                steps=True,
            )
        )
    return LineChart(
        id="cactus-chart",
        x=Axis(title="runs with success", unit="%", low=0.0, high=_PERCENT),
        y=_seconds_axis("time", first, tune.spec.limits[-1] / _MARGIN),
        curves=curves,
        alt="Seconds within which a share of the runs succeeds, by command.",
        caption=caption,
    )


def _ordered_survival(tune: SavedTune) -> list[tuple[str, Survival]]:
    """Return the survival curves in the order of `gain_chart`, so that colours are the same."""
    order = [curve.arm for curve in ordered_gain_curves(tune)]
    return sorted(survival_curves(tune), key=lambda curve: order.index(curve[0]))


def _seconds_axis(title: str, low: float, high: float) -> Axis:
    return Axis(title=title, scale="log", unit="s", low=low, high=high)
